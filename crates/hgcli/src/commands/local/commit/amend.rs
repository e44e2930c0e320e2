//! `commit --amend`: a new changeset in the place of the working copy's parent.

use super::before::{self, Before};
use super::{CLOSING, closes, look, metadata, refuse_interrupted, tell_written};
use crate::arguments::Matches;
use crate::context::Context;
use crate::remote::incoming;
use crate::ui::Abort;
use std::sync::Arc;
use varve_exchange::generate::SectionSizes;
use varve_repo::Evolution;
use varve_repo::{CommitBatch, Lock, LockKind, Node, Phase, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{
    AMEND, AmendContext, AmendMarker, AmendRequest, AmendResult, CommitMetadata, Dirstate,
    PathAuditor, Status, Tree, message,
};

/// Extra fact that names the amended changeset.
const SOURCE: &[u8] = b"amend_source";

/// Hooks that Mercurial calls for what it bundles and stores again when it removes a changeset.
const OF_STRIPPING: &[&str] = &[
    "preoutgoing",
    "outgoing",
    "prechangegroup",
    "pretxnchangegroup",
    "changegroup",
    "incoming",
];

/// What the amended changeset says.
struct OldChangeset {
    rev: Rev,
    node: Node,
    user: Vec<u8>,
    date: (i64, i32),
    branch: Vec<u8>,
    /// Without that of the branch.
    extras: Vec<(Vec<u8>, Vec<u8>)>,
    description: Vec<u8>,
    phase: Phase,
}

/// What the new one will say.
struct NewChangeset {
    user: Vec<u8>,
    date: (i64, i32),
    extras: Vec<(Vec<u8>, Vec<u8>)>,
    description: Vec<u8>,
}

/// Runs `commit --amend`; `phase` is what the options say.
pub(super) fn run(
    context: &mut Context,
    matches: &Matches,
    phase: Option<Phase>,
) -> Result<u8, Abort> {
    let repository = context.repo.repository()?;
    let working_copy = context.repo.lock(&mut context.ui, LockKind::WorkingCopy)?;
    let lock = context.repo.lock(&mut context.ui, LockKind::Store)?;
    let mut dirstate = Dirstate::read(&repository)?;
    let before = Before::look(context, &repository, &dirstate)?;
    let evolution = context.config.evolution()?;
    if !evolution.markers {
        context.repo.refuse_hooks("commit --amend", OF_STRIPPING)?;
    }
    if closes(matches) && !before.is_merge() {
        before.check_close(matches)?;
    }
    let old = OldChangeset::read(before.view(), may_be_amended(context, &before, evolution)?)?;
    refuse_interrupted(&repository)?;
    context
        .ui
        .note(format!("amending changeset {}\n", short(&old.node)))?;
    // Hooks may refuse before the user has typed anything.
    let options = metadata::write_options(context, &repository)?;
    let batch = repository.begin_named(lock, options, AMEND)?;
    metadata::check(matches)?;
    let auditor = PathAuditor::new(context.repo.root()?);
    let matcher = context.repo.matcher_with(
        matches,
        matches.arguments(),
        &auditor,
        FilesetTarget::Working,
    )?;
    let status = look(context, matches, (&repository, &matcher), &mut dirstate)?;
    let Some(new) = NewChangeset::of(context, matches, (&before, &old), &status)? else {
        dirstate.write(&repository)?;
        batch.finish()?;
        context.ui.status("nothing changed\n")?;
        return Ok(super::NOTHING);
    };
    let amendment = Amendment {
        before: &before,
        old: &old,
        new: &new,
        status: &status,
        phase: phase.unwrap_or(old.phase),
        markers: evolution.markers,
    };
    let orphans = before.view().orphans()?.len();
    let node = amendment.make(context, (&repository, batch), &mut dirstate)?;
    drop(working_copy);
    context.repo.refresh();
    before::tell_committed(context, &node)?;
    let unstable = context.repo.view()?.orphans()?.len();
    if unstable > orphans {
        let count = unstable - orphans;
        context
            .ui
            .warn(format!("{count} new orphan changesets\n"))?;
    }
    Ok(0)
}

/// All that is known before anything is written.
struct Amendment<'a> {
    before: &'a Before,
    old: &'a OldChangeset,
    new: &'a NewChangeset,
    status: &'a Status,
    phase: Phase,
    /// Whether the old changeset stays, marked as obsolete.
    markers: bool,
}

