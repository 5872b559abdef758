use super::*;

fn heap(is_shared: bool, records: &[(u32, Allocation)]) -> Heap {
    let mut heap = empty(is_shared, None);
    for (ticks, (recorder, record)) in (1..).zip(records) {
        let node = NodeId(1 + ticks as u32 % 2);
        heap.allocation(lane(*recorder), node, MALLOC, record, ticks);
    }
    heap.end();
    heap
}

fn empty(is_shared: bool, slack: Option<u64>) -> Heap {
    Heap { modules: Modules::one(is_shared), slack, late: 1_000, ..Heap::default() }
}

const MALLOC: FuncId = FuncId(7);

fn lane(recorder: u32) -> LaneId {
    LaneId { recorder, stack: 0 }
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
    assert_eq!((heap.of_node(NodeId(2)).peak_bytes, heap.of_node(NodeId(1)).peak_bytes), (100, 50));
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
    // One allocates three times, the other frees each; in the order of their blocks, with no time in common.
    let allocates = [(0, given(8, 4)), (0, given(8, 5)), (0, given(8, 6))];
    let frees = [(1, freed(8)), (1, freed(8)), (1, freed(8))];
    for records in [[allocates, frees].concat(), [frees, allocates].concat()] {
        let heap = heap(true, &records);
        let total = heap.total();
        assert_eq!((total.live_blocks.get(), total.freed_bytes, heap.peak().0), (0, 15, 6));
        assert_eq!(heap.problems(), HeapProblems::default());
        let told = heap.warnings();
        assert!(told.len() == 1 && told[0].contains("no time in common"), "{told:?}");
    }
}

#[test]
fn samples_are_summed_in_parts() {
    // A sample of 700 bytes, of one in 1,000, stands for 1.99 blocks.
    let mut heap = Heap { sample: 1000, ..heap(false, &[]) };
    for n in 0..10_000 {
        heap.allocation(lane(0), NodeId(1), MALLOC, &given(8 + 8 * n, 700), n);
    }
    heap.end();
    let total = heap.total();
    assert_eq!(total.blocks.get(), 19_864);
    assert!(total.bytes.abs_diff(19_864 * 700) < 10_000, "{}", total.bytes);
    for n in 0..10_000 {
        heap.allocation(lane(0), NodeId(1), MALLOC, &freed(8 + 8 * n), n);
    }
    heap.end();
    assert_eq!((heap.total().live_blocks, heap.total().live_bytes), (Count::default(), 0));
}

#[test]
fn what_no_call_allocated_is_the_hosts() {
    let mut heap = empty(false, None);
    let nodes = vec![Node::new(CallTree::ROOT, HOST), Node::new(CallTree::ROOT, kperf_abi::FuncId(7))];
    let tree = CallTree::new(nodes);
    heap.allocation(lane(0), NodeId(1), MALLOC, &given(8, 100), 1);
    assert_eq!(heap.tree(&tree, |figures| (figures.blocks, figures.bytes)).nodes().len(), 2);
    heap.allocation(lane(0), CallTree::ROOT, MALLOC, &given(16, 50), 1);
    heap.end();
    let bytes = heap.tree(&tree, |figures| (figures.blocks, figures.bytes));
    let rows: Vec<_> = bytes.iter().map(|(_, node)| (node.func, node.calls, node.self_ticks)).collect();
    assert_eq!(rows, [(kperf_abi::FuncId(7), 1, 100), (HOST, 1, 50)]);
    assert_eq!(bytes.total_ticks(), 150);
}

#[test]
fn displaced_blocks_have_a_budget_and_are_told() {
    let many = 2 * MAX_DISPLACED as u64;
    let mut heap = empty(true, Some(5));
    for n in 0..many {
        heap.allocation(lane(0), NodeId(1), MALLOC, &given(8 * (1 + n), 1), 10 * n);
        heap.allocation(lane(0), NodeId(1), MALLOC, &given(8 * (1 + n), 1), 10 * n);
        heap.allocation(lane(1), NodeId(1), MALLOC, &freed(1 + 8 * n), 10 * n);
    }
    heap.end();
    let problems = heap.problems();
    let [given_twice, displaced] = [MAX_DISPLACED as u64, many - MAX_DISPLACED as u64];
    assert_eq!((problems.unknown, problems.given_twice, problems.displaced), (many, given_twice, displaced));
    assert_eq!(heap.total().blocks.get(), 2 * many);
    assert!(heap.warnings().iter().any(|warning| warning.contains("shared memory")));
}

/// Records of lanes, in the order of their blocks: each with its time and its node.
fn timed(records: &[(u32, u64, u32, Allocation)]) -> Heap {
    let mut heap = empty(true, Some(5));
    for (recorder, ticks, node, record) in records {
        heap.allocation(lane(*recorder), NodeId(*node), MALLOC, record, *ticks);
    }
    heap.end();
    heap
}

#[test]
fn threads_are_put_in_the_order_of_time() {
    // One thread's block: it has a block, which the other frees, and has it again. Then that one has it and frees it.
    let one = [(0, 10, 1, given(8, 100)), (0, 100, 1, given(8, 100)), (0, 110, 1, freed(8))];
    let other =
        [(1, 50, 2, freed(8)), (1, 60, 2, given(8, 1)), (1, 90, 2, freed(8)), (1, 200, 2, given(8, 7))];
    for records in [[&one[..], &other].concat(), [&other[..], &one].concat()] {
        let heap = timed(&records);
        let (one, other) = (heap.of_node(NodeId(1)), heap.of_node(NodeId(2)));
        assert_eq!((one.live_blocks.get(), one.freed_bytes, one.lifetime_ticks), (0, 200, 40 + 10));
        assert_eq!((other.live_bytes, other.freed_bytes, other.lifetime_ticks), (7, 1, 30));
        assert_eq!((heap.peak(), heap.warnings().len()), ((100, 10), 0), "{:?}", heap.warnings());
    }
}

