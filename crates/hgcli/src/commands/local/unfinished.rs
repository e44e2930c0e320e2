//! Commands that wait for the user, as other commands know of them.

use crate::context::Config;
use crate::ui::{Abort, Ui};
use varve_repo::{BisectState, Repository};
use varve_workdir::{Dirstate, GraftState, HisteditState, MergeState, RebaseState, UnshelveState};

/// A command that a later call continues or gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Rebase,
    Graft,
    Unshelve,
    Histedit,
    Bisect,
    Update,
    Merge,
}

impl Operation {
    /// The command that waits, if one does.
    pub(crate) fn find(repository: &Repository) -> Result<Option<Operation>, Abort> {
        if GraftState::is_there(repository)? {
            return Ok(Some(Operation::Graft));
        }
        if UnshelveState::is_there(repository)? {
            return Ok(Some(Operation::Unshelve));
        }
        if RebaseState::is_there(repository)? {
            return Ok(Some(Operation::Rebase));
        }
        if HisteditState::is_there(repository)? {
            return Ok(Some(Operation::Histedit));
        }
        if BisectState::is_there(repository)? {
            return Ok(Some(Operation::Bisect));
        }
        if varve_workdir::is_interrupted(repository)? {
            return Ok(Some(Operation::Update));
        }
        let is_merge = !Dirstate::read(repository)?.parents()[1].is_null();
        Ok(is_merge.then_some(Operation::Merge))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Operation::Rebase => "rebase",
            Operation::Graft => "graft",
            Operation::Unshelve => "unshelve",
            Operation::Histedit => "histedit",
            Operation::Bisect => "bisect",
            Operation::Update => "update",
            Operation::Merge => "merge",
        }
    }

    /// The ways on, as `status` lists them.
    fn advice(self) -> &'static str {
        match self {
            Operation::Rebase => {
                "# To continue:    hg rebase --continue\n# To abort:       hg rebase --abort\n\
                 # To stop:        hg rebase --stop\n"
            }
            Operation::Graft => {
                "# To continue:    hg graft --continue\n# To abort:       hg graft --abort\n\
                 # To stop:        hg graft --stop\n"
            }
            Operation::Unshelve => {
                "# To continue:    hg unshelve --continue\n# To abort:       hg unshelve --abort\n"
            }
            Operation::Histedit => {
                "# To continue:    hg histedit --continue\n# To abort:       hg histedit --abort\n"
            }
            Operation::Bisect => {
                "# To mark the changeset good:    hg bisect --good\n\
                 # To mark the changeset bad:     hg bisect --bad\n\
                 # To abort:                      hg bisect --reset\n"
            }
            Operation::Update => "# To continue:    hg update .\n",
            Operation::Merge => "# To continue:    hg commit\n# To abort:       hg merge --abort\n",
        }
    }
}

/// Refuses a command that must not run while a rebase, a histedit, an unshelve or a graft waits.
pub(crate) fn refuse(repository: &Repository) -> Result<(), Abort> {
    refuse_rewrite(repository)?;
    refuse_graft(repository)
}

/// Refuses a commit while a rebase, an unshelve or a graft waits; a histedit may stop for commits.
pub(crate) fn refuse_commit(repository: &Repository) -> Result<(), Abort> {
    refuse_replay(repository)?;
    refuse_graft(repository)
}

fn refuse_graft(repository: &Repository) -> Result<(), Abort> {
    match GraftState::is_there(repository)? {
        true => Err(Abort::state("graft in progress")
            .hint("use 'hg graft --continue' or 'hg graft --stop' to stop")),
        false => Ok(()),
    }
}

/// Refuses a command that must not run while a rebase, a histedit or an unshelve waits.
pub(crate) fn refuse_rewrite(repository: &Repository) -> Result<(), Abort> {
    refuse_replay(repository)?;
    match HisteditState::is_there(repository)? {
        true => Err(Abort::state("histedit in progress")
            .hint("use 'hg histedit --continue' or 'hg histedit --abort'")),
        false => Ok(()),
    }
}

fn refuse_replay(repository: &Repository) -> Result<(), Abort> {
    if UnshelveState::is_there(repository)? {
        return Err(Abort::state("unshelve already in progress")
            .hint("use 'hg unshelve --continue' or 'hg unshelve --abort'"));
    }
    match RebaseState::is_there(repository)? {
        true => Err(Abort::state("rebase in progress")
            .hint("use 'hg rebase --continue', 'hg rebase --abort', or 'hg rebase --stop'")),
        false => Ok(()),
    }
}

/// How the user goes on once all files are resolved, if that is not by a commit.
pub(crate) fn continuation(repository: &Repository) -> Result<Option<&'static str>, Abort> {
    if UnshelveState::is_there(repository)? {
        return Ok(Some("hg unshelve --continue"));
    }
    if HisteditState::is_there(repository)? {
        return Ok(Some("hg histedit --continue"));
    }
    if RebaseState::is_there(repository)? {
        return Ok(Some("hg rebase --continue"));
    }
    Ok(GraftState::is_there(repository)?.then_some("hg graft --continue"))
}

/// Prints the lines that `status --verbose` has below the files, none for an operation of
/// `commands.status.skipstates`.
pub(crate) fn print(ui: &mut Ui, config: &Config, repository: &Repository) -> Result<(), Abort> {
    let operation = Operation::find(repository)?;
    let skipped = config.list("commands", "status.skipstates");
    if operation.is_some_and(|found| skipped.iter().any(|name| name == found.name().as_bytes())) {
        return Ok(());
    }
    if let Some(operation) = operation {
        let name = operation.name();
        ui.write(format!(
            "# The repository is in an unfinished *{name}* state.\n\n"
        ))?;
    }
    if let Some(state) = MergeState::read(repository)? {
        let files = state.files().filter(|file| !file.resolved);
        let files: Vec<&[u8]> = files.map(|file| &file.path[..]).collect();
        if files.is_empty() {
            ui.write("# No unresolved merge conflicts.\n\n")?;
        } else {
            ui.write("# Unresolved merge conflicts:\n# \n")?;
            for file in files {
                ui.write([b"#     ", file, b"\n"].concat())?;
            }
            ui.write("# \n# To mark files as resolved:  hg resolve --mark FILE\n\n")?;
        }
    }
    match operation {
        Some(operation) => ui.write([operation.advice(), "\n"].concat()),
        None => Ok(()),
    }
}