impl Amendment<'_> {
    fn make(
        &self,
        context: &mut Context,
        (repository, batch): (&Repository, CommitBatch),
        dirstate: &mut Dirstate,
    ) -> Result<Node, Abort> {
        let Amendment { old, new, .. } = *self;
        // For the user, should the commit fail.
        let last = repository.root().join(".hg/last-message.txt");
        let _ = std::fs::write(last, &new.description);
        let extras = new.extras.iter();
        let extras: Vec<(&[u8], &[u8])> =
            extras.map(|(key, value)| (&key[..], &value[..])).collect();
        let words = CommitMetadata {
            user: &new.user,
            date: new.date,
            branch: &self.before.branch,
            extras: &extras,
            description: &new.description,
            phase: self.phase,
        };
        let author = match context.config.get("devel", "user.obsmarker") {
            Some(author) => author.to_vec(),
            None if self.markers => {
                // Mercurial looks for the name twice, and so tells twice of a guess.
                context.ui.username()?;
                context.ui.username()?
            }
            None => Vec::new(),
        };
        let marker = AmendMarker {
            date: metadata::default_date(context)?,
            user: &author,
            effects: new.effects(old, &self.before.branch),
        };
        let place = AmendContext {
            repository,
            batch,
            stop: &context.ui.stop,
        };
        let what = AmendRequest {
            view: &*repository.view_for(ViewFilter::Unfiltered)?,
            old: old.rev,
            marker: self.markers.then_some(&marker),
        };
        let made = varve_workdir::amend(place, dirstate, self.status, &words, &what)?;
        tell_amended(context, repository, old, (&made.node, self.status))?;
        let node = made.node;
        if !self.markers {
            strip(context, repository, old, made)?;
        }
        Ok(node)
    }
}

fn short(node: &Node) -> String {
    node.to_string()[..12].to_owned()
}

/// The changeset to be amended, unless something speaks against that.
fn may_be_amended(
    context: &mut Context,
    before: &Before,
    evolution: Evolution,
) -> Result<Rev, Abort> {
    let view = context.repo.view()?;
    let old = match before.parents() {
        [] => {
            return Err(
                Abort::new("cannot amend the null revision").hint("no changeset checked out")
            );
        }
        [old] => *old,
        _ => return Err(Abort::new("cannot amend changesets while merging")),
    };
    let node = view.changelog().node(old);
    if view.phases().of(old) == Phase::Public {
        let message = format!("cannot amend public changesets: {}", short(&node));
        return Err(Abort::new(message).hint("see 'hg help phases' for details"));
    }
    let descendants = descendants(&view, old);
    if descendants > 0 && !evolution.unstable {
        let message =
            format!("cannot amend changeset, as that will orphan {descendants} descendants");
        return Err(Abort::new(message).hint("see 'hg help evolution.instability'"));
    }
    if view.obsolete()?.contains(&old) {
        refuse_divergence(context, &view, node)?;
    }
    Ok(old)
}

/// Visible changesets that would be left without what they build on.
fn descendants(view: &RepoView, old: Rev) -> usize {
    let mut follows = vec![false; view.changelog().len() - old.index()];
    follows[0] = true;
    for rev in view.changelog().revs().skip(old.index() + 1) {
        let mut parents = view.changelog().parents(rev).into_iter().flatten();
        let of_old = |parent: Rev| {
            let at = parent.index().checked_sub(old.index());
            at.is_some_and(|at| follows[at])
        };
        follows[rev.index() - old.index()] = parents.any(of_old) && view.is_visible(rev);
    }
    follows.iter().filter(|follows| **follows).count() - 1
}

