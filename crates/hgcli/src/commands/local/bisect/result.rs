//! The end of a bisection.

use super::Bisection;
use crate::commands::history::log;
use crate::render::changesets::{Printer, ShownFiles};
use crate::ui::{Abort, short_hex};
use std::collections::HashSet;
use varve_lang::patterns::Matcher;
use varve_repo::{BisectStep, Node, RepoView, Rev};

impl Bisection<'_> {
    /// Shows the changeset that was looked for, or those among which it is.
    pub(super) fn print_result(&mut self, view: &RepoView, step: &BisectStep) -> Result<(), Abort> {
        let kind = if step.finds_good { "good" } else { "bad" };
        self.ui.write(match step.revs.len() {
            1 => format!("The first {kind} revision is:\n"),
            _ => format!("Due to skipped revisions, the first {kind} revision could be any of:\n"),
        })?;
        let everything = ShownFiles::Matching(Box::new(Matcher::everything()));
        let (repo, ui) = (&mut *self.repo, &mut *self.ui);
        let style = log::style(repo, ui, self.config, self.matches, everything)?;
        let revs: Vec<Option<Rev>> = step.revs.iter().copied().map(Some).collect();
        Printer::new(repo, ui, self.config, style)?.print_all(
            repo,
            ui,
            self.config,
            self.matches,
            &revs,
        )?;
        if step.revs.len() == 1
            && let Some(beyond) = self.common_ancestor(view, step)?
        {
            let node = short_hex(&view.changelog().node(beyond));
            self.ui.write(format!(
                "Not all ancestors of this changeset have been checked.\n\
                 Use bisect --extend to continue the bisection from\n\
                 the common ancestor, {node}.\n"
            ))?;
        }
        Ok(())
    }

    /// The common ancestor of the parents of a merge that was found, if only one of them was tested.
    pub(super) fn common_ancestor(
        &mut self,
        view: &RepoView,
        step: &BisectStep,
    ) -> Result<Option<Rev>, Abort> {
        let Some(found) = step.revs.first() else {
            return Ok(None);
        };
        let parents: Vec<Rev> = view
            .changelog()
            .parents(*found)
            .into_iter()
            .flatten()
            .collect();
        let side = match step.finds_good {
            true => &self.state.bad,
            false => &self.state.good,
        };
        let tested: HashSet<&Node> = side.iter().collect();
        let nodes: HashSet<Node> = parents
            .iter()
            .map(|rev| view.changelog().node(*rev))
            .collect();
        let count = nodes.iter().filter(|node| tested.contains(node)).count();
        let (&[first, second], 1) = (&parents[..], count) else {
            return Ok(None);
        };
        let query = format!("ancestor({}, {})", first.0, second.0);
        let engine = self.repo.engine(view)?;
        Ok(engine.single(query.as_bytes())?)
    }
}
