//! When events look at the clock.

use crate::common::engine_with;
use crate::common::exits::{compile, engine};
use kperf_abi::block::{CAPACITY, CLOCK, CLOCK_OFF, HEADER_LEN, LIMIT, START};
use kperf_abi::names::{HOST_FLUSH, HOST_MODULE, HOST_NOW};
use kperf_abi::word::Word;
use kperf_rewriter::{Leaf, Recording};
use wasmtime::{Caller, Engine, Instance, Linker, Module, SharedMemory, Store, TypedFunc};

const GUEST: &str = r#"(module (import "host" "h" (func $h)) (memory 1)
    (func (export "calls") (call $h))
    (func (export "traps") (drop (i32.load (i32.const 0))))
    (func (export "nothing")))"#;

#[test]
fn an_event_looks_at_the_clock_when_it_was_written_and_only_then() {
    for (name, leaf) in
        [("calls", Leaf::Time), ("traps", Leaf::Time), ("nothing", Leaf::Time), ("nothing", Leaf::Count)]
    {
        let mut guest = Bare::new(&engine(), GUEST, name, leaf);
        // Before somebody has written the time the host is asked.
        for _ in 0..2 {
            let seen = guest.call(None);
            assert!(seen.asked > 0 && seen.times > 0, "{name}: {seen:?}");
            assert_eq!(guest.word(LIMIT), 0, "{name}");
        }
        // It goes back, it moves, it stands, it moves.
        for (time, times) in [(1, 0), (5000, 1), (5000, 0), (6000, 1)] {
            let seen = guest.call(Some(time));
            assert_eq!((seen.asked, seen.times), (0, times), "{name} at {time}");
            assert_eq!(guest.word(LIMIT) as usize, START + CAPACITY - 24, "{name} at {time}");
            let seen = guest.call(None);
            assert_eq!((seen.asked, seen.times), (0, 0), "{name} behind {time}");
        }
        for time in [Some(CLOCK_OFF), None] {
            assert_eq!(guest.call(time), Seen::default(), "{name}");
        }
        assert!(guest.call(Some(0)).asked > 0, "{name}");
        guest.call(Some(10_000));
        if name == "calls" {
            for (time, seen) in [
                (20_000, Seen { asked: 0, times: 1, events: 2 }),
                (CLOCK_OFF, Seen { asked: 0, times: 0, events: 1 }),
            ] {
                guest.store.data_mut().at_h = Some(time);
                assert_eq!(guest.call(None), seen, "{time} while it runs");
            }
            guest.store.data_mut().at_h = None;
            guest.call(Some(30_000));
        }
        // A block ends where there may be no room for an event.
        guest.store.data_mut().flushed.clear();
        (0..70_000).for_each(|_| guest.function.call(&mut guest.store, ()).unwrap());
        let flushed = &guest.store.data().flushed;
        assert!(flushed.len() > 1 && flushed.iter().all(|&length| length == CAPACITY - 24), "{flushed:?}");
    }
}

#[test]
fn no_time_is_lost_that_another_thread_writes() {
    const WRITES: u64 = 200;
    let mut guest = Bare::new(&engine(), GUEST, "nothing", Leaf::Time);
    // From here on the host isn't asked, whose time is another.
    guest.call(Some(1));
    for round in 1..=200 {
        let memory = guest.memory.clone();
        let engine = guest.store.engine().clone();
        let writer = std::thread::spawn(move || {
            let mut store = Store::new(&engine, ());
            let Access { write, .. } = Access::new(&mut store, &memory);
            (0..WRITES).for_each(|n| write.call(&mut store, 1000 * round + n).unwrap());
        });
        while !writer.is_finished() {
            guest.function.call(&mut guest.store, ()).unwrap();
        }
        writer.join().unwrap();
        guest.function.call(&mut guest.store, ()).unwrap();
        assert_eq!(guest.last(), 1000 * round + WRITES - 1);
    }
}

#[test]
fn a_time_is_seen_though_the_event_that_looked_was_interrupted() {
    const PLENTY: u64 = 1 << 40;
    let engine = engine_with(|config| {
        config.consume_fuel(true);
    });
    for name in ["traps", "nothing"] {
        let mut guest = Bare::new(&engine, GUEST, name, Leaf::Time);
        for fuel in 0.. {
            guest.store.set_fuel(PLENTY).unwrap();
            let time = 1000 * (fuel + 1);
            guest.access.write.call(&mut guest.store, time).unwrap();
            guest.store.set_fuel(fuel).unwrap();
            let ended = guest.function.call(&mut guest.store, ());
            guest.store.set_fuel(PLENTY).unwrap();
            guest.function.call(&mut guest.store, ()).unwrap();
            assert_eq!(guest.last(), time, "{name} with fuel for {fuel}");
            if ended.is_ok() {
                assert!(fuel > 20, "{name}: {fuel}");
                break;
            }
        }
    }
}

