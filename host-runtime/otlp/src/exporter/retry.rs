//! Sends one request, retrying until there is a final answer or the time is over.

use super::answer::Answer;
use super::config::Config;
use super::grpc::Grpc;
use super::http::Http;
use super::status::SendingStatus;
use bytes::Bytes;
use std::time::Duration;
use tokio::time::Instant;

/// A client, by protocol.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one for a sending")]
pub(super) enum Transport {
    Http(Http),
    Grpc(Box<Grpc>),
}

impl Transport {
    async fn send(&self, body: Bytes) -> Answer {
        match self {
            Transport::Http(http) => http.post(body).await,
            Transport::Grpc(grpc) => grpc.export(body).await,
        }
    }
}

/// How a request ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The server has it.
    Accepted { rejected: u64, message: String },
    /// The server refused it; other requests may succeed.
    Refused { why: String },
    /// It is too large for the server.
    TooLarge { why: String },
    /// The server didn't take it, and won't take others either.
    End { why: String },
}

/// Tries a request until there is a final answer, the time is over, or sending is stopped.
pub(super) async fn deliver(
    transport: &Transport,
    config: &Config,
    status: &SendingStatus,
    body: Bytes,
) -> Outcome {
    let begun = Instant::now();
    let mut wait = config.first_wait;
    let mut tries = 0_u64;
    loop {
        tries += 1;
        // No try lasts longer than the time after which it is given up.
        let left = status.left(begun, config.give_up_after).unwrap_or(config.timeout);
        let limit = config.timeout.min(left).max(SHORTEST);
        let answer = match tokio::time::timeout(limit, transport.send(body.clone())).await {
            Ok(answer) => answer,
            Err(_) => Answer::Later { wait: None, why: format!("no answer in {limit:.1?}") },
        };
        let (asked, why) = match answer {
            Answer::Accepted { rejected, message } => return Outcome::Accepted { rejected, message },
            Answer::Refused { why } => return Outcome::Refused { why },
            Answer::TooLarge { why } => return Outcome::TooLarge { why },
            Answer::Hopeless { why } => return Outcome::End { why },
            Answer::Later { wait, why } => (wait, why),
        };
        let pause = match asked {
            // The server's wait is the minimum.
            Some(asked) => asked + jittered(Duration::from_millis(50)),
            None => jittered(wait),
        };
        wait = (wait * 2).min(Config::MAX_WAIT);
        let too_late = |rest| {
            status.left(begun, config.give_up_after).filter(|&left| rest >= left)?;
            Some(Outcome::End { why: given_up(&why, tries, begun.elapsed(), asked.map(|_| rest)) })
        };
        if let Some(end) = too_late(pause) {
            return end;
        }
        status.retried(&why);
        // In slices: the recording may end meanwhile, and then the time is limited.
        let since = Instant::now();
        while let Some(rest) = pause.checked_sub(since.elapsed()).filter(|rest| !rest.is_zero()) {
            if let Some(end) = too_late(rest) {
                return end;
            }
            if status.pause(rest.min(SLICE)).await.is_break() {
                return Outcome::End { why: format!("{why} (stopped after {})", counted(tries)) };
            }
        }
    }
}

/// How often a pause is interrupted to check how much time is left.
const SLICE: Duration = Duration::from_secs(1);

/// A try needs some time, even at the very end.
const SHORTEST: Duration = Duration::from_millis(100);

/// Give or take a fifth, so that many clients don't come back at the same moment.
fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(0.8 + 0.4 * fastrand::f64())
}

fn given_up(why: &str, tries: u64, elapsed: Duration, asked: Option<Duration>) -> String {
    let asked = asked
        .map(|asked| format!(", the server asks to wait {} s more", asked.as_secs()))
        .unwrap_or_default();
    format!("{why} (given up after {} in {:.1} s{asked})", counted(tries), elapsed.as_secs_f64())
}

fn counted(tries: u64) -> String {
    if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") }
}
