//! `[couch_peruser]`: each user has a database, `userdb-` and the name in hexadecimal, which is made and deleted as the
//! document of the user comes and goes.
//!
//! As in CouchDB, all documents are looked at once the setting counts, and each change from then on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use varve_btree::Direction;
use varve_config::PerUser;
use varve_json::{Object, Value};

use crate::couch::database::registry::OpenDatabase;
use crate::couch::names::check_database_name;
use crate::couch::users::{PREFIX, USERS};
use crate::http::{FailureKind, blocking};
use crate::runtime::ClusterState;
use crate::runtime::repeats::fault_id;
use crate::{CouchContext, Failure};

/// Users that are seen to before it is looked whether the server stops.
const STEP: usize = 100;

/// Time until users are seen to again after a failure that may pass, such as a full disk.
const RETRY: Duration = Duration::from_secs(60);

/// Failures that are kept to be tried again: a bound of memory. The others are for the next start.
const MOST_FAILED: usize = 1000;

/// Makes and deletes databases of users.
pub(in crate::couch) struct UserDatabases {
    app: Arc<CouchContext>,
    failed: Users,
    /// The documents that were looked at: those of this `_users` up to this sequence, by these settings.
    seen: Option<ProcessedState>,
    /// Has `_users` followed while another server writes it.
    commits: Option<watch::Receiver<u64>>,
}

/// Names of users, and whether each is deleted.
type Users = BTreeMap<String, bool>;

#[derive(Clone, Debug, PartialEq)]
struct ProcessedState {
    incarnation: String,
    sequence: u64,
    settings: PerUser,
}

impl UserDatabases {
    pub(in crate::couch) fn new(app: Arc<CouchContext>) -> UserDatabases {
        UserDatabases {
            app,
            seen: None,
            commits: None,
            failed: Users::new(),
        }
    }

    /// Follows `_users` for ever, while the settings ask for it.
    pub(in crate::couch) async fn run(mut self) {
        let app = Arc::clone(&self.app);
        let mut settings = app.watch_settings();
        let mut updates = app.databases.updates().watch();
        let mut servers = app.databases.cluster().map(|view| view.watch());
        let mut last = None;
        let mut retry_at = Instant::now();
        loop {
            let now = settings.borrow_and_update().per_user.clone();
            updates.mark_unchanged();
            let update = app.databases.updates().last_of(USERS);
            let has_moved = has_changed(servers.as_mut());
            if has_moved || self.seen.as_ref().is_some_and(|seen| seen.settings != now) {
                self.seen = None;
                self.failed.clear();
            }
            if !now.enabled {
                self.commits = None;
                if settings.changed().await.is_err() {
                    return;
                }
                continue;
            }
            if self.seen.is_none() || update != last || Instant::now() >= retry_at {
                last = update;
                self.retry(&now).await;
                while self.step(&now).await {}
                retry_at = Instant::now() + RETRY;
            }
            let retry = (!self.failed.is_empty()).then_some(retry_at);
            let waited = wait((&mut settings, &mut updates), servers.as_mut(), retry);
            if waited.await.is_err() {
                return;
            }
        }
    }

    /// Sees to the users again for whom it failed.
    async fn retry(&mut self, settings: &PerUser) {
        let (app, settings) = (Arc::clone(&self.app), settings.clone());
        let users = std::mem::take(&mut self.failed);
        if !users.is_empty() {
            let work = move || Ok(see_to_all(&app, &settings, users));
            let failed = blocking(&self.app.executor().commits, work).await;
            self.failed = failed.unwrap_or_default();
        }
    }

    /// Looks at some users; returns whether there may be more.
    async fn step(&mut self, settings: &PerUser) -> bool {
        let (app, seen) = (Arc::clone(&self.app), self.seen.take());
        let settings = settings.clone();
        let work = move || Ok(look(&app, seen, settings));
        let Ok((seen, more, failed)) = blocking(&self.app.executor().commits, work).await else {
            return false;
        };
        self.seen = seen;
        let users = self.app.databases.if_open(USERS);
        self.commits = users.map(|users| users.commits());
        let room = MOST_FAILED.saturating_sub(self.failed.len());
        self.failed.extend(failed.into_iter().take(room));
        more && !self.app.server().is_stopping()
    }
}

