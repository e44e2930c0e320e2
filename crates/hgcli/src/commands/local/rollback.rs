//! `rollback`: the last transaction is undone.

use crate::arguments::{Flag, Matches};
use crate::context::{Command, Context, Repo};
use crate::ui::{Abort, Ui};
use varve_repo::{LastTransaction, LockKind, Node, Repository, ViewFilter};
use varve_workdir::Dirstate;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["rollback"],
    options: &[
        Flag::flag('n', "dry-run", "only print what would be undone"),
        Flag::flag(
            'f',
            "force",
            "also if a commit is undone that is not checked out",
        ),
    ],
    arguments: 0..=0,
    synopsis: "",
    summary: "undo the last transaction (DANGEROUS) (DEPRECATED)",
    help: "Undoes what the last command has added to the repository, such as a commit, a pull or a \
           bookmark; only one can be undone. If a parent of the working directory goes, dirstate and \
           branch are those from before; files stay as they are. What others have pulled is not \
           taken back. 'hg commit --amend' corrects the last commit.\n\n\
           ui.rollback=no switches the command off.\n\n\
           Ends with 0; with 1 if there is nothing to undo.",
    category: None,
    run,
};

/// The exit code when nothing is known of a transaction.
const NOTHING: u8 = 1;

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    if !config
        .boolean("ui", "rollback", true)
        .map_err(Abort::Setting)?
    {
        return Err(Abort::new("rollback is disabled because it is unsafe")
            .hint("see `hg help -v rollback` for information"));
    }
    let repository = repo.repository()?;
    let working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    let lock = repo.lock(ui, LockKind::Store)?;
    repo.refresh();
    let Some(last) = repository.last_transaction()? else {
        ui.warn("no rollback information available\n")?;
        return Ok(NOTHING);
    };
    let parents = Dirstate::read(&repository)?.parents();
    check_checked_out(&repository, &last, parents[0], matches)?;
    announce(ui, &last)?;
    if matches.flag("dry-run") {
        return Ok(0);
    }
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let goes = |node: &Node| {
        let rev = view.changelog().rev(node);
        rev.is_none_or(|rev| rev.index() >= last.changesets)
    };
    let loses_parent = parents.iter().any(|node| !node.is_null() && goes(node));
    repository.roll_back_last(&lock, loses_parent)?;
    repo.refresh();
    if loses_parent {
        let parents = settle(&repository)?;
        print_parents(repo, ui, parents)?;
    }
    drop((lock, working_copy));
    Ok(0)
}

/// Refuses to undo a commit whose files the working directory does not have.
fn check_checked_out(
    repository: &Repository,
    last: &LastTransaction,
    parent: Node,
    matches: &Matches,
) -> Result<(), Abort> {
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let changelog = view.changelog();
    let tip = changelog.revs().last();
    let is_commit = last.name.as_deref() == Some(b"commit");
    if is_commit && !matches.flag("force") && parent != changelog.node_or_null(tip) {
        let message = "rollback of last commit while not checked out may lose data";
        return Err(Abort::new(message).hint("use -f to force"));
    }
    Ok(())
}

fn announce(ui: &mut Ui, last: &LastTransaction) -> Result<(), Abort> {
    let Some(name) = &last.name else {
        return ui.status("rolling back unknown transaction\n");
    };
    let before = format!(
        "repository tip rolled back to revision {} (undo ",
        last.changesets as i64 - 1
    );
    let detail = match &last.detail {
        Some(detail) if ui.verbosity.verbose => [b": ", &detail[..]].concat(),
        _ => Vec::new(),
    };
    ui.status([before.as_bytes(), name, &detail, b")\n"].concat())
}

/// Gives up a working copy whose parent is still one that is gone, and the state of a merge; returns the parents.
fn settle(repository: &Repository) -> Result<[Node; 2], Abort> {
    let mut dirstate = Dirstate::read(repository)?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let is_gone = |node: &Node| !node.is_null() && view.changelog().rev(node).is_none();
    if dirstate.parents().iter().any(is_gone) {
        dirstate.clear();
        dirstate.set_parents([Node::NULL; 2]);
        dirstate.write(repository)?;
    }
    varve_workdir::clear_merge(repository)?;
    Ok(dirstate.parents())
}

fn print_parents(repo: &mut Repo, ui: &mut Ui, parents: [Node; 2]) -> Result<(), Abort> {
    let view = repo.view()?;
    let number = |node: &Node| {
        view.changelog()
            .rev(node)
            .map_or(-1, |rev| i64::from(rev.0))
    };
    let first = number(&parents[0]);
    ui.status(match parents[1].is_null() {
        true => format!("working directory now based on revision {first}\n"),
        false => {
            let second = number(&parents[1]);
            format!("working directory now based on revisions {first} and {second}\n")
        }
    })
}