/// An instance with its recorder and without a [`Recorder`]: the test writes its clock.
struct Bare {
    store: Store<Host>,
    instance: Instance,
    function: TypedFunc<(), ()>,
    memory: SharedMemory,
    access: Access,
}

/// Access to a recorder's memory, from any thread.
struct Access {
    write: TypedFunc<u64, ()>,
    word: TypedFunc<u32, u32>,
}

impl Access {
    fn new<T: 'static>(store: &mut Store<T>, memory: &SharedMemory) -> Access {
        let text = format!(
            r#"(module (import "kperf" "memory" (memory 2 2 shared))
                (func (export "write") (param i64)
                  (i64.store (i32.const {CLOCK}) (local.get 0)) (i32.store (i32.const {LIMIT}) (i32.const 0)))
                (func (export "word") (param i32) (result i32) (i32.load (local.get 0))))"#
        );
        let module = Module::new(store.engine(), wat::parse_str(text).unwrap()).unwrap();
        let instance = Instance::new(&mut *store, &module, &[memory.clone().into()]).unwrap();
        Access {
            write: instance.get_typed_func(&mut *store, "write").unwrap(),
            word: instance.get_typed_func(&mut *store, "word").unwrap(),
        }
    }
}

#[derive(Default)]
struct Host {
    asked: u64,
    /// How long the blocks are that were handed over.
    flushed: Vec<usize>,
    /// What the clock is set to where the guest calls the host.
    at_h: Option<u64>,
    write: Option<TypedFunc<u64, ()>>,
}

/// What a call did: how often it asked for the time, how many words of time it wrote, and how many others.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    asked: u64,
    times: usize,
    events: usize,
}

impl Bare {
    fn new(engine: &Engine, guest: &str, name: &str, leaf: Leaf) -> Bare {
        let mut store = Store::new(engine, Host::default());
        let mut linker = Linker::new(engine);
        let now = |mut caller: Caller<'_, Host>| {
            caller.data_mut().asked += 1;
            10 * caller.data().asked
        };
        linker.func_wrap(HOST_MODULE, HOST_NOW, now).unwrap();
        let flush = |mut caller: Caller<'_, Host>, _: u32, length: u32| {
            caller.data_mut().flushed.push(length as usize);
        };
        linker.func_wrap(HOST_MODULE, HOST_FLUSH, flush).unwrap();
        let h = |mut caller: Caller<'_, Host>| match (caller.data().at_h, caller.data().write.clone()) {
            (Some(time), Some(write)) => write.call(&mut caller, time),
            _ => Ok(()),
        };
        linker.func_wrap("host", "h", h).unwrap();
        let module = compile(engine, guest, Recording::inline_with(leaf));
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let memory = instance.get_shared_memory(&mut store, "kperf.memory").unwrap();
        let access = Access::new(&mut store, &memory);
        let function = instance.get_typed_func(&mut store, name).unwrap();
        store.data_mut().write = Some(access.write.clone());
        Bare { store, instance, function, memory, access }
    }

    fn word(&mut self, address: usize) -> u32 {
        self.access.word.call(&mut self.store, address as u32).unwrap()
    }

    /// The time of the last word.
    fn last(&mut self) -> u64 {
        let last = self.instance.get_global(&mut self.store, "kperf.state.last").unwrap();
        last.get(&mut self.store).unwrap_i64() as u64
    }

    /// Calls the function, perhaps after the clock was written.
    fn call(&mut self, time: Option<u64>) -> Seen {
        if let Some(time) = time {
            self.access.write.call(&mut self.store, time).unwrap();
        }
        let asked = self.store.data().asked;
        self.function.call(&mut self.store, ()).unwrap();
        let mut seen = Seen { asked: self.store.data().asked - asked, ..Seen::default() };
        let head = self.instance.get_global(&mut self.store, "kperf.state.head").unwrap();
        let end = head.get(&mut self.store).unwrap_i64() as u32 as usize;
        for address in (START + HEADER_LEN..end).step_by(4) {
            match Word::decode(self.word(address)) {
                Some(Word::Time(_)) => seen.times += 1,
                Some(Word::Enter(_) | Word::Leave | Word::Leaf(_)) => seen.events += 1,
                word => panic!("{word:?}"),
            }
        }
        let flush = self.instance.get_typed_func::<(), ()>(&mut self.store, "kperf.flush").unwrap();
        flush.call(&mut self.store, ()).unwrap();
        seen
    }
}
