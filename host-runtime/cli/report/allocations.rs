//! `report --by allocations` and `allocation-paths`.

use super::{Key, Opts};
use crate::shared::allocations;
use crate::shared::output;
use crate::shared::records::{self, Cell, Column, Format};
use crate::shared::table::{TableOptions, grouped, plural};
use crate::shared::traces;
use anyhow::{Context, bail};
use kperf_profile::{
    CallTree, Count, HOST, Heap, HeapFigures, NodeId, PAGE, Profile, WindowChoice, printable,
};
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

const COLUMNS: [Column; 13] = [
    ("allocated_bytes", "allocated"),
    ("allocations", "blocks"),
    ("total_allocated_bytes", "with callees"),
    ("resized", ""),
    ("freed_bytes", "freed"),
    ("peak_bytes", "at the peak"),
    ("live_bytes", "at the end"),
    ("live_blocks", "blocks left"),
    ("lifetime_nanos", "lived for"),
    ("failed", ""),
    ("grown_pages", "pages grown"),
    ("failed_growths", ""),
    ("name", "name"),
];

/// The greatest number of calls of a path to name, from the innermost.
const MAX_NAMED: usize = 64;

/// A function, or a path of calls.
struct Row {
    name: String,
    figures: HeapFigures,
    /// Its own allocations and its callees'.
    total_bytes: u64,
}

/// Reports. `by_path`: a row for each path of calls, not for each function.
pub(super) fn run(opts: &Opts, by_path: bool) -> anyhow::Result<()> {
    let calls = opts.calls.parse()?;
    if let Some(flag) = calls.of_parts() {
        bail!("blocks are followed through the whole trace; remove {flag}");
    }
    if opts.compensate || opts.window.0 != WindowChoice::Sum {
        bail!("allocations have no times of calls; remove --compensate and --window");
    }
    let (profile, heap) = traces::source(&opts.trace).calls(&calls).observed(Heap::default())?;
    allocations::check(&profile, &heap)?;
    let mut rows = if by_path { by_paths(&profile, &heap) } else { by_functions(&profile, &heap) };
    match opts.sort {
        Key::SelfTime => rows.sort_by_key(|row| std::cmp::Reverse(row.figures.allocated_bytes())),
        Key::Total => rows.sort_by_key(|row| std::cmp::Reverse(row.total_bytes)),
        Key::Calls => rows.sort_by_key(|row| std::cmp::Reverse(row.figures.allocated())),
        Key::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
        Key::Avg | Key::Min | Key::Max => bail!("allocations are sorted by self, total, calls or name"),
    }
    traces::report_health(&profile.health);
    heap.warnings().iter().for_each(output::warn);
    let mut out = BufWriter::new(io::stdout().lock());
    write(opts, &profile, &heap, &rows, &mut out)
        .and_then(|()| out.flush())
        .context("failed to write to stdout")
}

fn by_functions(profile: &Profile, heap: &Heap) -> Vec<Row> {
    let tree = heap.tree(&profile.tree, |figures| (figures.blocks, figures.allocated_bytes()));
    let mut rows: HashMap<_, Row> = HashMap::new();
    // The number of open nodes of each function on the current path.
    let mut open: HashMap<_, u32> = HashMap::new();
    let mut add = |id: NodeId, entered: bool| {
        let Some(node) = tree.get(id) else { return };
        let open = open.entry(node.func).or_default();
        if !entered {
            *open -= 1;
            return;
        }
        let figures = heap.of_node(if node.func == HOST { CallTree::ROOT } else { id });
        if node.total_ticks > 0 || figures != HeapFigures::default() {
            let row = rows.entry(node.func).or_insert_with(|| Row {
                name: profile.symbols.label(node.func),
                figures: HeapFigures::default(),
                total_bytes: 0,
            });
            row.figures.add(&figures);
            if *open == 0 {
                row.total_bytes = row.total_bytes.saturating_add(node.total_ticks);
            }
        }
        *open += 1;
    };
    tree.walk(&mut add);
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}

