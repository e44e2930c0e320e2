//! What has come, in words.

use std::fmt;
use varve_repo::{
    ChangegroupCounts, Instabilities, ReceiveReport, RepoError, Repository, ViewFilter,
};

/// The line about changesets; `None` if there was nothing that could have brought any.
pub fn added(report: &ReceiveReport) -> Option<String> {
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
        "added {changesets} changesets with {changes} changes to {files} files{heads}\n"
    ))
}

/// Which changesets were obsolete or unstable before something came.
#[derive(Debug)]
pub struct Standing {
    changesets: usize,
    unstable: Instabilities,
}

impl Standing {
    /// As it is now.
    ///
    /// # Errors
    /// What is damaged.
    pub fn of(repository: &Repository) -> Result<Standing, RepoError> {
        let view = repository.view_for(ViewFilter::Visible)?;
        Ok(Standing {
            changesets: view.changelog().len(),
            unstable: view.instabilities()?,
        })
    }

    /// What is different now, in the order in which it is told.
    ///
    /// # Errors
    /// What is damaged.
    pub fn changes_since(&self, repository: &Repository) -> Result<Vec<Changed>, RepoError> {
        let now = Standing::of(repository)?.unstable;
        let was = &self.unstable;
        let news = now.obsolete.difference(&was.obsolete);
        let known = news.filter(|rev| rev.index() < self.changesets).count();
        let mut changes = Vec::from_iter((known > 0).then_some(Changed::Obsoleted(known)));
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
                changes.push(Changed::Unstable { kind, count });
            }
        }
        Ok(changes)
    }
}

/// What is different about changesets because of markers; shown as a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// So many that were there before are obsolete now.
    Obsoleted(usize),
    /// There are so many more that are unstable, which is something to be warned of.
    Unstable {
        /// In which way.
        kind: &'static str,
        /// How many.
        count: usize,
    },
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Changed::Obsoleted(count) => writeln!(f, "obsoleted {count} changesets"),
            Changed::Unstable { kind, count } => writeln!(f, "{count} new {kind} changesets"),
        }
    }
}
