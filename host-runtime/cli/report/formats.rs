//! The report as CSV, with exact nanoseconds.

use super::percentiles;
use crate::shared::records::csv_text;
use kperf_profile::{Accuracy, Histograms, Profile, Row, Unit, id_of, printable};
use std::fmt::Write as _;

/// The report as CSV, a line per function; callers as `name:calls`, the most frequent first, separated by semicolons.
pub fn csv(profile: &Profile, accuracy: &Accuracy, rows: &[&Row], histograms: Option<&Histograms>) -> String {
    let mut text = String::from(
        "id,name,calls,total_nanos,self_nanos,share,share_error,average_nanos,min_nanos,max_nanos,unwound,unfinished,callers",
    );
    if histograms.is_some() {
        percentiles::PERCENTILES.iter().for_each(|(name, _)| text.push_str(&format!(",{name}_nanos")));
    }
    text = Unit::of(&profile.header).key(&text);
    text.push('\n');
    for row in rows {
        let callers: Vec<String> = row
            .callers
            .iter()
            .map(|caller| {
                let calls = accuracy.count(caller.calls).map(|calls| format!(":{calls}")).unwrap_or_default();
                format!("{}{calls}", profile.symbols.name(caller.func))
            })
            .collect();
        // An unknown figure is an empty field.
        let figure = |figure: f64, digits: usize| {
            if row.is_counted { String::new() } else { format!("{figure:.digits$}") }
        };
        let error = accuracy.share_error(row.func, row.share, row.calls);
        let count = accuracy.count(row.calls);
        // A profile doesn't see how single calls go.
        let of_calls = |text: String| if profile.sampling().is_some() { String::new() } else { text };
        // Writing to a String doesn't fail.
        let _ = write!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{},{}",
            id_of(row.func).map(|id| id.to_string()).unwrap_or_default(),
            csv_text(&printable(&row.name)),
            count.map(|calls| calls.to_string()).unwrap_or_default(),
            figure(row.total_nanos, 0),
            figure(row.self_nanos, 0),
            figure(row.share, 6),
            error.map(|error| figure(error, 6)).unwrap_or_default(),
            count.map(|_| figure(row.average_nanos, 3)).unwrap_or_default(),
            of_calls(figure(row.min_nanos, 0)),
            of_calls(figure(row.max_nanos, 0)),
            of_calls(row.unwound.to_string()),
            of_calls(row.unfinished.to_string()),
            csv_text(&printable(&callers.join(";"))),
        );
        if let Some(histograms) = histograms {
            for nanos in percentiles::of(profile, histograms, row.func) {
                let _ = write!(text, ",{}", figure(nanos as f64, 0));
            }
        }
        text.push('\n');
    }
    text
}
