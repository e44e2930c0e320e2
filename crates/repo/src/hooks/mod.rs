//! Hooks: programs that a transaction runs before it becomes final, which may refuse it, and after.
//!
//! ```text
//! pretxnopen                     before anything is written
//! prechangegroup                 before changesets come from elsewhere
//! pretxncommit                   once for each new changeset          may read the pending
//! pretxnchangegroup              when they have come                  data, and may refuse
//! prepushkey                     once for each key set from elsewhere
//! pretxnclose-bookmark, -phase   once for each that changes
//! pretxnclose                    at last
//!    -- final --
//! txnclose-bookmark, -phase, txnclose      when all locks are gone
//! changegroup, incoming                    then, if changesets have come
//! txnabort                       instead, if a hook refused or a write failed
//!
//! preoutgoing                    before changesets leave              may refuse
//! outgoing                       when they have left
//! prelistkeys                    before a client reads keys           may refuse
//! listkeys                       with the keys
//! ```
//! The transaction decides when a hook runs and with which arguments; an implementation of [`Hooks`]
//! runs it. [`ConfiguredHooks`] reads the section `[hooks]`; the program that opens a repository
//! passes the implementation in.

mod configured;
mod file_filters;
pub mod python;

pub use configured::{ConfiguredHooks, HookCommand};
pub use file_filters::FileFilters;

/// Hooks that may follow a first one: if one of those cannot be run, nothing is begun.
const FOLLOWERS: &[(&str, &[&str])] = &[
    (
        "pretxnopen",
        // Without `txnabort`: nothing waits for it, and a transaction that ends well never calls it.
        &[
            "pretxnclose-bookmark",
            "pretxnclose-phase",
            "pretxnclose",
            "txnclose-bookmark",
            "txnclose-phase",
            "txnclose",
        ],
    ),
    ("prechangegroup", CHANGEGROUP_HOOKS),
    ("precommit", &["pretxncommit", "commit"]),
    ("preupdate", &["update"]),
    ("prepushkey", PUSHKEY_HOOKS),
    ("preoutgoing", &["outgoing"]),
    ("prelistkeys", &["listkeys"]),
    ("pretag", &["tag"]),
];

/// Kinds of hooks that may be called when one of `kind` has not refused.
fn followers(kind: &str) -> impl Iterator<Item = &'static str> {
    let found = FOLLOWERS.iter().find(|(first, _)| *first == kind);
    let all = found.into_iter().flat_map(|(_, followers)| *followers);
    all.copied()
}

use std::collections::BTreeMap;
use std::fmt;

/// Arguments of a hook, by name: `node` becomes the variable `HG_NODE`.
pub type HookArgs = BTreeMap<&'static str, Vec<u8>>;

/// Variables that a push sends to hooks: `DEBUG` and `1` become the variable `HG_USERVAR_DEBUG=1`.
pub type PushVars = Vec<(Vec<u8>, Vec<u8>)>;

/// The refusal of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRefusal {
    /// Message for the user.
    pub words: String,
    /// Kind of hook that refuses.
    pub cause: RefusalCause,
}

/// Which hook refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalCause {
    /// A program, or one that cannot be run.
    Program,
    /// A hook of an untrusted file, which is not run.
    Untrusted,
    /// Access control, which has reported its refusal already.
    AccessControl,
}

impl HookRefusal {
    /// The refusal of a program.
    pub fn of_program(words: String) -> HookRefusal {
        HookRefusal {
            words,
            cause: RefusalCause::Program,
        }
    }

    /// The line about a hook that can refuse nothing any more.
    pub fn warning(&self) -> String {
        match self.cause {
            RefusalCause::AccessControl => "(run with --traceback for stack trace)\n".to_owned(),
            RefusalCause::Program | RefusalCause::Untrusted => format!("warning: {self}\n"),
        }
    }

    /// The refusal to run a hook of a file that is not trusted.
    pub fn untrusted(hook: &HookCommand) -> HookRefusal {
        let name = String::from_utf8_lossy(&hook.name);
        HookRefusal {
            words: format!("untrusted hook {name} not executed"),
            cause: RefusalCause::Untrusted,
        }
    }
}

impl fmt::Display for HookRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// Kinds of hooks that a transaction may call, besides `pretxncommit`.
pub const TRANSACTION_HOOKS: &[&str] = &[
    "pretxnopen",
    "pretxnclose-bookmark",
    "pretxnclose-phase",
    "pretxnclose",
    "txnclose-bookmark",
    "txnclose-phase",
    "txnclose",
    "txnabort",
];

/// Kinds besides these that may be called when changesets come from elsewhere.
pub const CHANGEGROUP_HOOKS: &[&str] = &["pretxnchangegroup", "changegroup", "incoming"];

/// Kinds that may run when a client sets a key with `pushkey`.
pub const PUSHKEY_HOOKS: &[&str] = &["pushkey"];

/// A key that a client sets with `pushkey`: a bookmark, the phase of a changeset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushKey {
    /// Such as `bookmarks` or `phases`.
    pub namespace: Vec<u8>,
    /// Its name.
    pub key: Vec<u8>,
    /// The value that it has; empty if it has none.
    pub old: Vec<u8>,
    /// The value that it gets; empty if it goes.
    pub new: Vec<u8>,
}

impl PushKey {
    /// As hooks learn it.
    pub fn hook_args(&self) -> HookArgs {
        HookArgs::from([
            ("namespace", self.namespace.clone()),
            ("key", self.key.clone()),
            ("old", self.old.clone()),
            ("new", self.new.clone()),
        ])
    }
}

/// Where changesets come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeOrigin {
    /// By which command, as hooks learn it: `unbundle`.
    pub source: &'static str,
    /// From where.
    pub url: Vec<u8>,
    /// Whether they stand in a bundle2.
    pub in_bundle2: bool,
}

/// Progress of the rollback of a failed transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RollbackStage {
    /// The transaction will be rolled back.
    Started,
    /// Everything is as before.
    Done,
    /// The rollback failed as well; the journal is still there.
    Failed,
}

/// Runs the hooks of a repository.
pub trait Hooks: fmt::Debug + Send + Sync {
    /// Whether there is a hook of this kind.
    fn has_hook(&self, kind: &str) -> bool;

    /// Calls the hooks of a kind now. With `pending`, they may read uncommitted data.
    ///
    /// # Errors
    /// The refusal of a hook, also of one that cannot be run.
    fn run_now(
        &self,
        kind: &'static str,
        args: &HookArgs,
        pending: bool,
    ) -> Result<(), HookRefusal>;

    /// Calls all hooks of a kind now, without a lock. They can refuse nothing: a failure is a warning.
    fn notify(&self, kind: &str, args: &HookArgs);

    /// Calls the hooks of a kind when all locks are gone. Nothing can be refused then.
    fn run_later(&self, kind: &'static str, args: HookArgs);

    /// Gives these variables to all later hooks, in place of earlier ones.
    fn set_push_vars(&self, vars: PushVars);

    /// Tells how a failed transaction fares.
    fn on_rollback(&self, stage: RollbackStage);
}
