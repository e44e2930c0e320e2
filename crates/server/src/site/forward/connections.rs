//! Connections to other servers of a store, kept for the next requests.

use super::body::ForwardedBody;
use crate::http::Tls;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// After this time a server that takes no connection counts as unreachable for that request.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// Idle connections that are kept.
const MOST_IDLE: usize = 32;
/// Time for which an idle connection is kept: shorter than a server keeps one.
const IDLE_FOR: Duration = Duration::from_secs(5);

/// Connections to servers, each with its address.
#[derive(Debug)]
pub(super) struct Connections {
    /// Encrypts them, if all servers of the store do.
    tls: Option<Tls>,
    idle: Mutex<Vec<IdleConnection>>,
}

#[derive(Debug)]
struct IdleConnection {
    address: Arc<str>,
    since: Instant,
    sender: SendRequest<ForwardedBody>,
}

/// A connection that was got from [`Connections`].
#[derive(Debug)]
pub(super) struct Connection {
    address: Arc<str>,
    pub(super) sender: SendRequest<ForwardedBody>,
    /// True if it has answered requests before, so that its server may just have closed it.
    pub(super) is_reused: bool,
}

impl Connections {
    pub(super) fn new(tls: Option<Tls>) -> Connections {
        Connections {
            tls,
            idle: Mutex::default(),
        }
    }

    /// An idle connection to this address, or a new one.
    ///
    /// # Errors
    /// Errors of the network and of TLS.
    pub(super) async fn get(&self, address: &Arc<str>) -> io::Result<Connection> {
        match self.take_idle(address) {
            Some(sender) => Ok(Connection {
                address: Arc::clone(address),
                sender,
                is_reused: true,
            }),
            None => self.connect(address).await,
        }
    }

    fn take_idle(&self, address: &Arc<str>) -> Option<SendRequest<ForwardedBody>> {
        let mut idle = self.idle.lock();
        idle.retain(|it| {
            it.address == *address && it.since.elapsed() < IDLE_FOR && !it.sender.is_closed()
        });
        let ready = idle.iter().rposition(|it| it.sender.is_ready())?;
        Some(idle.swap_remove(ready).sender)
    }

    /// A new connection.
    ///
    /// # Errors
    /// Errors of the network and of TLS.
    pub(super) async fn connect(&self, address: &Arc<str>) -> io::Result<Connection> {
        let connecting = tokio::time::timeout(CONNECT_WITHIN, async {
            let stream = TcpStream::connect(&**address).await?;
            let _ = stream.set_nodelay(true);
            match &self.tls {
                None => begin(stream).await,
                Some(tls) => begin(tls.connect(address, stream).await?).await,
            }
        });
        let sender = connecting.await.map_err(|_| io::ErrorKind::TimedOut)??;
        Ok(Connection {
            address: Arc::clone(address),
            sender,
            is_reused: false,
        })
    }

    /// Keeps a connection whose answer was read to its end.
    pub(super) fn keep(&self, connection: Connection) {
        let Connection {
            address, sender, ..
        } = connection;
        let mut idle = self.idle.lock();
        if idle.len() < MOST_IDLE && !sender.is_closed() {
            idle.push(IdleConnection {
                address,
                since: Instant::now(),
                sender,
            });
        }
    }
}

async fn begin(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> io::Result<SendRequest<ForwardedBody>> {
    let begun = handshake(TokioIo::new(stream)).await;
    let (sender, connection) = begun.map_err(io::Error::other)?;
    // The requests on it find out what goes wrong.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}
