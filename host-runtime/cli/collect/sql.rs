//! `collect --sql`: views for the usual questions. Engines differ only in how they find tables and open lists.

use anyhow::Context;
use kperf_dataset::table::TableRow;
use kperf_dataset::{CallRow, FunctionRow, PathRow, RunRow, SpanRow, StatRow, Store};
use std::fmt::Write;

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    Duckdb,
    Datafusion,
    Spark,
}

/// The views over a dataset.
pub fn views(store: &Store, engine: Engine) -> anyhow::Result<String> {
    let root = store.location()?;
    let root = root.to_str().with_context(|| format!("`{}` is no text, and SQL is", root.display()))?;
    let mut sql = String::from("-- The tables and views are described in DATASET.md.\n");
    if engine == Engine::Spark {
        // A service may be called `007`, which is no number.
        sql.push_str("SET spark.sql.sources.partitionColumnTypeInference.enabled = false;\n");
    }
    let mut tables = vec![RunRow::NAME, FunctionRow::NAME, PathRow::NAME, StatRow::NAME, SpanRow::NAME];
    let has_calls = !store.parts::<CallRow>()?.is_empty();
    if has_calls {
        tables.push(CallRow::NAME);
    }
    for table in tables {
        let folder = format!("{root}/{table}").replace('\'', "''");
        let create = match engine {
            // It takes these letters of a folder for a pattern.
            Engine::Duckdb => format!(
                "CREATE OR REPLACE VIEW all_{table} AS SELECT * FROM read_parquet('{}/*/*/*.parquet', \
                 hive_partitioning = true, hive_types = {{service: VARCHAR, day: VARCHAR}});",
                plain(&folder)
            ),
            Engine::Datafusion => format!(
                "CREATE EXTERNAL TABLE IF NOT EXISTS all_{table} STORED AS PARQUET PARTITIONED BY (service, day) LOCATION '{folder}/';"
            ),
            Engine::Spark => {
                format!(
                    "CREATE OR REPLACE TEMPORARY VIEW all_{table} USING parquet OPTIONS (path '{folder}');"
                )
            }
        };
        // Writing to a String doesn't fail.
        let _ = writeln!(sql, "{create}");
    }
    let views = include_str!("views.sql");
    let (open_lists, create) = match engine {
        Engine::Duckdb | Engine::Datafusion => {
            ("unnest(buckets) AS bucket, unnest(counts) AS calls", "CREATE OR REPLACE VIEW")
        }
        Engine::Spark => {
            ("inline(arrays_zip(buckets, counts)) AS (bucket, calls)", "CREATE OR REPLACE TEMPORARY VIEW")
        }
    };
    let views = views.replace("CREATE VIEW", create).replace("OPEN_LISTS", open_lists);
    sql.push_str(&views);
    if has_calls {
        let _ = writeln!(
            sql,
            "\n-- Calls one by one.\n{create} calls AS SELECT c.*, r.clock FROM all_calls c JOIN runs r ON c.run_id = r.run_id AND c.service = r.service \
             AND c.day = r.day;"
        );
    }
    Ok(sql)
}

/// A pattern of a path that means the path itself.
fn plain(path: &str) -> String {
    let of = |letter| match letter {
        '[' | '*' | '?' => format!("[{letter}]"),
        letter => letter.to_string(),
    };
    path.chars().map(of).collect()
}
