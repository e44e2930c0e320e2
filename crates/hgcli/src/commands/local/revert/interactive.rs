//! `--interactive`: the user chooses among the steps of a plan, and among the hunks of files that are written.

use super::Revert;
use crate::commands::local::commit::interactive::{ChoiceVerb, choose_hunks, observed};
use crate::render::diff::{Comparison, DiffOptions, DiffSide, undone, with_dirstate};
use crate::ui::Abort;
use std::collections::BTreeSet;
use varve_patch::{OfferedFile, reversed_hunks};
use varve_workdir::{
    Backups, RevertAction, RevertPlan, WorkingFiles, apply_to_working_copy, back_up,
};

impl Revert<'_> {
    /// Asks about all steps, in order. What was done to files before a failure stays; as in Mercurial, the dirstate
    /// knows of it once hunks were in question.
    pub(super) fn choose(&mut self, plan: &RevertPlan) -> Result<(), Abort> {
        self.steps(plan)?;
        Ok(self.dirstate.write(self.repository)?)
    }

    fn steps(&mut self, plan: &RevertPlan) -> Result<(), Abort> {
        let steps = plan.steps.iter().cloned();
        let (written, others): (Vec<_>, Vec<_>) =
            steps.partition(|step| step.action == RevertAction::Revert);
        let is_first = |action| action < RevertAction::Revert;
        let (before, after): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|step| is_first(step.action));
        let files = WorkingFiles::new(self.repository.root());
        let mut missing = Vec::new();
        for step in before {
            match files.look(&step.path)? {
                None if step.action == RevertAction::Remove => missing.push(step),
                _ => self.whole(RevertPlan { steps: vec![step] })?,
            }
        }
        let missing = RevertPlan { steps: missing };
        self.report(&missing, &Backups::None)?;
        self.apply(&missing, &Backups::None)?;
        self.hunks(RevertPlan { steps: written })?;
        for step in after {
            self.whole(RevertPlan { steps: vec![step] })?;
        }
        Ok(())
    }

    /// A step that is done as a whole or not at all. As in Mercurial, what a yes overwrites is kept nowhere.
    fn whole(&mut self, plan: RevertPlan) -> Result<(), Abort> {
        let Some(step) = plan.steps.first() else {
            return Ok(());
        };
        let question: &[u8] = match step.action {
            RevertAction::Forget => b"forget added file ",
            RevertAction::Remove => b"remove added file ",
            RevertAction::Revert | RevertAction::Add => b"add new file ",
            RevertAction::Undelete => b"add back removed file ",
        };
        let shown = self.repo.display_path(&step.path)?;
        if !self.ui.confirm_default(&[question, &shown].concat())? {
            return Ok(());
        }
        self.report(&plan, &Backups::None)?;
        self.apply(&plan, &Backups::None)
    }

    /// The hunks by which files differ from the target.
    fn hunks(&mut self, mut plan: RevertPlan) -> Result<(), Abort> {
        if plan.steps.is_empty() {
            return Ok(());
        }
        self.dirstate.write(self.repository)?;
        let discards = self.target.0 == self.target.1;
        let patch = self.patch(&plan, discards)?;
        let verb = match discards {
            true => ChoiceVerb::Discard,
            false => ChoiceVerb::Apply,
        };
        let chosen = choose_hunks((self.ui, self.config), &patch, self.matcher, verb)?;
        let chosen = match discards {
            true => reversed_hunks(&chosen),
            false => chosen,
        };
        if chosen.is_empty() {
            return Ok(());
        }
        let files = OfferedFile::read_all(&chosen);
        let files: BTreeSet<&Vec<u8>> = files
            .iter()
            .filter(|of| !of.hunks().is_empty())
            .filter_map(|of| of.paths().last())
            .collect();
        plan.steps.retain(|step| files.contains(&step.path));
        self.report(&plan, &Backups::None)?;
        back_up(self.repository, &plan, self.backups)?;
        let (repository, dirstate) = (self.repository, &mut self.dirstate);
        observed(self.ui, |observer| {
            apply_to_working_copy(repository, dirstate, &chosen, observer)
        })
    }

    /// The local changes, or what would make the files those of the target.
    fn patch(&self, plan: &RevertPlan, discards: bool) -> Result<Vec<u8>, Abort> {
        let options = DiffOptions::of_choice(self.config, self.matches, "revert")?;
        let options = options.without_functions();
        let (view, target) = (self.view, self.target.1);
        let place = (self.repository, &self.dirstate);
        let mut changes = with_dirstate(place, &self.ui.stop, view, target, self.matcher, false)?;
        changes.retain(|change| plan.steps.iter().any(|step| step.path == change.path));
        let mut sides = (DiffSide::Rev(target), DiffSide::Working);
        if !discards {
            changes = undone(changes);
            sides = (sides.1, sides.0);
        }
        let comparison = Comparison::new(view, sides, &options, 0)?;
        let comparison = comparison.with_dirstate(self.dirstate.clone());
        let mut patch = Vec::new();
        comparison.push_all(&changes, &mut patch)?;
        Ok(patch)
    }
}
