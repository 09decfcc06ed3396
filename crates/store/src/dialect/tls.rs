//! TLS to a PostgreSQL server, by `sslmode` as its own clients understand it.
//!
//! `disable`: none. `prefer` (the default): when the server offers it. `require`: or no connection. Neither
//! proves who the server is. `verify-full`: the certificate must be valid for the host name, by the public
//! authorities or by the ones in the file that `sslrootcert` names.

use std::path::PathBuf;
use std::sync::Arc;

use postgres::config::SslMode;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Cause;

/// Whether and how a connection is secured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TlsMode {
    Disable,
    Prefer,
    Require,
    VerifyFull { roots: Option<PathBuf> },
}

/// Takes `sslmode` and `sslrootcert` out of a URL.
pub(super) fn split_mode(url: &str) -> Result<(String, TlsMode), String> {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut mode, mut roots, mut rest) = ("prefer", None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", value)) => mode = value,
            Some(("sslrootcert", value)) => roots = Some(PathBuf::from(value)),
            _ => rest.push(pair),
        }
    }
    let mode = match mode {
        "disable" => TlsMode::Disable,
        "prefer" => TlsMode::Prefer,
        "require" => TlsMode::Require,
        "verify-full" => TlsMode::VerifyFull { roots },
        other => {
            return Err(format!("sslmode {other:?} is none of disable, prefer, require and verify-full"));
        }
    };
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    Ok((format!("{address}{query}"), mode))
}

impl TlsMode {
    /// What the client asks of the server.
    pub(super) fn negotiation(&self) -> SslMode {
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::VerifyFull { .. } => SslMode::Require,
        }
    }

    /// Makes what secures a connection.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, Cause> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let config = match self {
            Self::VerifyFull { roots } => config.with_root_certificates(root_certificates(roots.as_ref())?),
            _ => config.dangerous().with_custom_certificate_verifier(Arc::new(AnyServer { provider })),
        };
        Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
    }
}

fn root_certificates(file: Option<&PathBuf>) -> Result<RootCertStore, Cause> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(roots);
    };
    let unreadable = |error| format!("cannot read the certificates in {}: {error}", file.display());
    for certificate in CertificateDer::pem_file_iter(file).map_err(unreadable)? {
        roots.add(certificate.map_err(unreadable)?)?;
    }
    Ok(roots)
}

/// Accepts whatever certificate the server shows, as `prefer` and `require` are defined; its signatures are
/// checked all the same.
#[derive(Debug)]
struct AnyServer {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_taken_out_of_the_url() {
        let split = |url| split_mode(url).unwrap();
        assert_eq!(split("postgres://h/d"), ("postgres://h/d".to_owned(), TlsMode::Prefer));
        assert_eq!(
            split("postgres://h/d?sslmode=verify-full&application_name=x&sslrootcert=/r.pem"),
            (
                "postgres://h/d?application_name=x".to_owned(),
                TlsMode::VerifyFull { roots: Some("/r.pem".into()) }
            )
        );
        assert!(split_mode("postgres://h/d?sslmode=allow").is_err());
        for mode in [TlsMode::Disable, TlsMode::Require, TlsMode::VerifyFull { roots: None }] {
            assert!(mode.connector().is_ok(), "{mode:?}");
        }
        assert!(TlsMode::VerifyFull { roots: Some("/absent.pem".into()) }.connector().is_err());
    }
}
