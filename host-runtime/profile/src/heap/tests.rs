use super::*;

fn heap(is_shared: bool, records: &[(u32, Allocation)]) -> Heap {
    let mut heap = Heap::new(is_shared);
    for (ticks, (recorder, record)) in (1..).zip(records) {
        let lane = LaneId { recorder: *recorder, stack: 0 };
        heap.allocation(lane, NodeId(1 + ticks as u32 % 2), record, ticks);
    }
    heap
}

const fn given(pointer: u64, size: u64) -> Allocation {
    Allocation::Allocated { pointer, size }
}

const fn freed(pointer: u64) -> Allocation {
    Allocation::Freed { pointer }
}

#[test]
fn blocks_are_followed_to_their_end() {
    let records = [
        (0, given(8, 100)),
        (0, given(16, 50)),
        (0, freed(8)),
        (0, Allocation::ResizedFrom { pointer: 16 }),
        (0, Allocation::ResizedTo { pointer: 24, size: 70 }),
    ];
    let heap = heap(false, &records);
    let total = heap.total();
    assert_eq!((total.blocks.get(), total.bytes, total.resized.get()), (3, 220, 1));
    assert_eq!((total.freed_blocks.get(), total.freed_bytes, total.lifetime_ticks), (2, 150, 4));
    assert_eq!((total.live_blocks.get(), total.live_bytes), (1, 70));
    assert_eq!((heap.peak(), total.peak_blocks.get(), total.peak_bytes), ((150, 2), 2, 150));
    assert_eq!((heap.of(NodeId(2)).peak_bytes, heap.of(NodeId(1)).peak_bytes), (100, 50));
    assert_eq!(heap.problems(), HeapProblems::default());
}

#[test]
fn each_instance_has_its_own_addresses() {
    let records = [(0, given(8, 1)), (1, given(8, 2)), (0, freed(8))];
    assert_eq!(heap(false, &records).total().live_bytes, 2);
}

#[test]
fn what_does_not_fit_is_told() {
    let heap =
        heap(false, &[(0, freed(8)), (0, given(8, 4)), (0, given(8, 5)), (0, freed(8)), (0, freed(8))]);
    assert_eq!(heap.problems(), HeapProblems { unknown: 2, given_twice: 1, ..HeapProblems::default() });
    assert_eq!((heap.total().live_bytes, heap.warnings().len()), (0, 2));
}

#[test]
fn threads_may_come_in_any_order() {
    // One allocates three times, the other frees each; in the order of their blocks.
    let allocates = [(0, given(8, 4)), (0, given(8, 5)), (0, given(8, 6))];
    let frees = [(1, freed(8)), (1, freed(8)), (1, freed(8))];
    for records in [[allocates, frees].concat(), [frees, allocates].concat()] {
        let heap = heap(true, &records);
        let total = heap.total();
        assert_eq!((total.live_blocks.get(), total.freed_bytes, heap.problems().unknown), (0, 15, 0));
        let told = heap.warnings();
        assert!(told.len() == 1 && told[0].contains("in another order than that of time"), "{told:?}");
    }
}

#[test]
fn samples_are_summed_in_parts() {
    // A sample of 700 bytes, of one in 1,000, stands for 1.99 blocks.
    let mut heap = Heap { sample: 1000, ..heap(false, &[]) };
    let lane = LaneId { recorder: 0, stack: 0 };
    for n in 0..10_000 {
        heap.allocation(lane, NodeId(1), &given(8 + 8 * n, 700), n);
    }
    let total = heap.total();
    assert_eq!(total.blocks.get(), 19_864);
    assert!(total.bytes.abs_diff(19_864 * 700) < 10_000, "{}", total.bytes);
    for n in 0..10_000 {
        heap.allocation(lane, NodeId(1), &freed(8 + 8 * n), n);
    }
    assert_eq!((heap.total().live_blocks, heap.total().live_bytes), (Count::default(), 0));
}

#[test]
fn what_no_call_allocated_is_the_hosts() {
    let lane = LaneId { recorder: 0, stack: 0 };
    let mut heap = Heap::new(false);
    let nodes = vec![Node::new(CallTree::ROOT, HOST), Node::new(CallTree::ROOT, kperf_abi::FuncId(7))];
    let tree = CallTree::new(nodes);
    heap.allocation(lane, NodeId(1), &given(8, 100), 1);
    assert_eq!(heap.tree(&tree, |figures| (figures.blocks, figures.bytes)).nodes().len(), 2);
    heap.allocation(lane, CallTree::ROOT, &given(16, 50), 1);
    let bytes = heap.tree(&tree, |figures| (figures.blocks, figures.bytes));
    let rows: Vec<_> = bytes.iter().map(|(_, node)| (node.func, node.calls, node.self_ticks)).collect();
    assert_eq!(rows, [(kperf_abi::FuncId(7), 1, 100), (HOST, 1, 50)]);
    assert_eq!(bytes.total_ticks(), 150);
}

#[test]
fn displaced_blocks_have_a_budget_and_are_told() {
    let many = 2 * MAX_DISPLACED as u64;
    let lane = LaneId { recorder: 0, stack: 0 };
    let mut heap = Heap::new(true);
    for n in 0..many {
        heap.allocation(lane, NodeId(1), &given(8 * (1 + n / 2), 1), n);
        heap.allocation(lane, NodeId(1), &given(8 * (1 + n / 2), 1), n);
        heap.allocation(lane, NodeId(1), &freed(1 + 8 * n), n);
    }
    let problems = heap.problems();
    assert_eq!(problems.displaced, 3 * many / 2 - MAX_DISPLACED as u64 + many - MAX_DISPLACED as u64);
    assert_eq!(heap.total().blocks.get(), 2 * many);
    assert!(heap.warnings().iter().any(|warning| warning.contains("shared memory")));
}
