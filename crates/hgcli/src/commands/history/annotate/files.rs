//! The annotated files, and their versions in a changeset or in the working copy.

use crate::arguments::Matches;
use crate::context::{Repo, matching};
use crate::ui::{Abort, Ui, short_hex, system_words};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use varve_lang::patterns::{Matcher, NameCheck};
use varve_repo::{AnnotateStart, Node, RepoView, Rev, StoredFile};
use varve_workdir::{Dirstate, StatusLists, StatusRequest, WorkingFiles, working_status};

/// Where the files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileLocation {
    /// In a changeset, or the null revision.
    Stored(Option<Rev>),
    /// In the working copy.
    Working,
}

/// Names of the working copy as if it were a changeset.
const WORKING: &[&[u8]] = &[
    b"wdir()",
    b"2147483647",
    b"ffffffffffffffffffffffffffffffffffffffff",
];

impl FileLocation {
    /// The changeset or working copy that `-r` names.
    pub(super) fn of(
        repo: &mut Repo,
        ui: &mut Ui,
        spec: Option<&[u8]>,
    ) -> Result<FileLocation, Abort> {
        match spec {
            Some(spec) if WORKING.contains(&spec.trim_ascii()) => Ok(FileLocation::Working),
            spec => Ok(FileLocation::Stored(repo.revision(ui, spec)?)),
        }
    }
}

pub(super) struct File {
    pub(super) path: Vec<u8>,
    /// Where it is stored; `None` for one of the working copy.
    stored: Option<(Rev, Node)>,
}

/// The files that match, sorted, and the error about a name that is missing.
pub(super) fn listed(
    repo: &mut Repo,
    ui: &mut Ui,
    matches: &Matches,
    patterns: &[Vec<u8>],
    place: FileLocation,
) -> Result<(Vec<File>, Option<Abort>), Abort> {
    match place {
        FileLocation::Stored(rev) => {
            let at = varve_workdir::filesets::FilesetTarget::Rev(rev);
            let matcher = repo.matcher_with(matches, patterns, &NameCheck, at)?;
            stored(repo, rev, &matcher)
        }
        FileLocation::Working => {
            let matcher = repo.working_matcher(matches, patterns)?;
            Ok((working(repo, ui, &matcher)?, None))
        }
    }
}

fn stored(
    repo: &mut Repo,
    rev: Option<Rev>,
    matcher: &Matcher,
) -> Result<(Vec<File>, Option<Abort>), Abort> {
    let view = repo.view()?;
    let text = view.manifest_text(rev)?;
    let short = short_hex(&view.changelog().node_or_null(rev));
    let mut missing = None;
    let entries = matching::files_of(&view, &text, matcher, |name| {
        let name = String::from_utf8_lossy(name);
        let message = format!("{name}: no such file in rev {short}");
        missing.get_or_insert_with(|| Abort::new(message));
        Ok(())
    })?;
    let files = entries.iter().map(|entry| File {
        path: entry.path.to_vec(),
        stored: rev.map(|rev| (rev, entry.node)),
    });
    Ok((files.collect(), missing))
}

/// Tracked files, also those that are removed or lost, and unknown ones.
fn working(repo: &mut Repo, ui: &mut Ui, matcher: &Matcher) -> Result<Vec<File>, Abort> {
    let repository = repo.repository()?;
    let dirstate = Dirstate::read(&repository)?;
    let ignore = repo.ignore(ui)?;
    let listing = StatusLists {
        unknown: true,
        clean: true,
        ignored: false,
    };
    let status = working_status(&StatusRequest {
        repository: &repository,
        dirstate: &dirstate,
        matcher,
        ignore: &ignore,
        listing,
        stop: &ui.stop,
    })?
    .status;
    let lists = [
        status.modified,
        status.added,
        status.removed,
        status.deleted,
        status.unknown,
        status.clean,
    ];
    let mut paths: BTreeSet<Vec<u8>> = lists.into_iter().flatten().collect();
    let mut named = matcher.named().to_vec();
    named.sort_unstable();
    for name in named.iter().filter(|name| !name.is_empty()) {
        let known = dirstate.get(name).is_some() || dirstate.below(name).next().is_some();
        let found = repository.root().join(OsStr::from_bytes(name));
        match found.symlink_metadata() {
            Err(error) if !known => {
                let shown = String::from_utf8_lossy(name);
                return Err(Abort::new(format!("{shown}: {}", system_words(&error))));
            }
            // An ignored file that is named counts.
            Ok(found) if !found.is_dir() && matcher.matches(name) => {
                paths.insert(name.clone());
            }
            _ => {}
        }
    }
    let file = |path| File { path, stored: None };
    Ok(paths.into_iter().map(file).collect())
}

impl File {
    /// The content, and where it comes from.
    pub(super) fn start(
        &self,
        repo: &mut Repo,
        view: &RepoView,
    ) -> Result<(Vec<u8>, AnnotateStart), Abort> {
        let Some((changeset, node)) = self.stored else {
            let files = WorkingFiles::of_view(view);
            let start = AnnotateStart::Working {
                path: self.path.clone(),
                parents: repo.origins_of_working_file(view, &self.path)?,
            };
            return Ok((files.read(&self.path)?.0, start));
        };
        let content = view.file_content(&self.path, &node)?;
        let file = StoredFile {
            changeset,
            path: self.path.clone(),
            node,
        };
        Ok((content, AnnotateStart::Stored(file)))
    }
}
