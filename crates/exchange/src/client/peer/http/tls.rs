//! TLS with a verifier of our own: `ureq` takes certificates of authorities only.

use super::trust::Verifier;
use rustls::pki_types::ServerName;
use rustls::{ALL_VERSIONS, ClientConfig, ClientConnection, StreamOwned};
use std::io::{Read, Write};
use std::sync::Arc;
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout,
    Transport as Connection, TransportAdapter,
};

/// Makes connections to `https` encrypted ones.
#[derive(Debug)]
pub(super) struct TlsConnector(Arc<ClientConfig>);

impl TlsConnector {
    /// # Errors
    /// The cryptography has none of the versions of TLS.
    pub(super) fn new(verifier: Verifier) -> Result<TlsConnector, rustls::Error> {
        let provider = Arc::clone(&verifier.provider);
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(ALL_VERSIONS)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(TlsConnector(Arc::new(config)))
    }
}

impl<In: Connection> Connector<In> for TlsConnector {
    type Out = Either<In, TlsConnection>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        let Some(connection) = chained else {
            return Ok(None);
        };
        if !details.needs_tls() || connection.is_tls() {
            return Ok(Some(Either::A(connection)));
        }
        let host = details.uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Error::BadUri(format!("{host} cannot have a certificate")))?;
        let mut encrypted = ClientConnection::new(Arc::clone(&self.0), name)?;
        let mut below = TransportAdapter::new(connection.boxed(), details.current_time.clone());
        below.set_timeout(details.timeout);
        encrypted.complete_io(&mut below)?;
        let buffers = LazyBuffers::new(
            details.config.input_buffer_size(),
            details.config.output_buffer_size(),
        );
        Ok(Some(Either::B(TlsConnection {
            buffers,
            stream: StreamOwned {
                conn: encrypted,
                sock: below,
            },
        })))
    }
}

/// An encrypted connection.
pub(super) struct TlsConnection {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl std::fmt::Debug for TlsConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsConnection").finish_non_exhaustive()
    }
}

impl Connection for TlsConnection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.get_mut().set_timeout(timeout);
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        self.stream.write_all(output)?;
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.get_mut().set_timeout(timeout);
        let read = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}
