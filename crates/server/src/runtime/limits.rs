//! Admission control: how many connections and requests there may be at a time.
//!
//! Work is done by the bounded pools of the server, so a request that is admitted may still wait for a thread, an
//! index or a lock. These counts bound the queue: a request beyond its class's limit is refused at once, while the
//! other classes go on.

use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Network part of an IPv6 address: a client commonly has all addresses behind it.
const NETWORK_BITS: u32 = 64;

/// The kind of a request, each with a limit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestClass {
    /// Reads documents, lists or changes of a database, or the state of the server.
    Read,
    /// Changes a database or the server.
    Write,
    /// Asks a view or by selector, and may wait for an index.
    Query,
    /// Is for a repository.
    Exchange,
}

/// Counts connections and requests against `[limits]`.
#[derive(Debug)]
pub(crate) struct Limits {
    settings: RwLock<Arc<varve_config::Limits>>,
    sockets: usize,
    connections: Arc<Mutex<ConnectionCounts>>,
    in_flight: [Arc<AtomicUsize>; 4],
    bodies: Arc<BodyMemory>,
}

#[derive(Debug, Default)]
struct ConnectionCounts {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// Bytes of bodies that are in memory, of all requests.
#[derive(Debug)]
pub(crate) struct BodyMemory {
    used: AtomicU64,
    most: AtomicU64,
}

/// A reservation of [`BodyMemory`] for one body; dropping it returns the bytes.
#[derive(Debug)]
pub(crate) struct BodyReservation {
    memory: Arc<BodyMemory>,
    bytes: u64,
}

impl BodyReservation {
    /// Takes more; returns whether it is there.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let before = self.memory.used.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        before.saturating_add(bytes) <= self.memory.most.load(Ordering::Relaxed)
    }
}

impl Drop for BodyReservation {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// One admitted connection; frees its place when it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    counts: Arc<Mutex<ConnectionCounts>>,
    network: IpAddr,
}

/// One admitted request; frees its place when it is dropped.
#[derive(Debug)]
pub(crate) struct RequestPermit(Arc<AtomicUsize>);

impl Limits {
    /// `sockets` is how many connections the process has file descriptors for.
    pub(crate) fn new(settings: varve_config::Limits, sockets: usize) -> Limits {
        let bodies = BodyMemory {
            used: AtomicU64::new(0),
            most: AtomicU64::new(settings.body_memory),
        };
        Limits {
            settings: RwLock::new(within(settings, sockets)),
            sockets,
            connections: Arc::default(),
            in_flight: Default::default(),
            bodies: Arc::new(bodies),
        }
    }

    pub(crate) fn settings(&self) -> Arc<varve_config::Limits> {
        Arc::clone(&self.settings.read())
    }

    /// From now on these count; what was admitted stays.
    pub(crate) fn change(&self, settings: varve_config::Limits) {
        let most = &self.bodies.most;
        most.store(settings.body_memory, Ordering::Relaxed);
        *self.settings.write() = within(settings, self.sockets);
    }

    /// Admits a connection, unless there are too many in all or of this address.
    pub(crate) fn connect(&self, peer: IpAddr) -> Option<ConnectionPermit> {
        let network = network_of(peer);
        let settings = self.settings();
        let mut counts = self.connections.lock();
        let of_address = counts.by_address.get(&network).copied().unwrap_or(0);
        let is_full = counts.all >= settings.connections;
        if is_full || of_address >= settings.connections_per_address {
            return None;
        }
        counts.all += 1;
        counts.by_address.insert(network, of_address + 1);
        drop(counts);
        Some(ConnectionPermit {
            counts: Arc::clone(&self.connections),
            network,
        })
    }

    /// For a body of which nothing has come yet.
    pub(crate) fn body(&self) -> BodyReservation {
        BodyReservation {
            memory: Arc::clone(&self.bodies),
            bytes: 0,
        }
    }

