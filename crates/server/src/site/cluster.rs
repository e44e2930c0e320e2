//! Several servers of one shared store: one leads and writes the databases, until it is another one's turn.

use crate::runtime::ServerContext;
use crate::runtime::log::Log;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
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

/// Part of this server among those of its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerRole {
    /// The server has not looked at the store yet.
    Unknown,
    /// This server writes the databases.
    Leader,
    /// The server at this address does; `None` if that is not known.
    Standby(Option<Arc<str>>),
}

/// One server among those of its store.
#[derive(Debug)]
pub(super) struct Cluster {
    options: SharedOptions,
    node: Node,
    role: watch::Sender<ServerRole>,
    is_superseded: watch::Sender<bool>,
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
            role: watch::Sender::new(ServerRole::Unknown),
            is_superseded: watch::Sender::new(false),
        })
    }

    /// The server's part, and its changes.
    pub(super) fn role(&self) -> watch::Receiver<ServerRole> {
        self.role.subscribe()
    }

    /// Completes once the server has looked at the store.
    pub(super) async fn role_known(&self) {
        wait_for(&self.role, |role| *role != ServerRole::Unknown).await;
    }

    /// Completes once another server leads after this one.
    pub(super) async fn superseded(&self) {
        wait_for(&self.is_superseded, |is_superseded| *is_superseded).await;
    }

    /// True once another server leads after this one.
    pub(super) fn is_superseded(&self) -> bool {
        *self.is_superseded.borrow()
    }

    /// Waits until it is this server's turn, and shows others that it leads. `None` if the server stops before.
    pub(super) async fn wait_for_turn(&self, server: &Arc<ServerContext>) -> Option<Heartbeats> {
        let turn = self.start_looking(&server.log);
        tokio::select! {
            leadership = turn => {
                let superseded = self.is_superseded.clone();
                Heartbeats::start(leadership.ok()?, server.log.clone(), superseded)
            }
            () = server.stopped() => None,
        }
    }

    /// Says that this server is ready to write the databases.
    pub(super) fn begin_to_lead(&self) {
        self.role.send_replace(ServerRole::Leader);
    }

    /// Looks at the store until this server leads or the receiver is dropped.
    fn start_looking(&self, log: &Log) -> oneshot::Receiver<Leadership> {
        let (turn, leads) = oneshot::channel();
        let (store, node) = (Arc::clone(&self.options.store), self.node.clone());
        let clock = Arc::new(SystemClock::default());
        let mut standby = Standby::new(store, clock, node, self.options.takeover);
        let (log, own, role) = (log.clone(), self.node.address.clone(), self.role.clone());
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
                        // A former process at this address is gone, and forwarding to itself would never end.
                        let leader = Some(leader.address).filter(|address| *address != own);
                        note_leader(&role, leader, &log);
                    }
                    Err(error) => {
                        log.scope(|| tracing::error!("cannot look for the leader: {error}"));
                    }
                }
                thread::sleep(standby.interval());
            }
        };
        // Without a thread the turn never comes, and the server goes on without leading.
        let _ = thread::Builder::new()
            .name("leader".to_owned())
            .spawn(looking);
        leads
    }
}

fn note_leader(role: &watch::Sender<ServerRole>, leader: Option<String>, log: &Log) {
    let now = ServerRole::Standby(leader.map(Arc::from));
    role.send_if_modified(|before| {
        let is_new = *before != now;
        if let ServerRole::Standby(Some(leader)) = &now
            && is_new
        {
            log.scope(|| tracing::info!("the server at {leader} leads"));
        }
        *before = now;
        is_new
    });
}

async fn wait_for<T>(watched: &watch::Sender<T>, is_so: impl FnMut(&T) -> bool) {
    // It fails only if the sender is gone, which is borrowed here.
    let _ = watched.subscribe().wait_for(is_so).await;
}

/// Shows other servers that this one leads, until it stops or another leads.
#[derive(Debug)]
pub(super) struct Heartbeats {
    stop: mpsc::Sender<()>,
    beating: JoinHandle<Leadership>,
}

impl Heartbeats {
    /// Starts a thread for them, which says when another server leads; `None` if the system has none.
    fn start(
        mut leadership: Leadership,
        log: Log,
        superseded: watch::Sender<bool>,
    ) -> Option<Heartbeats> {
        let (stop, stopped) = mpsc::channel();
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
            beating: thread.spawn(beat).ok()?,
        })
    }

    /// Lets another server take over at once. To be called when nothing is written any more.
    pub(super) fn end(self) {
        // It has ended if another server leads.
        let _ = self.stop.send(());
        if let Ok(leadership) = self.beating.join() {
            // Without that word others wait for the take-over time.
            let _ = leadership.resign();
        }
    }
}