#[test]
fn ends_that_no_thread_can_mean_are_told() {
    // No thread frees a block before it is given, except by the difference of two clocks.
    let late = timed(&[(0, 100, 1, given(8, 3)), (1, 90, 2, freed(8))]);
    assert_eq!((late.problems().unknown, late.total().live_bytes), (1, 3));
    let at_once = timed(&[(0, 100, 1, given(8, 3)), (1, 96, 2, freed(8))]);
    assert_eq!((at_once.problems(), at_once.total().live_bytes), (HeapProblems::default(), 0));
    // The order within one thread is known.
    let own = timed(&[(0, 100, 1, freed(8)), (0, 101, 1, given(8, 3))]);
    assert_eq!((own.problems().unknown, own.total().live_bytes), (1, 3));
    // Given twice, and freed once: by the last owner, or by the first so much later that the end isn't the first block's.
    let late = timed(&[(0, 1, 1, given(8, 3)), (1, 2, 2, given(8, 4)), (0, 2_000, 1, freed(8))]);
    assert_eq!((late.problems().given_twice, late.total().live_bytes), (1, 0));
    let twice = timed(&[(0, 1, 1, given(8, 3)), (1, 2, 2, given(8, 4)), (1, 3, 2, freed(8))]);
    assert_eq!((twice.problems().given_twice, twice.total().live_bytes), (1, 0));
}

#[test]
fn clocks_of_threads_may_differ_a_little() {
    // Another thread, with a slow clock, frees the block and gets it again; then it is freed.
    let after =
        [(0, 100, 1, given(8, 3)), (1, 96, 2, freed(8)), (1, 97, 2, given(8, 1)), (0, 102, 1, freed(8))];
    let heap = timed(&after);
    assert_eq!((heap.problems(), heap.total().live_bytes), (HeapProblems::default(), 0));
    assert_eq!((heap.of_node(NodeId(1)).freed_bytes, heap.of_node(NodeId(2)).freed_bytes), (3, 1));
}

#[test]
fn what_has_one_time_comes_in_the_order_in_which_it_can_be() {
    // A ticker gives all of it one time. One allocates and frees, the other frees and allocates in between, whichever lane is first.
    for [one, other] in [[0, 1], [1, 0]] {
        let ones = [
            (one, 7, 1, given(8, 100)),
            (one, 7, 1, freed(8)),
            (one, 7, 1, given(8, 100)),
            (one, 7, 1, freed(8)),
        ];
        let others = [
            (other, 7, 2, freed(8)),
            (other, 7, 2, given(8, 10)),
            (other, 7, 2, freed(8)),
            (other, 7, 2, given(8, 10)),
        ];
        for records in [[ones, others].concat(), [others, ones].concat()] {
            let heap = timed(&records);
            assert_eq!(
                (heap.problems(), heap.total().live_blocks.get(), heap.peak().0),
                (HeapProblems::default(), 0, 100)
            );
        }
    }
}

#[test]
fn an_end_that_nobody_can_mean_moves_no_others() {
    // The first end is of a block that was never given in the trace. Each other end belongs to a block that was given before.
    let mut records = vec![(1, 8, 2, freed(8))];
    for n in 1..100 {
        records.extend([(0, 10 * n, 1, given(8, 1)), (1, 10 * n + 8, 2, freed(8))]);
    }
    let heap = timed(&records);
    assert_eq!((heap.problems().unknown, heap.total().live_blocks.get()), (1, 0), "{:?}", heap.problems());
    assert!(heap.total().lifetime_ticks >= 97 * 8, "{}", heap.total().lifetime_ticks);
}

#[test]
fn eight_threads_that_free_each_others_blocks_are_told_apart() {
    // Numbers that look random say which thread is next, whether it frees, and which block.
    let mut state = 1u64;
    let mut below = |max: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % max
    };
    let mut lanes: [Vec<(u64, Allocation)>; 8] = Default::default();
    let mut blocks: Vec<(u64, u64, usize)> = Vec::new();
    let mut places: Vec<u64> = (1..=20).map(|n| 8 * n).collect();
    let (mut now, mut peak) = (0, 0);
    let mut freed_of = [0; 8];
    for ticks in 1..200_000 {
        let thread = below(8);
        if let Some(place) = if below(2) == 0 { places.pop() } else { None } {
            let size = 1 + below(100) as u64;
            blocks.push((place, size, thread));
            lanes[thread].push((ticks, given(place, size)));
            now += size;
            peak = peak.max(now);
        } else if !blocks.is_empty() {
            let (place, size, owner) = blocks.swap_remove(below(blocks.len()));
            places.push(place);
            lanes[thread].push((ticks, freed(place)));
            now -= size;
            freed_of[owner] += size;
        }
    }
    let records = (0..)
        .zip(&lanes)
        .flat_map(|(n, records)| records.iter().map(move |&(ticks, record)| (n, ticks, n + 1, record)));
    let heap = timed(&records.collect::<Vec<_>>());
    let freed: Vec<u64> = (1..=8).map(|node| heap.of_node(NodeId(node)).freed_bytes).collect();
    assert_eq!((&freed[..], heap.total().live_bytes, heap.peak().0), (&freed_of[..], now, peak));
    assert_eq!(heap.problems(), HeapProblems::default());
}
