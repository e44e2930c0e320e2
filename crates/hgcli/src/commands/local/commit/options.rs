//! Options that several commands which make changesets have.

use crate::arguments::Flag;

/// `-A`.
pub(crate) const ADDREMOVE: Flag = Flag::flag(
    'A',
    "addremove",
    "first add new files and remove missing ones",
);
/// `--amend`.
pub(crate) const AMEND: Flag = Flag::long_flag(
    "amend",
    "put a new changeset in the place of the working directory's parent",
);
/// `--close-branch`.
pub(crate) const CLOSE_BRANCH: Flag =
    Flag::long_flag("close-branch", "mark this head of the branch as closed");
/// `--force-close-branch`.
pub(crate) const FORCE_CLOSE_BRANCH: Flag = Flag::long_flag(
    "force-close-branch",
    "mark a changeset that is no head as closed too",
);
/// `-s`.
pub(crate) const SECRET: Flag = Flag::flag('s', "secret", "the changeset is secret");
/// `--draft`.
pub(crate) const DRAFT: Flag = Flag::long_flag("draft", "the changeset is a draft");
/// `-e`.
pub(crate) const EDIT: Flag = Flag::flag('e', "edit", "edit the description");
/// `-S`.
pub(crate) const SUBREPOS: Flag = Flag::flag('S', "subrepos", "also commit in subrepositories");
