//! Carrying out one rule.

use super::fold;
use super::run::HisteditRun;
use crate::ui::{Abort, short_hex};
use varve_repo::Node;
use varve_workdir::{HisteditAction, HisteditRule};

/// Carries out a rule; the parent and the replacements of the state are then those after it.
pub(super) fn carry_out(run: &mut HisteditRun<'_>, rule: HisteditRule) -> Result<(), Abort> {
    match rule.action {
        HisteditAction::Drop => {
            run.state.replacements.push((rule.node, Vec::new()));
            Ok(())
        }
        HisteditAction::Base => {
            run.go_to(rule.node)?;
            run.state.parent = rule.node;
            Ok(())
        }
        HisteditAction::Pick if is_in_place(run, &rule.node)? => {
            run.state.parent = rule.node;
            Ok(())
        }
        HisteditAction::Pick | HisteditAction::Mess => {
            run.bring(&rule, false)?;
            commit(run, &rule)
        }
        HisteditAction::Edit => {
            run.bring(&rule, true)?;
            let shown = short_hex(&rule.node);
            Err(Abort::Waits {
                message: format!("Editing ({shown}), commit as needed now to split the change"),
                hint: format!("to edit {shown}, `hg histedit --continue` after making changes"),
            })
        }
        HisteditAction::Fold | HisteditAction::Roll => {
            run.bring(&rule, false)?;
            let next = run.state.rules.get(1).map(|rule| rule.action);
            match fold::commit_part(run, &rule)? {
                Some(part) => fold::combine(run, &rule, part, next),
                None => {
                    let shown = short_hex(&rule.node);
                    run.ui.warn(format!("{shown}: empty changeset\n"))?;
                    let parent = run.state.parent;
                    run.state.replacements.push((rule.node, vec![parent]));
                    Ok(())
                }
            }
        }
    }
}

/// Whether a changeset is a child of the current parent already.
fn is_in_place(run: &HisteditRun<'_>, node: &Node) -> Result<bool, Abort> {
    let view = run.view()?;
    let rev = run.known(&view, node)?;
    let changelog = view.changelog();
    Ok(changelog.node_or_null(changelog.parents(rev)[0]) == run.state.parent)
}

/// Commits what the working copy has of a changeset.
fn commit(run: &mut HisteditRun<'_>, rule: &HisteditRule) -> Result<(), Abort> {
    let mut new = run.copy_of(&rule.node)?;
    new.edits_as = (rule.action == HisteditAction::Mess).then_some("histedit.mess");
    let made = run.commit(&new)?;
    replace(run, rule, made)
}

/// Goes on from what a changeset has become; from the same parent if that is nothing.
pub(super) fn replace(
    run: &mut HisteditRun<'_>,
    rule: &HisteditRule,
    made: Option<Node>,
) -> Result<(), Abort> {
    match made {
        Some(node) if node == rule.node => run.state.parent = node,
        Some(node) => {
            run.state.parent = node;
            run.state.replacements.push((rule.node, vec![node]));
        }
        None => {
            let shown = short_hex(&rule.node);
            run.ui
                .warn(format!("{shown}: skipping changeset (no changes)\n"))?;
            run.state.replacements.push((rule.node, Vec::new()));
        }
    }
    Ok(())
}
