//! Files of one version, and their contents.

use super::versions::Scope;
use crate::context::Repo;
use crate::render::changesets::changed_files::copied_from;
use crate::ui::Abort;
use std::collections::BTreeSet;
use varve_lang::patterns::Matcher;
use varve_repo::{Node, RepoView, Rev};
use varve_workdir::{Dirstate, WorkingFiles};

/// A file to be searched.
pub(super) enum SearchedFile {
    /// One of the working copy.
    Working {
        path: Vec<u8>,
        copied_from: Option<Vec<u8>>,
    },
    /// A revision of one in a changeset.
    Stored {
        path: Vec<u8>,
        node: Node,
        changeset: Rev,
    },
}

/// Tracked files of the working copy that match and are there: all of them, or those that differ from its parent.
pub(super) fn of_working_copy(
    repo: &mut Repo,
    matcher: &Matcher,
    scope: Scope,
) -> Result<Vec<SearchedFile>, Abort> {
    let changed = match scope {
        Scope::Everything => None,
        Scope::Changed | Scope::Differences => {
            let status = repo.working_changes()?;
            let changed = status.modified.into_iter().chain(status.added);
            Some(changed.collect::<BTreeSet<_>>())
        }
    };
    let dirstate = Dirstate::read(&repo.repository()?)?;
    let files = WorkingFiles::new(repo.root()?);
    let mut found = Vec::new();
    for (path, item) in dirstate.iter() {
        let is_wanted = changed
            .as_ref()
            .is_none_or(|changed| changed.contains(path));
        if !item.is_tracked() || !matcher.matches(path) || !is_wanted {
            continue;
        }
        files.audit(path)?;
        if files.stat(path)?.is_some() {
            found.push(SearchedFile::Working {
                path: path.to_vec(),
                copied_from: dirstate.copy_source(path).map(<[u8]>::to_vec),
            });
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
            SearchedFile::Working { path, .. } | SearchedFile::Stored { path, .. } => path,
        }
    }

    /// Its content in the changeset's first parent, with `follow` under the name that it was copied
    /// from; empty where it was not there.
    pub(super) fn before(&self, view: &RepoView, follow: bool) -> Result<Vec<u8>, Abort> {
        let (path, source, parent) = match self {
            SearchedFile::Working { path, copied_from } => {
                let parents = view.working_parents()?;
                let parent = parents.first().and_then(|node| view.changelog().rev(node));
                (path, copied_from.clone().filter(|_| follow), parent)
            }
            SearchedFile::Stored {
                path,
                node,
                changeset,
            } => {
                let source = match follow {
                    true => copied_from(view, *changeset, path, node)?,
                    false => None,
                };
                (path, source, view.changelog().parents(*changeset)[0])
            }
        };
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
            SearchedFile::Working { path, .. } => WorkingFiles::of_view(view).read(path)?.0,
            SearchedFile::Stored { path, node, .. } => view.file_content(path, node)?,
        }))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
