//! The report: one Markdown file, and its pictures beside it.

use crate::accuracy::{self, Accuracy};
use crate::comparison::{self, Comparison};
use crate::configuration::Configuration;
use crate::costs::{self, Costs};
use crate::load::{self, Loaded};
use crate::statistics::Row;
use crate::sustained::{self, Sustained};
use crate::tools::Tools;
use crate::way::Host;
use crate::workload::{Language, Workload};
use crate::{machine, plot};
use kperf_rewriter::{Options, Recording, rewrite};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// The rows of one workload on one host.
pub(crate) struct Table {
    pub(crate) workload: Workload,
    pub(crate) host: Host,
    pub(crate) rows: Vec<Row>,
}

/// A program's configurations on one host, which ran in turn.
pub(crate) struct Comparisons {
    pub(crate) workload: Workload,
    pub(crate) host: Host,
    pub(crate) rows: Vec<Comparison>,
}

/// What was measured so far.
pub(crate) struct Report {
    machine: Vec<(&'static str, String)>,
    tables: Vec<Table>,
    comparisons: Vec<Comparisons>,
    accuracies: Vec<Accuracy>,
    sustained: Vec<Sustained>,
    sustained_in_node: Vec<sustained::node::Sustained>,
    costs: Vec<Costs>,
    loaded: Vec<Loaded>,
    /// By host and depth.
    depths: BTreeMap<(Host, u32), Vec<Row>>,
    left_out: BTreeSet<String>,
    modules: String,
}

/// How often a module is rewritten for its time.
const REWRITINGS: usize = 15;

impl Report {
    pub(crate) fn new(tools: &Tools) -> Report {
        Report {
            machine: machine::describe(tools),
            tables: Vec::new(),
            comparisons: Vec::new(),
            accuracies: Vec::new(),
            sustained: Vec::new(),
            sustained_in_node: Vec::new(),
            costs: Vec::new(),
            loaded: Vec::new(),
            depths: BTreeMap::new(),
            left_out: BTreeSet::new(),
            modules: String::new(),
        }
    }

    /// Adds a table, unless nothing was measured.
    pub(crate) fn add(&mut self, table: Table) {
        if !table.rows.is_empty() {
            println!("\n{}", heading(&table.workload, table.host));
            print!("{}", recursion_of(&table));
            self.tables.push(table);
        }
    }

    /// Adds a program.
    pub(crate) fn add_comparisons(&mut self, program: Comparisons) {
        println!("\n{}", heading(&program.workload, program.host));
        print!("{}", comparison::table(&program.rows));
        self.comparisons.push(program);
    }

    /// Adds what a profile and a native sampler say of a program.
    pub(crate) fn add_accuracy(&mut self, accuracy: Accuracy) {
        print!("\n{}", accuracy::table(std::slice::from_ref(&accuracy)));
        self.accuracies.push(accuracy);
    }

    /// Adds what was seen of a program on a busy machine.
    pub(crate) fn add_sustained(&mut self, measured: Sustained) {
        self.sustained.push(measured);
        print!("\n{}", sustained::table(&self.sustained));
    }

    pub(crate) fn add_sustained_in_node(&mut self, measured: sustained::node::Sustained) {
        self.sustained_in_node.push(measured);
        print!("\n{}", sustained::node::table(&self.sustained_in_node));
    }

    pub(crate) fn add_costs(&mut self, measured: Costs) {
        self.costs.push(measured);
        print!("\n{}", costs::table(&self.costs));
    }

    pub(crate) fn add_loaded(&mut self, loaded: Vec<Loaded>) {
        print!("\n{}", load::table(&loaded));
        self.loaded.extend(loaded);
    }

    /// Adds what was measured at a depth.
    pub(crate) fn add_depth(&mut self, host: Host, depth: u32, rows: Vec<Row>) {
        if !rows.is_empty() {
            self.depths.insert((host, depth), rows);
        }
    }

    /// Notes a configuration that can't run here.
    pub(crate) fn left_out(&mut self, configuration: &Configuration, missing: &str) {
        let (host, name) = (configuration.host.name(), configuration.name);
        self.left_out.insert(format!("{host}: {name}: there is no {missing} here"));
    }

    /// Notes what else isn't here.
    pub(crate) fn missing(&mut self, what: &str) {
        self.left_out.insert(what.to_owned());
    }

