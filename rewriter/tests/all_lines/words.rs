use std::collections::{BTreeMap, HashMap};
fn words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()) {
        *counts.entry(word).or_default() += 1;
    }
    counts
}
fn main() {
    let text = std::env::args().collect::<Vec<_>>().join(" ");
    let sorted: BTreeMap<_, _> = words(&text).into_iter().collect();
    for (word, count) in &sorted { println!("{word}: {count}"); }
}
