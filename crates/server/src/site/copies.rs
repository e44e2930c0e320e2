//! A limit for the local copies of what is in a shared store: those that were unused for longest go.

use crate::http::blocking;
use crate::runtime::CopyUse;
use crate::site::Halves;
use std::sync::Arc;
use std::time::Duration;

/// Time between two looks at the room that copies take.
const INTERVAL: Duration = Duration::from_secs(30);

/// Keeps copies within the limit of the settings, until the server stops.
pub(super) async fn limit_copies(halves: Arc<Halves>) {
    let mut settings = halves.couch.watch_settings();
    while halves.couch.databases.is_shared() {
        let limit = settings.borrow_and_update().copies_limit;
        if let Some(limit) = limit {
            let (of, reads) = (Arc::clone(&halves), &halves.couch.executor().reads);
            let work = move || {
                remove_copies(&of, limit);
                Ok(())
            };
            // What is not removed is looked at again.
            let _ = blocking(reads, work).await;
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            // The settings last as long as the server.
            _ = settings.changed() => {}
            () = halves.couch.server().stopped() => return,
        }
    }
}

#[derive(Clone, Copy)]
enum CopyKind {
    Database,
    Repository,
}

fn remove_copies(halves: &Halves, limit: u64) {
    let mut copies: Vec<(CopyKind, CopyUse)> = Vec::new();
    if let Some(logs) = halves.couch.databases.logs() {
        copies.extend(
            logs.copies()
                .into_iter()
                .map(|copy| (CopyKind::Database, copy)),
        );
    }
    if let Some(repositories) = &halves.hg_logs {
        let found = repositories.logs().copies().into_iter();
        copies.extend(found.map(|copy| (CopyKind::Repository, copy)));
    }
    let mut room: u64 = copies.iter().map(|(_, copy)| copy.bytes).sum();
    copies.sort_by_key(|(_, copy)| copy.last_use);
    for (kind, copy) in copies {
        if room <= limit {
            break;
        }
        let is_gone = match kind {
            CopyKind::Database => halves.couch.databases.drop_copy(&copy.name),
            CopyKind::Repository => {
                let repositories = halves.hg_logs.as_ref();
                repositories.is_some_and(|repositories| repositories.drop_copy(&copy.name))
            }
        };
        if is_gone {
            room -= copy.bytes;
        }
    }
}
