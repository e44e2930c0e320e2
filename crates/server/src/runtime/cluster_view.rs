//! The servers of a store, as one of them sees them: which are alive, which one leads, and which one writes a database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;
use varve_shared::{Member, Node, Placement};

/// Databases of logins and of jobs, whatever stands before the last slash of their names: the leader writes them.
const OF_LEADER: [&str; 2] = ["_users", "_replicator"];

/// The leader, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum KnownLeader {
    /// The server has not looked at the store yet.
    #[default]
    Unknown,
    /// This server has begun to lead, and makes the databases that all servers need.
    Starting,
    /// This server leads.
    ThisServer,
    /// The server with this id does.
    Other(Arc<str>),
}

/// The server that a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResponsibleServer {
    /// The one that leads.
    Leader,
    /// The one that writes this database.
    OwnerOf(String),
    /// The one of this name, if there is one; see [`node_name`].
    Named(String),
}

/// Place of a server, as seen by another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerPlace {
    /// The server that asks.
    Here,
    /// Another server, which listens at this address.
    At(Arc<str>),
    /// No live server is known to do it.
    Nowhere,
}

/// True if the leader of a store writes a database.
pub fn is_of_leader(database: &str) -> bool {
    let last = database.rsplit('/').next().unwrap_or(database);
    OF_LEADER.contains(&last)
}

/// Name of the server at an address, as CouchDB names nodes.
pub(crate) fn node_name(address: &str) -> String {
    format!("varve@{address}")
}

/// Leader and live servers, as one look at the store has shown them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterState {
    leader: KnownLeader,
    /// Live servers by id.
    live: Vec<Member>,
    placement: Placement,
}

impl ClusterState {
    fn new(own: &str, leader: KnownLeader, live: Vec<Member>) -> ClusterState {
        let leader_id = match &leader {
            KnownLeader::Unknown => None,
            KnownLeader::Starting | KnownLeader::ThisServer => Some(own),
            KnownLeader::Other(id) => Some(&**id),
        };
        // The first server of a store need not wait until it has joined.
        let is_candidate =
            |member: &&Member| member.has_joined || Some(&*member.node.id) == leader_id;
        let candidates = live.iter().filter(is_candidate);
        let placement = Placement::new(candidates.map(|member| member.node.clone()));
        ClusterState {
            leader,
            live,
            placement,
        }
    }

    /// Live servers by id.
    pub(crate) fn live(&self) -> &[Member] {
        &self.live
    }

    /// Servers that may write databases.
    pub(crate) fn candidates(&self) -> &[Node] {
        self.placement.candidates()
    }

    fn named(&self, name: &str) -> Option<&Node> {
        let mut nodes = self.live.iter().map(|member| &member.node);
        nodes.find(|node| node_name(&node.address) == name)
    }

    /// True if a live server has this address.
    pub(crate) fn has_address(&self, address: &str) -> bool {
        self.live
            .iter()
            .any(|member| member.node.address == address)
    }

    pub(crate) fn leader(&self) -> &KnownLeader {
        &self.leader
    }

    /// Id of the server that should write a database.
    fn writer_of<'s>(&'s self, own: &'s str, database: &str) -> Option<&'s str> {
        if !is_of_leader(database) {
            return self.placement.owner_of(database).map(|node| &*node.id);
        }
        match &self.leader {
            KnownLeader::Unknown => None,
            KnownLeader::Starting | KnownLeader::ThisServer => Some(own),
            KnownLeader::Other(id) => Some(id),
        }
    }
}

/// View that a server has of the servers of its store; all of it may be out of date, and only the logs decide which commits count.
#[derive(Debug)]
pub(crate) struct ClusterView {
    own: String,
    state: watch::Sender<ClusterState>,
    forwarded: AtomicU64,
    checked_reads: AtomicU64,
    unchecked_reads: AtomicU64,
}

/// Counts since the start of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterCounts {
    /// Requests that this server has forwarded.
    pub(crate) forwarded: u64,
    /// Reads of databases for which the store was asked whether the copy is current.
    pub(crate) checked_reads: u64,
    /// Reads of databases that were answered from the copy without a request to the store.
    pub(crate) unchecked_reads: u64,
}

impl ClusterView {
    /// Of the server with this id, which has not looked at its store yet.
    pub(crate) fn new(own: String) -> ClusterView {
        ClusterView {
            own,
            state: watch::Sender::default(),
            forwarded: AtomicU64::new(0),
            checked_reads: AtomicU64::new(0),
            unchecked_reads: AtomicU64::new(0),
        }
    }

    /// Id of this server.
    pub(crate) fn own(&self) -> &str {
        &self.own
    }

    /// Shows what a look at the store has found. Returns true if the leader is another one than before.
    pub(crate) fn update(&self, leader: &str, live: Vec<Member>) -> bool {
        let mut has_changed = false;
        self.state.send_if_modified(|state| {
            let leader = match (leader == self.own, &state.leader) {
                (true, KnownLeader::ThisServer) => KnownLeader::ThisServer,
                (true, _) => KnownLeader::Starting,
                (false, _) => KnownLeader::Other(leader.into()),
            };
            has_changed = state.leader != leader;
            let new = ClusterState::new(&self.own, leader, live);
            let is_new = *state != new;
            *state = new;
            is_new
        });
        has_changed
    }

