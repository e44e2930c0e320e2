//! `branch`: the branch of the next commit, or of changesets that are there.

mod changesets;

use crate::arguments::{Flag, Matches};
use crate::commands::names;
use crate::context::{Category, Command, Context, Repo};
use crate::ui::Abort;
use varve_repo::{DEFAULT_BRANCH, LockKind};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["branch"],
    options: &[
        Flag::flag('f', "force", "even if there is a branch of this name"),
        Flag::flag('C', "clean", "go back to the branch of the parent"),
        Flag::list(
            'r',
            "rev",
            "REV",
            "move these changesets to the branch (EXPERIMENTAL)",
        ),
    ],
    arguments: 0..=1,
    synopsis: "[-fC] [-r REV] [NAME]",
    summary: "set or show the current branch name",
    help: "Without NAME, shows the branch of the next commit. With NAME, the next commit begins \
           that branch; until then it is not there for others.\n\n\
           With --rev, changesets that follow each other are committed again on the branch NAME and take the \
           place of those that are there, which have to be draft or secret.\n\nEnds with 0.",
    category: Some(Category::Organization),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let repository = context.repo.repository()?;
    let name = matches
        .arguments()
        .first()
        .map(|name| context.ui.decode(name.trim_ascii()))
        .transpose()?;
    let name = name.filter(|name| !name.is_empty());
    if matches.flag("clean") {
        let _lock = context.repo.lock(&mut context.ui, LockKind::WorkingCopy)?;
        let parents = parent_branches(&mut context.repo)?;
        let own = parents.first().cloned();
        let own = own.unwrap_or_else(|| DEFAULT_BRANCH.to_vec());
        varve_workdir::set_branch(&repository, &own)?;
        let own = context.ui.local(&own);
        context
            .ui
            .status([b"reset working directory to branch ", &own[..], b"\n"].concat())?;
        return Ok(0);
    }
    let revs = matches.list("rev");
    let Some(name) = name else {
        if !revs.is_empty() {
            let message = "no branch name specified for the revisions";
            return Err(Abort::input(message));
        }
        let branch = varve_workdir::branch(&repository)?;
        let branch = context.ui.local(&branch);
        context.ui.write([&branch[..], b"\n"].concat())?;
        return Ok(0);
    };
    let _lock = context.repo.lock(&mut context.ui, LockKind::WorkingCopy)?;
    context.repo.warn_of_disabled_markers(&mut context.ui)?;
    let branches = context.repo.view()?.branchmap()?.clone();
    if !revs.is_empty() {
        let name = match branches.contains_key(&name) {
            true => name,
            false => names::checked(&name, "branch")?,
        };
        let Context {
            repo, ui, config, ..
        } = context;
        let force = matches.flag("force");
        return changesets::change((repo, ui, config), &revs, (&name, force));
    }
    if !matches.flag("force") && branches.contains_key(&name) {
        let parents = parent_branches(&mut context.repo)?;
        if !parents.contains(&name) {
            return Err(Abort::input("a branch of the same name already exists")
                .hint("use 'hg update' to switch to it"));
        }
    }
    let name = if branches.contains_key(&name) {
        name
    } else {
        names::checked(&name, "branch")?
    };
    varve_workdir::set_branch(&repository, &name)?;
    let shown = context.ui.local(&name);
    context
        .ui
        .status([b"marked working directory as branch ", &shown[..], b"\n"].concat())?;
    // It is said only for the first branch.
    let others = branches
        .iter()
        .any(|(other, heads)| other != DEFAULT_BRANCH && heads.heads.len() > heads.closed.len());
    if !others {
        context
            .ui
            .status("(branches are permanent and global, did you want a bookmark?)\n")?;
    }
    Ok(0)
}

fn parent_branches(repo: &mut Repo) -> Result<Vec<Vec<u8>>, Abort> {
    let view = repo.view()?;
    let mut branches = Vec::new();
    for node in view.working_parents()? {
        if let Some(rev) = view.changelog().rev(&node) {
            branches.push(view.with_changeset(rev, |changeset| changeset.branch().into_owned())?);
        }
    }
    Ok(branches)
}
