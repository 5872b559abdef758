//! Sends requests: two in flight, a few ready, the rest not yet made.

use super::config::{Compression, Config, Protocol};
use super::delivery::{About, Delivery};
use super::error::{ErrorKind, Result};
use super::grpc::Grpc;
use super::http::Http;
use super::retry::{self, Outcome, Transport};
use super::source::{BoxError, Source};
use super::split;
use super::status::SendingStatus;
use crate::spans::batch::Request;
use bytes::Bytes;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

/// How many requests are in flight at a time.
const IN_FLIGHT: usize = 2;
/// How many more requests are ready to be sent.
const READY: usize = 2;

/// Sends spans with threads of its own. Dropping this doesn't stop them.
pub struct Sending {
    pub(super) status: Arc<SendingStatus>,
    thread: JoinHandle<Delivery>,
    done: oneshot::Receiver<Delivery>,
}

/// An encoded request.
struct Parcel {
    spans: u64,
    /// Before compression.
    length: u64,
    body: Bytes,
}

impl Sending {
    /// Begins to send. `open` is called by the thread that encodes, so it may wait for its input.
    ///
    /// # Errors
    ///
    /// If the configuration is invalid (certificates, headers), or a thread can't be created.
    pub fn start<S: Source>(
        config: Config,
        open: impl FnOnce() -> Result<S, BoxError> + Send + 'static,
    ) -> Result<Sending> {
        Sending::start_with(config, SendingStatus::default(), open)
    }

    /// Checks a configuration without sending anything: certificates, headers.
    ///
    /// # Errors
    ///
    /// Those of [`Sending::start`] about the configuration.
    pub fn check(config: &Config) -> Result<()> {
        let runtime = Runtime::new()?;
        let _inside = runtime.handle.enter();
        match config.protocol {
            Protocol::HttpProtobuf => Http::new(config).map(|_| ()),
            Protocol::Grpc => Grpc::new(config).map(|_| ()),
        }
    }

    pub(super) fn start_with<S: Source>(
        config: Config,
        status: SendingStatus,
        open: impl FnOnce() -> Result<S, BoxError> + Send + 'static,
    ) -> Result<Sending> {
        let begun = Instant::now();
        let runtime = Runtime::new()?;
        let transport = {
            // The clients' timers belong to the runtime.
            let _inside = runtime.handle.enter();
            match config.protocol {
                Protocol::HttpProtobuf => Transport::Http(Http::new(&config)?),
                Protocol::Grpc => Transport::Grpc(Box::new(Grpc::new(&config)?)),
            }
        };
        let status = Arc::new(status);
        let (sender, receiver) = mpsc::channel(READY);
        let encoder = Encoder {
            pack: match &transport {
                Transport::Http(http) if config.compression != Compression::None => Some(http.clone()),
                _ => None,
            },
            status: status.clone(),
            parcels: sender,
        };
        let encode = move || encoder.run(open);
        let encoding = std::thread::Builder::new()
            .name("kperf-otlp-encode".into())
            .spawn(encode)
            .map_err(ErrorKind::Io)?;
        let sender = Arc::new(Sender {
            transport,
            config,
            status: status.clone(),
            parcels: tokio::sync::Mutex::new(receiver),
            too_large: AtomicU64::new(u64::MAX),
        });
        let (sender_done, done) = oneshot::channel();
        let send = move || {
            runtime.block_on(async {
                let tasks: Vec<_> = (0..IN_FLIGHT).map(|_| tokio::spawn(sender.clone().work())).collect();
                for task in tasks {
                    // A panic in a task still shows: its spans are missing from the sum.
                    let _ = task.await;
                }
                // The encoder notices that its requests are not taken any more.
                sender.parcels.lock().await.close();
            });
            drop(runtime);
            if !sender.status.is_stopped() {
                // Not after a stop: the encoder may then wait for a recording that goes on.
                let _ = encoding.join();
            }
            // Under one lock: after a stop, the encoder may still be counting.
            let delivery = sender.status.count(|delivery| {
                delivery.elapsed = begun.elapsed();
                delivery.dropped = delivery.expected - delivery.elided - delivery.attempted;
                delivery.clone()
            });
            // Fails if no one waits for it.
            let _ = sender_done.send(delivery.clone());
            delivery
        };
        let thread =
            std::thread::Builder::new().name("kperf-otlp-send".into()).spawn(send).map_err(ErrorKind::Io)?;
        Ok(Sending { status, thread, done })
    }

