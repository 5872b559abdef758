//! TLS for both protocols.

use super::config::Config;
use super::error::{ErrorKind, Result};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// Opens connections, with TLS where the address says `https`.
pub(super) type Connector = HttpsConnector<HttpConnector>;

/// A connector that speaks HTTP/1.1, or HTTP/2 for gRPC.
pub(super) fn connector(config: &Config, http2: bool) -> Result<Connector> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(config.timeout));
    let builder = HttpsConnectorBuilder::new().with_tls_config(client_config(config)?).https_or_http();
    Ok(if http2 {
        builder.enable_http2().wrap_connector(tcp)
    } else {
        builder.enable_http1().wrap_connector(tcp)
    })
}

fn client_config(config: &Config) -> Result<ClientConfig> {
    let tls = |error: rustls::Error| ErrorKind::Tls(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(tls)?;
    let is_secure = config.endpoint.scheme_str() == Some("https");
    let builder = match &config.certificate {
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(tls)?;
            }
            builder.with_root_certificates(roots)
        }
        None if is_secure => builder.with_native_roots().map_err(|error| {
            ErrorKind::Tls(format!(
                "the system's certificates: {error}; name a file with OTEL_EXPORTER_OTLP_CERTIFICATE"
            ))
        })?,
        // No connection uses them.
        None => builder.with_root_certificates(RootCertStore::empty()),
    };
    Ok(match &config.identity {
        Some(identity) => {
            let key =
                PrivateKeyDer::from_pem_file(&identity.key).map_err(|error| pem(&identity.key, &error))?;
            builder.with_client_auth_cert(certificates(&identity.certificate)?, key).map_err(tls)?
        }
        None => builder.with_no_client_auth(),
    })
}

/// The certificates of a file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    match found {
        Ok(found) if found.is_empty() => {
            Err(ErrorKind::Pem { path: path.to_owned(), what: "it has no certificate (PEM)".into() }.into())
        }
        Ok(found) => Ok(found),
        Err(error) => Err(pem(path, &error).into()),
    }
}

fn pem(path: &Path, error: &rustls::pki_types::pem::Error) -> ErrorKind {
    use rustls::pki_types::pem::Error;
    let what = match error {
        Error::Io(error) => error.to_string(),
        Error::NoItemsFound => "nothing of the kind is in it (PEM)".to_owned(),
        error => error.to_string(),
    };
    ErrorKind::Pem { path: path.to_owned(), what }
}
