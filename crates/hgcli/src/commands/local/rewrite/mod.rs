//! The common end of all commands that rewrite history: that of the old changesets, by obsolescence markers or by
//! stripping them after a bundle has got them.

mod described;
mod effects;
mod node_changes;
pub(crate) mod refusal;
mod strip;

pub(crate) use described::described;
pub(crate) use node_changes::node_changes;
pub(crate) use strip::{backup_purpose, strip};

use crate::commands::local::commit::metadata;
use crate::commands::local::instabilities;
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeMap;
use varve_repo::{LockKind, NewMarker, Node, Repository, ViewFilter};
use varve_workdir::RecommittedChangeset;

/// Changesets that others take the place of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replacement {
    /// In the order in which a fold names them.
    pub(crate) old: Vec<Node>,
    /// None if what they changed is elsewhere already.
    pub(crate) new: Vec<Node>,
    /// Where their bookmarks go.
    pub(crate) bookmarks_to: Node,
    /// Whether the new one is known to make the same change.
    pub(crate) keeps_diff: bool,
}

impl Replacement {
    /// One changeset for one.
    pub(crate) fn of(done: &RecommittedChangeset) -> Replacement {
        Replacement {
            old: vec![done.old],
            new: vec![done.node],
            bookmarks_to: done.node,
            keeps_diff: false,
        }
    }
}

/// How old changesets end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RewriteEnd<'a> {
    /// Name of the command, for markers and transactions.
    pub(crate) operation: &'a str,
    /// Name of the bundle that keeps them if they are stripped; none keeps them without it.
    pub(crate) backup: Option<&'a str>,
    /// Whether they stay as they are, and only their bookmarks move.
    pub(crate) keeps: bool,
    /// A note for the markers.
    pub(crate) note: Option<&'a [u8]>,
}

impl<'a> RewriteEnd<'a> {
    /// Old changesets go, without a note.
    pub(crate) const fn replacing(operation: &'a str) -> Self {
        RewriteEnd {
            operation,
            backup: Some(operation),
            keeps: false,
            note: None,
        }
    }
}

/// The user that an obsolescence marker names.
pub(crate) fn marker_user(ui: &mut Ui, config: &Config) -> Result<Vec<u8>, Abort> {
    match config.get("devel", "user.obsmarker") {
        Some(user) => Ok(user.to_vec()),
        None => {
            // Mercurial looks for the name twice, and warns twice when it has to guess.
            ui.username()?;
            ui.username()
        }
    }
}

/// Moves the bookmarks of the old changesets and ends these. The caller holds the lock of the working copy, whose parent
/// is none of them.
pub(crate) fn finish(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    replacements: &[Replacement],
    end: &RewriteEnd<'_>,
) -> Result<(), Abort> {
    finish_all((repo, ui, config), repository, &[], (replacements, end))
}

