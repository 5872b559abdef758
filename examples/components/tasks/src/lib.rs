//! A WASI 0.3 command: three tasks compute and wait at the same time, and each writes a line when it is done. `tasks 20`.

use futures::future::join_all;
use wasip3::clocks::monotonic_clock;
use wasip3::{cli, wit_stream};

struct Tasks;

wasip3::cli::command::export!(Tasks);

#[inline(never)]
fn fibonacci(n: u32) -> u64 {
    if n < 2 { n.into() } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

/// Computes, waits, and computes again.
async fn task(number: u32, n: u32) -> String {
    let before = fibonacci(n);
    monotonic_clock::wait_for(u64::from(4 - number) * 20_000_000).await;
    format!("task {number}: {}\n", before + fibonacci(n))
}

impl wasip3::exports::cli::run::Guest for Tasks {
    async fn run() -> Result<(), ()> {
        let args = cli::environment::get_arguments();
        let n = args.get(1).and_then(|arg| arg.parse().ok()).unwrap_or(10);
        match args.get(2).map(String::as_str) {
            Some("fail") => return Err(()),
            Some("panic") => panic!("as you wish"),
            _ => {}
        }
        let (mut writer, reader) = wit_stream::new();
        wasip3::wit_bindgen::spawn_local(async move {
            for line in join_all((1..=3).map(|number| task(number, n))).await {
                writer.write_all(line.into_bytes()).await;
            }
        });
        cli::stdout::write_via_stream(reader).await.map_err(|_| ())
    }
}
