//! Pictures of the figures, as SVG.

use crate::configuration::PLAIN;
use crate::statistics::Row;
use anyhow::anyhow;
use plotters::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

const COLORS: [RGBColor; 6] = [
    RGBColor(0x44, 0x66, 0xaa),
    RGBColor(0xcc, 0x55, 0x33),
    RGBColor(0x33, 0x88, 0x55),
    RGBColor(0x88, 0x55, 0xaa),
    RGBColor(0xbb, 0x88, 0x22),
    RGBColor(0x55, 0x55, 0x55),
];
const FONT: &str = "sans-serif";

/// A bar for each configuration, as long as a call takes, on a logarithmic scale; the line at its end is the confidence
/// interval.
pub(crate) fn bars(path: &Path, title: &str, rows: &[Row]) -> anyhow::Result<()> {
    let end = |row: &Row| if row.interval.is_finite() { row.mean + row.interval } else { row.mean };
    let most = rows.iter().map(end).fold(1.0, f64::max) * 1.6;
    let least = rows.iter().map(|row| row.mean).fold(most, f64::min) / 1.6;
    let root = SVGBackend::new(path, (760, 80 + 26 * rows.len() as u32)).into_drawing_area();
    root.fill(&WHITE).map_err(told)?;
    let count = rows.len() as i32;
    let mut chart = ChartBuilder::on(&root)
        .caption(format!("{title}: ns a call"), (FONT, 15))
        .margin(8)
        .x_label_area_size(26)
        .y_label_area_size(200)
        .build_cartesian_2d((least..most).log_scale(), (0..count).into_segmented())
        .map_err(told)?;
    let name = |at: &SegmentValue<i32>| match at {
        // From the top down; the axis has one more.
        SegmentValue::CenterOf(n) => {
            let row = usize::try_from(count - 1 - n).ok().and_then(|n| rows.get(n));
            row.map_or_else(String::new, |row| row.name.to_owned())
        }
        _ => String::new(),
    };
    let nanos = |nanos: &f64| nanos.to_string();
    let mesh = &mut chart.configure_mesh();
    mesh.disable_y_mesh().y_labels(rows.len()).y_label_formatter(&name);
    mesh.x_label_formatter(&nanos).draw().map_err(told)?;
    for (n, row) in rows.iter().enumerate() {
        let at = count - 1 - n as i32;
        let color = if row.name == PLAIN { COLORS[5] } else { COLORS[0] };
        let mut bar = Rectangle::new(
            [(least, SegmentValue::Exact(at)), (row.mean, SegmentValue::Exact(at + 1))],
            color.filled(),
        );
        bar.set_margin(4, 4, 0, 0);
        chart.draw_series([bar]).map_err(told)?;
        let (from, to) = ((row.mean - row.interval).max(least), end(row));
        if from.is_finite() {
            let line = [(from, SegmentValue::CenterOf(at)), (to, SegmentValue::CenterOf(at))];
            chart.draw_series([PathElement::new(line, BLACK.stroke_width(2))]).map_err(told)?;
        }
        let text = Text::new(
            format!("{:.1}", row.mean),
            (to.max(row.mean) * 1.03, SegmentValue::CenterOf(at)),
            (FONT, 12),
        );
        chart.draw_series([text]).map_err(told)?;
    }
    root.present().map_err(told)
}

/// A line for each configuration: what a whole recursion takes, by its depth; medians.
pub(crate) fn lines(path: &Path, title: &str, depths: &BTreeMap<u32, &Vec<Row>>) -> anyhow::Result<()> {
    let micros = |depth: u32, row: &Row| f64::from(depth) * row.quartiles[1] / 1e3;
    let (Some((_, first)), Some((&deepest, _))) = (depths.first_key_value(), depths.last_key_value()) else {
        return Ok(());
    };
    let all = depths.iter().flat_map(|(&depth, rows)| rows.iter().map(move |row| micros(depth, row)));
    let most = all.fold(0.0, f64::max) * 1.05;
    let root = SVGBackend::new(path, (760, 420)).into_drawing_area();
    root.fill(&WHITE).map_err(told)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, (FONT, 15))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(0..deepest, 0.0..most)
        .map_err(told)?;
    chart.configure_mesh().x_desc("depth").y_desc("microseconds").draw().map_err(told)?;
    for (n, row) in first.iter().enumerate() {
        let color = COLORS[n % COLORS.len()];
        let points: Vec<(u32, f64)> =
            depths.iter().filter_map(|(&depth, rows)| Some((depth, micros(depth, rows.get(n)?)))).collect();
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)).point_size(3))
            .map_err(told)?
            .label(row.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
    }
    let legend = &mut chart.configure_series_labels();
    legend
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3));
    legend.draw().map_err(told)?;
    root.present().map_err(told)
}

fn told(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("a picture: {error}")
}
