//! A WASI command: counts words, and computes a Fibonacci number the slow way. `command 20 "a text"`.

use std::collections::BTreeMap;
use std::process::ExitCode;

#[inline(never)]
fn fibonacci(n: u32) -> u64 {
    if n < 2 { n.into() } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

#[inline(never)]
fn words(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let n = args.next().and_then(|arg| arg.parse().ok()).unwrap_or(10);
    println!("{}", fibonacci(n));
    for (word, count) in words(&args.next().unwrap_or_default()) {
        println!("{count} {word}");
    }
    match args.next().as_deref() {
        Some("fail") => ExitCode::from(3),
        Some("panic") => panic!("as you wish"),
        _ => ExitCode::SUCCESS,
    }
}
