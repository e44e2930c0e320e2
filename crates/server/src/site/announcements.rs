//! Tells the leader of a store about updates of the databases that this server writes, for the leader's `_db_updates`.

use crate::couch::{Event, Updates};
use crate::runtime::{ResponsibleServer, ServerPlace};
use crate::site::Halves;
use crate::site::forward::Forwarder;
use std::sync::Arc;
use std::time::Duration;

/// Updates are collected for so long, and told again so long after a failure.
const COLLECTED_FOR: Duration = Duration::from_millis(200);

/// Updates of one request, whose body may have 1 MiB.
const MOST_AT_ONCE: usize = 2000;

/// Tells of updates until the server stops.
pub(super) async fn announce_updates(halves: Arc<Halves>) {
    let (Some(view), Some(forwarder)) = (halves.couch.databases.cluster(), &halves.forwarder)
    else {
        return;
    };
    let updates = halves.couch.databases.updates();
    let (mut news, mut servers) = (updates.watch(), view.watch());
    let mut told = 0;
    loop {
        tokio::time::sleep(COLLECTED_FOR).await;
        news.mark_unchanged();
        servers.mark_unchanged();
        let (own, last) = updates.events_since(told, |name| view.writes(name));
        let is_told = match view.place_of(&ResponsibleServer::Leader) {
            ServerPlace::Here => true,
            // The next leader lists all databases.
            ServerPlace::Nowhere => own.is_empty(),
            ServerPlace::At(_) => own.is_empty() || tell(&halves, forwarder, &own).await,
        };
        if !is_told {
            continue;
        }
        told = last;
        let changed = tokio::select! {
            changed = news.changed() => changed,
            changed = servers.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
    }
}

async fn tell(halves: &Halves, forwarder: &Forwarder, events: &[(String, Event)]) -> bool {
    let listening = halves.couch.server().listening.get();
    let mount = listening.map(|listening| listening.prefix.clone());
    let mount = mount.unwrap_or_default();
    for events in events.chunks(MOST_AT_ONCE) {
        let body = Updates::encode(events);
        let told = forwarder.tell_leader("/_db_updates", mount.clone(), body);
        if told.await.is_err() {
            return false;
        }
    }
    true
}
