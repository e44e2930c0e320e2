//! `abort` and `continue`: the end of whatever command waits for the user.

use super::add::DRY_RUN;
use super::unfinished::Operation;
use super::{graft, histedit, merge, rebase, unshelve};
use crate::arguments::Matches;
use crate::arguments::options::{self, Order};
use crate::context::{Category, Command, Context};
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const ABORT: Command = Command {
    names: &["abort"],
    options: &[DRY_RUN],
    arguments: 0..=0,
    synopsis: "",
    summary: "abort an unfinished operation (EXPERIMENTAL)",
    help: "Calls the command that waits for the user with --abort: graft, histedit, merge, rebase or \
           unshelve.\n\n\
           Ends with 0, or as that command does.",
    category: Some(Category::WorkingDirectory),
    run: abort,
};

/// See [`Command`].
pub(crate) const CONTINUE: Command = Command {
    names: &["continue"],
    options: &[DRY_RUN],
    arguments: 0..=0,
    synopsis: "",
    summary: "resumes an interrupted operation (EXPERIMENTAL)",
    help: "Calls the command that waits for the user with --continue: histedit, rebase or unshelve.\n\n\
           Ends with 0, or as that command does.",
    category: Some(Category::WorkingDirectory),
    run: go_on,
};

fn abort(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let operation = find(context)?;
    let name = operation.name();
    let command = match operation {
        Operation::Graft => &graft::COMMAND,
        Operation::Histedit => &histedit::COMMAND,
        Operation::Merge => &merge::COMMAND,
        Operation::Rebase => &rebase::COMMAND,
        Operation::Unshelve => &unshelve::COMMAND,
        Operation::Bisect => return Err(unsupported(name, "abort", "use 'hg bisect --reset'")),
        Operation::Update => return Err(unsupported(name, "abort", "use 'hg update'")),
    };
    if matches.flag("dry-run") {
        let line = format!("{name} in progress, will be aborted\n");
        context.ui.status(line)?;
        return Ok(0);
    }
    call(context, command, "--abort")
}

fn go_on(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let operation = find(context)?;
    let name = operation.name();
    let command = match operation {
        Operation::Histedit => &histedit::COMMAND,
        Operation::Rebase => &rebase::COMMAND,
        Operation::Unshelve => &unshelve::COMMAND,
        Operation::Graft | Operation::Merge | Operation::Bisect | Operation::Update => {
            let hint = format!("hg {name} --continue");
            return Err(unsupported(name, "continue", &hint));
        }
    };
    if matches.flag("dry-run") {
        let line = format!("{name} in progress, will be resumed\n");
        context.ui.status(line)?;
        return Ok(0);
    }
    call(context, command, "--continue")
}

fn find(context: &mut Context) -> Result<Operation, Abort> {
    let repository = context.repo.repository()?;
    let found = Operation::find(&repository)?;
    found.ok_or_else(|| Abort::state("no operation in progress"))
}

fn unsupported(name: &str, command: &str, hint: &str) -> Abort {
    Abort::new(format!(
        "{name} in progress but does not support 'hg {command}'"
    ))
    .hint(hint)
}

/// Calls a command with one option.
fn call(context: &mut Context, command: &'static Command, option: &str) -> Result<u8, Abort> {
    let words = [option.as_bytes().to_vec()];
    let parsed = options::parse(&[command.options], &words, Order::Anywhere);
    (command.run)(context, &parsed.map_err(Abort::GlobalUsage)?)
}