    /// Says that this server, whose turn it is, has the databases that all servers need.
    pub(crate) fn begin_to_lead(&self) {
        self.state.send_modify(|state| {
            if state.leader == KnownLeader::Starting {
                state.leader = KnownLeader::ThisServer;
            }
        });
    }

    /// The state, and its changes.
    pub(crate) fn watch(&self) -> watch::Receiver<ClusterState> {
        self.state.subscribe()
    }

    /// True if this server should write a database.
    pub(crate) fn writes(&self, database: &str) -> bool {
        self.state.borrow().writer_of(&self.own, database) == Some(&*self.own)
    }

    /// Place of the server that a request is for.
    pub(crate) fn place_of(&self, server: &ResponsibleServer) -> ServerPlace {
        let state = self.state.borrow();
        let id = match (server, &state.leader) {
            // A name that no server has is refused here.
            (ResponsibleServer::Named(name), _) => {
                Some(state.named(name).map_or(&*self.own, |node| &*node.id))
            }
            (ResponsibleServer::OwnerOf(database), _) => state.writer_of(&self.own, database),
            (ResponsibleServer::Leader, KnownLeader::ThisServer) => Some(&*self.own),
            (ResponsibleServer::Leader, KnownLeader::Other(id)) => Some(&**id),
            (ResponsibleServer::Leader, KnownLeader::Unknown | KnownLeader::Starting) => None,
        };
        let Some(id) = id else {
            return ServerPlace::Nowhere;
        };
        if id == self.own {
            return ServerPlace::Here;
        }
        let found = state.live.iter().find(|member| member.node.id == id);
        found.map_or(ServerPlace::Nowhere, |member| {
            ServerPlace::At(member.node.address.as_str().into())
        })
    }

    /// Name of this server, once it has seen itself.
    pub(crate) fn own_name(&self) -> Option<String> {
        let state = self.state.borrow();
        let own = state.live.iter().find(|member| member.node.id == self.own);
        own.map(|member| node_name(&member.node.address))
    }

    /// Completes once no live server has this address.
    pub(crate) async fn gone(&self, address: &str) {
        // It fails only if the sender is gone, which is borrowed here.
        let _ = (self.state.subscribe())
            .wait_for(|state| !state.has_address(address))
            .await;
    }

    pub(crate) fn count_forwarded(&self) {
        self.forwarded.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a read of a database, for which the store was asked or not.
    pub(crate) fn count_read(&self, was_checked: bool) {
        let count = match was_checked {
            true => &self.checked_reads,
            false => &self.unchecked_reads,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> ClusterCounts {
        ClusterCounts {
            forwarded: self.forwarded.load(Ordering::Relaxed),
            checked_reads: self.checked_reads.load(Ordering::Relaxed),
            unchecked_reads: self.unchecked_reads.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(id: &str, has_joined: bool) -> Member {
        let (id, address) = (id.to_owned(), format!("{id}:1"));
        let node = Node { id, address };
        Member { node, has_joined }
    }

    fn places(view: &ClusterView) -> (ServerPlace, Vec<ServerPlace>) {
        let owner = |number| {
            let database = format!("db-{number}");
            view.place_of(&ResponsibleServer::OwnerOf(database))
        };
        let owners = (0..30).map(owner).collect();
        (view.place_of(&ResponsibleServer::Leader), owners)
    }

    #[test]
    fn databases_are_those_of_servers_that_have_joined_and_of_the_leader() {
        let view = ClusterView::new("a".to_owned());
        let [b, c] = ["b:1", "c:1"].map(|address| ServerPlace::At(address.into()));
        let (leader, owners) = places(&view);
        assert!(leader == ServerPlace::Nowhere && !owners.contains(&ServerPlace::Here));
        assert!(view.update("a", vec![member("a", false), member("b", false)]));
        let (leader, owners) = places(&view);
        assert_eq!(leader, ServerPlace::Nowhere, "it has no databases yet");
        assert!(owners.iter().all(|place| *place == ServerPlace::Here));
        assert!(view.writes("_users") && view.writes("x/_replicator"));
        view.begin_to_lead();
        assert!(!view.update("a", vec![member("a", false), member("b", false)]));
        assert_eq!(places(&view).0, ServerPlace::Here);
        let live = vec![member("a", true), member("b", true), member("c", false)];
        assert!(view.update("b", live));
        let (leader, owners) = places(&view);
        assert_eq!(leader, b);
        assert!(owners.contains(&ServerPlace::Here) && owners.contains(&b) && !owners.contains(&c));
        assert!(!view.writes("_users") && !view.writes("x/_replicator"));
        assert!(!view.update("b", vec![member("a", true)]));
        let (leader, owners) = places(&view);
        assert_eq!(leader, ServerPlace::Nowhere, "it has died");
        assert!(owners.iter().all(|place| *place == ServerPlace::Here));
    }
}
