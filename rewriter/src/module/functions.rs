//! Sets of function indices.

/// A set of function indices: a bit for each.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionSet {
    words: Vec<u64>,
}

impl FunctionSet {
    /// A set with these indices.
    pub(crate) fn of(indices: impl Iterator<Item = u32>) -> FunctionSet {
        let mut set = FunctionSet::default();
        indices.for_each(|index| _ = set.insert(index));
        set
    }

    /// Returns whether the index is new.
    pub(crate) fn insert(&mut self, index: u32) -> bool {
        let (word, bit) = place(index);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let before = self.words[word];
        self.words[word] |= bit;
        before & bit == 0
    }

    #[inline]
    pub(crate) fn contains(&self, index: u32) -> bool {
        let (word, bit) = place(index);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Whether the sets share a function.
    pub(crate) fn meets(&self, other: &FunctionSet) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
}

fn place(index: u32) -> (usize, u64) {
    (index as usize / 64, 1 << (index % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_into_it() {
        let mut set = FunctionSet::default();
        assert!(set.is_empty() && set.insert(3) && set.insert(64) && !set.insert(3) && !set.is_empty());
        assert_eq!(
            [2, 3, 64, 65, 1_000_000].map(|index| set.contains(index)),
            [false, true, true, false, false]
        );
        let mut other = FunctionSet::default();
        assert!(!set.meets(&other) && other.insert(64) && set.meets(&other));
    }
}
