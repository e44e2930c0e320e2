//! Grafting one changeset after another.

use super::memory;
use crate::arguments::Matches;
use crate::commands::local::commit::{self, metadata};
use crate::commands::local::instabilities;
use crate::commands::local::merge::{self, MergeSides};
use crate::context::{Config, Repo};
use crate::render::changesets::ChangesetNames;
use crate::ui::{Abort, Ui};
use varve_lang::patterns::Matcher;
use varve_repo::{Node, RepoView, Repository, Rev};
use varve_workdir::{
    ChangesetMetadata, CommitMetadata, Dirstate, GraftState, MergeBase, MergeLabels, Status,
    graft_extras, message,
};

/// A call of the command.
pub(super) struct GraftRun<'a> {
    pub(super) repo: &'a mut Repo,
    pub(super) ui: &'a mut Ui,
    pub(super) config: &'a Config,
    pub(super) matches: &'a Matches,
    pub(super) repository: &'a Repository,
}

/// Options that hold for all changesets of a graft, also after it was interrupted.
#[derive(Clone, Debug, Default)]
pub(super) struct GraftSettings {
    pub(super) user: Option<Vec<u8>>,
    /// As typed.
    pub(super) date: Option<Vec<u8>>,
    pub(super) base: Option<Node>,
    pub(super) log: bool,
    pub(super) no_commit: bool,
}

impl GraftSettings {
    /// Those of the command line, without the base.
    pub(super) fn of_options(ui: &mut Ui, matches: &Matches) -> Result<GraftSettings, Abort> {
        let value = |name| matches.value(name).filter(|value| !value.is_empty());
        let mut settings = GraftSettings {
            user: value("user").map(<[u8]>::to_vec),
            date: value("date").map(<[u8]>::to_vec),
            base: None,
            log: matches.flag("log"),
            no_commit: matches.flag("no-commit"),
        };
        if matches.flag("currentuser") {
            settings.user = Some(ui.username()?);
        }
        if matches.flag("currentdate") {
            let (time, zone) = metadata::now();
            settings.date = Some(format!("{time} {zone}").into_bytes());
        }
        Ok(settings)
    }

    /// Those of an interrupted graft, before those of the command line.
    pub(super) fn of_state(state: &GraftState, typed: GraftSettings) -> GraftSettings {
        GraftSettings {
            user: state.user.clone().or(typed.user),
            date: state.date.clone().or(typed.date),
            base: state.base,
            log: state.log || typed.log,
            no_commit: state.no_commit || typed.no_commit,
        }
    }

    fn state(&self, nodes: Vec<Node>, new_nodes: Vec<Node>) -> GraftState {
        GraftState {
            nodes,
            new_nodes,
            user: self.user.clone(),
            date: self.date.clone(),
            base: self.base,
            log: self.log,
            no_commit: self.no_commit,
        }
    }
}

/// Grafts `nodes`; `new_nodes` were made before. With `is_merged` the first one is in the working copy already.
pub(super) fn graft_all(
    run: &mut GraftRun<'_>,
    settings: &GraftSettings,
    nodes: Vec<Node>,
    mut new_nodes: Vec<Node>,
    is_merged: bool,
) -> Result<u8, Abort> {
    let mut in_memory = 0;
    for (at, node) in nodes.iter().enumerate() {
        if at >= in_memory && !(is_merged && at == 0) {
            in_memory = at + memory::replay(run, settings, &nodes[at..], &mut new_nodes)?;
        }
        if at < in_memory {
            continue;
        }
        let view = run.repo.view()?;
        let Some(rev) = view.changelog().rev(node) else {
            return Err(Abort::new(format!("unknown revision '{node}'")));
        };
        announce(run, &view, rev, false)?;
        if run.matches.flag("dry-run") {
            continue;
        }
        let is_merged = is_merged && at == 0;
        if !is_merged && bring(run, settings, &view, rev)? > 0 {
            let state = settings.state(nodes[at..].to_vec(), new_nodes);
            state.write(run.repository)?;
            run.ui.warn(
                "abort: unresolved conflicts, can't continue\n\
                 (use 'hg resolve' and 'hg graft --continue')\n",
            )?;
            return Ok(UNRESOLVED);
        }
        if settings.no_commit {
            continue;
        }
        match commit_one(run, settings, &view, rev)? {
            Some(made) => new_nodes.push(made),
            None => {
                note_unchanged(run, rev)?;
            }
        }
    }
    if !run.matches.flag("dry-run") {
        GraftState::clear(run.repository)?;
    }
    Ok(0)
}

/// The exit code when files are left with conflicts.
const UNRESOLVED: u8 = 1;

/// Says that a changeset brings nothing new.
pub(super) fn note_unchanged(run: &mut GraftRun<'_>, rev: Rev) -> Result<(), Abort> {
    let shown = run.repo.rev_and_hex(rev)?;
    let line = format!("note: graft of {shown} created no changes to commit\n");
    run.ui.warn(line)
}