fn by_paths(profile: &Profile, heap: &Heap) -> Vec<Row> {
    let tree = heap.tree(&profile.tree, |figures| (figures.blocks, figures.allocated_bytes()));
    let mut rows = Vec::new();
    for (id, node) in tree.iter() {
        let figures = heap.of_node(if node.func == HOST { CallTree::ROOT } else { id });
        if figures == HeapFigures::default() {
            continue;
        }
        let mut names = Vec::new();
        let mut at = id;
        while at != CallTree::ROOT && names.len() < MAX_NAMED {
            let Some(node) = tree.get(at) else { break };
            names.push(profile.symbols.label(node.func));
            at = node.parent;
        }
        if at != CallTree::ROOT {
            names.push("..".to_owned());
        }
        rows.push(Row { name: names.join(" < "), figures, total_bytes: node.total_ticks });
    }
    rows
}

fn write(opts: &Opts, profile: &Profile, heap: &Heap, rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let limit = opts.limit.unwrap_or(if opts.format == Format::Table { 30 } else { 0 });
    let options = opts.table_options(profile);
    if opts.format == Format::Table {
        write_head(profile, heap, options, out)?;
    }
    let record = |row: &Row| {
        let Row { name, figures, total_bytes } = row;
        let lifetime =
            profile.header.nanos(figures.lifetime_ticks) as f64 / figures.freed_blocks.exact().max(1.0);
        vec![
            Cell::Count(figures.allocated_bytes()),
            Cell::Count(figures.allocated().get()),
            Cell::Count(*total_bytes),
            Cell::Count(figures.resized.get()),
            Cell::Count(figures.freed_bytes),
            Cell::Count(figures.peak_bytes),
            Cell::Count(figures.live_bytes),
            Cell::Count(figures.live_blocks.get()),
            if figures.freed_blocks.get() == 0 { Cell::Untimed } else { Cell::Nanos(lifetime) },
            Cell::Count(figures.failed),
            Cell::Count(figures.grown_pages),
            Cell::Count(figures.failed_growths),
            Cell::Name(printable(name).into_owned()),
        ]
    };
    let records: Vec<_> = rows.iter().map(record).collect();
    records::write(opts.format, &COLUMNS, &records, limit, options, out)
}

fn write_head(profile: &Profile, heap: &Heap, options: TableOptions, out: &mut impl Write) -> io::Result<()> {
    for recorded in allocations::recorded(profile) {
        writeln!(out, "# {}", allocations::allocators(recorded))?;
        if recorded.sample > 0 {
            let sample = grouped(recorded.sample);
            writeln!(
                out,
                "# samples, one in {sample} bytes on average: all figures of blocks are estimates"
            )?;
        }
    }
    let total = heap.total();
    let bytes =
        |bytes: u64, blocks: Count| format!("{} bytes in {}", grouped(bytes), plural(blocks.get(), "block"));
    writeln!(
        out,
        "# allocated {}; freed {}",
        bytes(total.bytes, total.blocks),
        bytes(total.freed_bytes, total.freed_blocks)
    )?;
    let (peak, ticks) = heap.peak();
    let when = options.unit.text(profile.header.nanos(ticks.saturating_sub(profile.start_ticks)));
    writeln!(
        out,
        "# at the peak {} bytes, after {when}; at the end {}",
        grouped(peak),
        bytes(total.live_bytes, total.live_blocks)
    )?;
    if total.objects > Count::default() {
        writeln!(
            out,
            "# collected objects: {} bytes in {}; when they are freed is not recorded",
            grouped(total.object_bytes),
            plural(total.objects.get(), "object")
        )?;
    }
    if total.failed > 0 {
        writeln!(out, "# {} failed", plural(total.failed, "allocation"))?;
    }
    let pages = heap.pages();
    if pages == 0 && total.failed_growths > 0 {
        // Its size is not recorded.
        writeln!(out, "# memory didn't grow, {} in vain", plural(total.failed_growths, "time"))?;
    } else if pages > 0 {
        let failed = match total.failed_growths {
            0 => String::new(),
            failed => format!("; {} not", plural(failed, "time")),
        };
        writeln!(
            out,
            "# memory grew by {} to {} bytes{failed}",
            plural(total.grown_pages, "page"),
            grouped(pages.saturating_mul(PAGE))
        )?;
    }
    Ok(())
}
