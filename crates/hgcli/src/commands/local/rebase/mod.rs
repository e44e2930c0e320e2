//! `rebase`: changesets move to other parents.

mod collapse;
mod descendants;
mod each_source;
mod finish;
mod interrupted;
mod memory;
mod permission;
mod run;
mod selection;
mod step;

pub(crate) use descendants::{descendants, rebase_onto};

use super::commit::metadata;
use super::{commit, unfinished};
use crate::arguments::{Flag, Matches};
use crate::context::{Category, Command, Context};
use crate::ui::{Abort, short_hex};
use run::RebaseRun;
use std::collections::BTreeSet;
use varve_repo::{LockKind, Rev};

/// See [`Command`]. The extension `rebase` switches it on.
pub(crate) const COMMAND: Command = Command {
    names: &["rebase"],
    options: &[
        Flag::list(
            's',
            "source",
            "REV",
            "a changeset that moves with what follows it",
        ),
        Flag::list(
            'b',
            "base",
            "REV",
            "a changeset whose line of development moves, from where it parts from DEST",
        ),
        Flag::list('r', "rev", "REV", "changesets that move"),
        Flag::value('d', "dest", "REV", "the new parent"),
        Flag::long_flag("collapse", "make one changeset of all that move"),
        Flag::value('m', "message", "TEXT", "the description of that one"),
        Flag::flag('e', "edit", "edit the descriptions"),
        metadata::LOGFILE,
        Flag::flag('k', "keep", "keep the old changesets"),
        Flag::long_flag("keepbranches", "keep the names of the branches"),
        Flag::flag('D', "detach", "has no effect"),
        Flag::flag('i', "interactive", "for the extension histedit"),
        Flag::value('t', "tool", "TOOL", "what merges files"),
        Flag::long_flag(
            "stop",
            "end the rebase that is under way, and keep what it has made",
        ),
        Flag::flag('c', "continue", "go on with the rebase that is under way"),
        Flag::flag('a', "abort", "give up the rebase that is under way"),
        Flag::long_value(
            "auto-orphans",
            "REVS",
            "rebase the orphans among these onto the successors of their parents",
        ),
        Flag::flag('n', "dry-run", "show what would be done, and do nothing"),
        Flag::value(
            'T',
            "template",
            "TEMPLATE",
            "how changes are shown (not there yet)",
        ),
        Flag::long_flag("confirm", "ask before anything is changed"),
    ],
    arguments: 0..=0,
    synopsis: "[[-s REV]... | [-b REV]... | [-r REV]...] [-d REV] [OPTION]...",
    summary: "move changeset (and descendants) to a different branch",
    help: "Makes the changes of changesets again on another parent, DEST, and removes the old \
           changesets. Without DEST that is what 'hg merge' would merge.\n\n\
           -r names the changesets themselves, -s those that move with all that follows them, -b \
           those whose whole line of development moves, from where it parts from that of DEST. \
           Without any of these it is -b with the parent of the working directory.\n\n\
           Bookmarks move along. Changesets that would change nothing in their new place are left \
           out. If experimental.evolution allows createmarkers, old changesets are marked as \
           obsolete; else they are removed, and a bundle in .hg/strip-backup keeps them.\n\n\
           With conflicts the command stops: settle them, mark the files with 'hg resolve -m', and \
           go on with 'hg rebase --continue'. --abort brings everything back as it was, --stop \
           keeps what was rebased so far.\n\n\
           With -r or -s, SRC in DEST stands for each changeset that moves and ALLSRC for all of them, \
           so that each has a destination of its own.\n\n\
           --collapse makes one changeset of all; -m or -l gives its description, else an editor \
           asks for it.\n\n\
           --template is not there.\n\n\
           Ends with 0; with 1 if there is nothing to rebase or files are unresolved.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// Name of the command in markers and bundles, and for templates.
const OPERATION: &str = "rebase";

/// The exit code when there is nothing to rebase.
const NOTHING: u8 = 1;

fn is_given(matches: &Matches, name: &str) -> bool {
    matches.flag(name) || matches.list(name).iter().any(|value| !value.is_empty())
}

/// Refuses options that contradict each other, and those that are not there.
fn check(matches: &Matches) -> Result<(), Abort> {
    let given = |name: &&str| is_given(matches, name);
    let both =
        |one: &str, other: &str| Abort::input(format!("cannot specify both --{one} and --{other}"));
    let at_most_one = |names: &[&'static str]| {
        let mut found = names.iter().copied().filter(|name| given(name));
        match (found.next(), found.next()) {
            (Some(one), Some(other)) => Err(both(one, other)),
            (one, _) => Ok(one),
        }
    };
    if let Some(action) = at_most_one(&["abort", "stop", "continue"])? {
        let others = ["confirm", "dry-run", "rev", "source", "base", "dest"];
        if let Some(other) = others.iter().find(|name| given(name)) {
            return Err(both(action, other));
        }
    }
    at_most_one(&["confirm", "dry-run"])?;
    at_most_one(&["rev", "source", "base"])?;
    let orphans = "auto-orphans";
    if is_given(matches, orphans) {
        let options = COMMAND.options.iter().map(|flag| flag.long);
        let mut others = options.filter(|name| *name != orphans && is_given(matches, name));
        if let Some(other) = others.next() {
            return Err(both(orphans, other));
        }
    }
    if matches.flag("interactive") {
        return Err(Abort::input(
            "interactive history editing is supported by the 'histedit' extension (see \"hg \
             --config extensions.histedit= help -e histedit\")",
        ));
    }
    Ok(())
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    check(matches)?;
    metadata::check(matches)?;
    let describes = is_given(matches, "message") || is_given(matches, "logfile");
    if describes && !matches.flag("collapse") {
        return Err(Abort::input("message can only be specified with collapse"));
    }
    let ends = matches.flag("continue") || matches.flag("abort");
    if ends && matches.flag("collapse") {
        return Err(Abort::input("cannot use collapse with continue or abort"));
    }
    let repository = repo.repository()?;
    let lock = repo.lock(ui, LockKind::WorkingCopy)?;
    let mut run = RebaseRun::new((&mut *repo, &mut *ui, config), matches, &repository)?;
    let code = if matches.flag("continue") {
        interrupted::go_on(&mut run)?
    } else if matches.flag("stop") {
        interrupted::stop(&mut run)?
    } else if matches.flag("abort") {
        interrupted::abort(&mut run)?
    } else {
        begin(&mut run)?
    };
    drop(lock);
    Ok(code)
}

/// Rebases what the options name.
fn begin(run: &mut RebaseRun<'_>) -> Result<u8, Abort> {
    let matches = run.matches;
    let may_be_dirty = run.is_in_memory() && (!run.collapses || matches.flag("dry-run"));
    unfinished::refuse(run.repository)?;
    if !may_be_dirty {
        commit::refuse_changes(run.ui, run.repository)?;
    }
    let words = match (matches.flag("dry-run"), matches.flag("confirm")) {
        (true, _) => "starting dry-run rebase; repository will not be changed\n",
        (_, true) => "starting in-memory rebase\n",
        _ => "",
    };
    run.ui.status(words)?;
    let Some(revs) = selection::select(run)? else {
        return Ok(NOTHING);
    };
    if !permission::prepare(run, &revs)? {
        run.ui.status("nothing to rebase\n")?;
        return Ok(NOTHING);
    }
    report_reopened(run)?;
    let moves_working_copy = run.moves_working_copy()?;
    if may_be_dirty && moves_working_copy {
        commit::refuse_changes(run.ui, run.repository)?;
    }
    if matches.flag("dry-run") || matches.flag("confirm") {
        return memory::try_first(run);
    }
    run.rebase_all()
}

/// Names the closed heads on which branches go on.
fn report_reopened(run: &mut RebaseRun<'_>) -> Result<(), Abort> {
    if run.keeps_branches {
        return Ok(());
    }
    let view = run.repo.view()?;
    let nodes = run.targets.destinations.values();
    let revs: BTreeSet<Rev> = nodes
        .filter_map(|node| view.changelog().rev(node))
        .collect();
    for rev in revs {
        if view.with_changeset(rev, |changeset| changeset.closes_branch())? {
            let node = short_hex(&view.changelog().node(rev));
            run.ui
                .status(format!("reopening closed branch head {node}\n"))?;
        }
    }
    Ok(())
}
