//! The result of one try of a request.

use crate::proto::collector::trace::v1::ExportTraceServiceResponse;
use std::error::Error;
use std::time::Duration;

/// The result of one try of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The server has the request, without the spans that it rejected. `message` is the server's, mostly empty.
    Accepted { rejected: u64, message: String },
    /// It may be tried again, after a wait that the server asked for.
    Later { wait: Option<Duration>, why: String },
    /// It must not be tried again; other requests may succeed.
    Refused { why: String },
    /// It is too large; a part of it may succeed.
    TooLarge { why: String },
    /// No other request will succeed.
    Hopeless { why: String },
}

impl Answer {
    /// An answer of success.
    pub(super) fn accepted(response: ExportTraceServiceResponse) -> Answer {
        let partial = response.partial_success.unwrap_or_default();
        Answer::Accepted {
            rejected: partial.rejected_spans.try_into().unwrap_or(0),
            message: partial.error_message,
        }
    }

    /// No answer: the connection failed or was cut, as the error says.
    pub(super) fn of_error(error: &(dyn Error + 'static)) -> Answer {
        let mut why = String::new();
        for cause in Causes(Some(error)) {
            let text = cause.to_string();
            if !why.ends_with(&text) {
                why.push_str(if why.is_empty() { "" } else { ": " });
                why.push_str(&text);
            }
        }
        match Causes(Some(error)).filter_map(|cause| cause.downcast_ref()).find(|&cause| is_hopeless(cause)) {
            Some(cause) => {
                if let Some(advice) = advice(cause) {
                    why.push_str("; ");
                    why.push_str(advice);
                }
                Answer::Hopeless { why }
            }
            None => Answer::Later { wait: None, why },
        }
    }
}

/// Whether trying again can't help: certificates don't fit, or the server doesn't speak TLS. In all other cases the server may
/// just be starting, or its name may not be known yet.
fn is_hopeless(error: &rustls::Error) -> bool {
    use rustls::{AlertDescription as Alert, Error};
    match error {
        Error::InvalidCertificate(_)
        | Error::NoCertificatesPresented
        | Error::PeerIncompatible(_)
        | Error::InvalidMessage(_)
        | Error::General(_) => true,
        Error::AlertReceived(alert) => matches!(
            alert,
            Alert::CertificateRequired
                | Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::UnknownCA
                | Alert::AccessDenied
        ),
        _ => false,
    }
}

/// What to do about a server's certificate that is refused.
pub(super) fn advice(error: &rustls::Error) -> Option<&'static str> {
    use rustls::CertificateError as Certificate;
    let rustls::Error::InvalidCertificate(certificate) = error else { return None };
    Some(match certificate {
        Certificate::UnknownIssuer => {
            "name the file (PEM) with the certificate of its authority in OTEL_EXPORTER_OTLP_CERTIFICATE"
        }
        Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
            "the certificate needs the endpoint's host name among its subject alternative names (SAN); a common name isn't enough"
        }
        Certificate::Expired | Certificate::ExpiredContext { .. } => {
            "issue a new certificate, or set this machine's clock"
        }
        Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => {
            "set this machine's clock, or wait until the certificate is valid"
        }
        // The library's own errors have no public type.
        Certificate::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "the server shows an authority's own certificate (basicConstraints CA:TRUE): issue it one with CA:FALSE, signed by that"
        }
        Certificate::Other(other) if format!("{other:?}").contains("UnsupportedCertVersion") => {
            "it is of X.509 version 1: issue one of version 3, with a subject alternative name"
        }
        Certificate::BadEncoding | Certificate::BadSignature => "the certificate is damaged: issue a new one",
        _ => return None,
    })
}

/// An error and its causes, in order.
struct Causes<'a>(Option<&'a (dyn Error + 'static)>);

impl<'a> Iterator for Causes<'a> {
    type Item = &'a (dyn Error + 'static);

    fn next(&mut self) -> Option<Self::Item> {
        let error = self.0?;
        // An `io::Error` that wraps another one skips it in `source()`.
        self.0 = match error.downcast_ref::<std::io::Error>().and_then(|error| error.get_ref()) {
            Some(held) => Some(held),
            None => error.source(),
        };
        Some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{AlertDescription, CertificateError};
    use std::io;

    #[test]
    fn only_certificates_that_do_not_fit_are_hopeless() {
        let answer = |error: rustls::Error| Answer::of_error(&io::Error::other(error));
        let is_hopeless = |error| matches!(answer(error), Answer::Hopeless { .. });
        assert!(is_hopeless(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)));
        assert!(is_hopeless(rustls::Error::AlertReceived(AlertDescription::UnknownCA)));
        // A proxy sends this while it is being reloaded.
        assert!(!is_hopeless(rustls::Error::DecryptError));
        for alert in [
            AlertDescription::InternalError,
            AlertDescription::HandshakeFailure,
            AlertDescription::UnrecognisedName,
        ] {
            let why = format!("received fatal alert: {alert:?}");
            assert_eq!(answer(rustls::Error::AlertReceived(alert)), Answer::Later { wait: None, why });
        }
    }
}
