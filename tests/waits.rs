//! A program's own waits are no function's self time, in profiles and in traces, also where the kernel refuses events of performance.
#![allow(unsafe_code)] // The C library refuses them.
#![cfg(target_os = "linux")]

use crate::common::command::{Folder, Ran, command};
use serde_json::Value;
use std::io;
use std::os::unix::process::CommandExt;

/// `wait` waits for 400 ms, between two pieces of work that take some 30 ms each.
const MODULE: &str = r#"(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1 1 shared)
  (func $work (local $x i32) (local $n i32)
    (local.set $x (i32.const 1)) (local.set $n (i32.const 10000000))
    (loop $again
      (local.set $x (i32.xor (local.get $x) (i32.shl (local.get $x) (i32.const 13))))
      (local.set $x (i32.xor (local.get $x) (i32.shr_u (local.get $x) (i32.const 17))))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (i32.store (i32.const 256) (local.get $x)))
  (func $wait WAIT)
  (func (export "_start") (call $work) (call $wait) (call $work)))"#;

/// The monotonic clock, in 400 ms.
const POLL: &str = r"
    (i32.store (i32.const 16) (i32.const 1)) (i64.store (i32.const 24) (i64.const 400000000))
    (drop (call $poll_oneoff (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128)))";
const ATOMIC: &str = "(drop (memory.atomic.wait32 (i32.const 512) (i32.const 0) (i64.const 400000000)))";

/// Makes `perf_event_open` fail in the process, as containers do.
fn refuse_events() -> io::Result<()> {
    let step = |code, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut steps = [
        // The number of the system call is the first word.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_perf_event_open as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EACCES as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the calls are as the manual says; the program outlives them.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The report of a run with these flags.
fn report(wait: &str, flags: &[&str], refuses: bool) -> Value {
    let folder = Folder::new().with("main.wat", MODULE.replace("WAIT", wait));
    let args = [&["run", "-q", "--trace", "t.kperf"], flags, &["main.wat"]].concat();
    let mut command = command(&folder, &args);
    if refuses {
        // SAFETY: the closure makes two calls of the kernel, and takes no lock and no memory.
        unsafe { command.pre_exec(refuse_events) };
    }
    let ran = Ran::of(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    folder.json(&["report", "t.kperf", "--format", "json"])
}

fn check(wait: &str, flags: &[&str], refuses: bool) {
    let report = report(wait, flags, refuses);
    let nanos = |value: &Value| value.as_f64().unwrap_or(0.0);
    let function = |name| {
        let functions = report["functions"].as_array().unwrap();
        functions.iter().find(|function| function["name"] == name).unwrap().clone()
    };
    let (waiting, wait) = (nanos(&report["own_wait_nanos"]), function("wait"));
    let about = format!("{flags:?}, refused: {refuses}, waited {waiting}: {wait}");
    // A busy machine may let it wait longer, and a part is for a processor then.
    assert!(waiting > 200e6, "{about}");
    assert!(nanos(&wait["self_nanos"]) < 100e6, "{about}");
    assert!(nanos(&wait["total_nanos"]) > 300e6, "{about}");
    assert!(nanos(&function("work")["self_nanos"]) > 1e6, "{about}");
}

const PROFILES: [&[&str]; 2] = [&["--record", "profile"], &["--record", "profile", "--stack", "shadow"]];
const TRACES: [&[&str]; 3] = [
    &["--record", "trace"],
    &["--record", "trace", "--clock", "precise"],
    &["--record", "trace", "--clock", "precise", "--probe", "import"],
];

#[test]
fn waits_are_no_self_time_of_profiles() {
    for flags in PROFILES {
        for refuses in [false, true] {
            [POLL, ATOMIC].iter().for_each(|wait| check(wait, flags, refuses));
        }
    }
}

#[test]
fn waits_are_no_self_time_of_traces() {
    for flags in TRACES {
        for refuses in [false, true] {
            [POLL, ATOMIC].iter().for_each(|wait| check(wait, flags, refuses));
        }
    }
}
