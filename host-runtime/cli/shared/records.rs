//! Rows of figures as a table for people, or as JSON or CSV with exact numbers.

use crate::shared::table::{TableOptions, grouped, name_text};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
pub use kperf_profile::{Cell, Column};
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Table,
    Json,
    Csv,
}

/// Longest name in a table.
const NAME: usize = 48;

/// A cell of a table; a long name is shortened.
fn text(cell: &Cell, options: TableOptions) -> String {
    match cell {
        Cell::Name(name) => name_text(name.clone(), NAME, options),
        cell => cell.text(options.unit),
    }
}

/// Writes at most `limit` rows (all for 0). The table also says how many are left out.
pub fn write(
    format: Format,
    columns: &[Column],
    rows: &[Vec<Cell>],
    limit: usize,
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let shown = if limit == 0 { rows } else { rows.get(..limit).unwrap_or(rows) };
    match format {
        Format::Table => {
            write_table(columns, shown, options, out)?;
            match rows.len() - shown.len() {
                0 => Ok(()),
                more => writeln!(out, "# and {} more", grouped(more as u64)),
            }
        }
        Format::Json => {
            let object = |row: &Vec<Cell>| -> Map<String, Value> {
                columns.iter().zip(row).map(|((key, _), cell)| (options.unit.key(key), cell.json())).collect()
            };
            let objects: Vec<_> = shown.iter().map(object).collect();
            serde_json::to_writer_pretty(&mut *out, &objects)?;
            writeln!(out)
        }
        Format::Csv => {
            let keys: Vec<String> = columns.iter().map(|(key, _)| options.unit.key(key)).collect();
            writeln!(out, "{}", keys.join(","))?;
            for row in shown {
                let fields: Vec<String> = row.iter().map(|cell| csv_field(&cell.json())).collect();
                writeln!(out, "{}", fields.join(","))?;
            }
            Ok(())
        }
    }
}

fn write_table(
    columns: &[Column],
    rows: &[Vec<Cell>],
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let seen = |n: &usize| columns.get(*n).is_some_and(|(_, title)| !title.is_empty());
    let indices: Vec<usize> = (0..columns.len()).filter(seen).collect();
    let is_text = |n: usize| rows.iter().any(|row| matches!(row.get(n), Some(Cell::Name(_) | Cell::Word(_))));
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(indices.iter().filter_map(|&n| columns.get(n)).map(|(_, title)| *title));
    for row in rows {
        table.add_row(indices.iter().filter_map(|&n| row.get(n)).map(|cell| text(cell, options)));
    }
    for (column, &n) in table.column_iter_mut().zip(&indices) {
        column.set_padding((0, 2));
        if !is_text(n) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A field of CSV, quoted by RFC 4180.
pub fn csv_text(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

fn csv_field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => csv_text(text),
        other => other.to_string(),
    }
}
