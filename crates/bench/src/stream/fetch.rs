//! Several clients that ask for the same history at once.

use super::RequestKind;
use crate::BenchError;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::time::Instant;
use varve_base::Interrupt;
use varve_exchange::ExchangeError;
use varve_exchange::client::peer::{HttpOptions, HttpPeer, Remote, StreamSupport, Traffic};
use varve_exchange::client::pull::BundleRequest;

/// Length of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Bytes that came over the network.
    pub received: u64,
    /// Bytes of the bundle after expansion.
    pub bytes: u64,
}

/// A request of several clients at once.
pub(super) struct Fetch<'f> {
    pub url: &'f str,
    pub kind: RequestKind,
    pub clients: usize,
    pub interrupt: &'f Interrupt,
}

/// One connected client.
struct Client {
    remote: Remote,
    traffic: Traffic,
}

fn connect(url: &str) -> Result<Client, BenchError> {
    let peer = HttpPeer::new(url, &HttpOptions::default())?;
    let traffic = peer.traffic();
    let remote = Remote::connect(Box::new(peer))?;
    Ok(Client { remote, traffic })
}

/// True if the server streams the files of its store.
pub(super) fn has_streams(url: &str) -> Result<bool, BenchError> {
    let client = connect(url)?;
    Ok(client.remote.capabilities().stream_support() == StreamSupport::Supported)
}

impl Fetch<'_> {
    /// Connects all clients, then lets all ask at once. Returns the length of an answer, and wall seconds from the first
    /// request to the last byte of all answers. With `compares` the contents are compared as well as the lengths.
    pub fn run(&self, compares: bool) -> Result<(Answer, f64), BenchError> {
        let mut clients = Vec::with_capacity(self.clients);
        for _ in 0..self.clients {
            self.interrupt.check()?;
            clients.push(connect(self.url)?);
        }
        let heads = match clients.first_mut() {
            Some(first) => first.remote.heads()?,
            None => return Err(BenchError::Nothing),
        };
        let request = BundleRequest {
            heads,
            streamed: self.kind == RequestKind::Stream,
            bookmarks: true,
            ..BundleRequest::default()
        };
        let start = Instant::now();
        let answers: Vec<_> = std::thread::scope(|scope| {
            let running: Vec<_> = clients
                .into_iter()
                .map(|client| scope.spawn(|| self.read(client, &request, compares)))
                .collect();
            running.into_iter().map(|client| client.join()).collect()
        });
        let seconds = start.elapsed().as_secs_f64();
        let mut first = None;
        for answer in answers {
            let answer = answer.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            if *first.get_or_insert(answer) != answer {
                return Err(BenchError::OtherAnswer {
                    url: super::without_login(self.url),
                });
            }
        }
        let (answer, _) = first.ok_or(BenchError::Nothing)?;
        Ok((answer, seconds))
    }

    /// Reads one answer to its end; returns its length and fingerprint, which is 0 unless contents are compared.
    fn read(
        &self,
        mut client: Client,
        request: &BundleRequest,
        compares: bool,
    ) -> Result<(Answer, u64), BenchError> {
        let before = client.traffic.received();
        let mut bundle = client.remote.bundle(request)?;
        let (mut buffer, mut bytes) = (vec![0; 256 << 10], 0);
        let mut hasher = DefaultHasher::new();
        loop {
            self.interrupt.check()?;
            let read = bundle.read(&mut buffer).map_err(ExchangeError::Read)?;
            if read == 0 {
                break;
            }
            bytes += read as u64;
            if compares {
                hasher.write(&buffer[..read]);
            }
        }
        drop(bundle);
        let received = client.traffic.received() - before;
        let fingerprint = if compares { hasher.finish() } else { 0 };
        Ok((Answer { received, bytes }, fingerprint))
    }
}
