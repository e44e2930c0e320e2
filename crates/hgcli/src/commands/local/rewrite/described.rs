//! Changesets as messages about rewriting name them.

use crate::context::Repo;
use crate::render::changesets::ChangesetNames;
use crate::ui::Abort;
use varve_repo::{RepoView, Rev};

/// Number, hash, bookmarks, tags and the first line of the description.
pub(crate) fn described(
    repo: &mut Repo,
    names: &mut ChangesetNames,
    view: &RepoView,
    rev: Rev,
) -> Result<Vec<u8>, Abort> {
    let shown = repo.rev_and_hex(rev)?;
    let first = view.with_changeset(rev, |changeset| {
        let line = changeset.description.split(|byte| *byte == b'\n').next();
        line.unwrap_or_default().to_vec()
    })?;
    let mut out = shown.into_bytes();
    for name in [names.bookmarks(rev), names.tags(rev)].concat() {
        out.push(b' ');
        out.extend_from_slice(&name);
    }
    out.extend([b" \"", &first[..], b"\""].concat());
    Ok(out)
}