    /// Rewrites the modules: their sizes, and how long it takes.
    pub(crate) fn modules(&mut self, root: &Path) -> anyhow::Result<()> {
        let out = &mut self.modules;
        writeln!(out, "| module | bytes | functions | import | inline | parsing | import | inline |")?;
        writeln!(out, "|---|--:|--:|--:|--:|--:|--:|--:|")?;
        let own = Language::ALL.map(|language| Workload::Recursion(language, 10));
        let life = ["rust", "c", "assemblyscript", "kotlin", "go", "wat"]
            .map(|folder| Workload::Life(folder.into()));
        for workload in own.into_iter().chain(life) {
            let path = workload.module(root);
            let wasm = std::fs::read(&path)?;
            let mut cells = vec![path.strip_prefix(root)?.display().to_string(), wasm.len().to_string()];
            let parsing = least(|| parse(&wasm))?.1;
            let mut sizes = Vec::new();
            let mut times = vec![format!("{parsing:.2} ms")];
            for recording in [Recording::imported(), Recording::inline()] {
                let options = Options { recording, imports: true, ..Options::default() };
                let (rewritten, millis) = least(|| Ok(rewrite(&wasm, &options)?))?;
                if sizes.is_empty() {
                    cells.push(rewritten.symbols.symbols.len().to_string());
                }
                let growth = 100.0 * (rewritten.wasm.len() as f64 / wasm.len() as f64 - 1.0);
                sizes.push(format!("{} (+{growth:.0} %)", rewritten.wasm.len()));
                times.push(format!("{millis:.2} ms"));
            }
            writeln!(out, "| {} |", [cells, sizes, times].concat().join(" | "))?;
        }
        Ok(())
    }

