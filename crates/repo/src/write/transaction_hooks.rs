//! The hooks of one transaction: when each runs, and with which arguments.

use crate::format::{Phase, RepoError};
use crate::hooks::{ExchangeOrigin, HookArgs, Hooks, PushKey, RollbackStage};
use sha1::{Digest, Sha1};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use varve_revlog::Node;

/// Kinds that may read pending data.
const PENDING_READERS: &[&str] = &[
    "pretxncommit",
    "pretxnchangegroup",
    "prepushkey",
    "pretxnclose-bookmark",
    "pretxnclose-phase",
    "pretxnclose",
];

/// A key that a client sets with `pushkey`.
#[derive(Debug)]
struct PushKeyCall {
    /// Arguments of `prepushkey`.
    before: HookArgs,
    /// Arguments of `pushkey`, after it is set.
    after: HookArgs,
    /// The key and the number of its part, if it came as a key.
    asked: Option<(u32, PushKey)>,
}

/// The changes of one transaction, as arguments of its hooks. A value that is dropped before the
/// transaction is closed runs `txnabort`.
#[derive(Debug)]
pub(crate) struct TransactionHooks {
    hooks: Arc<dyn Hooks>,
    is_open: bool,
    /// Arguments of every hook.
    common: HookArgs,
    commits: Vec<HookArgs>,
    bookmarks: Vec<HookArgs>,
    phases: Vec<HookArgs>,
    arrivals: Vec<ReceivedChangegroup>,
    /// Pushed keys, for the hooks before and after each is set.
    keys: Vec<PushKeyCall>,
}

/// Changesets that came from elsewhere together.
#[derive(Debug)]
struct ReceivedChangegroup {
    args: HookArgs,
    nodes: Vec<Node>,
}

impl TransactionHooks {
    /// The transaction begins, unless a hook refuses.
    pub(crate) fn open(
        hooks: &Arc<dyn Hooks>,
        description: &str,
    ) -> Result<TransactionHooks, RepoError> {
        let id = format!("TXN:{}", new_id());
        let mut hooks = TransactionHooks {
            hooks: Arc::clone(hooks),
            is_open: false,
            common: HookArgs::from([
                ("txnid", id.into_bytes()),
                ("txnname", description.as_bytes().to_vec()),
            ]),
            commits: Vec::new(),
            bookmarks: Vec::new(),
            phases: Vec::new(),
            arrivals: Vec::new(),
            keys: Vec::new(),
        };
        hooks.call("pretxnopen", &hooks.common, false)?;
        hooks.is_open = true;
        Ok(hooks)
    }

    /// Another transaction of the same repository begins, unless a hook refuses.
    pub(crate) fn open_another(&self, description: &str) -> Result<TransactionHooks, RepoError> {
        TransactionHooks::open(&self.hooks, description)
    }

    /// Whether any hook may read pending data.
    pub(crate) fn has_pending_readers(&self) -> bool {
        PENDING_READERS.iter().any(|kind| self.hooks.has_hook(kind))
    }

    /// A new changeset.
    pub(crate) fn add_commit(&mut self, node: &Node, parents: &[Node; 2]) {
        self.commits.push(HookArgs::from([
            ("node", node.to_hex().to_vec()),
            ("parent1", parents[0].to_hex().to_vec()),
            ("parent2", hex_or_empty(Some(&parents[1]))),
        ]));
    }

    /// The changes come from another repository.
    pub(crate) fn set_origin(&mut self, origin: &ExchangeOrigin) {
        self.common.insert("source", origin.source.into());
        self.common.insert("url", origin.url.clone());
        if origin.in_bundle2 {
            self.common.insert("bundle2", b"1".to_vec());
        }
    }

    /// Changesets will come from elsewhere, unless a hook refuses.
    pub(crate) fn begin_changegroup(&mut self, origin: &ExchangeOrigin) -> Result<(), RepoError> {
        self.set_origin(origin);
        self.call("prechangegroup", &self.common, false)
    }

    /// Something of another repository is the reason.
    pub(crate) fn set_source(&mut self, source: &'static str, url: Vec<u8>) {
        self.common.insert("source", source.as_bytes().to_vec());
        self.common.insert("url", url);
    }

