//! One call of the command, and the changesets one after another.

use super::{collapse, finish, memory, step};
use crate::arguments::Matches;
use crate::commands::local::commit::metadata;
use crate::commands::local::rewrite::{self, Replacement, RewriteEnd};
use crate::context::{Config, Repo};
use crate::render::changesets::ChangesetNames;
use crate::ui::{Abort, Ui, short_hex};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use varve_repo::{Node, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::{
    Dirstate, HashReferences, RebaseState, RebaseStep, RebaseTargets, rebase_order,
};

pub(super) struct RebaseRun<'a> {
    pub(super) repo: &'a mut Repo,
    pub(super) ui: &'a mut Ui,
    pub(super) config: &'a Config,
    pub(super) matches: &'a Matches,
    pub(super) repository: &'a Repository,
    /// Whether the old changesets stay.
    pub(super) keeps: bool,
    /// Whether the new ones are on the branches of the old ones.
    pub(super) keeps_branches: bool,
    /// Whether all become one.
    pub(super) collapses: bool,
    /// The second parent of the changeset that all become.
    pub(super) external: Node,
    /// The description of that changeset, if one is given.
    pub(super) message: Option<Vec<u8>>,
    /// The parent of the working copy before.
    pub(super) original: Node,
    /// The branch that was set there.
    pub(super) original_branch: Vec<u8>,
    /// The bookmark that was active.
    pub(super) active: Option<Vec<u8>>,
    pub(super) targets: RebaseTargets,
    /// Lines about changesets that are not rebased.
    pub(super) notes: BTreeMap<Rev, Vec<u8>>,
    /// New changesets that are known to make the same change as the old ones.
    pub(super) same_diffs: BTreeSet<Rev>,
    /// Parent that the working copy would have by now, if changesets were rebased without it.
    pub(super) left_at: Option<Node>,
    /// Whether the working copy may have the next changeset, merged before.
    pub(super) resumes: bool,
    /// A changeset that was announced already, before it turned out to need the working copy.
    pub(super) announced: Option<Rev>,
    /// Replacements of the command that rebases the descendants of what it has replaced.
    pub(super) before: Vec<(Replacement, RewriteEnd<'static>)>,
    /// The repository at the beginning, hidden changesets too, once a description has asked for it.
    all: Option<Arc<RepoView>>,
    /// Tags and bookmarks at the beginning.
    names: ChangesetNames,
}

impl<'a> RebaseRun<'a> {
    pub(super) fn new(
        (repo, ui, config): (&'a mut Repo, &'a mut Ui, &'a Config),
        matches: &'a Matches,
        repository: &'a Repository,
    ) -> Result<RebaseRun<'a>, Abort> {
        repo.refresh();
        let view = repo.view()?;
        Ok(RebaseRun {
            keeps: matches.flag("keep"),
            keeps_branches: matches.flag("keepbranches"),
            collapses: matches.flag("collapse"),
            external: Node::NULL,
            message: metadata::typed_message(repo, ui, matches)?,
            original: Dirstate::read(repository)?.parents()[0],
            original_branch: varve_workdir::branch(repository)?,
            active: varve_workdir::active_bookmark(repository)?,
            targets: RebaseTargets {
                destinations: BTreeMap::new(),
                done: BTreeMap::new(),
                skipped: BTreeSet::new(),
            },
            notes: BTreeMap::new(),
            same_diffs: BTreeSet::new(),
            left_at: None,
            resumes: false,
            announced: None,
            before: Vec::new(),
            all: None,
            names: ChangesetNames::read(&view, ui.encoding)?,
            repo,
            ui,
            config,
            matches,
            repository,
        })
    }

    /// Whether the configuration asks for a rebase that leaves the working copy alone.
    pub(super) fn is_in_memory(&self) -> bool {
        let is_set = |name| self.config.boolean("rebase", name, false).unwrap_or(false);
        self.matches.flag("dry-run")
            || self.matches.flag("confirm")
            || is_set("experimental.inmemory")
    }

    /// Whether the parent of the working copy is among the changesets that move.
    pub(super) fn moves_working_copy(&mut self) -> Result<bool, Abort> {
        let view = self.repo.view()?;
        let rev = view.changelog().rev(&self.original);
        Ok(rev.is_some_and(|rev| self.targets.done.contains_key(&rev)))
    }

    /// A changeset as messages name it.
    pub(super) fn describe(&mut self, view: &RepoView, rev: Rev) -> Result<Vec<u8>, Abort> {
        let place = (&mut *self.repo, &mut *self.ui, self.config);
        rewrite::described(place, "rebase", &mut self.names, (view, rev))
    }

    /// Writes the state for a later call, or for another program.
    pub(super) fn save(&mut self) -> Result<(), Abort> {
        let view = self.repo.view()?;
        let steps = self.targets.done.iter().map(|(rev, new)| RebaseStep {
            old: view.changelog().node(*rev),
            new: *new,
            destination: self.targets.destination(*rev),
        });
        let state = RebaseState {
            original: self.original,
            external: self.external,
            collapses: self.collapses,
            keeps: self.keeps,
            keeps_branches: self.keeps_branches,
            active_bookmark: self.active.clone(),
            steps: steps.collect(),
        };
        Ok(state.write(self.repository)?)
    }

    /// Leaves what a later call needs to go on, before the first changeset is merged.
    pub(super) fn begin_steps(&mut self) -> Result<(), Abort> {
        if !self.config.evolution()?.markers && !self.keeps {
            self.repo
                .refuse_hooks("rebase", crate::commands::local::strip::UNCALLED_HOOKS)?;
        }
        if self.active.is_some() {
            varve_workdir::set_active_bookmark(self.repository, None)?;
        }
        self.save()?;
        if self.collapses {
            collapse::keep_message(self)?;
        }
        Ok(())
    }

    /// Rebases all that is still to come, and ends the old changesets.
    pub(super) fn rebase_all(&mut self) -> Result<u8, Abort> {
        self.begin_steps()?;
        let order = self.order()?;
        let mut at = 0;
        while at < order.len() {
            let in_memory = match self.resumes {
                true => 0,
                false => memory::replay(self, &order[at..])?,
            };
            if in_memory > 0 {
                at += in_memory;
                continue;
            }
            let rev = order[at];
            if !self.print_done(rev)? {
                step::rebase(self, rev)?;
                self.save()?;
            }
            at += 1;
        }
        finish::finish(self)?;
        Ok(0)
    }

    /// All changesets, also those that there is only a note about.
    pub(super) fn order(&mut self) -> Result<Vec<Rev>, Abort> {
        let view = self.repo.view()?;
        let mut destinations = self.targets.destinations.clone();
        let is_known =
            |rev: &Rev| self.targets.done.contains_key(rev) || self.notes.contains_key(rev);
        destinations.retain(|rev, _| is_known(rev));
        let cycle = || Abort::input("source and destination form a cycle");
        rebase_order(&view, &destinations).ok_or_else(cycle)
    }

    /// Says what has become of a changeset that is not to be rebased now; false if it is.
    pub(super) fn print_done(&mut self, rev: Rev) -> Result<bool, Abort> {
        if let Some(note) = self.notes.get(&rev) {
            self.ui.status(note.clone())?;
            return Ok(true);
        }
        let Some(new) = self.targets.done.get(&rev).copied().flatten() else {
            return Ok(false);
        };
        let view = self.repo.view()?;
        let shown = self.describe(&view, rev)?;
        let end = match new == view.changelog().node(rev) {
            true => "\n".to_owned(),
            false => format!(" as {}\n", short_hex(&new)),
        };
        let line = [b"already rebased ", &shown[..], end.as_bytes()].concat();
        self.ui.status(line)?;
        Ok(true)
    }

    /// The description of an old changeset, with the names of the new ones, and of other successors, in the place of those
    /// of the old.
    pub(super) fn with_new_names(&mut self, description: Vec<u8>) -> Result<Vec<u8>, Abort> {
        if !HashReferences::may_be_in(&description) {
            return Ok(description);
        }
        let view = match self.all.take() {
            Some(view) => view,
            None => self.repository.view_for(ViewFilter::Unfiltered)?,
        };
        let done = self.targets.done.iter();
        let done = done.filter(|(_, new)| new.is_some());
        let references = HashReferences {
            replaced: &done
                .map(|(rev, new)| (view.changelog().node(*rev), *new))
                .collect(),
        };
        let mut description = description;
        for name in references.update(&view, &mut description)? {
            rewrite::note_stale(self.ui, &name)?;
        }
        self.all = Some(view);
        Ok(description)
    }

    /// Notes that a changeset has no changes of its own in its new place.
    pub(super) fn skip(&mut self, rev: Rev, parent: Node, shown: &[u8]) -> Result<(), Abort> {
        let words = b", its destination already has all its changes\n";
        let line = [b"note: not rebasing ", shown, words].concat();
        self.ui.warn(line)?;
        self.left_at = Some(parent);
        self.targets.skipped.insert(rev);
        self.targets.done.insert(rev, Some(parent));
        Ok(())
    }
}