    /// Writes `README.md` and the pictures.
    pub(crate) fn write(&self, out: &Path) -> anyhow::Result<()> {
        let mut text = String::from("# What a call costs\n\n");
        text += "`scripts/bench` measures this and writes it; benches/moobench/README.md says what is measured and how.\n\n";
        writeln!(text, "| | |\n|---|---|")?;
        for (name, value) in &self.machine {
            writeln!(text, "| {name} | {value} |")?;
        }
        for table in &self.tables {
            let (heading, name) = (heading(&table.workload, table.host), slug(table));
            writeln!(text, "\n## {heading}\n\n{}", recursion_of(table))?;
            plot::bars(&out.join(format!("{name}.svg")), &heading, &table.rows)?;
            writeln!(text, "![{heading}]({name}.svg)")?;
        }
        for program in &self.comparisons {
            let heading = heading(&program.workload, program.host);
            writeln!(text, "\n## {heading}\n\n{}", comparison::table(&program.rows).trim_end())?;
        }
        for host in Host::ALL {
            text += &self.published(host);
        }
        if !self.accuracies.is_empty() {
            writeln!(text, "\n## Are profiles true?\n\n{}", accuracy::table(&self.accuracies).trim_end())?;
        }
        if !self.sustained.is_empty() {
            writeln!(
                text,
                "\n## Full traces for seconds, to a file\n\nNanoseconds a call.\n\n{}",
                sustained::table(&self.sustained).trim_end()
            )?;
        }
        if !self.sustained_in_node.is_empty() {
            writeln!(
                text,
                "\n## Full traces for seconds, to a file, in node\n\nNanoseconds a call.\n\n{}",
                sustained::node::table(&self.sustained_in_node).trim_end()
            )?;
        }
        if !self.costs.is_empty() {
            writeln!(text, "\n## Instructions and allocations\n\n{}", costs::table(&self.costs).trim_end())?;
        }
        if !self.loaded.is_empty() {
            writeln!(
                text,
                "\n## Are times true on a busy machine?\n\n{}",
                load::table(&self.loaded).trim_end()
            )?;
        }
        for host in Host::ALL {
            let depths: BTreeMap<u32, &Vec<Row>> = self
                .depths
                .iter()
                .filter(|((of, _), _)| *of == host)
                .map(|((_, depth), rows)| (*depth, rows))
                .collect();
            let Some(first) = depths.values().next() else { continue };
            writeln!(
                text,
                "\n## Depths, {}\n\nNanoseconds a call, by the depth of the recursion: medians.\n",
                host.name()
            )?;
            let heads: Vec<String> = depths.keys().map(|depth| format!(" {depth} |")).collect();
            writeln!(text, "| |{}\n|---|{}", heads.concat(), "--:|".repeat(depths.len()))?;
            for (n, row) in first.iter().enumerate() {
                let cells =
                    depths.values().filter_map(|rows| Some(format!(" {:.2} |", rows.get(n)?.quartiles[1])));
                writeln!(text, "| {} |{}", row.name, cells.collect::<String>())?;
            }
            let name = format!("depths-{}.svg", host.name());
            plot::lines(
                &out.join(&name),
                &format!("Time of one recursion by its depth, {}", host.name()),
                &depths,
            )?;
            writeln!(text, "\n![depths]({name})")?;
        }
        writeln!(
            text,
            "\n## Modules with probes\n\nAll functions, calls of the host's too; the least of {REWRITINGS} times, on all cores.\n\n{}",
            self.modules
        )?;
        if !self.left_out.is_empty() {
            writeln!(text, "## Left out\n")?;
            for line in &self.left_out {
                writeln!(text, "- {line}")?;
            }
        }
        std::fs::write(out.join("README.md"), text)?;
        Ok(())
    }
}

impl Report {
    /// The ratios of the published programs on a host, if they ran there.
    fn published(&self, host: Host) -> String {
        let of = |ratio| {
            let real = |one: &&Comparisons| one.host == host && one.workload.program().is_some();
            let programs = self.comparisons.iter().filter(real);
            comparison::ratios(programs.map(|one| (one.workload.to_string(), one.rows.as_slice())), ratio)
        };
        let (wall, thread) = (of(|row| Some(row.ratio)), of(|row| row.thread_ratio));
        if wall.is_empty() {
            return wall;
        }
        format!(
            "\n## Published programs, {}, as a ratio to no probes\n\nMedians of the ratios to the runs beside, and their 95 % \
             intervals.\n\n{wall}\nThe same of the time that the guest's thread ran:\n\n{thread}",
            host.name()
        )
    }
}

fn heading(workload: &Workload, host: Host) -> String {
    // The JVM runs the same recursion in Java.
    match host {
        Host::Jvm => "Recursion of depth 10, Java on the JVM".to_owned(),
        host => format!("{workload}, {}", host.name()),
    }
}

fn slug(table: &Table) -> String {
    let words = heading(&table.workload, table.host).to_lowercase();
    words
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// Nanoseconds a call.
fn recursion_of(table: &Table) -> String {
    let mut text = String::from(
        "| | mean ns a call | 95 % | sd of loops | sd within | quartiles | least | added (95 %) | until written | bytes a call | events |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in &table.rows {
        let [first, median, third] = row.quartiles;
        let added = row.added.map_or_else(String::new, |added| added.to_string());
        let later = row.whole_millis - row.run_millis;
        text += &format!(
            "| {} | {:.2} | {} | {} | {} | {first:.2} / {median:.2} / {third:.2} | {:.2} | {added} | {} | {} | {} |\n",
            row.name,
            row.mean,
            spread("±", row.interval),
            spread("", row.deviation),
            spread("", row.within),
            row.least,
            if later > 0.5 { format!("+{later:.0} ms of {:.0}", row.run_millis) } else { String::new() },
            if row.bytes_a_call > 0.0 { format!("{:.2}", row.bytes_a_call) } else { String::new() },
            row.events.map_or_else(String::new, |events| events.to_string()),
        );
    }
    text
}

/// A figure that needs several runs or batches.
fn spread(sign: &str, value: f64) -> String {
    if value.is_finite() { format!("{sign}{value:.2}") } else { String::new() }
}

/// The least time of some, in milliseconds, with the last result.
fn least<T>(mut work: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<(T, f64)> {
    let mut timed = || -> anyhow::Result<(T, f64)> {
        let begun = Instant::now();
        let result = work()?;
        Ok((result, begun.elapsed().as_secs_f64() * 1e3))
    };
    let (mut result, mut least) = timed()?;
    for _ in 1..REWRITINGS {
        let (again, millis) = timed()?;
        (result, least) = (again, least.min(millis));
    }
    Ok((result, least))
}

/// Reads every instruction.
fn parse(wasm: &[u8]) -> anyhow::Result<()> {
    for payload in wasmparser::Parser::new(0).parse_all(wasm) {
        if let wasmparser::Payload::CodeSectionEntry(body) = payload? {
            let mut operators = body.get_operators_reader()?;
            while !operators.eof() {
                operators.read()?;
            }
        }
    }
    Ok(())
}
