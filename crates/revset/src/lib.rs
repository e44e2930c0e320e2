//! Mercurial's language for sets of changesets, such as `ancestors(tip) and not user("ada")`.
//!
//! [`parse`] makes a tree of a query, [`Engine`] answers it over a [`varve_repo::RepoView`]. An
//! answer, a [`Set`], is ordered, and computed only as far as its reader goes: `tip` reads one
//! changeset, and `limit(all(), 10)` ten.

mod aliases;
mod bitset;
mod engine;
mod error;
mod follow;
mod functions;
pub mod fuzzing;
mod grammar;
mod lower;
mod optimize;
mod peers;
mod set;
mod syntax;
mod text;
mod tree;

pub use aliases::Aliases;
pub use engine::{Engine, QueryContext};
pub use error::RevsetError;
pub use follow::{FileHistory, FollowedParents};
pub use functions::{LineHistory, WorkingCopyFile};
pub use grammar::{parse, parse_syntax};
pub use lower::{concatenated, lower};
pub use optimize::{analyzed, optimized};
pub use peers::{
    ChosenDestination, PeerError, PeerName, PeerRepositories, UncommittedFiles, WorkingCopySource,
};
pub use set::{Members, Set};
pub use syntax::Syntax;
pub use text::TextMatcher;
pub use tree::{Expr, Infix, Postfix, Prefix, RangeKind};

/// A changeset, the null revision (`None`), or [`WORKING_COPY`].
pub type Member = Option<varve_repo::Rev>;

/// The number under which Mercurial counts the working copy among changesets.
pub const WORKING_COPY: varve_repo::Rev = varve_repo::Rev(0x7fff_ffff);
