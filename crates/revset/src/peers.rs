//! Other repositories that queries ask about.

use std::error::Error;
use std::fmt::Debug;
use varve_repo::{Node, RepoView, Rev};

/// Finds and asks other repositories, each by its configured name, its path or its URL.
pub trait PeerRepositories: Debug + Send + Sync {
    /// Changesets of `view` that a push to `destination` would send; without a name, to the
    /// configured destination.
    ///
    /// # Errors
    /// No such repository, or it cannot be asked.
    fn outgoing(&self, view: &RepoView, destination: Option<&[u8]>) -> Result<Vec<Rev>, PeerError>;

    /// The changeset that `name` stands for in the repository `source`.
    ///
    /// # Errors
    /// No such repository or name, or the repository cannot be asked.
    fn lookup(&self, source: &[u8], name: &[u8]) -> Result<Node, PeerError>;

    /// The configured names of other repositories, sorted, each with its URL and its options.
    ///
    /// # Errors
    /// If the configuration is wrong.
    fn names(&self) -> Result<Vec<PeerName>, PeerError>;

    /// The branch of the working copy.
    ///
    /// # Errors
    /// If it cannot be read.
    fn working_branch(&self) -> Result<Vec<u8>, PeerError>;
}

/// A configured name of another repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerName {
    /// The name.
    pub name: Vec<u8>,
    /// The URL or the absolute path.
    pub url: Vec<u8>,
    /// Further options with their values.
    pub options: Vec<(&'static str, Vec<u8>)>,
}

/// Reads the working copy as the changeset that a commit would make of it.
pub trait WorkingCopySource: Debug + Send + Sync {
    /// The text of the changeset, with the node ff…ff for its manifest.
    ///
    /// # Errors
    /// If the working copy cannot be read.
    fn changeset_text(&self) -> Result<Vec<u8>, PeerError>;

    /// Its changes to files.
    ///
    /// # Errors
    /// If the working copy cannot be read.
    fn changed_files(&self) -> Result<UncommittedFiles, PeerError>;

    /// The bookmark that moves with the next commit.
    ///
    /// # Errors
    /// If the working copy cannot be read.
    fn active_bookmark(&self) -> Result<Option<Vec<u8>>, PeerError>;

    /// Our side and the other one of a merge that is not committed yet.
    ///
    /// # Errors
    /// If its state cannot be read.
    fn conflict_sides(&self) -> Result<Option<[Node; 2]>, PeerError>;

    /// The changeset that a command takes without a revision; as if the working copy were at `sources`, if given.
    ///
    /// # Errors
    /// There is none to choose, or the repository cannot be read.
    fn destination(&self, of: ChosenDestination, sources: Option<&[Rev]>)
    -> Result<Rev, PeerError>;
}

/// Commands that find the other head of a branch by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenDestination {
    /// `merge`.
    Merge,
    /// `rebase`, which need not begin at a head.
    Rebase,
}

/// Files of the working copy that are not as in its first parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UncommittedFiles {
    /// Other content or flags.
    pub modified: Vec<Vec<u8>>,
    /// Not there before.
    pub added: Vec<Vec<u8>>,
    /// No longer tracked.
    pub removed: Vec<Vec<u8>>,
    /// Tracked, but not on the disk.
    pub deleted: Vec<Vec<u8>>,
    /// All tracked files, sorted.
    pub tracked: Vec<Vec<u8>>,
    /// New names with the sources of copies, sorted.
    pub copies: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Why another repository or the working copy cannot be asked.
#[derive(Debug)]
pub struct PeerError(pub Box<dyn Error + Send + Sync>);
