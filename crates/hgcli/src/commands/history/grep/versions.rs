//! Changesets in which `grep` searches, in their order.

use crate::arguments::Matches;
use crate::commands::history::log::{first_ancestors, selected};
use crate::context::Repo;
use crate::context::revision::query;
use crate::render::changesets::ShownFiles;
use crate::ui::{Abort, Ui};
use varve_lang::patterns::Matcher;
use varve_repo::Rev;
use varve_revset::{Set, WORKING_COPY};
use varve_workdir::filesets::FilesetTarget;

/// The part of each changeset that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of its files.
    Everything,
    /// Files that it changed and in which nothing was found in an earlier one.
    Changed,
    /// Lines that it added or removed.
    Differences,
}

impl Scope {
    /// The scope that the options ask for.
    pub(super) fn of(matches: &Matches) -> Result<Scope, Abort> {
        let differences = matches.flag("diff") || matches.flag("all");
        match (differences, matches.switch("all-files")) {
            (true, Some(true)) => Err(Abort::input("cannot specify both --all-files and --diff")),
            (true, _) => Ok(Scope::Differences),
            (false, Some(false)) => Ok(Scope::Changed),
            (false, _) => Ok(Scope::Everything),
        }
    }
}

/// One version of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// The working copy.
    Working,
    /// A changeset.
    Stored(Rev),
}

/// All versions to be searched.
pub(super) struct Versions {
    pub(super) versions: Vec<Version>,
    /// Which files of each changeset.
    pub(super) files: ShownFiles,
    /// Which files of the working copy.
    pub(super) working: Matcher,
    /// Whether the numbers of changesets are printed.
    pub(super) shows_rev: bool,
}

/// The query for the working copy.
const WORKING: &[u8] = b"wdir()";

/// The versions that the options mean.
pub(super) fn versions(
    repo: &mut Repo,
    ui: &mut Ui,
    matches: &Matches,
    patterns: &[Vec<u8>],
    scope: Scope,
) -> Result<Versions, Abort> {
    let working = repo.working_matcher(matches, patterns)?;
    let mut specs = matches.list("rev");
    let view = repo.view()?;
    let engine = repo.engine(&view)?;
    if scope != Scope::Everything {
        repo.warn_of_disabled_markers_for(ui, &[b"all()"])?;
        let (set, files) = selected(repo, ui, matches, patterns, &engine)?;
        return Ok(Versions {
            versions: stored(&set, &engine)?,
            files,
            working,
            shows_rev: true,
        });
    }
    let follow = matches.flag("follow");
    let shows_rev = follow || !specs.is_empty();
    let in_working = !shows_rev || specs.iter().any(|spec| spec.trim_ascii() == WORKING);
    specs.retain(|spec| spec.trim_ascii() != WORKING);
    if specs.is_empty() && follow {
        specs.push(b".");
    }
    repo.warn_of_disabled_markers_for(ui, &specs)?;
    let mut set = query(&engine, &specs)?;
    if follow {
        let start: Vec<_> = set.members(&engine).collect::<Result<_, _>>()?;
        let line = first_ancestors(&engine, &start).ascending(&engine)?;
        set = line.reversed(&engine)?;
    }
    let mut versions = Vec::new();
    if in_working {
        versions.push(Version::Working);
    }
    versions.extend(stored(&set, &engine)?);
    let matcher = repo.matcher_with(
        matches,
        patterns,
        &varve_lang::patterns::NameCheck,
        FilesetTarget::Working,
    )?;
    Ok(Versions {
        versions,
        files: ShownFiles::Matching(Box::new(matcher)),
        working,
        shows_rev,
    })
}

fn stored(set: &Set, engine: &varve_revset::Engine<'_>) -> Result<Vec<Version>, Abort> {
    let mut versions = Vec::new();
    for member in set.all_members(engine) {
        versions.extend(member?.map(|rev| match rev {
            WORKING_COPY => Version::Working,
            rev => Version::Stored(rev),
        }));
    }
    Ok(versions)
}
