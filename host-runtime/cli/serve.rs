//! `kperf-wasm serve`: a development server whose pages record.

mod answer;
mod connections;
mod folder;
mod modules;
mod own;
mod pages;
mod proxy;
mod report;
mod server;
mod site;
mod worker;

use crate::host::HostArgs;
use crate::input;
use crate::output::tell;
use crate::probes::{ProbeArg, ProbeArgs};
use crate::run::live::Wanted;
use crate::sampling::{RecordArg, RecordArgs, SpanMin, StackArg};
use crate::send::LiveSignals;
use crate::signals;
use anyhow::{Context, bail};
use folder::Folder;
use kperf_otlp::exporter::Settings;
use kperf_pages::Hosts;
use kperf_rewriter::Probe;
use modules::Modules;
use pages::Pages;
use proxy::Proxy;
use server::Server;
use site::Site;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Serve a web app so that its pages record: open it in a browser, use it, close it, see where the time went
///
/// `serve` stands in front of a folder, or of another development server (--proxy). No file of the app changes. Pages get the
/// recorder as their first script, which also reaches their workers. Where it is, modules get probes when they are compiled;
/// where it can't be (shared workers, service workers), they are as they were. So nothing with probes is left in a cache when
/// `serve` is gone. Pages also get headers that make them cross-origin isolated, which gives them a fine clock;
/// --no-isolation leaves these out, for pages that need windows of other sites. A Content-Security-Policy of the site gets
/// room for the recorder, and stays as it was otherwise.
///
/// Each page and each worker writes a trace. When a page is closed, the top of its profile is printed. Ctrl-C prints those of
/// the pages that are still open; a second Ctrl-C ends it at once.
///
/// The recorder is inside the module (`--probe inline`) if the page has a ticker, the browser supports it (Chromium,
/// Firefox), and the module has no start section and isn't linked with other modules.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The folder with the app.
    #[arg(value_name = "DIR", required_unless_present = "proxy", conflicts_with = "proxy")]
    folder: Option<PathBuf>,
    /// Another development server instead of a folder, such as http://localhost:5173.
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
    /// Where to listen. Port 0 takes any free port. Use an address that others can reach only in a network that you trust: they
    /// can read the app, and add files to the folder for traces.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// A name of this machine that the server answers to, beside addresses and localhost. Can be given several times.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// The folder for traces.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    traces: PathBuf,
    /// Also send the calls as spans to a Collector, while pages record [default ENDPOINT: OTEL_EXPORTER_OTLP_ENDPOINT, or
    /// http://localhost:4318].
    #[arg(long, value_name = "ENDPOINT", num_args = 0..=1, default_missing_value = "", require_equals = true)]
    otlp: Option<String>,
    #[command(flatten)]
    live: LiveSignals,
    /// The clock of pages: `auto`, `precise`, `ticker` or `ticker:PERIOD`.
    #[arg(long, value_name = "CLOCK", default_value = "auto", value_parser = clock)]
    clock: String,
    /// Don't make pages cross-origin isolated. Their clock then takes steps of 100 us.
    #[arg(long)]
    no_isolation: bool,
    /// How many functions of each profile to print, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Probe calls of imported JavaScript functions too.
    #[arg(long)]
    imports: bool,
    #[command(flatten)]
    probes: ProbeArgs,
    #[command(flatten)]
    host: HostArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm serve dist/
  kperf-wasm serve --proxy http://localhost:5173 --traces /tmp/traces
  kperf-wasm serve dist/ --record profile                exact counts and samples, at some 1 ns a call
  kperf-wasm serve dist/ --otlp=http://localhost:4318 --only 'app::*'

Exit codes:
  0 after Ctrl-C, 1 failure, 2 wrong usage";

impl Opts {
    /// What is sent of pages, and where.
    fn wanted(&self) -> Option<Wanted> {
        let is_profile = self.probes.record.is_profile();
        let signals = self.live.signals.clone();
        self.otlp.clone().map(|endpoint| Wanted { endpoint, signals, is_profile })
    }

