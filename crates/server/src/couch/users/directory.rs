//! Finding users for their logins.

use std::sync::{Arc, Weak};

use varve_base::ReadMode;
use varve_docdb::{Edit, Mode};
use varve_json::{Object, Value};

use crate::auth::password::{Hashing, Stored};
use crate::auth::{Account, FindAccount, FoundAccount, SecondFactor, Upgrade};
use crate::couch::database::registry::Databases;
use crate::couch::users::{PREFIX, USERS};
use crate::http::blocking;
use crate::http::{FailureKind, Freshness};
use crate::runtime::Pool;
use crate::{CouchContext, Failure};

/// The users that a server has besides its admins. Each login reads the document.
#[derive(Clone, Debug)]
pub(crate) struct UserDirectory {
    databases: Weak<Databases>,
    /// Where documents are read that are not in memory.
    pool: Pool,
}

impl UserDirectory {
    /// The users among a server's databases.
    pub(crate) fn of(databases: &Arc<Databases>, pool: Pool) -> UserDirectory {
        UserDirectory {
            databases: Arc::downgrade(databases),
            pool,
        }
    }

    async fn account(&self, name: &str, freshness: Freshness) -> Result<Option<Account>, Failure> {
        let Some(databases) = self.databases.upgrade() else {
            return Ok(None);
        };
        if databases.if_open(USERS).is_some()
            && let Some(found) =
                CouchContext::try_cached(|reads| account(&databases, name, (reads, freshness)))
        {
            return found;
        }
        let name = name.to_owned();
        let read = move || account(&databases, &name, (ReadMode::Blocking, freshness));
        blocking(&self.pool, read).await
    }
}

impl FindAccount for UserDirectory {
    fn find<'a>(&'a self, name: &'a str, freshness: Freshness) -> FoundAccount<'a> {
        Box::pin(self.account(name, freshness))
    }

    fn upgrade(&self, name: &str, password: &str, stored: &Stored, to: &Hashing) -> Upgrade {
        let databases = Weak::clone(&self.databases);
        let (name, password) = (name.to_owned(), password.to_owned());
        let (stored, to) = (stored.clone(), *to);
        Box::new(move || {
            if let Some(databases) = databases.upgrade() {
                // The password is stored anew at a later login then.
                let _ = upgrade(&databases, &name, &password, (&stored, &to));
            }
        })
    }
}

/// Stores a password anew, with its salt, so that cookies stay good.
fn upgrade(
    databases: &Databases,
    name: &str,
    password: &str,
    (before, to): (&Stored, &Hashing),
) -> Result<(), Failure> {
    let database = databases.get(USERS)?;
    if database.documents.is_following() {
        // That is left to a login at the server that writes it.
        return Ok(());
    }
    let snapshot = database.documents.snapshot();
    let id = format!("{PREFIX}{name}");
    let Some(document) = snapshot.document(&id)? else {
        return Ok(());
    };
    let Some((rev, stored)) = document.winner().filter(|_| !document.is_deleted()) else {
        return Ok(());
    };
    let mut text = Vec::new();
    snapshot.body(stored, &mut text)?;
    let mut body = varve_json::parse_object(&text)?;
    // An edit would leave out the attachments, which documents of users hardly have.
    let is_same = Stored::of_document(&body).as_ref() == Some(before);
    if !is_same || stored.attachments.is_some() {
        return Ok(());
    }
    let done = Stored::write(&mut body, password, to, Some(before.salt()));
    done.map_err(Failure::internal)?;
    let mut edit = Edit::new(Some(&id), body)?;
    edit.set_rev(&rev.to_string())?;
    database.documents.update_one(edit, Mode::Interactive)??;
    Ok(())
}

fn account(
    databases: &Databases,
    name: &str,
    (reads, freshness): (ReadMode, Freshness),
) -> Result<Option<Account>, Failure> {
    let database = match databases.get_as(USERS, reads, freshness) {
        Err(failure) if failure.kind == FailureKind::NotFound => return Ok(None),
        found => found?,
    };
    let snapshot = database.documents.snapshot().with_mode(reads);
    let id = format!("{PREFIX}{name}");
    let Some(document) = snapshot.document(&id)? else {
        return Ok(None);
    };
    let Some((rev, stored)) = document.winner().filter(|_| !document.is_deleted()) else {
        return Ok(None);
    };
    let living = document.tree().leaves().filter(|leaf| !leaf.is_deleted());
    if living.count() > 1 {
        return Err(Failure::unauthorized(
            "User document conflicts must be resolved before the document is used for \
             authentication purposes.",
        ));
    }
    let mut text = Vec::new();
    let read = snapshot.body(stored, &mut text).map_err(Failure::from);
    read.map_err(|failure| failure.about(&id, rev))?;
    Ok(account_of(name, &varve_json::parse_object(&text)?))
}

fn account_of(name: &str, document: &Object) -> Option<Account> {
    let text = |member: &str| document.get(member).and_then(Value::as_str);
    if text("type") != Some("user") || text("name") != Some(name) {
        return None;
    }
    let roles = document.get("roles").and_then(Value::as_array);
    let roles = roles.into_iter().flatten().filter_map(Value::as_str);
    Some(Account {
        is_document: true,
        stored: Stored::of_document(document)?,
        second_factor: SecondFactor::of_document(document),
        // However a document came in, it makes no admin.
        roles: roles
            .filter(|role| !role.starts_with('_'))
            .map(str::to_owned)
            .collect(),
    })
}
