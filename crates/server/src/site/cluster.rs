//! Several servers of one shared store: one leads and answers, the others pass connections on to it until it is their turn.

use crate::runtime::ServerContext;
use crate::runtime::log::Log;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use varve_shared::{Leadership, Node, ObjectStore, Role, Standby, SystemClock};

/// The shared store of a server's databases.
#[derive(Clone, Debug)]
pub struct SharedOptions {
    /// The store.
    pub store: Arc<dyn ObjectStore>,
    /// Host and port where other servers of the store reach this one, unless that is the address where it listens.
    pub advertise: Option<String>,
    /// A leader without a heartbeat for so long is followed by another server. The same for all servers of a store.
    pub takeover: Duration,
}

/// After this time a leader that takes no connection counts as gone for that connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// Pause after a connection could not be accepted, such as for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// One server among those of its store.
#[derive(Debug)]
pub(super) struct Cluster {
    options: SharedOptions,
    node: Node,
}

impl Cluster {
    /// The server with this id, which listens at `address`; `None` if others could not reach it there.
    pub(super) fn new(options: SharedOptions, id: String, address: SocketAddr) -> Option<Cluster> {
        let listening = Some(address).filter(|address| !address.ip().is_unspecified());
        let address = options.advertise.clone();
        let address = address.or_else(|| listening.map(|address| address.to_string()))?;
        Some(Cluster {
            options,
            node: Node { id, address },
        })
    }

    /// Passes connections on to the leader until this server leads. `None` if `stop` completes first.
    pub(super) async fn wait_for_turn(
        &self,
        listener: &TcpListener,
        server: &Arc<ServerContext>,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Option<Leadership> {
        let (mut leader, mut turn) = self.start_looking(&server.log);
        let mut passed = JoinSet::new();
        loop {
            tokio::select! {
                leadership = &mut turn => return leadership.ok(),
                () = stop.as_mut() => return None,
                // One whose sender is gone completes for ever, but so does the turn.
                Ok(()) = leader.changed() => passed.abort_all(),
                // Connections wait until a leader is known.
                accepted = listener.accept(), if leader.borrow().is_some() => {
                    let Ok((stream, peer)) = accepted else {
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                        continue;
                    };
                    let address = leader.borrow().clone();
                    let permit = server.limits.connect(peer.ip());
                    if let Some((address, permit)) = address.zip(permit) {
                        passed.spawn(async move {
                            pass_on(stream, &address).await;
                            drop(permit);
                        });
                    }
                }
                Some(_) = passed.join_next() => {}
            }
        }
    }

    /// Looks at the store until this server leads or the receivers are dropped.
    fn start_looking(
        &self,
        log: &Log,
    ) -> (
        watch::Receiver<Option<String>>,
        oneshot::Receiver<Leadership>,
    ) {
        let (addresses, leader) = watch::channel(None);
        let (turn, leads) = oneshot::channel();
        let (store, node) = (Arc::clone(&self.options.store), self.node.clone());
        let clock = Arc::new(SystemClock::default());
        let mut standby = Standby::new(store, clock, node, self.options.takeover);
        let (log, own) = (log.clone(), self.node.address.clone());
        let looking = move || {
            while !turn.is_closed() {
                match standby.look() {
                    Ok(Role::Leader(leadership)) => {
                        let term = leadership.term();
                        log.scope(|| tracing::info!("this server leads, in term {term}"));
                        // This fails if the server has stopped.
                        let _ = turn.send(leadership);
                        return;
                    }
                    Ok(Role::Standby(leader)) => {
                        // A former process at this address is gone, and passing on to itself would never end.
                        let address = Some(leader.address).filter(|address| *address != own);
                        addresses.send_if_modified(|known| {
                            let is_new = *known != address;
                            if let Some(address) = address.as_deref().filter(|_| is_new) {
                                log.scope(|| tracing::info!("the server at {address} leads"));
                            }
                            *known = address;
                            is_new
                        });
                    }
                    Err(error) => {
                        log.scope(|| tracing::error!("cannot look for the leader: {error}"));
                    }
                }
                thread::sleep(standby.interval());
            }
        };
        // Without a thread the turn never comes, and the server stops.
        let _ = thread::Builder::new()
            .name("leader".to_owned())
            .spawn(looking);
        (leader, leads)
    }
}

/// Bytes go both ways as they are, until both sides have ended. A client whose leader cannot be reached sees its connection
/// closed, and may try again.
async fn pass_on(mut client: TcpStream, address: &str) {
    let connecting = tokio::time::timeout(CONNECT_WITHIN, TcpStream::connect(address));
    if let Ok(Ok(mut leader)) = connecting.await {
        let _ = client.set_nodelay(true);
        let _ = leader.set_nodelay(true);
        let _ = tokio::io::copy_bidirectional(&mut client, &mut leader).await;
    }
}

/// Shows other servers that this one leads, until it stops or another leads.
#[derive(Debug)]
pub(super) struct Heartbeats {
    stop: mpsc::Sender<()>,
    is_superseded: watch::Receiver<bool>,
    beating: JoinHandle<Leadership>,
}

impl Heartbeats {
    /// Starts a thread for them; `None` if the system has none.
    pub(super) fn start(mut leadership: Leadership, log: Log) -> Option<Heartbeats> {
        let (stop, stopped) = mpsc::channel();
        let (superseded, is_superseded) = watch::channel(false);
        let beat = move || {
            loop {
                match leadership.beat() {
                    Ok(true) => {}
                    Ok(false) => {
                        log.scope(|| tracing::error!("another server leads now; this one stops"));
                        superseded.send_replace(true);
                        return leadership;
                    }
                    Err(error) => {
                        log.scope(|| tracing::error!("no heartbeat: {error}"));
                    }
                }
                let waited = stopped.recv_timeout(leadership.interval());
                if waited != Err(mpsc::RecvTimeoutError::Timeout) {
                    return leadership;
                }
            }
        };
        let thread = thread::Builder::new().name("heartbeat".to_owned());
        Some(Heartbeats {
            stop,
            is_superseded,
            beating: thread.spawn(beat).ok()?,
        })
    }

    /// Completes once another server leads.
    pub(super) async fn superseded(&self) {
        let mut superseded = self.is_superseded.clone();
        let found = superseded.wait_for(|superseded| *superseded).await;
        if found.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Lets another server take over at once. To be called when nothing is written any more. True if one has already.
    pub(super) fn end(self) -> bool {
        let is_superseded = *self.is_superseded.borrow();
        // It has ended if another server leads.
        let _ = self.stop.send(());
        if let Ok(leadership) = self.beating.join() {
            // Without that word others wait for the take-over time.
            let _ = leadership.resign();
        }
        is_superseded
    }
}
