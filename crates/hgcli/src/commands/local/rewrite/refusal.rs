//! Mercurial's words for a changeset that must not be rewritten.

use crate::context::{Config, Repo};
use crate::ui::{Abort, FailureKind, Ui, short_hex};
use std::collections::BTreeSet;
use varve_repo::{Evolution, Phase, Rev, RewriteRefusal};
use varve_workdir::{AmendRefusal, WorkdirError};

/// Changesets that a message names before it counts the others.
const NAMED: usize = 4;

/// Refuses to rewrite changesets of which one must stay as it is.
pub(crate) fn check_all(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    revs: &BTreeSet<Rev>,
    operation: &str,
) -> Result<(), Abort> {
    let view = repo.view()?;
    let phases = view.phases();
    let public = revs.iter().filter(|rev| phases.of(**rev) == Phase::Public);
    let public: Vec<String> = public
        .map(|rev| short_hex(&view.changelog().node(*rev)))
        .collect();
    if !public.is_empty() {
        let mut names = public[..public.len().min(NAMED)].join(", ");
        if public.len() > NAMED {
            names.push_str(&format!(" and {} others", public.len() - NAMED));
        }
        let message = format!("cannot {operation} public changesets: {names}");
        return Err(Abort::input(message).hint("see 'hg help phases' for details"));
    }
    let evolution = config.evolution()?;
    if !evolution.unstable {
        let numbers: Vec<String> = revs.iter().map(|rev| rev.0.to_string()).collect();
        let numbers = numbers.join("+");
        let query = format!("(({numbers})::) - ({numbers})");
        let orphans = repo.revisions(ui, &[query.as_bytes()])?.len();
        if orphans > 0 {
            return Err(Abort::input(format!(
                "cannot {operation} changeset, as that will orphan {orphans} descendants"
            ))
            .hint("see 'hg help evolution.instability'"));
        }
    }
    let allowed = Evolution {
        unstable: true,
        ..evolution
    };
    for rev in revs {
        if let Some(reason) = view.rewrite_refusal(*rev, allowed)? {
            let node = view.changelog().node(*rev);
            let refusal = AmendRefusal::Rewrite { node, reason };
            return Err(words(refusal.into(), operation, ui.verbosity.verbose));
        }
    }
    Ok(())
}

/// The refusal of the command `operation`; other errors stay as they are.
pub(crate) fn words(error: WorkdirError, operation: &str, verbose: bool) -> Abort {
    let WorkdirError::CannotAmend(refusal) = error else {
        return error.into();
    };
    let kind = FailureKind::from(&WorkdirError::CannotAmend(refusal));
    let (node, reason) = match refusal {
        AmendRefusal::NullParent => {
            return Abort::of_kind(kind, format!("cannot {operation} the null revision"))
                .hint("no changeset checked out");
        }
        AmendRefusal::Merge => {
            let message = format!("cannot {operation} changesets while merging");
            return Abort::of_kind(kind, message);
        }
        AmendRefusal::Rewrite { node, reason } => (short_hex(&node), reason),
    };
    match reason {
        RewriteRefusal::Public => {
            Abort::input(format!("cannot {operation} public changesets: {node}"))
                .hint("see 'hg help phases' for details")
        }
        RewriteRefusal::Orphans { descendants } => Abort::input(format!(
            "cannot {operation} changeset, as that will orphan {descendants} descendants"
        ))
        .hint("see 'hg help evolution.instability'"),
        RewriteRefusal::Divergence {
            successor,
            predecessor,
        } => {
            let (other, from) = (short_hex(&successor), short_hex(&predecessor));
            diverges(&node, (&other, &from), operation, verbose)
        }
    }
}

fn diverges(node: &str, (other, from): (&str, &str), operation: &str, verbose: bool) -> Abort {
    let mut message =
        format!("cannot {operation} {node}, as that creates content-divergence with {other}");
    if from != node {
        message.push_str(&format!(", from {from}"));
    }
    if !verbose {
        return Abort::input(message)
            .hint("add --verbose for details or see 'hg help evolution.instability'");
    }
    let through = match from == node {
        true => String::new(),
        false => format!("    changeset {node} is a successor of changeset {from}\n"),
    };
    Abort::input(format!(
        "{message}\n{through}    changeset {from} already has a successor in changeset {other}\n    \
         rewriting changeset {node} would create \"content-divergence\"\n    \
         set experimental.evolution.allowdivergence=True to skip this check"
    ))
    .hint("see 'hg help evolution.instability' for details on content-divergence")
}