    /// A client sets a key, such as a bookmark. By then phases may have `moved`.
    /// `part` is the number of the part that it came in, if it came as a key.
    pub(crate) fn add_pushkey(&mut self, key: &PushKey, part: Option<u32>, moved: bool) {
        if !["prepushkey", "pushkey"]
            .iter()
            .any(|kind| self.hooks.has_hook(kind))
        {
            return;
        }
        let mut before = self.with_common(&key.hook_args());
        if moved {
            before.insert("phases_moved", b"1".to_vec());
        }
        let after = if part.is_none() {
            before.insert("pushkeycompat", b"1".to_vec());
            before.clone()
        } else {
            let mut after = key.hook_args();
            after.insert("ret", b"1".to_vec());
            after
        };
        self.keys.push(PushKeyCall {
            before,
            after,
            asked: part.map(|part| (part, key.clone())),
        });
    }

    /// The changegroup is stored; `nodes` are its new changesets.
    pub(crate) fn add_changegroup(&mut self, nodes: Vec<Node>) {
        let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else {
            return;
        };
        self.common.insert("node", first.to_hex().to_vec());
        self.common.insert("node_last", last.to_hex().to_vec());
        let args = self.common.clone();
        self.arrivals.push(ReceivedChangegroup { args, nodes });
    }

    /// Where phases begin will be written anew.
    pub(crate) fn set_phases_moved(&mut self) {
        self.common.insert("phases_moved", b"1".to_vec());
    }

    /// So many obsolescence markers are added, which may be none.
    pub(crate) fn set_marker_count(&mut self, count: usize) {
        let count = count.to_string().into_bytes();
        self.common.insert("new_obsmarkers", count);
    }

    /// Marks the changesets as restored from a bundle.
    pub(crate) fn set_restored_changesets(&mut self, nodes: &[Node], source: &str, url: Vec<u8>) {
        let hex = |node: &Node| node.to_hex().to_vec();
        if let (Some(first), Some(last)) = (nodes.first(), nodes.last()) {
            self.common.insert("node", hex(first));
            self.common.insert("node_last", hex(last));
        }
        self.common.insert("bundle2", b"1".to_vec());
        self.common.insert("source", source.as_bytes().to_vec());
        self.common.insert("url", url);
    }

    /// Bookmarks are written anew, without a change.
    pub(crate) fn set_bookmarks_written(&mut self) {
        self.common.insert("bookmark_moved", b"1".to_vec());
    }

    /// Another phase of a changeset; a new one had none.
    pub(crate) fn add_phase_change(&mut self, node: &Node, before: Option<Phase>, after: Phase) {
        let name = |phase: Phase| phase.name().as_bytes().to_vec();
        self.phases.push(HookArgs::from([
            ("node", node.to_hex().to_vec()),
            ("oldphase", before.map(name).unwrap_or_default()),
            ("phase", name(after)),
        ]));
    }