    /// Serves until a signal comes.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let site = match (&self.folder, &self.proxy) {
            (_, Some(url)) => Site::Proxy(Proxy::new(url)?),
            (Some(folder), None) => Site::Folder(Folder::new(folder)?),
            (None, None) => bail!("give a folder, or --proxy URL"),
        };
        if let Some(endpoint) = self.otlp.clone() {
            // Wrong settings fail now rather than when the first page records.
            Settings {
                endpoint: Some(endpoint).filter(|endpoint| !endpoint.is_empty()),
                ..Settings::default()
            }
            .config()?;
        }
        if self.probes.record.stack == StackArg::Native {
            bail!("a page's threads have no stack that can be read; leave --stack native out");
        }
        if self.probes.record.is_profile() && self.no_isolation {
            bail!("a profile needs pages that are cross-origin isolated; leave --no-isolation out");
        }
        let name = self.folder.as_deref().and_then(|folder| folder.canonicalize().ok());
        let name = name.as_deref().map_or_else(|| "page".to_owned(), input::module_name);
        let options = |auto| {
            let mut options =
                self.host.apply(self.probes.options(String::new(), self.imports, 0, auto)?)?;
            if let Some(allocations) = &mut options.allocations {
                // Pages have other modules too.
                allocations.several = true;
                allocations.check()?;
            }
            anyhow::Ok(options)
        };
        // A recorder inside costs less only with a ticker, which needs an isolated page.
        let pays = !self.no_isolation && (self.clock == "auto" || self.clock.starts_with("ticker"));
        let inline = match self.probes.probe {
            ProbeArg::Auto if pays && !self.probes.record.is_profile() => Some(options(Probe::Inline)?),
            _ => None,
        };
        let local = self.listen.ip().is_loopback();
        let server = Arc::new(Server {
            site,
            modules: Modules::new(options(Probe::Import)?, inline),
            pages: Arc::new(Pages::new(self.traces.clone(), name, self.wanted(), self.top)),
            attributes: self.attributes(),
            isolate: !self.no_isolation,
            hosts: Hosts { local, names: self.allow_host.clone() },
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("failed to start the server")?;
        let (stop, stopped) = oneshot::channel();
        signals::watch(move |_| {
            // If the server has failed, nobody receives this.
            let _ = stop.send(());
        })?;
        runtime.block_on(async {
            let listener = TcpListener::bind(self.listen).await;
            let listener = listener.with_context(|| format!("failed to listen at {}", self.listen))?;
            let address = listener.local_addr().context("failed to listen")?;
            let what = self
                .proxy
                .as_deref()
                .unwrap_or_else(|| self.folder.as_deref().and_then(Path::to_str).unwrap_or("the folder"));
            tell(format_args!("http://{address}/ serves {what}; Ctrl-C ends it"));
            if !local {
                tell(format_args!(
                    "others in your network can read {what} here, and add files to `{}`; names other than addresses are \
                     answered only with --allow-host",
                    self.traces.display()
                ));
            }
            tokio::spawn(server::serve(listener, server.clone()));
            // The sender lives as long as the thread that waits for signals.
            let _ = stopped.await;
            anyhow::Ok(())
        })?;
        // Nobody waits for connections that are open, nor for modules that are being rewritten.
        runtime.shutdown_background();
        server.pages.stop();
        for name in server.modules.missing() {
            tell(format_args!("warning: --allocator {name}: no module of the pages had this function"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Opts {
    /// The attributes of the script's tag, which say how pages record.
    fn attributes(&self) -> String {
        let RecordArgs { record, span_min, .. } = self.probes.record;
        let mut attributes = format!("data-clock=\"{}\"", self.clock);
        if self.imports {
            attributes += " data-imports=\"true\"";
        }
        if record == RecordArg::Profile {
            attributes += " data-record=\"profile\"";
        }
        if let Some(SpanMin::Time(least)) = span_min {
            attributes += &format!(" data-span-min=\"{}ns\"", least.as_nanos());
        }
        attributes
    }
}

/// Checks the name of a clock, which is put into pages without quoting.
fn clock(text: &str) -> Result<String, String> {
    let period = text.strip_prefix("ticker:");
    let is_period = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
    };
    if matches!(text, "auto" | "precise" | "ticker" | "test") || period.is_some_and(is_period) {
        return Ok(text.to_owned());
    }
    Err("use auto, precise, ticker, or ticker:PERIOD such as ticker:2us".to_owned())
}
