//! From what `-r` says to revisions.

use super::{Abort, Session};
use varve_repo::{LookupError, RepoView, Rev};

impl Session {
    /// The revision that `-r` names; `.` if it says nothing. `None` is the null revision.
    pub(crate) fn revision(&mut self, spec: Option<&[u8]>) -> Result<Option<Rev>, Abort> {
        let spec = spec.filter(|spec| !spec.is_empty()).unwrap_or(b".");
        let view = self.view()?;
        by_name(&view, spec)
    }

    /// The revisions that several `-r` name, in their order, each once.
    pub(crate) fn revisions(&mut self, specs: &[&[u8]]) -> Result<Vec<Rev>, Abort> {
        let mut revs = Vec::new();
        for spec in specs {
            if let Some(rev) = self.revision(Some(spec))?
                && !revs.contains(&rev)
            {
                revs.push(rev);
            }
        }
        Ok(revs)
    }
}

/// A revision by number, node, bookmark, tag or branch.
pub(crate) fn by_name(view: &RepoView, name: &[u8]) -> Result<Option<Rev>, Abort> {
    let shown = String::from_utf8_lossy(name);
    match view.lookup(name) {
        Ok(node) => Ok(view.changelog().rev(&node)),
        Err(LookupError::Unknown(_)) => Err(Abort::new(format!("unknown revision '{shown}'"))),
        Err(LookupError::Ambiguous(_)) => Err(Abort::new(format!(
            "ambiguous revision identifier: {shown}"
        ))),
        Err(LookupError::Hidden(_)) => Err(Abort::new(format!("hidden revision '{shown}'"))
            .hint("use --hidden to access hidden revisions")),
        Err(LookupError::Repo(error)) => Err(error.into()),
    }
}
