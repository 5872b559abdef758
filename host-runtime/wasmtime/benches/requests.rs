//! What a store for each request costs with a recorder: `cargo bench --workspace --bench requests`.
//!
//! A pooled, pre-instantiated guest answers each request in a store of its own, which lives as long as the request. It makes no calls,
//! or 45. Goals: 1.5 us more for a store that records nothing, 1.5 x the plain request for 45 calls. With the precise clock two readings
//! of it are in each call. What the writers' threads take is told as well: they are busy while the requests go on.
#![allow(missing_docs, clippy::print_stdout, unsafe_code)]

use anyhow::ensure;
use kperf_rewriter::{Options, rewrite};
use kperf_wasmtime::{ClockChoice, HostLane, Recorder};
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module, PoolingAllocationConfig, Store,
};

const GUEST: &str = r#"(module
    (memory 1)
    (func $work (param i32) (result i32) (i32.add (i32.load (local.get 0)) (i32.const 1)))
    (func (export "handle") (param i32) (result i32) (local $sum i32)
      (block $done
        (br_if $done (i32.eqz (local.get 0)))
        (loop $more
          (local.set $sum (i32.add (local.get $sum) (call $work (i32.const 64))))
          (br_if $more (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
      (local.get $sum)))"#;

/// What a store's data have.
type Data = Option<HostLane>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lane {
    None,
    /// It records nothing.
    Off,
    On,
}

fn lane(data: &mut Data) -> &mut HostLane {
    // Every store of a recorded configuration has one.
    data.as_mut().unwrap_or_else(|| unreachable!())
}

/// What this thread has computed so far: on a busy machine that is steadier than the time of day.
fn thread_nanos() -> f64 {
    // SAFETY: plain data, which the call fills in.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time);
        time
    };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Nanoseconds a request.
fn serve(
    pre: &InstancePre<Data>,
    recorder: &Recorder,
    which: Lane,
    calls: i32,
    n: u32,
) -> anyhow::Result<f64> {
    let begun = thread_nanos();
    for _ in 0..n {
        let data = (which != Lane::None).then(|| {
            let mut lane = recorder.host_lane();
            lane.set_recording(Some(which == Lane::On));
            lane
        });
        let mut store = Store::new(pre.module().engine(), data);
        let call = |store: &mut Store<Data>| {
            let instance = pre.instantiate(&mut *store)?;
            instance.get_typed_func::<i32, i32>(&mut *store, "handle")?.call(store, calls)
        };
        let sum = match which {
            Lane::None => call(&mut store)?,
            _ => HostLane::call(&mut store, lane, call)?,
        };
        ensure!(sum == calls, "the guest answered {sum}");
    }
    Ok((thread_nanos() - begun) / f64::from(n))
}

/// What the writers' threads have computed so far; `None` where the system doesn't tell.
fn writer_nanos() -> Option<f64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?.flatten().map(|task| task.path());
    let is_writer = |task: &std::path::PathBuf| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "kperf-writer")
    };
    let nanos = |task: std::path::PathBuf| -> Option<f64> {
        let times = std::fs::read_to_string(task.join("schedstat")).ok()?;
        times.split(' ').next()?.parse().ok()
    };
    tasks.filter(is_writer).map(nanos).sum()
}

fn main() -> anyhow::Result<()> {
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let (rounds, requests) = if is_bench { (15, 20_000) } else { (1, 500) };
    let mut config = Config::new();
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(8).total_memories(8).linear_memory_keep_resident(1 << 20);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    let engine = Engine::new(&config)?;
    let wasm = wat::parse_str(GUEST)?;
    let rewritten = rewrite(&wasm, &Options::default())?;
    let [plain, probed] = [&wasm, &rewritten.wasm].map(|wasm| Module::new(&engine, wasm));
    let folder = tempfile::tempdir()?;
    let recorder_with = |clock, file: &str| {
        Recorder::builder()
            .clock(clock)
            .calibrate(false)
            .symbols(rewritten.symbols.to_bytes())
            .sink(std::fs::File::create(folder.path().join(file))?)
            .build(&engine)
            .map_err(anyhow::Error::from)
    };
    let ticker = ClockChoice::Ticker { period: ClockChoice::PERIOD };
    let recorders =
        [recorder_with(ClockChoice::Precise, "precise.kperf")?, recorder_with(ticker, "ticker.kperf")?];
    let [precise, ticker] = &recorders;
    let mut linker: Linker<Data> = Linker::new(&engine);
    // Each store brings a lane of its recorder's.
    precise.add_to_linker(&mut linker, lane)?;
    let [plain, probed] = [linker.instantiate_pre(&plain?)?, linker.instantiate_pre(&probed?)?];
    let configurations = [
        ("plain, no calls", &plain, precise, Lane::None, 0),
        ("recorded, nothing to tell", &plain, precise, Lane::On, 0),
        ("not recorded, no calls", &probed, precise, Lane::Off, 0),
        ("recorded, one call", &probed, precise, Lane::On, 0),
        ("the same with a ticker", &probed, ticker, Lane::On, 0),
        ("plain, 45 calls", &plain, precise, Lane::None, 45),
        ("not recorded, 46 calls", &probed, precise, Lane::Off, 45),
        ("recorded, 46 calls", &probed, precise, Lane::On, 45),
        ("the same with a ticker", &probed, ticker, Lane::On, 45),
    ];
    let mut times = vec![Vec::new(); configurations.len()];
    for _ in 0..rounds {
        for (&(_, pre, recorder, which, calls), times) in configurations.iter().zip(&mut times) {
            times.push(serve(pre, recorder, which, calls, requests)?);
        }
    }
    println!(
        "{requests} requests a round, {rounds} rounds in turn; nanoseconds of the serving thread a request\n"
    );
    println!("{:28}{:>8}{:>8}{:>8}{:>8}", "", "min", "median", "added", "ratio");
    let mut base = 0.0;
    for (&(name, _, _, which, _), times) in configurations.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let (min, median) = (times[0], times[times.len() / 2]);
        if which == Lane::None {
            base = min;
        }
        println!("{name:28}{min:8.0}{median:8.0}{:8.0}{:8.2}", min - base, min / base);
    }
    let writers = writer_nanos();
    let events = u64::from(requests) * rounds as u64 * (2 + 2 * 46);
    let (mut blocks, mut waits) = (0, 0);
    for recorder in recorders {
        waits += recorder.stats().waits.count;
        let summary = recorder.finish("completed")?;
        ensure!(
            summary.events == events && summary.dropped_events == 0,
            "{summary:?} instead of {events} events"
        );
        blocks += summary.blocks;
    }
    println!(
        "\n{} events in {blocks} blocks; guests waited {waits} times; the writers' threads took {:.0} ns a block before the end",
        2 * events,
        writers.unwrap_or(f64::NAN) / blocks as f64
    );
    Ok(())
}
