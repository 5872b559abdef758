//! Certificates: those that fit, and those that don't.

use crate::server::*;
use kperf_otlp::exporter::{About, Config, Identity, Protocol, Sending};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

/// An authority, and the files that belong to it.
struct Authority {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Authority { folder, issuer }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A certificate for a name.
    fn issue(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        (CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// A server with a certificate for a name, that may want clients to have one too.
    fn server(&self, name: &str, wants_clients: bool) -> Server {
        let (certificate, key) = self.issue(name);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = if wants_clients {
            let mut roots = RootCertStore::empty();
            roots.add(self.issuer.der().clone()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let mut config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Server::start(Some(TlsAcceptor::from(Arc::new(config))), |_| Reply::Accept)
    }

    fn identity(&self) -> Identity {
        let (certificate, key) = self.issue("a client");
        let identity = Identity { certificate: self.file("own.pem"), key: self.file("own.key") };
        std::fs::write(&identity.certificate, certificate.pem()).unwrap();
        std::fs::write(&identity.key, key.serialize_pem()).unwrap();
        identity
    }
}

fn config(server: &Server, protocol: Protocol, certificate: &Path) -> Config {
    let plain = server.config(protocol);
    let endpoint = plain.endpoint.to_string().replace("http://127.0.0.1", "https://localhost");
    Config { endpoint: endpoint.parse().unwrap(), certificate: Some(certificate.to_owned()), ..plain }
}

const BOTH: [Protocol; 2] = [Protocol::HttpProtobuf, Protocol::Grpc];

#[test]
fn a_certificate_of_an_authority_that_is_trusted_will_do() {
    let authority = Authority::new();
    for protocol in BOTH {
        let server = authority.server("localhost", false);
        let delivery = send(config(&server, protocol, &authority.file("ca.pem")), 5);
        assert!(delivery.is_complete() && delivery.retries == 0, "{delivery}");
    }
}

#[test]
fn a_wrong_certificate_ends_it_at_once() {
    let (authority, other) = (Authority::new(), Authority::new());
    for protocol in BOTH {
        for (name, trusted, word) in
            [("localhost", &other, "invalid peer certificate"), ("elsewhere", &authority, "not valid for")]
        {
            let server = authority.server(name, false);
            let delivery = send(config(&server, protocol, &trusted.file("ca.pem")), 5);
            assert_eq!(delivery.acknowledged, 0, "{delivery}");
            // The other request in flight may have waited for the same connection: it asks once for itself.
            assert!(delivery.retries <= 1, "{delivery}");
            assert_eq!(delivery.failed + delivery.dropped, 500, "{delivery}");
            let message = &delivery.messages[0];
            assert!(message.about == About::Failed && message.text.contains(word), "{delivery}");
            assert_eq!(server.seen().len(), 0);
        }
    }
}

#[test]
fn a_server_may_ask_who_we_are() {
    let authority = Authority::new();
    for protocol in BOTH {
        let server = authority.server("localhost", true);
        let unknown = config(&server, protocol, &authority.file("ca.pem"));
        let known = Config { identity: Some(authority.identity()), ..unknown.clone() };
        assert!(send(known, 5).is_complete());
        let delivery = send(unknown, 5);
        assert_eq!((delivery.acknowledged, delivery.failed + delivery.dropped), (0, 500), "{delivery}");
        assert_eq!(server.seen().len(), 5);
    }
}

#[test]
fn files_that_are_no_certificates_are_told_before_anything_is_sent() {
    let authority = Authority::new();
    let server = authority.server("localhost", false);
    std::fs::write(authority.file("empty.pem"), "nothing").unwrap();
    let base = config(&server, Protocol::HttpProtobuf, &authority.file("ca.pem"));
    let identity = authority.identity();
    for (config, text) in [
        (Config { certificate: Some(authority.file("none.pem")), ..base.clone() }, "No such file"),
        (
            Config { certificate: Some(authority.file("empty.pem")), ..base.clone() },
            "it has no certificate (PEM)",
        ),
        (
            Config { identity: Some(Identity { key: identity.certificate.clone(), ..identity }), ..base },
            "nothing of the kind is in it (PEM)",
        ),
    ] {
        let open = || Ok(Numbered { next: 0, count: 1 });
        let Err(error) = Sending::start(config, open) else { panic!("it began: {text}") };
        let error = error.to_string();
        assert!(error.starts_with("failed to read `") && error.contains(text), "{error}");
    }
}
