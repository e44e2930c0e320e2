//! Several servers of one shared store: each shows that it is alive and looks which others are, and one of them leads.

use crate::runtime::log::Log;
use crate::runtime::{ClusterView, KnownLeader, ServerContext};
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::watch;
use varve_shared::{
    Leadership, Membership, Node, ObjectStore, Role, SharedError, Standby, SystemClock,
};

/// The shared store of a server's databases.
#[derive(Clone, Debug)]
pub struct SharedOptions {
    /// The store.
    pub store: Arc<dyn ObjectStore>,
    /// Host and port where other servers of the store reach this one, unless that is the address where it listens.
    pub advertise: Option<String>,
    /// A server without a heartbeat for so long counts as dead. The same for all servers of a store.
    pub takeover: Duration,
}

/// One server among those of its store.
#[derive(Debug)]
pub(super) struct Cluster {
    options: SharedOptions,
    node: Node,
    view: Arc<ClusterView>,
    is_superseded: watch::Sender<bool>,
}

impl Cluster {
    /// The server with this view, which listens at `address`; `None` if others could not reach it there.
    pub(super) fn new(
        options: SharedOptions,
        view: &Arc<ClusterView>,
        address: SocketAddr,
    ) -> Option<Cluster> {
        let listening = Some(address).filter(|address| !address.ip().is_unspecified());
        let address = options.advertise.clone();
        let address = address.or_else(|| listening.map(|address| address.to_string()))?;
        let id = view.own().to_owned();
        Some(Cluster {
            options,
            node: Node { id, address },
            view: Arc::clone(view),
            is_superseded: watch::Sender::new(false),
        })
    }

    pub(super) fn view(&self) -> &Arc<ClusterView> {
        &self.view
    }

    pub(super) fn takeover(&self) -> Duration {
        self.options.takeover
    }

    /// Completes once the server has looked at the store, and has its databases if it leads.
    pub(super) async fn ready(&self) {
        let is_ready =
            |leader: &KnownLeader| !matches!(leader, KnownLeader::Unknown | KnownLeader::Starting);
        wait_for(&mut self.view.watch(), |state| is_ready(state.leader())).await;
    }

    /// Completes once another server leads after this one.
    pub(super) async fn superseded(&self) {
        wait_for(&mut self.is_superseded.subscribe(), |is_superseded| {
            *is_superseded
        })
        .await;
    }

    /// True once another server leads after this one.
    pub(super) fn is_superseded(&self) -> bool {
        *self.is_superseded.borrow()
    }

    /// Waits until it is this server's turn to lead. Returns false if the server stops before.
    pub(super) async fn wait_for_turn(&self, server: &Arc<ServerContext>) -> bool {
        let mut view = self.view.watch();
        tokio::select! {
            () = wait_for(&mut view, |state| *state.leader() == KnownLeader::Starting) => true,
            () = server.stopped() => false,
        }
    }

    /// Shows heartbeats and looks for those of others, on a thread of its own. `None` if the system has none: then the server
    /// answers nothing that has to do with databases.
    pub(super) fn join(&self, log: &Log) -> Option<Attendance> {
        let (store, clock) = (&self.options.store, Arc::new(SystemClock::default()));
        let (node, takeover) = (&self.node, self.options.takeover);
        let membership =
            Membership::new(Arc::clone(store), clock.clone(), node.clone(), takeover).ok()?;
        let standby = Standby::new(Arc::clone(store), clock, node.clone(), takeover);
        let attendee = Attendee {
            own: self.node.clone(),
            membership,
            part: Part::Standby(standby),
            view: Arc::clone(&self.view),
            is_superseded: self.is_superseded.clone(),
            log: log.clone(),
        };
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name("cluster".to_owned());
        let attending = thread.spawn(move || attendee.run(&stopped)).ok()?;
        Some(Attendance { stop, attending })
    }
}

async fn wait_for<T>(watched: &mut watch::Receiver<T>, is_so: impl FnMut(&T) -> bool) {
    if watched.wait_for(is_so).await.is_err() {
        // Nothing changes any more.
        std::future::pending::<()>().await;
    }
}

/// The thread of a server's heartbeats.
#[derive(Debug)]
pub(super) struct Attendance {
    stop: mpsc::Sender<()>,
    attending: JoinHandle<Attendee>,
}

impl Attendance {
    /// Lets other servers take over at once. To be called when nothing is written any more.
    pub(super) fn end(self) {
        // It has ended if another server leads.
        let _ = self.stop.send(());
        if let Ok(attendee) = self.attending.join() {
            // Without that word others wait for the take-over time.
            let _ = attendee.membership.leave();
            if let Part::Leader(leadership) = attendee.part {
                let _ = leadership.resign();
            }
        }
    }
}

#[derive(Debug)]
enum Part {
    Standby(Standby),
    Leader(Leadership),
}

/// Shows heartbeats and looks for those of others.
#[derive(Debug)]
struct Attendee {
    own: Node,
    membership: Membership,
    part: Part,
    view: Arc<ClusterView>,
    is_superseded: watch::Sender<bool>,
    log: Log,
}

impl Attendee {
    /// Works until it is told to stop, or another server leads after this one.
    fn run(mut self, stopped: &mpsc::Receiver<()>) -> Attendee {
        loop {
            match self.attend() {
                Ok(true) => {}
                Ok(false) => {
                    let log = &self.log;
                    log.scope(|| tracing::error!("another server leads now; this one stops"));
                    self.is_superseded.send_replace(true);
                    return self;
                }
                Err(error) => {
                    let log = &self.log;
                    log.scope(|| tracing::error!("no heartbeat, or no look at others: {error}"));
                }
            }
            let waited = stopped.recv_timeout(self.membership.interval());
            if waited != Err(mpsc::RecvTimeoutError::Timeout) {
                return self;
            }
        }
    }

    /// One heartbeat and one look. Returns false if another server leads after this one.
    fn attend(&mut self) -> Result<bool, SharedError> {
        self.membership.beat()?;
        let leader = match &mut self.part {
            Part::Leader(leadership) => match leadership.beat()? {
                true => self.own.clone(),
                false => return Ok(false),
            },
            Part::Standby(standby) => match standby.look()? {
                Role::Standby(leader) => leader,
                Role::Leader(leadership) => {
                    let term = leadership.term();
                    let log = &self.log;
                    log.scope(|| tracing::info!("this server leads, in term {term}"));
                    self.part = Part::Leader(leadership);
                    self.own.clone()
                }
            },
        };
        let mut live = self.membership.look()?;
        // A former server at this address is gone, and forwarding to itself would never end.
        live.retain(|it| it.node.address != self.own.address || it.node.id == self.own.id);
        let is_new = self.view.update(&leader.id, live);
        if is_new && leader.id != self.own.id {
            let address = &leader.address;
            self.log
                .scope(|| tracing::info!("the server at {address} leads"));
        }
        Ok(true)
    }
}