/// What was rewritten before must not be rewritten a second time, differently.
fn refuse_divergence(context: &Context, view: &RepoView, node: Node) -> Result<(), Abort> {
    let latest = view.latest_successors(node)?;
    let Some(other) = latest.into_iter().find(|rev| view.is_visible(*rev)) else {
        return Ok(());
    };
    let (node, other) = (short(&node), short(&view.changelog().node(other)));
    let message = format!("cannot amend {node}, as that creates content-divergence with {other}");
    if !context.ui.verbosity.verbose {
        return Err(Abort::new(message)
            .hint("add --verbose for details or see 'hg help evolution.instability'"));
    }
    Err(Abort::new(format!(
        "{message}\n    changeset {node} already has a successor in changeset {other}\n    \
         rewriting changeset {node} would create \"content-divergence\"\n    \
         set experimental.evolution.allowdivergence=True to skip this check"
    ))
    .hint("see 'hg help evolution.instability' for details on content-divergence"))
}

impl OldChangeset {
    fn read(view: &RepoView, rev: Rev) -> Result<OldChangeset, Abort> {
        let read = |changeset: varve_repo::Changeset<'_>| {
            let extras = changeset.extras();
            let extras = extras.map(|(key, value)| (key.into_owned(), value.into_owned()));
            OldChangeset {
                rev,
                node: view.changelog().node(rev),
                user: changeset.user.to_vec(),
                date: (changeset.time, changeset.zone),
                branch: changeset.branch().into_owned(),
                extras: extras.filter(|(key, _)| key != b"branch").collect(),
                description: changeset.description.to_vec(),
                phase: view.phases().of(rev),
            }
        };
        Ok(view.with_changeset(rev, read)?)
    }
}

impl NewChangeset {
    /// From options, the old changeset and the editor; `None` if nothing would change.
    fn of(
        context: &mut Context,
        matches: &Matches,
        (before, old): (&Before, &OldChangeset),
        status: &Status,
    ) -> Result<Option<NewChangeset>, Abort> {
        let typed_date = metadata::typed_date(matches)?;
        let user = match matches.value("user").filter(|user| !user.is_empty()) {
            Some(_) => {
                let typed = metadata::user(context, matches)?;
                context.ui.decode(&typed)?
            }
            None => old.user.clone(),
        };
        let typed = metadata::typed_message(context, matches)?;
        let edits = typed.is_none() || matches.flag("edit");
        let shown = if edits {
            shown_status(before.view(), old, status)?
        } else {
            Status::default()
        };
        let notes = message::EditorNotes {
            user: &user,
            branch: &before.branch,
            is_merge: before.view().changelog().parents(old.rev)[1].is_some(),
            bookmark: before.bookmark.as_deref(),
            status: &shown,
        };
        let text = metadata::Text {
            typed: typed.unwrap_or_else(|| old.description.clone()),
            edits,
        };
        let description = metadata::edited(context, text, &notes)?;
        let description = context.ui.decode(&description)?;
        let mut extras = old.extras.clone();
        if closes(matches) {
            let close = CLOSING
                .iter()
                .map(|(key, value)| (key.to_vec(), value.to_vec()));
            extras.retain(|(key, _)| key != b"close");
            extras.extend(close);
        }
        let mut new = NewChangeset {
            user,
            date: typed_date.unwrap_or(old.date),
            extras,
            description,
        };
        if super::is_empty(status) && new.effects(old, &before.branch) == 0 {
            return Ok(None);
        }
        let updates = context
            .config
            .boolean("rewrite", "update-timestamp", false)?;
        if typed_date.is_none() && updates {
            new.date = metadata::now();
        }
        let source = (SOURCE.to_vec(), old.node.to_string().into_bytes());
        new.extras.retain(|(key, _)| key != SOURCE);
        new.extras.push(source);
        Ok(Some(new))
    }

    /// Which words differ, as the bits that markers have for them.
    fn effects(&self, old: &OldChangeset, branch: &[u8]) -> u32 {
        let facts = |extras: &[(Vec<u8>, Vec<u8>)]| {
            let mut facts = extras.to_vec();
            facts.retain(|(key, _)| key != SOURCE);
            facts.sort_unstable();
            facts
        };
        let differ = [
            (self.description != old.description, 1),
            (facts(&self.extras) != facts(&old.extras), 2),
            (self.user != old.user, 16),
            (self.date != old.date, 32),
            (branch != old.branch, 64),
        ];
        differ
            .iter()
            .map(|(differs, bit)| u32::from(*differs) * bit)
            .sum()
    }
}

