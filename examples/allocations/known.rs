//! A program that knows what it allocates: its allocator counts, and it says for each part what that counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Counting;

static BYTES: AtomicU64 = AtomicU64::new(0);
static BLOCKS: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);

fn count(bytes: usize, blocks: u64, freed: usize) {
    BYTES.fetch_add(bytes as u64, Relaxed);
    BLOCKS.fetch_add(blocks, Relaxed);
    FREED.fetch_add(freed as u64, Relaxed);
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1, 0);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1, 0);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, 0, layout.size());
        unsafe { System.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, 1, layout.size());
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[repr(align(64))]
struct Aligned([u8; 64]);

#[inline(never)]
fn boxes(n: u32) -> Vec<Box<[u8; 24]>> {
    (0..n).map(|i| Box::new([black_box(i as u8); 24])).collect()
}

#[inline(never)]
fn from_a() -> usize {
    boxes(1000).len()
}

#[inline(never)]
fn from_b() -> usize {
    boxes(300).len()
}

#[inline(never)]
fn grows() -> usize {
    let mut numbers = Vec::new();
    (0..10_000u64).for_each(|n| numbers.push(black_box(n)));
    numbers.len()
}

#[inline(never)]
fn zeroed() -> usize {
    black_box(vec![0u8; black_box(1 << 20)]).len()
}

#[inline(never)]
fn leaks() -> usize {
    (0..5).for_each(|_| std::mem::forget(black_box(vec![1u8; black_box(1000)])));
    5
}

#[inline(never)]
fn texts() -> usize {
    (0..100).map(|n| format!("number {n}").len()).sum()
}

#[inline(never)]
fn aligned() -> usize {
    let many: Vec<Aligned> = (0..black_box(10)).map(|n| Aligned([n; 64])).collect();
    black_box(Box::new(Aligned([1; 64]))).0.len() + many.len()
}

fn part(name: &str, work: fn() -> usize) {
    let counts = || [&BYTES, &BLOCKS, &FREED].map(|count| count.load(Relaxed));
    let before = counts();
    black_box(work());
    let after = counts();
    let [bytes, blocks, freed] = [0, 1, 2].map(|n| after[n] - before[n]);
    eprintln!("{name} {bytes} {blocks} {freed} {}", bytes - freed);
}

fn main() {
    part("from_a", from_a);
    part("from_b", from_b);
    part("grows", grows);
    part("zeroed", zeroed);
    part("leaks", leaks);
    part("texts", texts);
    part("aligned", aligned);
}
