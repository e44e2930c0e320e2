//! The files to be fixed.

use super::{FixPlace, FixPlan};
use crate::path_copies::{path_copies, path_copies_to_working_copy};
use crate::tree::{FileRevision, Tree, TreeEntry};
use crate::{
    Dirstate, Ignore, StatusLists, StatusRequest, WorkdirError, WorkingFiles, status_against,
    status_between, working_status,
};
use std::collections::{BTreeMap, BTreeSet};
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{FileKind, Node, RepoView, Repository, Rev};

/// A file with the same content and the same bases at one place or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixItem {
    /// Its path.
    pub path: Vec<u8>,
    /// Where it is fixed, in order; never empty, and the working copy is alone.
    pub places: Vec<FixPlace>,
    /// The revision of the file; none in the working copy.
    node: Option<Node>,
    /// Path and revision in each base; none in one without the file.
    bases: BTreeSet<Option<FileRevision>>,
}

/// The repository, and which of its files count.
#[derive(Clone, Copy, Debug)]
pub struct FixScope<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The repository as it is, hidden changesets included.
    pub view: &'a RepoView,
    /// State of the working copy.
    pub dirstate: &'a Dirstate,
    /// Files that are ignored.
    pub ignore: &'a Ignore,
    /// Files that may be fixed.
    pub matcher: &'a Matcher,
    /// These were named, so that unchanged and untracked ones count too.
    pub is_named: bool,
    /// Ends the work between two places.
    pub stop: &'a Interrupt,
}

impl FixItem {
    /// The content before it is fixed.
    ///
    /// # Errors
    /// Damage in the repository; a file of the working copy that cannot be read.
    pub fn content(&self, scope: &FixScope<'_>) -> Result<Vec<u8>, WorkdirError> {
        match &self.node {
            Some(node) => Ok(scope.view.file_content(&self.path, node)?),
            None => {
                let files = WorkingFiles::of(scope.repository);
                Ok(files.read(&self.path)?.0)
            }
        }
    }

    /// The contents in the bases; none for a base without the file.
    ///
    /// # Errors
    /// Damage in the repository.
    pub fn bases(&self, scope: &FixScope<'_>) -> Result<Vec<Option<Vec<u8>>>, WorkdirError> {
        let contents = self.bases.iter().map(|base| match base {
            Some((path, node)) => Ok(Some(scope.view.file_content(path, node)?)),
            None => Ok(None),
        });
        contents.collect()
    }
}

/// The files of all places of a plan: in the order of the places, then of the paths. Links are none of them.
///
/// # Errors
/// Damage in the repository; a failure to read the working copy.
pub fn fix_items(scope: &FixScope<'_>, plan: &FixPlan) -> Result<Vec<FixItem>, WorkdirError> {
    let mut items: Vec<FixItem> = Vec::new();
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for (place, bases) in plan.places() {
        scope.stop.check()?;
        let tree = match place {
            FixPlace::Rev(rev) => Some(Tree::of(scope.view, Some(rev))?),
            FixPlace::Working => None,
        };
        let files = match (place, &tree) {
            (FixPlace::Rev(rev), Some(tree)) => files_of(scope, (rev, tree), bases)?,
            _ => working_files(scope, bases)?,
        };
        let below = Bases::read(scope, place, bases)?;
        for path in files {
            let entry: Option<TreeEntry> = match &tree {
                Some(tree) => match tree.get(&path)? {
                    Some(entry) if entry.1 != FileKind::Symlink => Some(entry),
                    _ => continue,
                },
                None => None,
            };
            let item = FixItem {
                node: entry.map(|(node, _)| node),
                bases: below.of(&path)?,
                places: vec![place],
                path,
            };
            let key = (item.path.clone(), item.node, item.bases.clone());
            match known.get(&key).filter(|_| entry.is_some()) {
                Some(at) => items[*at].places.push(place),
                None => {
                    known.insert(key, items.len());
                    items.push(item);
                }
            }
        }
    }
    Ok(items)
}

/// The changed files of a changeset, or all that are named.
fn files_of(
    scope: &FixScope<'_>,
    (rev, tree): (Rev, &Tree<'_>),
    bases: &BTreeSet<Option<Rev>>,
) -> Result<BTreeSet<Vec<u8>>, WorkdirError> {
    let mut files = BTreeSet::new();
    if scope.is_named {
        for entry in tree.iter() {
            let path = entry?.path;
            if scope.matcher.matches(path) {
                files.insert(path.to_vec());
            }
        }
        return Ok(files);
    }
    for base in bases {
        let status = status_between(scope.view, *base, Some(rev), scope.matcher, false)?;
        files.extend(status.modified);
        files.extend(status.added);
    }
    Ok(files)
}

/// The changed files of the working copy, or all that are named; links and special files are left out.
fn working_files(
    scope: &FixScope<'_>,
    bases: &BTreeSet<Option<Rev>>,
) -> Result<BTreeSet<Vec<u8>>, WorkdirError> {
    let request = StatusRequest {
        repository: scope.repository,
        dirstate: scope.dirstate,
        matcher: scope.matcher,
        ignore: scope.ignore,
        listing: StatusLists {
            unknown: scope.is_named,
            ignored: false,
            clean: true,
        },
        stop: scope.stop,
    };
    let status = working_status(&request)?.status;
    let mut files = BTreeSet::new();
    if scope.is_named {
        for list in [
            &status.modified,
            &status.added,
            &status.clean,
            &status.unknown,
        ] {
            files.extend(list.iter().cloned());
        }
    } else {
        for base in bases {
            let status = status_against(&request, scope.view, *base, status.clone())?;
            files.extend(status.modified);
            files.extend(status.added);
        }
    }
    let working = WorkingFiles::new(scope.repository.root());
    let mut regular = BTreeSet::new();
    for path in files {
        if working.look(&path)?.is_some_and(|found| found.is_file()) {
            regular.insert(path);
        }
    }
    Ok(regular)
}

/// Where the files of one place come from.
struct Bases<'a>(Vec<Base<'a>>);

/// A base, and the sources there of files that were copied since.
type Base<'a> = (Tree<'a>, BTreeMap<Vec<u8>, Vec<u8>>);

impl<'a> Bases<'a> {
    fn read(
        scope: &FixScope<'a>,
        place: FixPlace,
        bases: &BTreeSet<Option<Rev>>,
    ) -> Result<Bases<'a>, WorkdirError> {
        let bases = bases.iter().map(|base| {
            let copies = match place {
                FixPlace::Rev(rev) => path_copies(scope.view, *base, Some(rev))?,
                FixPlace::Working => {
                    path_copies_to_working_copy(scope.view, *base, scope.dirstate)?
                }
            };
            Ok::<_, WorkdirError>((Tree::of(scope.view, *base)?, copies))
        });
        Ok(Bases(bases.collect::<Result<_, _>>()?))
    }

    fn of(&self, path: &[u8]) -> Result<BTreeSet<Option<FileRevision>>, WorkdirError> {
        let found = self.0.iter().map(|(tree, copies)| {
            let source = copies.get(path).map(Vec::as_slice);
            // After a merge, a copy may be recorded whose source only the other side has.
            for path in source.into_iter().chain([path]) {
                if let Some((node, _)) = tree.get(path)? {
                    return Ok(Some((path.to_vec(), node)));
                }
            }
            Ok(None)
        });
        found.collect()
    }
}
