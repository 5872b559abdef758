//! `DEBUGINFOD_URLS`: servers that have what modules were stripped of, by their build ids.
//!
//! Source: elfutils' `debuginfod_find_debuginfo(3)`, whose variables, cache folder and layout these are. What it has of servers is
//! written into its cache, so that the next command needs none.

use crate::output::tell;
use anyhow::{Context, bail};
use http_body_util::{BodyExt, Empty};
use hyper::{StatusCode, Uri};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kperf_abi::symbols::ModuleIdentity;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The servers, with spaces between them.
const VARIABLE: &str = "DEBUGINFOD_URLS";
/// What elfutils has for each file.
const FILE: &str = "debuginfo";
/// For how long a server isn't asked again that has nothing, as in elfutils.
const MISSED_FOR: Duration = Duration::from_secs(600);
/// How long a server may say nothing, and how long all of it may take in one command.
const SILENCE: Duration = Duration::from_secs(10);
const ALL: Duration = Duration::from_secs(60);
/// The largest file.
const MAX_SIZE: u64 = 4 << 30;
/// The longest build id in hexadecimal: of 64 bytes.
const MAX_ID: usize = 128;

/// What is left of the time, and the servers that failed: they are not asked again.
struct State {
    spent: Duration,
    failed: Vec<String>,
}

static STATE: Mutex<State> = Mutex::new(State { spent: Duration::ZERO, failed: Vec::new() });

/// Whether there are servers.
pub(super) fn is_wanted() -> bool {
    env::var(VARIABLE).is_ok_and(|urls| !urls.trim().is_empty())
}

/// The file that servers have for a module, from the cache or fetched into it. What fails is said, once for each server.
pub(super) fn find(module: &ModuleIdentity) -> Option<PathBuf> {
    let id = module.build_id.as_str();
    if !is_wanted() || !(2..=MAX_ID).contains(&id.len()) || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let Some(folder) = cache() else {
        tell(format_args!(
            "warning: there is no folder for what debuginfod servers have; set DEBUGINFOD_CACHE_PATH"
        ));
        return None;
    };
    let path = folder.join(id).join(FILE);
    match fs::metadata(&path) {
        Ok(known) if known.len() > 0 => return Some(path),
        // That no server had it.
        Ok(known) if known.modified().ok()?.elapsed().is_ok_and(|age| age < MISSED_FOR) => return None,
        _ => {}
    }
    let urls = env::var(VARIABLE).unwrap_or_default();
    let mut all_missed = true;
    for url in urls.split_whitespace() {
        match fetch(url, id, &path) {
            Some(true) => return Some(path),
            Some(false) => {}
            None => all_missed = false,
        }
    }
    if all_missed && path.parent().is_some_and(|folder| fs::create_dir_all(folder).is_ok()) {
        // If that fails, servers are asked again the next time.
        let _ = fs::write(&path, b"");
    }
    None
}

/// The folder that elfutils uses.
fn cache() -> Option<PathBuf> {
    let named = |variable| env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let of_user = || named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    named("DEBUGINFOD_CACHE_PATH").or_else(|| Some(of_user()?.join("debuginfod_client")))
}

/// Whether a server had the file, which is in its place then; `None` if the server failed.
fn fetch(url: &str, id: &str, path: &Path) -> Option<bool> {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    if state.failed.iter().any(|failed| failed == url) {
        return None;
    }
    let (silence, all) = (seconds("DEBUGINFOD_TIMEOUT", SILENCE), seconds("DEBUGINFOD_MAXTIME", ALL));
    let left = all.saturating_sub(state.spent);
    let began = Instant::now();
    let (address, file) = (format!("{}/buildid/{id}/{FILE}", url.trim_end_matches('/')), path.to_owned());
    // Whoever calls may be in a runtime of its own.
    let fetched = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let fetched = runtime.block_on(async {
            match timeout(left, get(&address, &file, silence)).await {
                Ok(fetched) => fetched,
                Err(_) => bail!("it took more than {all:?} (DEBUGINFOD_MAXTIME)"),
            }
        });
        // Nobody waits for a name server that doesn't answer.
        runtime.shutdown_background();
        fetched
    });
    let fetched = fetched.join().unwrap_or_else(|_| Err(anyhow::anyhow!("its thread failed")));
    state.spent += began.elapsed();
    match fetched {
        Ok(found) => Some(found),
        Err(error) => {
            tell(format_args!(
                "warning: names are not taken from `{}`: {error:#}",
                kperf_profile::printable(url)
            ));
            state.failed.push(url.to_owned());
            None
        }
    }
}

/// A number of seconds that a variable has.
fn seconds(variable: &str, default: Duration) -> Duration {
    let number = env::var(variable).ok().and_then(|text| text.trim().parse().ok());
    number.filter(|&seconds| seconds > 0).map_or(default, Duration::from_secs)
}

fn connector(uri: &Uri, silence: Duration) -> anyhow::Result<HttpsConnector<HttpConnector>> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(silence));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = match uri.scheme_str() {
        Some("https") => config.with_native_roots().context("the system's certificates")?,
        Some("http") => config.with_root_certificates(rustls::RootCertStore::empty()),
        _ => bail!("it is no address of http or https"),
    };
    let builder = HttpsConnectorBuilder::new().with_tls_config(config.with_no_client_auth());
    Ok(builder.https_or_http().enable_http1().wrap_connector(tcp))
}

/// Fetches a file, and puts it into its place when it is whole. Answers whether the server has it.
async fn get(address: &str, path: &Path, silence: Duration) -> anyhow::Result<bool> {
    let uri: Uri = address.parse().context("it is no address")?;
    let client = Client::builder(TokioExecutor::new()).build(connector(&uri, silence)?);
    let request = hyper::Request::get(&uri)
        .header("user-agent", concat!("kperf-wasm/", env!("CARGO_PKG_VERSION")))
        .body(Empty::<bytes::Bytes>::new())?;
    let silent = || format!("it said nothing for {silence:?} (DEBUGINFOD_TIMEOUT)");
    let response = timeout(silence, client.request(request)).await.with_context(silent)?;
    let response = response.map_err(|error| match std::error::Error::source(&error) {
        Some(cause) => anyhow::anyhow!("{error}: {cause}"),
        None => anyhow::anyhow!("{error}"),
    })?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Ok(false),
        status => bail!("HTTP {status}"),
    }
    let folder = path.parent().context("the cache has no folder")?;
    let failed = || format!("`{}` can't be written", folder.display());
    fs::create_dir_all(folder).with_context(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
    let mut body = response.into_body();
    let mut size = 0u64;
    while let Some(frame) = timeout(silence, body.frame()).await.with_context(silent)? {
        let Ok(data) = frame.context("its answer broke off")?.into_data() else { continue };
        size += data.len() as u64;
        if size > MAX_SIZE {
            bail!("its file is larger than {} GiB", MAX_SIZE >> 30);
        }
        file.write_all(&data).with_context(failed)?;
    }
    if size == 0 {
        bail!("its file is empty");
    }
    file.persist(path).with_context(failed)?;
    Ok(true)
}
