//! Files of one version, and their contents.

use super::versions::Scope;
use crate::context::Repo;
use crate::render::changesets::changed_files::copied_from;
use crate::ui::Abort;
use varve_lang::patterns::Matcher;
use varve_repo::{Node, RepoView, Rev};
use varve_workdir::{Dirstate, WorkingFiles};

/// A file to be searched.
pub(super) enum SearchedFile {
    /// One of the working copy.
    Working(Vec<u8>),
    /// A revision of one in a changeset.
    Stored {
        path: Vec<u8>,
        node: Node,
        changeset: Rev,
    },
}

/// Tracked files of the working copy that match and are there.
pub(super) fn of_working_copy(
    repo: &mut Repo,
    matcher: &Matcher,
    scope: Scope,
) -> Result<Vec<SearchedFile>, Abort> {
    if scope != Scope::Everything {
        return Ok(Vec::new());
    }
    let dirstate = Dirstate::read(&repo.repository()?)?;
    let files = WorkingFiles::new(repo.root()?);
    let mut found = Vec::new();
    for (path, item) in dirstate.iter() {
        if !item.is_tracked() || !matcher.matches(path) {
            continue;
        }
        files.audit(path)?;
        if files.stat(path)?.is_some() {
            found.push(SearchedFile::Working(path.to_vec()));
        }
    }
    Ok(found)
}

impl SearchedFile {
    /// Files of a changeset that match, sorted: all of them, or those that it changed.
    pub(super) fn of_changeset(
        view: &RepoView,
        changeset: Rev,
        matcher: &Matcher,
        scope: Scope,
    ) -> Result<Vec<SearchedFile>, Abort> {
        let text = view.manifest_text(Some(changeset))?;
        let file = |path: &[u8], node: Node| SearchedFile::Stored {
            path: path.to_vec(),
            node,
            changeset,
        };
        let mut found = Vec::new();
        if scope == Scope::Everything {
            for entry in view.manifest_entries(&text) {
                let entry = entry?;
                if matcher.matches(entry.path) {
                    found.push(file(entry.path, entry.node));
                }
            }
            return Ok(found);
        }
        let mut changed: Vec<Vec<u8>> = Vec::new();
        view.with_changeset(changeset, |changeset| {
            changed.extend(changeset.files().map(<[u8]>::to_vec));
        })?;
        changed.sort_unstable();
        for path in changed.iter().filter(|path| matcher.matches(path)) {
            if let Some(entry) = view.find_in_manifest(&text, path)? {
                found.push(file(path, entry.node));
            }
        }
        Ok(found)
    }

    pub(super) fn path(&self) -> &[u8] {
        match self {
            SearchedFile::Working(path) | SearchedFile::Stored { path, .. } => path,
        }
    }

    /// Its content in the changeset's first parent, with `follow` under the name that it was copied
    /// from; empty where it was not there.
    pub(super) fn before(&self, view: &RepoView, follow: bool) -> Result<Vec<u8>, Abort> {
        let SearchedFile::Stored {
            path,
            node,
            changeset,
        } = self
        else {
            return Ok(Vec::new());
        };
        let source = match follow {
            true => copied_from(view, *changeset, path, node)?,
            false => None,
        };
        let [parent, _] = view.changelog().parents(*changeset);
        let text = view.manifest_text(parent)?;
        match view.find_in_manifest(&text, source.as_deref().unwrap_or(path))? {
            Some(entry) => Ok(view.file_content(entry.path, &entry.node)?),
            None => Ok(Vec::new()),
        }
    }
}

/// The content of a file.
pub(super) struct Content(Vec<u8>);

impl Content {
    pub(super) fn read(view: &RepoView, file: &SearchedFile) -> Result<Content, Abort> {
        Ok(Content(match file {
            SearchedFile::Working(path) => WorkingFiles::of_view(view).read(path)?.0,
            SearchedFile::Stored { path, node, .. } => view.file_content(path, node)?,
        }))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
