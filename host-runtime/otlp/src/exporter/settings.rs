//! The user's settings for sending: OpenTelemetry's environment variables, and settings that override them.

use super::config::{Compression, Config, Identity, Protocol, Signal};
use super::error::{ErrorKind, Result};
use http::Uri;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

/// Settings that override the environment. For each that is `None` or empty, the environment is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// What is sent.
    pub signal: Signal,
    /// The Collector's address. For HTTP, the signal's path is appended (`/v1/traces`), or replaces another signal's path at its end.
    pub endpoint: Option<String>,
    /// The protocol.
    pub protocol: Option<Protocol>,
    /// Headers, in addition to those of the environment.
    pub headers: Vec<(String, String)>,
    /// The compression.
    pub compression: Option<Compression>,
    /// The time limit of a try.
    pub timeout: Option<Duration>,
    /// How long a request is retried.
    pub give_up_after: Option<Duration>,
}

impl Settings {
    /// The configuration, with this process's environment.
    ///
    /// # Errors
    ///
    /// If a variable or a setting has an invalid value.
    pub fn config(&self) -> Result<Config> {
        self.config_in(|name| std::env::var(name).ok())
    }

    /// The configuration in an environment: for traces `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, `.._HEADERS`, `.._PROTOCOL`,
    /// `.._COMPRESSION`, `.._TIMEOUT`, `.._CERTIFICATE`, `.._CLIENT_CERTIFICATE`, `.._CLIENT_KEY`, `.._INSECURE`, each
    /// also without `TRACES_`, with lower priority. An empty variable counts as not set.
    ///
    /// Source: "OpenTelemetry Protocol Exporter" in OpenTelemetry's specification.
    ///
    /// # Errors
    ///
    /// If a variable or a setting has an invalid value.
    pub fn config_in(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Config> {
        let get =
            |name: &str| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let either = |name: &str| {
            get(&format!("OTEL_EXPORTER_OTLP_{}_{name}", self.signal.word()))
                .or_else(|| get(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        let parsed = |name: &str| either(name).map(|text| text.parse()).transpose();
        let protocol = match self.protocol {
            Some(protocol) => protocol,
            None => either("PROTOCOL").map(|text| text.parse()).transpose()?.unwrap_or_default(),
        };
        let insecure = either("INSECURE").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let path = self.signal.path();
        let own = get(&format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", self.signal.word()));
        let endpoint = match (&self.endpoint, own) {
            (Some(text), _) => address(without_path(text), protocol, insecure, path)?,
            (None, Some(text)) => address(&text, protocol, insecure, "")?,
            (None, None) => match get("OTEL_EXPORTER_OTLP_ENDPOINT") {
                Some(text) => address(&text, protocol, insecure, path)?,
                None if protocol == Protocol::Grpc => Uri::from_static("http://localhost:4317"),
                None => address("http://localhost:4318", protocol, insecure, path)?,
            },
        };
        let mut headers = either("HEADERS").map(|text| parse_pairs(&text)).transpose()?.unwrap_or_default();
        headers.retain(|(name, _)| !self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)));
        headers.extend(self.headers.iter().cloned());
        let timeout = match either("TIMEOUT") {
            Some(text) => match text.parse() {
                // The specification says no limit, which could wait forever.
                Ok(0) => Duration::from_secs(3600),
                Ok(millis) => Duration::from_millis(millis),
                Err(_) => return Err(ErrorKind::Timeout(text).into()),
            },
            None => Config::default().timeout,
        };
        let path = |name: &str| either(name).map(PathBuf::from);
        let identity = match (path("CLIENT_CERTIFICATE"), path("CLIENT_KEY")) {
            (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
            (None, None) => None,
            _ => return Err(ErrorKind::HalfIdentity.into()),
        };
        let compression = match self.compression {
            Some(compression) => compression,
            None => parsed("COMPRESSION")?.unwrap_or_default(),
        };
        Ok(Config {
            signal: self.signal,
            protocol,
            endpoint,
            headers,
            compression,
            timeout: self.timeout.unwrap_or(timeout),
            certificate: path("CERTIFICATE"),
            identity,
            give_up_after: self.give_up_after.unwrap_or(Config::default().give_up_after),
            ..Config::default()
        })
    }
}

/// An address without the path of a signal at its end.
fn without_path(text: &str) -> &str {
    let front = text.trim_end_matches('/');
    Signal::ALL.iter().find_map(|signal| front.strip_suffix(signal.path())).unwrap_or(text)
}

/// An address with a scheme, and for HTTP with `path` appended.
fn address(text: &str, protocol: Protocol, insecure: bool, path: &str) -> Result<Uri> {
    let wrong = |what| ErrorKind::Endpoint { endpoint: text.to_owned(), what };
    let with_scheme = match protocol {
        Protocol::Grpc if !text.contains("://") => {
            format!("{}://{text}", if insecure { "http" } else { "https" })
        }
        _ => text.to_owned(),
    };
    let whole = match protocol {
        Protocol::Grpc => with_scheme,
        Protocol::HttpProtobuf => match with_scheme.split_once('?') {
            Some((front, query)) if !path.is_empty() => {
                format!("{}{path}?{query}", front.trim_end_matches('/'))
            }
            _ if path.is_empty() => with_scheme,
            _ => format!("{}{path}", with_scheme.trim_end_matches('/')),
        },
    };
    let uri: Uri = whole.parse().map_err(|_| wrong("use http://HOST:PORT or https://HOST:PORT"))?;
    match uri.scheme_str() {
        Some("http" | "https")
            if uri.host().is_some_and(|host| !host.is_empty()) && has_port_or_none(&uri) =>
        {
            Ok(uri)
        }
        _ => Err(wrong("use http://HOST:PORT or https://HOST:PORT").into()),
    }
}

/// Checks the port: the library would silently replace one above 65535 by the scheme's default.
fn has_port_or_none(uri: &Uri) -> bool {
    let host_and_port = uri.authority().map_or("", |authority| authority.as_str());
    let host_and_port = host_and_port.rsplit_once('@').map_or(host_and_port, |(_, rest)| rest);
    match host_and_port.rsplit_once(':') {
        Some((_, port)) => port.is_empty() || port.ends_with(']') || port.parse::<u16>().is_ok(),
        None => true,
    }
}

/// `NAME=VALUE,NAME=VALUE` with percent-encoded names and values, as headers and resource attributes are written.
///
/// # Errors
///
/// At the first that isn't of this form.
pub fn parse_pairs(text: &str) -> Result<Vec<(String, String)>> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').ok_or_else(|| ErrorKind::Pair(pair.to_owned()))?;
            match (decoded(name.trim()), decoded(value.trim())) {
                (Some(name), Some(value)) => Ok((name, value)),
                _ => Err(ErrorKind::PercentEncoding(pair.to_owned()).into()),
            }
        })
        .collect()
}

/// `None` if two digits are missing after a percent sign, or the result is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let digits = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    let whole = text.split('%').skip(1).all(digits);
    whole.then(|| percent_decode_str(text).decode_utf8().ok()).flatten().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(settings: &Settings, variables: &[(&str, &str)]) -> Result<Config, String> {
        let get = |name: &str| {
            let name = name.strip_prefix("OTEL_EXPORTER_OTLP_").expect("the prefix of all");
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        settings.config_in(get).map_err(|error| error.to_string())
    }

    fn endpoint(settings: &Settings, variables: &[(&str, &str)]) -> Result<String, String> {
        config(settings, variables).map(|config| config.endpoint.to_string())
    }

    #[test]
    fn nothing_said_is_a_collector_on_this_machine() {
        assert_eq!(config(&Settings::default(), &[]).expect("the default"), Config::default());
        let grpc = [("PROTOCOL", "grpc"), ("ENDPOINT", "")];
        assert_eq!(endpoint(&Settings::default(), &grpc).expect("a URL"), "http://localhost:4317/");
    }

    #[test]
    fn a_port_is_a_port() {
        let of = |endpoint| super::tests::endpoint(&Settings::default(), &[("ENDPOINT", endpoint)]);
        for wrong in ["http://127.0.0.1:99999", "http://user:1@a:65536/x", "http://[::1]:70000"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        for right in ["http://a:65535", "http://[::1]", "http://user:99999@a", "http://a"] {
            assert!(of(right).is_ok(), "{right}");
        }
    }

    #[test]
    fn the_path_is_appended_to_the_general_endpoint_only() {
        let none = Settings::default();
        let of = |variables: &[(&str, &str)]| endpoint(&none, variables).expect("a URL");
        assert_eq!(of(&[("ENDPOINT", "http://a:1")]), "http://a:1/v1/traces");
        assert_eq!(of(&[("ENDPOINT", "http://a:1/base/")]), "http://a:1/base/v1/traces");
        assert_eq!(of(&[("ENDPOINT", "http://a:1/?key=x")]), "http://a:1/v1/traces?key=x");
        assert_eq!(of(&[("ENDPOINT", "http://a:1"), ("TRACES_ENDPOINT", "http://b:2")]), "http://b:2/");
        assert_eq!(of(&[("TRACES_ENDPOINT", "http://b:2/own/path")]), "http://b:2/own/path");
        let said = Settings { endpoint: Some("https://c".into()), ..Settings::default() };
        assert_eq!(
            endpoint(&said, &[("TRACES_ENDPOINT", "http://b:2")]).expect("a URL"),
            "https://c/v1/traces"
        );
        let whole = Settings { endpoint: Some("http://c/v1/traces".into()), ..Settings::default() };
        assert_eq!(endpoint(&whole, &[]).expect("a URL"), "http://c/v1/traces");
        let other = Settings { signal: Signal::Profiles, ..whole };
        assert_eq!(endpoint(&other, &[]).expect("a URL"), "http://c/v1development/profiles");
        let metrics = Settings { signal: Signal::Metrics, ..Settings::default() };
        assert_eq!(endpoint(&metrics, &[]).expect("a URL"), "http://localhost:4318/v1/metrics");
        let variables =
            [("ENDPOINT", "http://a:1"), ("METRICS_ENDPOINT", "http://b:2/x"), ("TRACES_ENDPOINT", "y")];
        assert_eq!(endpoint(&metrics, &variables).expect("a URL"), "http://b:2/x");
    }

    #[test]
    fn grpc_without_a_scheme_is_secure_unless_said_otherwise() {
        let of = |variables: &[(&str, &str)]| {
            let all = [&[("PROTOCOL", "http/protobuf"), ("TRACES_PROTOCOL", "grpc")], variables].concat();
            endpoint(&Settings::default(), &all).expect("a URL")
        };
        assert_eq!(of(&[("ENDPOINT", "a:4317")]), "https://a:4317/");
        assert_eq!(of(&[("ENDPOINT", "a:4317"), ("INSECURE", "true")]), "http://a:4317/");
        assert_eq!(
            of(&[("ENDPOINT", "a"), ("INSECURE", "true"), ("TRACES_INSECURE", "false")]),
            "https://a/"
        );
        assert_eq!(of(&[("ENDPOINT", "http://a:4317"), ("INSECURE", "false")]), "http://a:4317/");
    }

    #[test]
    fn what_has_no_meaning_is_an_error() {
        let of = |name, value| config(&Settings::default(), &[(name, value)]).expect_err("an error");
        assert_eq!(
            of("PROTOCOL", "http/json"),
            "the protocol http/json is not supported; use http/protobuf or grpc"
        );
        assert_eq!(of("PROTOCOL", "udp"), "`udp` is not a protocol of OTLP; use http/protobuf or grpc");
        assert_eq!(of("TRACES_COMPRESSION", "zip"), "`zip` is not a compression; use gzip or none");
        assert_eq!(of("TIMEOUT", "10s"), "`10s` is not a time limit; give milliseconds, such as 10000");
        assert_eq!(
            of("ENDPOINT", "localhost:4318"),
            "`localhost:4318` is not an endpoint: use http://HOST:PORT or https://HOST:PORT"
        );
        assert_eq!(of("HEADERS", "a=1,b"), "`b` is not a pair; give NAME=VALUE");
        assert!(of("CLIENT_KEY", "key.pem").starts_with("a client certificate and its key belong together"));
    }

    #[test]
    fn pairs_are_percent_encoded() {
        let parsed = |text: &str| {
            parse_pairs(text).map_err(|error| error.to_string()).map(|pairs| {
                pairs.into_iter().map(|(key, value)| format!("{key}:{value}")).collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(parsed(""), Ok(String::new()));
        assert_eq!(parsed("a=1, b = x=y ,c=%2C%20%c3%A9,"), Ok("a:1 b:x=y c:, é".into()));
        assert_eq!(parsed("a=%4"), Err("`a=%4` is badly percent-encoded".into()));
        assert!(parsed("a=%ff").is_err() && parsed("a=%zz").is_err());
    }

    #[test]
    fn the_variables_of_traces_are_stronger_and_ours_strongest() {
        let variables = [
            ("HEADERS", "a=1"),
            ("TRACES_HEADERS", "api-key=s%20e%2Cc, x = y "),
            ("TIMEOUT", "1"),
            ("TRACES_TIMEOUT", "2500"),
            ("COMPRESSION", "gzip"),
            ("CERTIFICATE", "ca.pem"),
            ("CLIENT_CERTIFICATE", "own.pem"),
            ("CLIENT_KEY", "own.key"),
        ];
        let settings = Settings { headers: vec![("X".into(), "z".into())], ..Settings::default() };
        let config = config(&settings, &variables).expect("a configuration");
        let headers: Vec<(&str, &str)> =
            config.headers.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(headers, [("api-key", "s e,c"), ("X", "z")]);
        assert_eq!(config.timeout, Duration::from_millis(2500));
        assert_eq!(config.compression, Compression::Gzip);
        assert_eq!(config.certificate, Some(PathBuf::from("ca.pem")));
        assert_eq!(config.identity.map(|identity| identity.key), Some(PathBuf::from("own.key")));
    }
}