/// What an editor is shown: all that will differ from the parents.
fn shown_status(view: &RepoView, old: &OldChangeset, status: &Status) -> Result<Status, Abort> {
    let parent = view.changelog().parents(old.rev)[0];
    let tree = Tree::of(view, parent)?;
    let all = varve_lang::patterns::Matcher::everything();
    let before = varve_workdir::status_between(view, parent, Some(old.rev), &all, false)?;
    let mut shown = Status::default();
    let changed = [&before.modified, &before.added, &before.removed];
    let now = [&status.modified, &status.added, &status.removed];
    let mut paths: Vec<&Vec<u8>> = changed.into_iter().chain(now).flatten().collect();
    paths.sort_unstable();
    paths.dedup();
    for path in paths {
        let listed = |list: &Vec<Vec<u8>>| list.binary_search(path).is_ok();
        let written = listed(&status.modified) || listed(&status.added);
        let gone = listed(&status.removed) || listed(&before.removed) && !written;
        let list = match (tree.get(path)?.is_some(), gone) {
            (true, true) => &mut shown.removed,
            (true, false) => &mut shown.modified,
            (false, true) => continue,
            (false, false) => &mut shown.added,
        };
        list.push(path.clone());
    }
    Ok(shown)
}

/// What `--verbose` says of the new changeset.
fn tell_amended(
    context: &mut Context,
    repository: &Repository,
    old: &OldChangeset,
    (node, status): (&Node, &Status),
) -> Result<(), Abort> {
    if !context.ui.verbosity.verbose {
        return Ok(());
    }
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let changelog = view.changelog();
    if super::is_empty(status) {
        let parent = changelog.node_or_null(changelog.parents(old.rev)[0]);
        let line = format!(
            "copying changeset {} to {}\n",
            short(&old.node),
            short(&parent)
        );
        context.ui.note(line)?;
    }
    let Some(rev) = changelog.rev(node) else {
        return Ok(());
    };
    let mut files: Vec<Vec<u8>> = view.with_changeset(rev, |changeset| {
        changeset.files().map(<[u8]>::to_vec).collect()
    })?;
    if files.is_empty() {
        return context.ui.note("committing changelog\n");
    }
    let tree = Tree::of(&view, Some(rev))?;
    let mut there = Vec::new();
    for file in &mut files {
        if tree.get(file)?.is_some() {
            there.push(&*file);
        }
    }
    tell_written(context, &there)
}

/// Removes the old changeset, after it has gone into a bundle.
fn strip(
    context: &mut Context,
    repository: &Repository,
    old: &OldChangeset,
    made: AmendResult,
) -> Result<(), Abort> {
    let lock: Lock = match made.lock {
        Some(lock) => lock,
        None => context.repo.lock(&mut context.ui, LockKind::Store)?,
    };
    let view: Arc<RepoView> = repository.view_for(ViewFilter::Unfiltered)?;
    let storage = repository.storage().as_ref();
    let backup = varve_exchange::generate::save_backup(&view, storage, &[old.rev], "amend")?;
    tell_bundle(context, 1, &backup.sizes)?;
    context.ui.status(format!(
        "saved backup bundle to {}\n",
        backup.path.display()
    ))?;
    let again: Vec<Rev> = view.changelog().revs().skip(old.rev.index() + 1).collect();
    if context.ui.verbosity.verbose {
        let sizes = varve_exchange::generate::measure_bundle(&view, &again)?;
        tell_bundle(context, again.len(), &sizes)?;
        context.ui.note(format!(
            "adding branch\nadding changesets\nadding manifests\nadding file changes\n\
             added {} changesets with {} changes to {} files\n",
            again.len(),
            sizes.file_revisions,
            sizes.files.len()
        ))?;
    }
    let options = metadata::write_options(context, repository)?;
    let stripped = repository.strip(lock, &[old.node], options, &context.ui.stop);
    if stripped.is_err() {
        let path = backup.path.display();
        context
            .ui
            .warn(format!("strip failed, backup bundle stored in '{path}'\n"))?;
    }
    stripped?;
    Ok(())
}

/// What `--verbose` says of a bundle.
fn tell_bundle(
    context: &mut Context,
    changesets: usize,
    sizes: &SectionSizes,
) -> Result<(), Abort> {
    context
        .ui
        .note(format!("{changesets} changesets found\n"))?;
    incoming::note_sizes(&mut context.ui, sizes)
}
