//! Delivery to a Collector: flags, a progress bar, and a table of results.

use crate::shared::output;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use kperf_otlp::exporter::{Compression, Config, Delivery, Protocol, Sending, Settings, Signal};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// Where spans go, and how. OpenTelemetry's environment variables are the defaults.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Where spans go")]
pub struct DeliveryArgs {
    /// The Collector's address [default: OTEL_EXPORTER_OTLP_ENDPOINT, or http://localhost:4318; 4317 for gRPC].
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// `http/protobuf` or `grpc` [default: OTEL_EXPORTER_OTLP_PROTOCOL, or http/protobuf].
    #[arg(long, value_name = "PROTOCOL")]
    protocol: Option<Protocol>,
    /// A header to send with each request. May be repeated.
    #[arg(long = "header", value_name = "NAME=VALUE")]
    headers: Vec<String>,
    /// `gzip` or `none` [default: OTEL_EXPORTER_OTLP_COMPRESSION, or none].
    #[arg(long, value_name = "COMPRESSION")]
    compression: Option<Compression>,
    /// How long to retry a request before giving up [default: 1m].
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    give_up_after: Option<Duration>,
}

impl DeliveryArgs {
    /// To a Collector at this address, or at the environment's.
    pub fn to(endpoint: Option<String>, give_up_after: Option<Duration>) -> DeliveryArgs {
        DeliveryArgs { endpoint, give_up_after, ..DeliveryArgs::default() }
    }

    /// The exporter's configuration for spans, from the flags and the environment.
    pub fn config(&self) -> anyhow::Result<Config> {
        self.config_for(Signal::Traces)
    }

    /// The same for any signal.
    pub fn config_for(&self, signal: Signal) -> anyhow::Result<Config> {
        let header = |text: &String| {
            let (name, value) =
                text.split_once('=').with_context(|| format!("`{text}` is not a header; give NAME=VALUE"))?;
            anyhow::Ok((name.to_owned(), value.to_owned()))
        };
        let settings = Settings {
            signal,
            endpoint: self.endpoint.clone(),
            protocol: self.protocol,
            headers: self.headers.iter().map(header).collect::<Result<_, _>>()?,
            compression: self.compression,
            timeout: None,
            give_up_after: self.give_up_after,
        };
        Ok(settings.config()?)
    }
}

/// How long the bar waits between two updates.
const FRAME: Duration = Duration::from_millis(50);

/// Waits until everything that can be sent is sent. If stderr is a terminal, a bar shows how much of the trace that is.
pub fn wait(sending: Sending, trace_bytes: Option<u64>, quiet: bool) -> Delivery {
    let bar = match trace_bytes {
        Some(length) if !quiet && io::stderr().is_terminal() => bar(length),
        _ => ProgressBar::hidden(),
    };
    while !bar.is_hidden() && !sending.is_finished() {
        let delivery = sending.delivery();
        bar.set_position(sending.trace_bytes());
        let trouble =
            if delivery.retries > 0 { format!(", {} retries", delivery.retries) } else { String::new() };
        bar.set_message(format!("{} acknowledged{trouble}", delivery.acknowledged));
        std::thread::sleep(FRAME);
    }
    let delivery = sending.wait();
    bar.finish_and_clear();
    delivery
}

/// Prints on stderr how many spans, points of metrics or profiles were acknowledged.
pub fn show(delivery: &Delivery, config: &Config) {
    let things = match config.signal {
        Signal::Traces => "spans",
        Signal::Metrics => "points of metrics",
        Signal::Profiles => "profiles",
    };
    let seconds = delivery.elapsed.as_secs_f64();
    let megabytes = delivery.bytes as f64 / 1e6;
    output::status(format_args!(
        "# {things} to {} ({}): {} requests, {megabytes:.1} MB in {seconds:.1} s\n{delivery}",
        config.endpoint, config.protocol, delivery.requests
    ));
    if let Some(hint) = hint(delivery, config) {
        output::hint(hint);
    }
}

/// What to do about the usual mistakes.
fn hint(delivery: &Delivery, config: &Config) -> Option<&'static str> {
    let said = |what: &str| delivery.messages.iter().any(|message| message.text.contains(what));
    if config.signal == Signal::Profiles
        && (said("HTTP 404") || said("unknown service") || said("nimplemented"))
    {
        return Some(
            "a Collector takes profiles only with a pipeline for them and --feature-gates=+service.profilesSupport",
        );
    }
    if said("InvalidContentType") {
        return Some("the server doesn't speak TLS; is the address http://..?");
    }
    match config.protocol {
        // It depends on which of both sides speaks first.
        Protocol::HttpProtobuf
            if said("invalid HTTP version parsed") || said("unexpected message from connection") =>
        {
            Some(
                "is this the Collector's port for gRPC (4317)? give --protocol grpc, or the port for HTTP (4318)",
            )
        }
        Protocol::Grpc if said("broken pipe") || said("frame with invalid size") => Some(
            "is this the Collector's port for HTTP (4318)? remove --protocol grpc, or give the port for gRPC (4317)",
        ),
        _ => None,
    }
}

fn bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    // If this template were wrong, the default style would do.
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent} %, {msg}") {
        bar.set_style(style);
    }
    bar
}