    /// The counts of spans so far.
    pub fn delivery(&self) -> Delivery {
        self.status.delivery()
    }

    /// How many bytes of the trace were read so far.
    pub fn trace_bytes(&self) -> u64 {
        self.status.trace_bytes.load(Ordering::Relaxed)
    }

    /// A handle that ends the sending from elsewhere.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.status.clone())
    }

    /// Whether sending has ended.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until everything is sent, or a request was given up
    /// ([`Config::give_up_after`](super::Config::give_up_after)). Blocks the thread, in an asynchronous program too.
    pub fn wait(self) -> Delivery {
        let status = self.status;
        self.thread.join().unwrap_or_else(|_| status.delivery())
    }

    /// [`wait`](Sending::wait) for asynchronous programs, of any runtime.
    pub async fn wait_async(self) -> Delivery {
        self.done.await.unwrap_or_else(|_| self.status.delivery())
    }
}

/// A runtime that doesn't wait when it is dropped. After an error it may be dropped within another runtime, where waiting is
/// forbidden, and one of its threads may still be resolving a name.
struct Runtime {
    handle: Handle,
    /// `Some` until it is dropped.
    runtime: Option<tokio::runtime::Runtime>,
}

impl Runtime {
    fn new() -> io::Result<Runtime> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Runtime { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    fn block_on(&self, future: impl Future<Output = ()>) {
        if let Some(runtime) = &self.runtime {
            runtime.block_on(future);
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Ends a sending.
#[derive(Clone)]
pub struct Stopper(Arc<SendingStatus>);

impl Stopper {
    /// Starts no more requests; those in flight may be answered within their time limit.
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// The thread that calls the source.
struct Encoder {
    /// Compresses bodies in this thread rather than where they are sent.
    pack: Option<Http>,
    status: Arc<SendingStatus>,
    parcels: mpsc::Sender<Parcel>,
}

impl Encoder {
    fn run<S: Source>(self, open: impl FnOnce() -> Result<S, BoxError>) {
        if let Err(error) = open().and_then(|source| self.all(source)) {
            let chain: Vec<String> =
                std::iter::successors(Some(&*error as &dyn std::error::Error), |error| error.source())
                    .map(ToString::to_string)
                    .collect();
            self.status.count(|delivery| delivery.say(About::Trace, &chain.join(": "), 0));
        }
    }

    fn all(&self, mut source: impl Source) -> Result<(), BoxError> {
        loop {
            let next = source.next_request()?;
            let progress = source.progress();
            self.status.trace_bytes.store(progress.trace_bytes, Ordering::Relaxed);
            let Some(request) = next else {
                self.status.count(|delivery| {
                    delivery.expected += progress.elided - delivery.elided;
                    delivery.elided = progress.elided;
                    delivery.whole = true;
                });
                break;
            };
            let spans = request.spans;
            self.status.count(|delivery| {
                delivery.expected += spans + (progress.elided - delivery.elided);
                delivery.elided = progress.elided;
            });
            let length = request.body.len() as u64;
            let body = match &self.pack {
                Some(http) if !self.status.is_ended() => http.pack(request.body)?,
                _ => request.body.into(),
            };
            if self.parcels.blocking_send(Parcel { spans, length, body }).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// The data that all tasks share.
struct Sender {
    transport: Transport,
    config: Config,
    status: Arc<SendingStatus>,
    parcels: tokio::sync::Mutex<mpsc::Receiver<Parcel>>,
    /// The length of the shortest request that was too large, before compression.
    too_large: AtomicU64,
}

impl Sender {
    /// Takes requests and sends them, one after the other, until there are no more.
    async fn work(self: Arc<Self>) {
        loop {
            let next = async { self.parcels.lock().await.recv().await };
            let Some(Some(parcel)) = self.status.unless_stopped(next).await else { break };
            if self.status.is_ended() {
                continue;
            }
            self.status.count(|delivery| delivery.attempted += parcel.spans);
            self.send(parcel).await;
        }
    }

    /// Sends a request, or the parts of it that aren't too large.
    async fn send(&self, parcel: Parcel) {
        let mut parts = vec![parcel];
        while let Some(part) = parts.pop() {
            let is_too_large = part.length >= self.too_large.load(Ordering::Relaxed);
            if is_too_large && let Some([first, second]) = self.split(&part) {
                parts.extend([second, first]);
                continue;
            }
            let body = part.body.clone();
            match retry::deliver(&self.transport, &self.config, &self.status, body).await {
                Outcome::TooLarge { why } => match self.split(&part) {
                    Some([first, second]) => {
                        self.too_large.fetch_min(part.length, Ordering::Relaxed);
                        parts.extend([second, first]);
                    }
                    None if part.spans == 1 => {
                        self.rejected(1, &format!("{why} (one of {} bytes)", part.length))
                    }
                    None => self.failed(part.spans, &why),
                },
                outcome => {
                    if let Outcome::End { why } = &outcome {
                        parts.drain(..).for_each(|part| self.failed(part.spans, why));
                    }
                    self.record(&part, outcome);
                }
            }
        }
    }

    /// The halves of a request.
    fn split(&self, parcel: &Parcel) -> Option<[Parcel; 2]> {
        let packer = match &self.transport {
            Transport::Http(http) if self.config.compression != Compression::None => Some(http),
            _ => None,
        };
        let mut unpacked = Vec::new();
        let body = match packer {
            Some(_) => {
                flate2::read::GzDecoder::new(&*parcel.body).read_to_end(&mut unpacked).ok()?;
                &unpacked
            }
            None => &*parcel.body,
        };
        let [first, second] = split::split(self.config.signal, body)?;
        let parcel = |request: Request| {
            let length = request.body.len() as u64;
            let body = match packer {
                Some(http) => http.pack(request.body).ok()?,
                None => request.body.into(),
            };
            Some(Parcel { spans: request.spans, length, body })
        };
        Some([parcel(first)?, parcel(second)?])
    }

    fn record(&self, parcel: &Parcel, outcome: Outcome) {
        let spans = parcel.spans;
        match outcome {
            Outcome::Accepted { rejected, message } => {
                let rejected = rejected.min(spans);
                self.status.count(|delivery| {
                    delivery.requests += 1;
                    delivery.bytes += parcel.length;
                    delivery.acknowledged += spans - rejected;
                    delivery.rejected += rejected;
                    if rejected > 0 {
                        let message = if message.is_empty() { "no reason was given" } else { &message };
                        delivery.say(About::Rejected, message, rejected);
                    } else if !message.is_empty() {
                        delivery.say(About::Warning, &message, 0);
                    }
                });
            }
            Outcome::Refused { why } | Outcome::TooLarge { why } => self.failed(spans, &why),
            Outcome::End { why } => {
                self.failed(spans, &why);
                self.status.end();
            }
        }
    }

    fn rejected(&self, spans: u64, why: &str) {
        self.status.count(|delivery| {
            delivery.rejected += spans;
            delivery.say(About::Rejected, why, spans);
        });
    }

    fn failed(&self, spans: u64, why: &str) {
        self.status.count(|delivery| {
            delivery.failed += spans;
            delivery.say(About::Failed, why, spans);
        });
    }
}
