//! Makes the tables of `README.md` from the results.

use super::outcome::NO_INSTANCE;
use super::side::Work;
use super::suite::{OWN, Ran, Tested};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The sums of all scripts.
pub(crate) struct Report {
    text: String,
    /// The places where a rewritten module differed from its original.
    pub(crate) differences: Vec<String>,
    /// The sum of both runs with imported probes.
    pub(crate) work: Work,
}

/// One line of the first table.
#[derive(Clone, Copy, Default)]
struct Row {
    scripts: u64,
    modules: u64,
    assertions: u64,
    equal: u64,
    passed: u64,
    refusals: u64,
}

/// Where wasmtime itself doesn't do what a script expects, by its outcomes.
#[derive(Default)]
struct NotPassed {
    modules: u64,
    assertions: u64,
    refusals: u64,
    outcomes: BTreeMap<String, Vec<usize>>,
}

#[derive(Default)]
struct Counts {
    rows: Vec<(String, Row)>,
    assertions: BTreeMap<&'static str, u64>,
    not_passed: Vec<(String, NotPassed)>,
    differences: Vec<String>,
}

impl Report {
    pub(crate) fn new(runs: &[Ran<'_>]) -> Report {
        let mut counts = Counts::default();
        for ran in runs {
            counts.add(ran);
        }
        let mut work = Work::default();
        for of_script in runs.iter().flat_map(|ran| ran.work) {
            work.add(&of_script);
        }
        let text = counts.text(&work).expect("strings can be written to");
        Report { text, differences: counts.differences, work }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl Counts {
    fn add(&mut self, ran: &Ran<'_>) {
        let path = ran.script.path();
        let mut row = Row { scripts: 1, ..Row::default() };
        let mut not_passed = NotPassed::default();
        if ran.calls_differ {
            self.differences.push(format!("{path}: a recorder inside records other calls than one beside"));
        }
        match &ran.steps {
            Ok(steps) => {
                for step in steps {
                    if ran.script.group == OWN && !step.original.passed {
                        let (line, text) = (step.line, &step.original.text);
                        self.differences.push(format!("{path}, line {line}: original: {text}"));
                    }
                    self.compare(&path, step);
                    row.add(step);
                    not_passed.add(step);
                    if let Some(assertion) = step.assertion {
                        *self.assertions.entry(assertion).or_default() += 1;
                    }
                }
            }
            Err(error) => self.differences.push(format!("{path} can't be read: {error}")),
        }
        if !not_passed.outcomes.is_empty() {
            self.not_passed.push((path, not_passed));
        }
        match self.rows.last_mut() {
            Some((group, sum)) if *group == ran.script.group => sum.sum(&row),
            _ => self.rows.push((ran.script.group.clone(), row)),
        }
    }

    fn compare(&mut self, path: &str, step: &Tested) {
        for (run, rewritten) in
            ["", ", imports too", ", inlined", ", inlined and leaves counted", ", profiled"]
                .into_iter()
                .zip(step.all_rewritten())
        {
            let (line, original) = (step.line, &step.original.text);
            if *rewritten != step.original {
                let text = &rewritten.text;
                self.differences
                    .push(format!("{path}, line {line}{run}: original: {original}; rewritten: {text}"));
            }
        }
    }

    fn text(&self, work: &Work) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        writeln!(out, "| scripts | | modules | assertions | equal | passed by wasmtime | to be refused |")?;
        writeln!(out, "|---|--:|--:|--:|--:|--:|--:|")?;
        let mut total = Row::default();
        for (group, row) in &self.rows {
            row.write(group, &mut out)?;
            total.sum(row);
        }
        total.write("**all**", &mut out)?;

        let kinds: Vec<String> = self.assertions.iter().map(|(name, n)| format!("{n} `{name}`")).collect();
        writeln!(out, "\nThe assertions: {}.", kinds.join(", "))?;
        let Work { rewritten, functions, .. } = work;
        writeln!(out, "In the two runs with imported probes, {rewritten} modules got {functions} probes.")?;

        writeln!(out, "\n### What wasmtime does otherwise than a script says\n")?;
        writeln!(out, "| script | modules | assertions | to be refused | what wasmtime says (lines) |")?;
        writeln!(out, "|---|--:|--:|--:|---|")?;
        for (path, not_passed) in &self.not_passed {
            not_passed.write(path, &mut out)?;
        }
        Ok(out)
    }
}

impl Row {
    fn add(&mut self, step: &Tested) {
        self.modules += u64::from(step.module);
        self.refusals += u64::from(step.refusal);
        if step.assertion.is_some() {
            self.assertions += 1;
            self.equal += u64::from(step.all_rewritten().all(|rewritten| *rewritten == step.original));
            self.passed += u64::from(step.original.passed);
        }
    }

    fn sum(&mut self, other: &Row) {
        self.scripts += other.scripts;
        self.modules += other.modules;
        self.assertions += other.assertions;
        self.equal += other.equal;
        self.passed += other.passed;
        self.refusals += other.refusals;
    }

    fn write(&self, name: &str, out: &mut String) -> std::fmt::Result {
        let Row { scripts, modules, assertions, equal, passed, refusals } = self;
        writeln!(out, "| {name} | {scripts} | {modules} | {assertions} | {equal} | {passed} | {refusals} |")
    }
}

impl NotPassed {
    fn add(&mut self, step: &Tested) {
        if step.original.passed {
            return;
        }
        self.refusals += u64::from(step.refusal);
        self.assertions += u64::from(step.assertion.is_some());
        self.modules += u64::from(step.module && step.assertion.is_none());
        self.outcomes.entry(step.original.text.clone()).or_default().push(step.line);
    }

    fn write(&self, path: &str, out: &mut String) -> std::fmt::Result {
        let NotPassed { modules, assertions, refusals, outcomes } = self;
        // Failures that follow from a missing module need no line numbers, unless there are no others.
        let outcomes: Vec<String> = outcomes
            .iter()
            .filter(|(text, _)| *text != NO_INSTANCE || outcomes.len() == 1)
            .map(|(text, lines)| {
                let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
                format!("{text} ({})", lines.join(", "))
            })
            .collect();
        writeln!(out, "| {path} | {modules} | {assertions} | {refusals} | {} |", outcomes.join("; "))
    }
}
