//! What has come, in words.

use varve_repo::{Arrived, Audience, ReceiveReport, RepoError, Repository, Unstable};

/// The line about changesets; `None` if there was nothing that could have brought any.
pub fn added(report: &ReceiveReport) -> Option<String> {
    let mut sum = Arrived::default();
    for arrived in &report.arrived {
        sum.changesets += arrived.changesets;
        sum.changes += arrived.changes;
        sum.files += arrived.files;
        sum.heads += arrived.heads;
    }
    if report.arrived.is_empty() {
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
    unstable: Unstable,
}

impl Standing {
    /// As it is now.
    ///
    /// # Errors
    /// What is damaged.
    pub fn of(repository: &Repository) -> Result<Standing, RepoError> {
        let view = repository.view_for(Audience::Owner)?;
        Ok(Standing {
            changesets: view.changelog().len(),
            unstable: view.unstable()?,
        })
    }

    /// The lines about what is different now.
    ///
    /// # Errors
    /// What is damaged.
    pub fn changes_since(&self, repository: &Repository) -> Result<String, RepoError> {
        let now = Standing::of(repository)?.unstable;
        let was = &self.unstable;
        let news = now.obsolete.difference(&was.obsolete);
        let known = news.filter(|rev| rev.index() < self.changesets).count();
        let mut lines = String::new();
        if known > 0 {
            lines += &format!("obsoleted {known} changesets\n");
        }
        for (name, was, now) in [
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
                lines += &format!("{} new {name} changesets\n", now.len() - was.len());
            }
        }
        Ok(lines)
    }
}
