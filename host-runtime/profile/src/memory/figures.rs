//! Figures of a path's allocations.

/// The parts of one block in a [`Count`].
const PARTS: u64 = 1 << 16;

/// A number of blocks with fractions: a sample may represent 3.7 of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(u64);

impl Count {
    /// A single one.
    pub const ONE: Count = Count(PARTS);

    /// A number; at most 2^48.
    pub fn of(number: f64) -> Count {
        Count((number * PARTS as f64).round() as u64)
    }

    /// Rounded to a whole number.
    pub fn get(self) -> u64 {
        self.0 / PARTS + u64::from(self.0 % PARTS >= PARTS / 2)
    }

    /// With its fraction.
    pub fn exact(self) -> f64 {
        self.0 as f64 / PARTS as f64
    }

    /// The product with a number.
    pub(crate) fn times(self, number: u64) -> u64 {
        let product = u128::from(self.0) * u128::from(number) / u128::from(PARTS);
        u64::try_from(product).unwrap_or(u64::MAX)
    }

    /// Adds others.
    pub fn add(&mut self, other: Count) {
        self.0 = self.0.saturating_add(other.0);
    }

    /// Subtracts others, down to 0.
    pub(crate) fn subtract(&mut self, other: Count) {
        self.0 = self.0.saturating_sub(other.0);
    }
}

/// The allocations of one path's calls. A block counts where it was allocated, wherever it was freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapFigures {
    /// Blocks that were allocated, those that others were resized to included.
    pub blocks: Count,
    /// How many bytes were asked for.
    pub bytes: u64,
    /// How many of these blocks came from resizing another.
    pub resized: Count,
    /// Blocks of these that were freed, or resized again, and their bytes.
    pub freed_blocks: Count,
    /// Their bytes.
    pub freed_bytes: u64,
    /// Blocks that were there when the program had the most bytes, and their bytes.
    pub peak_blocks: Count,
    /// Their bytes.
    pub peak_bytes: u64,
    /// Blocks that were there at the end.
    pub live_blocks: Count,
    /// Their bytes.
    pub live_bytes: u64,
    /// How long the blocks were there that were freed, all together, in ticks.
    pub lifetime_ticks: u64,
    /// Allocations that failed.
    pub failed: u64,
    /// Collected objects: the trace doesn't say when they are freed.
    pub objects: Count,
    /// Their bytes.
    pub object_bytes: u64,
    /// Pages by which memories grew.
    pub grown_pages: u64,
    /// How often memories were to grow, and didn't.
    pub failed_growths: u64,
}

impl HeapFigures {
    /// All bytes that were asked for.
    pub fn allocated_bytes(&self) -> u64 {
        self.bytes.saturating_add(self.object_bytes)
    }

    /// All blocks and objects.
    pub fn allocated(&self) -> Count {
        let mut sum = self.blocks;
        sum.add(self.objects);
        sum
    }

    /// Adds other figures to these.
    pub fn add(&mut self, other: &HeapFigures) {
        let counts = [
            (&mut self.blocks, other.blocks),
            (&mut self.resized, other.resized),
            (&mut self.freed_blocks, other.freed_blocks),
            (&mut self.peak_blocks, other.peak_blocks),
            (&mut self.live_blocks, other.live_blocks),
            (&mut self.objects, other.objects),
        ];
        counts.into_iter().for_each(|(sum, more)| sum.add(more));
        let pairs = [
            (&mut self.bytes, other.bytes),
            (&mut self.freed_bytes, other.freed_bytes),
            (&mut self.peak_bytes, other.peak_bytes),
            (&mut self.live_bytes, other.live_bytes),
            (&mut self.lifetime_ticks, other.lifetime_ticks),
            (&mut self.failed, other.failed),
            (&mut self.object_bytes, other.object_bytes),
            (&mut self.grown_pages, other.grown_pages),
            (&mut self.failed_growths, other.failed_growths),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }
}
