//! Mercurial's words for a changeset that must not be rewritten.

use crate::ui::{Abort, FailureKind, short_hex};
use varve_repo::RewriteRefusal;
use varve_workdir::{AmendRefusal, WorkdirError};

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
        RewriteRefusal::Divergence { successor } => {
            let other = short_hex(&successor);
            diverges(&node, &other, operation, verbose)
        }
    }
}

fn diverges(node: &str, other: &str, operation: &str, verbose: bool) -> Abort {
    let message =
        format!("cannot {operation} {node}, as that creates content-divergence with {other}");
    if !verbose {
        return Abort::input(message)
            .hint("add --verbose for details or see 'hg help evolution.instability'");
    }
    Abort::input(format!(
        "{message}\n    changeset {node} already has a successor in changeset {other}\n    \
         rewriting changeset {node} would create \"content-divergence\"\n    \
         set experimental.evolution.allowdivergence=True to skip this check"
    ))
    .hint("see 'hg help evolution.instability' for details on content-divergence")
}
