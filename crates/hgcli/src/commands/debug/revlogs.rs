//! Which revlog a debugging command looks at: `-c`, `-m`, or the history of a file.

use crate::arguments::Flag;
use crate::arguments::Matches;
use crate::context::{Command, Repo};
use crate::ui::Abort;
use std::sync::Arc;
use varve_repo::{PrefixMatch, RepoView, Rev, Revlog};

/// Opens the changelog.
pub(crate) const CHANGELOG: Flag = Flag::flag('c', "changelog", "look at the changelog");
/// Opens the manifest.
pub(crate) const MANIFEST: Flag = Flag::flag('m', "manifest", "look at the manifest");

/// A revlog of the repository.
pub(crate) enum RevlogSelection {
    /// The changelog or the manifest, which the view holds.
    Shared {
        view: Arc<RepoView>,
        /// Which of the two.
        manifest: bool,
    },
    /// The history of a file.
    File(Box<Revlog>),
}

impl RevlogSelection {
    /// Finds the revlog that the options or `name` choose; `None` if it is empty or missing.
    pub(crate) fn find(
        repo: &mut Repo,
        matches: &Matches,
        name: Option<&Vec<u8>>,
    ) -> Result<Option<RevlogSelection>, Abort> {
        let (changelog, manifest) = (matches.flag("changelog"), matches.flag("manifest"));
        if changelog && manifest {
            return Err(Abort::input(
                "cannot specify --changelog and --manifest at the same time",
            ));
        }
        if (changelog || manifest) && name.is_some() {
            return Err(Abort::input(
                "cannot specify filename with --changelog or --manifest",
            ));
        }
        let view = repo.view()?;
        let chosen = match name {
            _ if changelog || manifest => RevlogSelection::Shared { view, manifest },
            None => return Ok(None),
            Some(name) => match view.filelog(name) {
                Ok(filelog) => RevlogSelection::File(Box::new(filelog)),
                Err(error) if is_absent(&error) => return Ok(None),
                Err(error) => return Err(error.into()),
            },
        };
        Ok((!chosen.revlog()?.is_empty()).then_some(chosen))
    }

    /// The same for a command whose only argument is the file's name, and which needs a revlog.
    pub(crate) fn of_argument(
        repo: &mut Repo,
        matches: &Matches,
        command: &'static Command,
    ) -> Result<RevlogSelection, Abort> {
        let name = matches.arguments().first();
        let chosen = RevlogSelection::find(repo, matches, name)?;
        chosen.ok_or_else(|| match name {
            Some(name) => not_found(name),
            None => command.usage_error("invalid arguments"),
        })
    }

    pub(crate) fn revlog(&self) -> Result<&Revlog, Abort> {
        Ok(match self {
            RevlogSelection::Shared {
                view,
                manifest: true,
            } => view.manifest()?,
            RevlogSelection::Shared {
                view,
                manifest: false,
            } => view.changelog(),
            RevlogSelection::File(filelog) => filelog,
        })
    }
}

fn is_absent(error: &varve_repo::RepoError) -> bool {
    use varve_repo::{RepoError, RevlogError};
    match error {
        RepoError::Storage(error) => error.is_not_found(),
        RepoError::Revlog(RevlogError::Storage(error)) => error.is_not_found(),
        _ => false,
    }
}

/// `abort: revlog 'x' not found`.
pub(crate) fn not_found(name: &[u8]) -> Abort {
    let name = String::from_utf8_lossy(name);
    Abort::input(format!("revlog '{name}' not found"))
}

/// A revision by number, by node or by the beginning of one.
pub(crate) fn revision(revlog: &Revlog, text: &[u8]) -> Result<Rev, Abort> {
    let number = std::str::from_utf8(text).ok();
    let number = number.and_then(|text| text.parse::<i64>().ok());
    if let Some(number) = number {
        let from_end = if number < 0 {
            number + revlog.len() as i64
        } else {
            number
        };
        if let Some(rev) = revlog.rev_at(from_end) {
            return Ok(rev);
        }
    }
    if text.is_empty() {
        return Err(invalid_revision(text));
    }
    match revlog.rev_by_prefix(text) {
        PrefixMatch::One(rev) => Ok(rev),
        PrefixMatch::None | PrefixMatch::Ambiguous => Err(invalid_revision(text)),
    }
}

/// `abort: invalid revision identifier x`.
pub(crate) fn invalid_revision(text: &[u8]) -> Abort {
    let text = String::from_utf8_lossy(text);
    Abort::new(format!("invalid revision identifier {text}"))
}

/// For each revision, how many snapshots it is built on; `None` for an ordinary delta. With
/// `sparse`, a delta against a snapshot that is no parent is one itself; else only full texts are.
pub(crate) fn snapshot_depths(revlog: &Revlog, sparse: bool) -> Vec<Option<u32>> {
    let mut depths: Vec<Option<u32>> = Vec::with_capacity(revlog.len());
    for rev in revlog.revs() {
        let depth = match revlog.delta_parent(rev) {
            None => Some(0),
            Some(base) if sparse && !revlog.parents(rev).contains(&Some(base)) => {
                depths[base.index()].map(|depth| depth + 1)
            }
            Some(_) => None,
        };
        depths.push(depth);
    }
    depths
}

/// Whether the repository's snapshots may be deltas.
pub(crate) fn is_sparse(repo: &mut Repo) -> Result<bool, Abort> {
    Ok(repo.repository()?.requirements().has("sparserevlog"))
}
