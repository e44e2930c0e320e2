//! How much goes over the connections to a server.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, NextTimeout, Transport as Connection,
};

/// Requests, their bytes, and the bytes of the answers, so far.
#[derive(Clone, Debug, Default)]
pub struct Traffic(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    requests: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Traffic {
    /// Number of requests.
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Ordering::Relaxed)
    }

    /// Bytes of requests, with their heads.
    pub fn sent(&self) -> u64 {
        self.0.sent.load(Ordering::Relaxed)
    }

    /// Bytes of bodies that have come, as they came.
    pub fn received(&self) -> u64 {
        self.0.received.load(Ordering::Relaxed)
    }

    pub(super) fn count_request(&self) {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn has_received(&self, bytes: usize) {
        self.0.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The same body, counted as it is read.
    pub(super) fn counting<R: Read>(&self, body: R) -> CountedBody<R> {
        CountedBody {
            body,
            traffic: self.clone(),
        }
    }
}

/// A body that is counted.
pub(super) struct CountedBody<R> {
    body: R,
    traffic: Traffic,
}

impl<R: Read> Read for CountedBody<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.body.read(bytes)?;
        self.traffic.has_received(read);
        Ok(read)
    }
}

/// Lets connections be counted, the outermost form of them: their output is not encrypted yet.
#[derive(Debug)]
pub(super) struct CountingConnector {
    pub(super) traffic: Traffic,
    /// Whether the way may lead through a proxy, the connection to which is made in the same way.
    pub(super) by_proxy: bool,
}

impl<In: Connection> Connector<In> for CountingConnector {
    type Out = CountedConnection<In>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        let is_counted = details.config.proxy().is_some() == self.by_proxy;
        Ok(chained.map(|connection| CountedConnection {
            connection,
            traffic: is_counted.then(|| self.traffic.clone()),
        }))
    }
}

/// A connection of which all is counted that goes out.
#[derive(Debug)]
pub(super) struct CountedConnection<C> {
    connection: C,
    traffic: Option<Traffic>,
}

impl<C: Connection> Connection for CountedConnection<C> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.connection.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        if let Some(Traffic(counts)) = &self.traffic {
            counts.sent.fetch_add(amount as u64, Ordering::Relaxed);
        }
        self.connection.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.connection.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.connection.is_open()
    }

    fn is_tls(&self) -> bool {
        self.connection.is_tls()
    }
}