    /// All bookmarks before and after.
    pub(crate) fn set_bookmark_changes(
        &mut self,
        before: &BTreeMap<Vec<u8>, Node>,
        after: &BTreeMap<Vec<u8>, Node>,
    ) {
        let mut names: Vec<&Vec<u8>> = before.keys().chain(after.keys()).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| before.get(*name) != after.get(*name));
        let args = names.into_iter().map(|name| {
            // A bookmark may be at the null changeset, which then is named.
            let place = |marks: &BTreeMap<Vec<u8>, Node>| {
                let node = marks.get(name);
                node.map(|node| node.to_hex().to_vec()).unwrap_or_default()
            };
            HookArgs::from([
                ("bookmark", name.clone()),
                ("node", place(after)),
                ("oldnode", place(before)),
            ])
        });
        self.bookmarks = args.collect();
        if self.bookmarks.is_empty() {
            self.common.remove("bookmark_moved");
        } else {
            self.common.insert("bookmark_moved", b"1".to_vec());
        }
    }

    /// Asks about each new changeset.
    pub(crate) fn run_pretxncommit(&self) -> Result<(), RepoError> {
        let mut commits = self.commits.iter();
        commits.try_for_each(|args| self.call("pretxncommit", args, true))
    }

    /// Asks about changesets that have come from elsewhere. Where one is refused, the parts behind
    /// changesets, such as phases, have not happened yet as hooks see it.
    pub(crate) fn run_pretxnchangegroup(&mut self) -> Result<(), RepoError> {
        for arrival in &self.arrivals {
            if let Err(refused) = self.call("pretxnchangegroup", &arrival.args, true) {
                self.common = arrival.args.clone();
                return Err(refused);
            }
        }
        Ok(())
    }

    /// Asks about keys that are set from elsewhere.
    pub(crate) fn run_prepushkey(&mut self) -> Result<(), RepoError> {
        let pending = !self.arrivals.is_empty();
        for key in &self.keys {
            if let Err(refused) = self.call("prepushkey", &key.before, pending) {
                self.common.remove("bookmark_moved");
                return Err(match (refused, &key.asked) {
                    (RepoError::Hook(refusal), Some((part, key))) => RepoError::KeyRefused {
                        part: *part,
                        key: Box::new(key.clone()),
                        words: refusal.words,
                    },
                    (refused, _) => refused,
                });
            }
        }
        Ok(())
    }

    /// Asks whether the transaction may become final.
    pub(crate) fn run_pretxnclose(&self) -> Result<(), RepoError> {
        for args in &self.bookmarks {
            self.call("pretxnclose-bookmark", &self.with_common(args), true)?;
        }
        for args in &self.phases {
            self.call("pretxnclose-phase", &self.with_common(args), true)?;
        }
        self.call("pretxnclose", &self.common, true)
    }

    /// Asks whether a transaction without visible pending data may become final.
    pub(crate) fn run_pretxnclose_without_pending(&self) -> Result<(), RepoError> {
        self.call("pretxnclose", &self.common, false)
    }

    /// The transaction is final.
    pub(crate) fn run_txnclose(mut self) {
        self.is_open = false;
        for key in std::mem::take(&mut self.keys) {
            self.hooks.run_later("pushkey", key.after);
        }
        for args in &self.bookmarks {
            let args = self.with_common(args);
            self.hooks.run_later("txnclose-bookmark", args);
        }
        for args in &self.phases {
            self.hooks
                .run_later("txnclose-phase", self.with_common(args));
        }
        let common = std::mem::take(&mut self.common);
        self.hooks.run_later("txnclose", common);
        for ReceivedChangegroup { mut args, nodes } in std::mem::take(&mut self.arrivals) {
            self.hooks.run_later("changegroup", args.clone());
            args.remove("node_last");
            for node in nodes {
                args.insert("node", node.to_hex().to_vec());
                self.hooks.run_later("incoming", args.clone());
            }
        }
    }

    /// The transaction has failed: rolls it back and reports that, if there is anything to undo but
    /// small files.
    pub(crate) fn roll_back_with(
        mut self,
        announces: bool,
        roll_back: impl FnOnce() -> Result<bool, RepoError>,
    ) -> Result<bool, RepoError> {
        if announces {
            self.hooks.on_rollback(RollbackStage::Started);
        }
        self.run_txnabort();
        let done = roll_back();
        match &done {
            Ok(_) if announces => self.hooks.on_rollback(RollbackStage::Done),
            Ok(_) => {}
            Err(_) => self.hooks.on_rollback(RollbackStage::Failed),
        }
        done
    }

    fn run_txnabort(&mut self) {
        self.is_open = false;
        // The transaction is refused already, so that the result of this hook does not matter.
        let _ = self.hooks.run_now("txnabort", &self.common, false);
    }

    fn with_common(&self, args: &HookArgs) -> HookArgs {
        let mut all = self.common.clone();
        all.extend(args.iter().map(|(name, value)| (*name, value.clone())));
        all
    }

    fn call(&self, kind: &'static str, args: &HookArgs, pending: bool) -> Result<(), RepoError> {
        let asked = self.hooks.run_now(kind, args, pending);
        asked.map_err(RepoError::Hook)
    }
}

impl Drop for TransactionHooks {
    fn drop(&mut self) {
        if self.is_open {
            self.run_txnabort();
        }
    }
}

fn hex_or_empty(node: Option<&Node>) -> Vec<u8> {
    let node = node.filter(|node| !node.is_null());
    node.map(|node| node.to_hex().to_vec()).unwrap_or_default()
}

/// Forty digits that no other transaction has.
fn new_id() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default().as_nanos();
    // Seeded anew in each process.
    let random = RandomState::new().hash_one(since);
    let digest = Sha1::digest(format!("{since} {random} {}", std::process::id()));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
