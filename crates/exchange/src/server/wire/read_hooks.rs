//! Hooks about what clients read.
//!
//! ```text
//! preoutgoing    HG_SOURCE                     before a changegroup is made                  may refuse
//! outgoing       HG_SOURCE HG_NODE             when it is made, with the first changeset in it
//! prelistkeys    HG_NAMESPACE                  before the keys of a namespace are sent       may refuse
//! listkeys       HG_NAMESPACE HG_VALUES        with them
//! pretransmit-inline-clone-bundle  HG_CLONEBUNDLEPATH    before a clone bundle is sent       may refuse
//! ```
//! Streams of the store's files, pull bundles and the bookmarks part call none of them.
//!
//! Source: the calls of Mercurial's server.

use crate::ExchangeError;
use crate::format::part::list_keys::Keys;
use std::sync::Arc;
use varve_repo::RepoError;
use varve_repo::hooks::{HookArgs, Hooks, python};
use varve_revlog::Node;

/// Name of the hook about clone bundles.
const CLONE_BUNDLE: &str = "pretransmit-inline-clone-bundle";

const KINDS: [&str; 5] = [
    "preoutgoing",
    "outgoing",
    "prelistkeys",
    "listkeys",
    CLONE_BUNDLE,
];

/// Distance of a client from the repository that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderLocation {
    /// At the other end of a connection: a refused `getbundle` is answered with the refusal.
    Elsewhere,
    /// In this process, for which a refusal is an error.
    Local,
}

impl ReaderLocation {
    /// Value of `HG_SOURCE`.
    fn source(self) -> Vec<u8> {
        match self {
            ReaderLocation::Elsewhere => b"serve".to_vec(),
            ReaderLocation::Local => b"pull".to_vec(),
        }
    }
}

/// Hooks of a repository about what clients read.
#[derive(Clone, Debug, Default)]
pub struct ReadHooks(Option<ConfiguredReadHooks>);

/// Hooks of a repository that has at least one of [`KINDS`].
#[derive(Clone, Debug)]
struct ConfiguredReadHooks {
    hooks: Arc<dyn Hooks>,
    reader: ReaderLocation,
}

impl ReadHooks {
    /// Those of `hooks` that are about reading.
    pub fn new(hooks: Arc<dyn Hooks>, reader: ReaderLocation) -> ReadHooks {
        let has_any = KINDS.iter().any(|kind| hooks.has_hook(kind));
        ReadHooks(has_any.then_some(ConfiguredReadHooks { hooks, reader }))
    }

    /// True if `error` is the refusal of a hook that a client has to learn.
    pub(super) fn answers_with(&self, error: &ExchangeError) -> bool {
        let mut readers = self.0.iter().map(|set| set.reader);
        error.is_hooks() && readers.any(|reader| reader == ReaderLocation::Elsewhere)
    }

    /// True if no hook is to be called.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// True if a hook is to be called for each changegroup that is made.
    pub(crate) fn has_outgoing(&self) -> bool {
        self.0.iter().any(|set| set.hooks.has_hook("outgoing"))
    }

    /// Called before a changegroup is made.
    ///
    /// # Errors
    /// The refusal of a hook.
    pub(super) fn before_changegroup(&self) -> Result<(), ExchangeError> {
        self.ask("preoutgoing", |reader| {
            HookArgs::from([("source", reader.source())])
        })
    }

    /// Called when a changegroup is made whose first changeset is `first`; an empty one has none.
    pub(super) fn after_changegroup(&self, first: Option<Node>) {
        if let (Some(set), Some(first)) = (&self.0, first) {
            let args = HookArgs::from([
                ("source", set.reader.source()),
                ("node", first.to_hex().to_vec()),
            ]);
            set.hooks.notify("outgoing", &args);
        }
    }

    /// Reads keys between the hooks about them.
    ///
    /// # Errors
    /// The refusal of a hook, or the error of `read`.
    pub(super) fn around_keys(
        &self,
        namespace: &[u8],
        read: impl FnOnce() -> Result<Keys, ExchangeError>,
    ) -> Result<Keys, ExchangeError> {
        let args = || HookArgs::from([("namespace", namespace.to_vec())]);
        self.ask("prelistkeys", |_| args())?;
        let keys = read()?;
        if let Some(set) = self.0.iter().find(|set| set.hooks.has_hook("listkeys")) {
            let values = python::dictionary(keys.iter().map(|(key, value)| (&key[..], &value[..])));
            let mut args = args();
            args.insert("values", values.into_bytes());
            set.hooks.notify("listkeys", &args);
        }
        Ok(keys)
    }

    /// Called before a clone bundle of this name is sent.
    ///
    /// # Errors
    /// The refusal of a hook.
    pub(super) fn before_clone_bundle(&self, name: &[u8]) -> Result<(), ExchangeError> {
        self.ask(CLONE_BUNDLE, |_| {
            HookArgs::from([("clonebundlepath", name.to_vec())])
        })
    }

    fn ask(
        &self,
        kind: &'static str,
        args: impl FnOnce(ReaderLocation) -> HookArgs,
    ) -> Result<(), ExchangeError> {
        let Some(set) = &self.0 else {
            return Ok(());
        };
        let asked = set.hooks.run_now(kind, &args(set.reader), false);
        Ok(asked.map_err(RepoError::Hook)?)
    }
}
