//! Access control for changesets and bookmarks, as the function `hook` of Mercurial's extension `acl` offers it.
//!
//! ```text
//! [hooks]
//! pretxnchangegroup.acl = python:hgext.acl.hook     this name runs the code of this room
//! [acl]
//! sources = serve push         pretxnchangegroup: origins whose changesets are checked; default: serve
//! config = FILE                more of the sections below, except those of bookmarks
//! [acl.deny.branches]          a section that is absent restricts nothing; one that is empty names no user
//! BRANCH = USERS               also acl.allow.branches, acl.deny.bookmarks, acl.allow.bookmarks
//! [acl.allow]
//! PATTERN = USERS              also acl.deny
//! [acl.groups]
//! GROUP = USERS                else the members that /etc/group names
//! ```
//! `USERS` is `*` for everybody, or names and `@groups`, each with a `!` for everybody else.

mod check;
mod members;
mod rules;
mod words;

pub use check::AccessControl;
pub use members::user_name;
pub use words::{AccessEvent, AccessRefusal, ControlledItem};