/// True if databases may have come to this server from others since the last call.
fn has_changed(servers: Option<&mut watch::Receiver<ClusterState>>) -> bool {
    servers.is_some_and(|servers| {
        let has_changed = servers.has_changed().unwrap_or(false);
        servers.mark_unchanged();
        has_changed
    })
}

/// Completes with the next change, which [`has_changed`] still tells of.
async fn changed_unseen(
    servers: &mut watch::Receiver<ClusterState>,
) -> Result<(), watch::error::RecvError> {
    servers.changed().await?;
    servers.mark_changed();
    Ok(())
}

/// Waits for other settings, any update of a database, other servers of a store, or the time of a retry.
async fn wait<T>(
    (settings, updates): (&mut watch::Receiver<T>, &mut watch::Receiver<u64>),
    servers: Option<&mut watch::Receiver<ClusterState>>,
    retry_at: Option<Instant>,
) -> Result<(), watch::error::RecvError> {
    let moved = async {
        match servers {
            Some(servers) => changed_unseen(servers).await,
            None => std::future::pending().await,
        }
    };
    let retry = async {
        match retry_at {
            Some(time) => tokio::time::sleep_until(time.into()).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        changed = settings.changed() => changed,
        changed = updates.changed() => changed,
        changed = moved => changed,
        () = retry => Ok(()),
    }
}

/// Sees to the users that changed next; returns up to where, whether there may be more, and the users for whom it failed.
fn look(
    app: &CouchContext,
    seen: Option<ProcessedState>,
    settings: PerUser,
) -> (Option<ProcessedState>, bool, Users) {
    let users = match app.databases.get(USERS) {
        Ok(users) => users,
        Err(failure) => {
            if failure.kind != FailureKind::NotFound {
                report(app, USERS, &failure);
            }
            return (None, false, Users::new());
        }
    };
    let seen = seen.filter(|seen| seen.incarnation == users.incarnation);
    let since = seen.map_or(0, |seen| seen.sequence);
    match read_changes(&users, since) {
        Ok((names, sequence)) => {
            let more = names.len() == STEP;
            let failed = see_to_all(app, &settings, names);
            let incarnation = users.incarnation.clone();
            let seen = ProcessedState {
                incarnation,
                sequence,
                settings,
            };
            (Some(seen), more, failed)
        }
        Err(failure) => {
            report(app, USERS, &failure);
            (None, false, Users::new())
        }
    }
}

/// The next changed users, and the sequence up to which these are all.
fn read_changes(users: &OpenDatabase, since: u64) -> Result<(Users, u64), Failure> {
    let snapshot = users.documents.snapshot();
    let (mut names, mut sequence) = (Users::new(), since);
    for change in snapshot.changes(since, Direction::Forward)? {
        let change = change?;
        sequence = change.seq;
        if let Some(name) = change.id.strip_prefix(PREFIX) {
            names.insert(name.to_owned(), change.stored.deleted);
        }
        if names.len() == STEP {
            break;
        }
    }
    Ok((names, sequence))
}

fn report(app: &CouchContext, name: &str, failure: &Failure) {
    app.log().scope(|| {
        let fault = fault_id(&failure.reason);
        tracing::error!(fault, "database of the user {name:?}: {failure}");
    });
}

/// Returns the users for whom it failed and may be tried again.
fn see_to_all(app: &CouchContext, settings: &PerUser, users: Users) -> Users {
    let mut failed = Users::new();
    for (name, is_deleted) in users {
        if let Err(failure) = see_to(app, settings, &name, is_deleted) {
            report(app, &name, &failure);
            if failure.kind != FailureKind::BadRequest {
                failed.insert(name, is_deleted);
            }
        }
    }
    failed
}

/// Makes the database of a user and lets the user in, or has it end with its user.
fn see_to(
    app: &CouchContext,
    settings: &PerUser,
    user: &str,
    is_deleted: bool,
) -> Result<(), Failure> {
    let name = database_of(settings, user)?;
    check_database_name(&name)?;
    if !app.databases.writes(&name) {
        // The server does that which writes the database.
        return Ok(());
    }
    let found = app.databases.get(&name);
    let database = match (found, is_deleted) {
        (Err(failure), true) if failure.kind == FailureKind::NotFound => return Ok(()),
        (Ok(_), true) if settings.deletes => {
            app.databases.delete(&name)?;
            app.tasks().forget(&name);
            return Ok(());
        }
        (Err(failure), false) if failure.kind == FailureKind::NotFound => app
            .databases
            .create(&name, varve_docdb::NewDatabase::default())?,
        (found, _) => found?,
    };
    let stored = database.documents.snapshot().security()?;
    let mut security = match stored {
        Some(text) => varve_json::parse_object(&text)?,
        None => varve_json::parse_object(DEFAULT_SECURITY)?,
    };
    let mut is_changed = false;
    for kind in ["admins", "members"] {
        is_changed |= set_named(&mut security, kind, user, !is_deleted);
    }
    if is_changed {
        database.documents.set_security(&security)?;
    }
    Ok(())
}

/// That of a database without one of its own.
const DEFAULT_SECURITY: &[u8] =
    br#"{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}"#;

/// Adds a name to one part of a security object, or takes it away; returns whether that is a change.
fn set_named(security: &mut Object, kind: &str, user: &str, is_wanted: bool) -> bool {
    let part = security.get(kind).and_then(Value::as_object);
    let mut part = part.cloned().unwrap_or_default();
    let names = part.get("names").and_then(Value::as_array);
    let mut names = names.map(<[Value]>::to_vec).unwrap_or_default();
    let before = names.len();
    let is_user = |name: &Value| name.as_str() == Some(user);
    match (names.iter().any(is_user), is_wanted) {
        (false, true) => names.insert(0, Value::from(user)),
        (true, false) => names.retain(|name| !is_user(name)),
        _ => (),
    }
    let is_changed = names.len() != before;
    if is_changed {
        part.insert("names", Value::Array(names));
        security.insert(kind, part);
    }
    is_changed
}

/// The name that CouchDB gives, which has one digit for a byte below 16.
///
/// # Errors
/// 400 for names with such a byte: `"\u{6}\u{1}"` would share a database with `"a"`.
fn database_of(settings: &PerUser, user: &str) -> Result<String, Failure> {
    let mut name = settings.prefix.clone();
    for byte in user.bytes() {
        if byte < 16 {
            let reason = "a name with control characters has no database of its own";
            return Err(Failure::bad_request(reason));
        }
        name.push_str(&format!("{byte:x}"));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_added_once_and_taken_away() {
        let text = br#"{"admins":{"names":["eve"]},"members":{"roles":["r"]}}"#;
        let mut security = varve_json::parse_object(text).unwrap();
        for kind in ["admins", "members"] {
            assert!(set_named(&mut security, kind, "ada", true));
            assert!(!set_named(&mut security, kind, "ada", true));
        }
        let mut written = Vec::new();
        varve_json::write_object(&security, &mut written);
        let expected =
            br#"{"admins":{"names":["ada","eve"]},"members":{"roles":["r"],"names":["ada"]}}"#;
        assert_eq!(written, expected);
        assert!(set_named(&mut security, "admins", "ada", false));
        assert!(!set_named(&mut security, "admins", "ada", false));
    }

    #[test]
    fn databases_are_named_after_the_bytes_of_the_name() {
        let settings = PerUser {
            enabled: true,
            deletes: false,
            prefix: "userdb-".to_owned(),
        };
        let of = |user| database_of(&settings, user);
        assert_eq!(of("ada\u{e9}").unwrap(), "userdb-616461c3a9");
        assert_eq!(of("\u{10}\u{10}").unwrap(), "userdb-1010");
        let refused = of("\u{6}\u{1}").unwrap_err();
        assert_eq!(refused.kind, FailureKind::BadRequest);
    }
}
