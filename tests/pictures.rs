//! The documentation's picture: the call graph of the Game of Life. `BLESS=1` draws it again.

use crate::common::command::{ROOT, kperf, life};
use std::fs;
use std::path::Path;

#[test]
fn the_graph_of_the_game_of_life() {
    let folder = tempfile::tempdir().unwrap();
    kperf(folder.path(), &["run", "-q", "--clock", "test", "--trace", "life.kperf", &life("c")]);
    let options = ["--min-share", "1", "--root", "main"];
    kperf(folder.path(), &[&["graph", "life.kperf", "-o", "life.svg"], &options[..]].concat());
    let svg = fs::read_to_string(folder.path().join("life.svg")).unwrap();
    // `main` only calls `play`: they are one box.
    for name in ["main &gt;", "play", "step", "shouldBecomeLive", "nLiveNeighbors", "isValidPosition"] {
        assert!(svg.contains(&format!(">{name}</text>")), "no box of {name}");
    }
    // In each box, and beside the arrow to it.
    for (calls, times) in [("500 calls", 2), ("200,000 calls", 4), ("1,600,000 calls", 2)] {
        let found =
            svg.matches(&format!(">{calls}<")).count() + svg.matches(&format!("\u{a0}{calls}<")).count();
        let escaped = svg.matches(&format!("&#160;{calls}<")).count();
        assert_eq!(found + escaped, times, "{calls}");
    }
    let committed = Path::new(ROOT).join("examples/game-of-life/life.svg");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&committed, &svg).unwrap();
    }
    let expected = fs::read_to_string(&committed).unwrap_or_default();
    assert!(svg == expected, "{} isn't what is drawn now: BLESS=1 draws it anew", committed.display());
}
