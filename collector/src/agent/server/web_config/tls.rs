//! TLS of a web configuration.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio_rustls::TlsAcceptor;

use super::document::{ClientAuth, TlsKeys, TlsVersion};
use super::{WebConfigError, content};

/// `file` is the configuration that has these keys.
pub(super) fn acceptor(keys: &TlsKeys, file: &Path) -> Result<TlsAcceptor, WebConfigError> {
    let wrong = |problem: &str| WebConfigError::Wrong {
        path: file.to_owned(),
        problem: format!("tls_server_config: {problem}"),
    };
    let cert_file = keys.cert_file.as_deref().ok_or_else(|| wrong("cert_file is missing"))?;
    let key_file = keys.key_file.as_deref().ok_or_else(|| wrong("key_file is missing"))?;
    let versions = versions(keys);
    if versions.is_empty() {
        return Err(wrong("min_version is newer than max_version"));
    }
    let verifier = match (keys.client_auth_type, keys.client_ca_file.as_deref()) {
        (ClientAuth::NoClientCert, None) => WebPkiClientVerifier::no_client_auth(),
        (ClientAuth::NoClientCert, Some(_)) => {
            return Err(wrong(
                "client_ca_file needs a client_auth_type: write RequireAndVerifyClientCert",
            ));
        }
        (_, None) => return Err(wrong("client_auth_type needs a client_ca_file")),
        (kind, Some(authorities)) => verifier(kind, authorities)?,
    };
    let chain = certificates(cert_file)?;
    let key = PrivateKeyDer::from_pem_slice(&content(key_file)?);
    let no_key = |_| in_file(key_file, "no private key in PEM that is not encrypted".to_owned());
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(&versions);
    let builder = builder.map_err(|error| wrong(&error.to_string()))?;
    let config =
        builder.with_client_cert_verifier(verifier).with_single_cert(chain, key.map_err(no_key)?);
    let mut config = config.map_err(|error| in_file(cert_file, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn versions(keys: &TlsKeys) -> Vec<&'static SupportedProtocolVersion> {
    let all = [(TlsVersion::Tls13, &TLS13), (TlsVersion::Tls12, &TLS12)];
    let is_wanted = |version: &TlsVersion| (keys.min_version..=keys.max_version).contains(version);
    all.into_iter().filter(|(version, _)| is_wanted(version)).map(|(_, version)| version).collect()
}

fn verifier(
    kind: ClientAuth,
    authorities: &Path,
) -> Result<Arc<dyn ClientCertVerifier>, WebConfigError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(authorities)? {
        roots.add(certificate).map_err(|error| in_file(authorities, error.to_string()))?;
    }
    let provider = Arc::new(default_provider());
    let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    if kind == ClientAuth::VerifyClientCertIfGiven {
        builder = builder.allow_unauthenticated();
    }
    builder.build().map_err(|error| in_file(authorities, error.to_string()))
}

/// All certificates of a file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, WebConfigError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&content(path)?).collect();
    let all = all.map_err(|error| in_file(path, error.to_string()))?;
    if all.is_empty() {
        return Err(in_file(path, "no certificate in PEM".to_owned()));
    }
    Ok(all)
}

fn in_file(path: &Path, problem: String) -> WebConfigError {
    WebConfigError::Wrong { path: path.to_owned(), problem }
}
