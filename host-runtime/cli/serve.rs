//! `kperf-wasm serve`: a development server whose pages record.

mod folder;
mod html;
mod modules;
mod pages;
mod proxy;
mod report;
mod server;
mod site;

use crate::input;
use crate::output::tell;
use crate::probes::{ProbeArg, ProbeArgs};
use crate::sampling::{RecordArg, RecordArgs, SpanMin, StackArg};
use crate::signals;
use anyhow::{Context, bail};
use folder::Folder;
use kperf_otlp::exporter::Settings;
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
/// Stands in front of a folder, or of another development server (--proxy). Modules get probes on their way to the browser,
/// pages get the recorder as their first script, which brings it into their workers (not into shared ones), and headers that
/// make them cross-origin isolated, so that the clock is fine (--no-isolation leaves these away, for pages that need windows
/// of other sites). A header Content-Security-Policy is left away. Nothing of the app changes on disk. Each page and each
/// worker writes a trace; when a page is closed, the top of its profile is printed, and at Ctrl-C that of those that are
/// still open.
///
/// Modules get the recorder inside every function (`--probe inline`) where the page has a ticker, the browser takes that
/// (Chromium, Firefox), and the module has neither a start section nor others that it is linked with.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The folder with the app.
    #[arg(value_name = "DIR", required_unless_present = "proxy", conflicts_with = "proxy")]
    folder: Option<PathBuf>,
    /// Another development server in place of a folder, such as http://localhost:5173.
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
    /// Where to listen. Port 0 takes any that is free. An address that others reach too is for networks one trusts.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// The folder for traces.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    traces: PathBuf,
    /// Send the traces' spans to a Collector too, while pages record [default endpoint: that of OTEL_EXPORTER_OTLP_ENDPOINT,
    /// or http://localhost:4318].
    #[arg(long, value_name = "ENDPOINT", num_args = 0..=1, default_missing_value = "", require_equals = true)]
    otlp: Option<String>,
    /// How pages tell the time: `auto`, `precise`, `ticker` or `ticker:PERIOD`.
    #[arg(long, value_name = "CLOCK", default_value = "auto", value_parser = clock)]
    clock: String,
    /// Don't make pages cross-origin isolated. Their clock then takes steps of 100 us.
    #[arg(long)]
    no_isolation: bool,
    /// How many functions of a profile to print, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Probe calls of the page's JavaScript too.
    #[arg(long)]
    imports: bool,
    #[command(flatten)]
    probes: ProbeArgs,
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
    /// Serves until a signal comes.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let site = match (&self.folder, &self.proxy) {
            (_, Some(url)) => Site::Proxy(Proxy::new(url)?),
            (Some(folder), None) => Site::Folder(Folder::new(folder)?),
            (None, None) => bail!("give a folder, or --proxy URL"),
        };
        if let Some(endpoint) = self.otlp.clone() {
            // Now rather than when a page comes.
            Settings {
                endpoint: Some(endpoint).filter(|endpoint| !endpoint.is_empty()),
                ..Settings::default()
            }
            .config()?;
        }
        if self.probes.record.stack == StackArg::Native {
            bail!("a page's threads can't be asked for their stacks; leave --stack native out");
        }
        if self.probes.record.is_profile() && self.no_isolation {
            bail!("a profile wants pages that are cross-origin isolated; leave --no-isolation out");
        }
        let name = self.folder.as_deref().and_then(|folder| folder.canonicalize().ok());
        let name = name.as_deref().map_or_else(|| "page".to_owned(), input::module_name);
        let options = |auto| self.probes.options(String::new(), self.imports, 0, auto);
        // It pays where a ticker has the time, which wants an isolated page.
        let pays = !self.no_isolation && (self.clock == "auto" || self.clock.starts_with("ticker"));
        let inline = match self.probes.probe {
            ProbeArg::Auto if pays && !self.probes.record.is_profile() => Some(options(Probe::Inline)?),
            _ => None,
        };
        let server = Arc::new(Server {
            site,
            modules: Modules::new(options(Probe::Import)?, inline),
            pages: Pages::new(self.traces.clone(), name, self.otlp.clone(), self.top),
            attributes: self.attributes(),
            isolate: !self.no_isolation,
            local: self.listen.ip().is_loopback(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("failed to start the server")?;
        let (stop, stopped) = oneshot::channel();
        signals::watch(move |_| {
            // Nobody waits where the server failed meanwhile.
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
            tokio::spawn(server::serve(listener, server.clone()));
            // The sender is gone only when the thread is: then nothing would end this.
            let _ = stopped.await;
            anyhow::Ok(())
        })?;
        server.pages.stop();
        Ok(ExitCode::SUCCESS)
    }
}

impl Opts {
    /// What the script's tag says of how pages record.
    fn attributes(&self) -> String {
        let RecordArgs { record, span_min, .. } = self.probes.record;
        let mut attributes = format!("data-clock=\"{}\"", self.clock);
        if record == RecordArg::Profile {
            attributes += " data-record=\"profile\"";
        }
        if let Some(SpanMin::Time(least)) = span_min {
            attributes += &format!(" data-span-min=\"{}ns\"", least.as_nanos());
        }
        attributes
    }
}

/// Checks a clock's name, so that it can stand in a page as it is.
fn clock(text: &str) -> Result<String, String> {
    let period = text.strip_prefix("ticker:");
    let is_period = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
    };
    if matches!(text, "auto" | "precise" | "ticker" | "test") || period.is_some_and(is_period) {
        return Ok(text.to_owned());
    }
    Err("it is `auto`, `precise`, `ticker`, or `ticker:PERIOD` such as `ticker:2us`".to_owned())
}