    /// Admits a request, unless too many of its class are in flight.
    pub(crate) fn admit(&self, class: RequestClass) -> Option<RequestPermit> {
        let settings = self.settings();
        let (counter, most) = match class {
            RequestClass::Read => (&self.in_flight[0], settings.reads),
            RequestClass::Write => (&self.in_flight[1], settings.writes),
            RequestClass::Query => (&self.in_flight[2], settings.queries),
            RequestClass::Exchange => (&self.in_flight[3], settings.exchanges),
        };
        let permit = RequestPermit(Arc::clone(counter));
        let before = counter.fetch_add(1, Ordering::Relaxed);
        // A refused request takes its count back when its permit is dropped here.
        (before < most).then_some(permit)
    }
}

/// Never more connections than there are sockets for.
fn within(settings: varve_config::Limits, sockets: usize) -> Arc<varve_config::Limits> {
    Arc::new(varve_config::Limits {
        connections: settings.connections.min(sockets),
        ..settings
    })
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut counts = self.counts.lock();
        counts.all = counts.all.saturating_sub(1);
        if let Entry::Occupied(mut found) = counts.by_address.entry(self.network) {
            *found.get_mut() -= 1;
            if *found.get() == 0 {
                found.remove();
            }
        }
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The network whose addresses count as one; for IPv4 the address itself.
pub(crate) fn network_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> NETWORK_BITS << NETWORK_BITS;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(connections: usize, per_address: usize, sockets: usize) -> Limits {
        let settings = varve_config::Limits {
            connections,
            connections_per_address: per_address,
            reads: 2,
            ..varve_config::Limits::default()
        };
        Limits::new(settings, sockets)
    }

    fn connect(limits: &Limits, peer: &str) -> Option<ConnectionPermit> {
        limits.connect(peer.parse().unwrap())
    }

    #[test]
    fn one_address_cannot_take_all_connections() {
        let limits = limits(3, 2, 100);
        let first = connect(&limits, "10.0.0.1").unwrap();
        let _second = connect(&limits, "::ffff:10.0.0.1").unwrap();
        assert!(
            connect(&limits, "10.0.0.1").is_none(),
            "too many of the address"
        );
        let _third = connect(&limits, "10.0.0.2").unwrap();
        assert!(connect(&limits, "10.0.0.3").is_none(), "too many in all");
        drop(first);
        let again = connect(&limits, "10.0.0.1");
        assert!(again.is_some());
        drop(again);
        let _other = connect(&limits, "10.0.0.3").unwrap();
    }

    #[test]
    fn an_address_that_left_takes_no_memory() {
        let limits = limits(10, 2, 100);
        drop(connect(&limits, "10.0.0.1"));
        let counts = limits.connections.lock();
        assert!(counts.all == 0 && counts.by_address.is_empty());
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let limits = limits(10, 2, 100);
        let _held = (
            connect(&limits, "2001:db8:1:2::1").unwrap(),
            connect(&limits, "2001:db8:1:2:ffff::9").unwrap(),
        );
        assert!(connect(&limits, "2001:db8:1:2:3:4:5:6").is_none());
        assert!(connect(&limits, "2001:db8:1:3::1").is_some());
    }

    #[test]
    fn there_are_never_more_connections_than_descriptors() {
        let limits = limits(10, 10, 1);
        let _held = connect(&limits, "10.0.0.1").unwrap();
        assert!(connect(&limits, "10.0.0.1").is_none());
    }

    #[test]
    fn changed_limits_count_from_then_on() {
        let limits = limits(1, 1, 2);
        let _held = connect(&limits, "10.0.0.1").unwrap();
        assert!(connect(&limits, "10.0.0.2").is_none());
        limits.change(varve_config::Limits {
            connections: 9,
            connections_per_address: 1,
            body_memory: 10,
            ..varve_config::Limits::default()
        });
        let _second = connect(&limits, "10.0.0.2").unwrap();
        assert!(
            connect(&limits, "10.0.0.3").is_none(),
            "there are two sockets"
        );
        assert!(!limits.body().grow(11));
    }

    #[test]
    fn a_full_class_refuses_its_own_requests_only() {
        let limits = limits(1, 1, 1);
        let first = limits.admit(RequestClass::Read);
        let _second = limits.admit(RequestClass::Read).unwrap();
        for _ in 0..3 {
            assert!(limits.admit(RequestClass::Read).is_none());
        }
        assert!(limits.admit(RequestClass::Write).is_some());
        drop(first);
        assert!(limits.admit(RequestClass::Read).is_some());
    }
}