/// As [`finish`], for the replacements of an earlier step of the same command too, whose own names only markers have.
pub(crate) fn finish_all(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    before: &[(Replacement, RewriteEnd<'_>)],
    (last, end): (&[Replacement], &RewriteEnd<'_>),
) -> Result<(), Abort> {
    let lock = repo.lock(ui, LockKind::Store)?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let markers = config.evolution()?.markers && !end.keeps;
    let unstable = view.instabilities()?;
    let earlier = before.iter().map(|(of, _)| of.clone());
    let replacements: Vec<Replacement> = earlier.chain(last.iter().cloned()).collect();
    let mut made = Vec::new();
    if markers && !replacements.is_empty() {
        let user = marker_user(ui, config)?;
        for (of, end) in before {
            let of = std::slice::from_ref(of);
            made.extend(effects::markers(&view, of, end, &user)?);
        }
        made.extend(effects::markers(&view, last, end, &user)?);
    }
    let mut bookmarks = view.bookmarks().clone();
    let moves: BTreeMap<Node, Node> = replacements
        .iter()
        .flat_map(|of| of.old.iter().map(|old| (*old, of.bookmarks_to)))
        .collect();
    let mut is_moved = false;
    for at in bookmarks.values_mut() {
        if let Some(to) = moves.get(at) {
            is_moved = true;
            *at = *to;
        }
    }
    let mut lock = Some(lock);
    if (is_moved || !made.is_empty())
        && let Some(lock) = lock.take()
    {
        let mut transaction = repository.transaction(lock, end.operation)?;
        if is_moved {
            transaction.set_bookmarks(&bookmarks)?;
        }
        let date = metadata::default_date(config)?;
        let facts: Vec<Vec<(&[u8], &[u8])>> =
            made.iter().map(effects::MarkerFacts::pairs).collect();
        let markers = made.iter().zip(&facts);
        let markers: Vec<NewMarker<'_>> = markers
            .map(|(marker, facts)| marker.to_new(facts, date))
            .collect();
        transaction.add_markers(&markers)?;
        transaction.finish()?;
    }
    if !markers && !end.keeps && !replacements.is_empty() {
        let mut old: Vec<Node> = replacements.iter().flat_map(|of| of.old.clone()).collect();
        old.sort_by_key(|node| view.changelog().rev(node));
        strip(
            (repo, ui, config),
            repository,
            &old,
            (end.backup, lock.take()),
        )?;
    }
    repo.refresh();
    instabilities::report(ui, repository, &unstable)
}

/// One changeset and what stands in its place, by any command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RewrittenBy<'a> {
    /// Name of the command.
    pub(crate) operation: &'a str,
    pub(crate) old: Node,
    pub(crate) new: &'a [Node],
}

/// Adds markers of this date and nothing else, in a transaction of this name. How a changeset differs is recorded only
/// where one other has its place.
pub(crate) fn add_markers(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    (name, date): (&str, (i64, i32)),
    rewrites: &[RewrittenBy<'_>],
) -> Result<(), Abort> {
    if !config.evolution()?.markers {
        return Err(Abort::new(
            "creating obsolete markers is not enabled on this repo",
        ));
    }
    let lock = repo.lock(ui, LockKind::Store)?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let user = marker_user(ui, config)?;
    let mut made = Vec::new();
    for rewrite in rewrites {
        let replacement = Replacement {
            old: vec![rewrite.old],
            new: rewrite.new.to_vec(),
            bookmarks_to: rewrite.old,
            keeps_diff: false,
        };
        let with_effects = rewrite.new.len() == 1;
        let end = RewriteEnd::replacing(rewrite.operation);
        let mut of = effects::markers(&view, &[replacement], &end, &user)?;
        if !with_effects {
            of.iter_mut()
                .for_each(effects::MarkerFacts::without_effects);
        }
        made.extend(of);
    }
    let facts: Vec<_> = made.iter().map(effects::MarkerFacts::pairs).collect();
    let markers = made.iter().zip(&facts);
    let markers: Vec<NewMarker<'_>> = markers
        .map(|(marker, facts)| marker.to_new(facts, date))
        .collect();
    let mut transaction = repository.transaction(lock, name)?;
    transaction.add_markers(&markers)?;
    Ok(transaction.finish()?)
}

/// Says with `--verbose` how the files of a changeset came onto the new parent.
pub(crate) fn note_files(ui: &mut Ui, done: &RecommittedChangeset) -> Result<(), Abort> {
    ui.note("resolving manifests\n")?;
    for file in &done.removed {
        ui.note([b"removing ", &file[..], b"\n"].concat())?;
    }
    for file in &done.differing {
        ui.note([b"getting ", &file[..], b"\n"].concat())?;
    }
    Ok(())
}

/// Says with `--verbose` the steps of a commit.
pub(crate) fn note_commit(ui: &mut Ui, done: &RecommittedChangeset) -> Result<(), Abort> {
    match done.files.is_empty() && done.removed.is_empty() {
        true => ui.debug("reusing manifest from p1 (no file change)\n")?,
        false => ui.note("committing files:\n")?,
    }
    for file in &done.files {
        ui.note([&file[..], b"\n"].concat())?;
    }
    if done.has_manifest {
        ui.note("committing manifest\n")?;
    }
    ui.note("committing changelog\n")
}

/// Says with `--verbose` which name in a description could not follow.
pub(crate) fn note_stale(ui: &mut Ui, name: &[u8]) -> Result<(), Abort> {
    let name = String::from_utf8_lossy(name);
    ui.note(format!(
        "The stale commit message reference to {name} could not be updated\n"
    ))
}
