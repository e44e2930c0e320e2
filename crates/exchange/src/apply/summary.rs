//! Summary of an applied bundle, in Mercurial's wording.

use std::fmt;
use varve_repo::{
    ChangegroupCounts, Instabilities, ReceiveReport, RepoError, Repository, ViewFilter,
};

/// The line about changesets, which begins with `verb`; `None` if the bundle had no changegroup.
pub fn changesets_summary(verb: &str, report: &ReceiveReport) -> Option<String> {
    let mut sum = ChangegroupCounts::default();
    for arrived in &report.changegroups {
        sum.changesets += arrived.changesets;
        sum.changes += arrived.changes;
        sum.files += arrived.files;
        sum.heads += arrived.heads;
    }
    if report.changegroups.is_empty() {
        return None;
    }
    let (changesets, changes, files) = (sum.changesets, sum.changes, sum.files);
    let heads = match sum.heads {
        0 => String::new(),
        heads => format!(" ({heads:+} heads)"),
    };
    Some(format!(
        "{verb} {changesets} changesets with {changes} changes to {files} files{heads}\n"
    ))
}

/// Obsolete and unstable changesets of a repository at one moment.
#[derive(Debug)]
pub struct InstabilitySnapshot {
    changesets: usize,
    unstable: Instabilities,
}

impl InstabilitySnapshot {
    /// The state now.
    ///
    /// # Errors
    /// A damaged file of the repository.
    pub fn of(repository: &Repository) -> Result<InstabilitySnapshot, RepoError> {
        let view = repository.view_for(ViewFilter::Visible)?;
        Ok(InstabilitySnapshot {
            changesets: view.changelog().len(),
            unstable: view.instabilities()?,
        })
    }

    /// The differences to the state now, in Mercurial's order.
    ///
    /// # Errors
    /// A damaged file of the repository.
    pub fn changes_since(
        &self,
        repository: &Repository,
    ) -> Result<Vec<InstabilityChange>, RepoError> {
        let now = InstabilitySnapshot::of(repository)?.unstable;
        let was = &self.unstable;
        let newly_obsolete = now.obsolete.difference(&was.obsolete);
        let known = newly_obsolete
            .filter(|rev| rev.index() < self.changesets)
            .count();
        let mut changes =
            Vec::from_iter((known > 0).then_some(InstabilityChange::Obsoleted(known)));
        for (kind, was, now) in [
            ("orphan", &was.orphans, &now.orphans),
            (
                "content-divergent",
                &was.content_divergent,
                &now.content_divergent,
            ),
            (
                "phase-divergent",
                &was.phase_divergent,
                &now.phase_divergent,
            ),
        ] {
            if now.len() > was.len() {
                let count = now.len() - was.len();
                changes.push(InstabilityChange::Unstable { kind, count });
            }
        }
        Ok(changes)
    }
}

/// A change of obsolete or unstable changesets; its text is one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstabilityChange {
    /// Number of changesets that were there before and are obsolete now.
    Obsoleted(usize),
    /// More unstable changesets, which is a warning.
    Unstable {
        /// `orphan`, `content-divergent` or `phase-divergent`.
        kind: &'static str,
        /// Number of new ones.
        count: usize,
    },
}

impl fmt::Display for InstabilityChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstabilityChange::Obsoleted(count) => writeln!(f, "obsoleted {count} changesets"),
            InstabilityChange::Unstable { kind, count } => {
                writeln!(f, "{count} new {kind} changesets")
            }
        }
    }
}