/// Prints which changeset comes next. `has_new` tells of newer changesets that the view lacks, so that it has no tip.
pub(super) fn announce(
    run: &mut GraftRun<'_>,
    view: &RepoView,
    rev: Rev,
    has_new: bool,
) -> Result<(), Abort> {
    let shown = run.repo.rev_and_hex(rev)?;
    let first = view.with_changeset(rev, |changeset| {
        let line = changeset.description.split(|byte| *byte == b'\n').next();
        line.unwrap_or_default().to_vec()
    })?;
    let names = ChangesetNames::read(view, run.ui.encoding)?;
    let mut tags = names.tags(rev).to_vec();
    tags.retain(|tag| !has_new || tag != b"tip");
    let names = [&tags[..], names.bookmarks(rev)].concat();
    let mut line = [b"grafting ", shown.as_bytes(), b" \"", &first, b"\""].concat();
    if !names.is_empty() {
        line.extend([b" (", &names.join(&b' ')[..], b")"].concat());
    }
    line.push(b'\n');
    run.ui.status(line)
}

/// Merges the changes of a changeset into the working copy; returns the number of unresolved files.
fn bring(
    run: &mut GraftRun<'_>,
    settings: &GraftSettings,
    view: &RepoView,
    rev: Rev,
) -> Result<usize, Abort> {
    let changelog = view.changelog();
    let base = match settings.base {
        Some(node) if node.is_null() => None,
        Some(node) => match changelog.rev(&node) {
            Some(base) => Some(base),
            None => return Err(Abort::new(format!("unknown revision '{node}'"))),
        },
        None => changelog.parents(rev)[0],
    };
    let mut dirstate = Dirstate::read(run.repository)?;
    let parents = [dirstate.parents()[0], changelog.node(rev)];
    run.repo.before_update(run.ui, &parents)?;
    let sides = MergeSides {
        other: rev,
        base: MergeBase::Chosen(base),
        keeps_changes: false,
        labels: &MergeLabels::of_graft(),
    };
    let place = (run.repository, view);
    let merged = merge::merge(
        run.ui,
        run.config,
        run.matches,
        place,
        &mut dirstate,
        &sides,
    )?;
    run.repo.after_update(run.ui, &parents, merged.unresolved)?;
    Ok(merged.unresolved)
}

/// Commits the working copy as a graft of `rev`; `None` if nothing changed.
fn commit_one(
    run: &mut GraftRun<'_>,
    settings: &GraftSettings,
    view: &RepoView,
    rev: Rev,
) -> Result<Option<Node>, Abort> {
    let repository = run.repository;
    commit::refuse_unresolved(repository)?;
    let mut dirstate = Dirstate::read(repository)?;
    let everything = Matcher::everything();
    let status = commit::working_changes(run.ui, repository, &everything, &mut dirstate)?;
    let branch = varve_workdir::branch(repository)?;
    let parent = view.changelog().rev(&dirstate.parents()[0]);
    let of_parent = match parent {
        Some(parent) => view.with_changeset(parent, |changeset| changeset.branch().into_owned())?,
        None => varve_repo::DEFAULT_BRANCH.to_vec(),
    };
    let allows_empty = run.config.boolean("ui", "allowemptycommit", false)?;
    if status.is_unchanged() && branch == of_parent && !allows_empty {
        dirstate.write(repository)?;
        varve_workdir::clear_merge(repository)?;
        return Ok(None);
    }
    let old = ChangesetMetadata::read(view, rev)?;
    let (user, date) = user_and_date(run.ui, settings, &old)?;
    let description = description(run, settings, (view, rev), &old, (&user, &status))?;
    let extras = graft_extras(view, rev)?;
    let extras: Vec<(&[u8], &[u8])> = extras
        .iter()
        .map(|(key, value)| (&key[..], &value[..]))
        .collect();
    let words = CommitMetadata {
        user: &user,
        date,
        branch: &branch,
        extras: &extras,
        description: &description,
        phase: metadata::new_phase(run.config)?,
    };
    let whom = (&mut *run.repo, &mut *run.ui, run.config);
    let (node, _) = commit::commit_changes(whom, &mut dirstate, (&status, None), &words)?;
    instabilities::report_orphans(run.ui, repository, &[node])?;
    Ok(Some(node))
}

/// User and date of the new changeset.
pub(super) fn user_and_date(
    ui: &Ui,
    settings: &GraftSettings,
    old: &ChangesetMetadata,
) -> Result<(Vec<u8>, (i64, i32)), Abort> {
    let date = match &settings.date {
        Some(typed) => metadata::parse_date(typed)?,
        None => old.date,
    };
    let user = match &settings.user {
        Some(typed) => ui.decode(typed)?,
        None => old.user.clone(),
    };
    Ok((user, date))
}

/// The old description, with a line for `--log`.
pub(super) fn logged(
    settings: &GraftSettings,
    view: &RepoView,
    rev: Rev,
    old: &ChangesetMetadata,
) -> Vec<u8> {
    let mut text = old.description.clone();
    if settings.log {
        let node = view.changelog().node(rev);
        text.extend(format!("\n(grafted from {node})").into_bytes());
    }
    text
}

/// The description of the new changeset.
fn description(
    run: &mut GraftRun<'_>,
    settings: &GraftSettings,
    (view, rev): (&RepoView, Rev),
    old: &ChangesetMetadata,
    (user, status): (&[u8], &Status),
) -> Result<Vec<u8>, Abort> {
    let text = logged(settings, view, rev, old);
    if !run.matches.flag("edit") {
        return Ok(text);
    }
    let active = varve_workdir::active_bookmark(run.repository)?;
    let notes = message::EditorNotes {
        user,
        branch: &varve_workdir::branch(run.repository)?,
        is_merge: false,
        bookmark: active.as_deref(),
        status,
    };
    let draft = metadata::DescriptionDraft {
        typed: text,
        edits: true,
        form: "graft",
    };
    metadata::edited(run.ui, draft, &notes)
}
