//! Mercurial's caches in `.hg/cache`: results that would need a read of all changesets.
//!
//! Any of these files may be missing, stale, torn or damaged at any time, and none has a checksum.
//! So no answer rests on one file alone: heads of branches count only if `branch2-…` and `rbc-…`,
//! which say the same in different ways, agree ([`branches`]); tags, if `hgtagsfnodes1` names
//! revisions that there are, and for changesets without tags `tags2-…` agrees ([`tags`]). Whatever
//! does not agree is read from the history and written anew. Not being able to write is no error.
//!
//! [`branches`]: crate::branches
//! [`tags`]: crate::tags

mod branch_heads;
mod branch_names;
mod directory;
mod extend;
mod filter;
mod key;
mod streamed;
mod tag_files;
mod tags;

pub(crate) use branch_heads::{cross_checked, has_branch_cache, keep as keep_branch_heads};
pub(crate) use branch_names::BranchNames;
pub(crate) use directory::CacheDirectory;
pub(crate) use extend::{AppendedChangeset, extend};
pub(crate) use filter::CacheFilter;
pub(crate) use key::{Key, TagsKey};
pub use streamed::{ReceivedCaches, streamed_cache_names};
pub(crate) use tag_files::TagFiles;
pub(crate) use tags::{has_tags, keep_tags};

/// The first bytes of a changeset's node, which identify its record.
pub(crate) type Prefix = [u8; 4];
