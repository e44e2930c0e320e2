//! `graft`: the changes of other changesets on top of the working directory's parent.

mod interrupted;
mod memory;
mod skipped;
mod step;

use super::commit::{self, metadata};
use super::unfinished;
use crate::arguments::{Flag, Matches};
use crate::context::{Category, Command, Context, Repo};
use crate::ui::{Abort, Ui};
use step::{GraftRun, GraftSettings};
use varve_repo::{LockKind, Node, Rev};
use varve_workdir::{Dirstate, GraftOptions, choose_grafts};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["graft"],
    options: &[
        Flag::list('r', "rev", "REV", "the changesets to graft"),
        Flag::long_value("base", "REV", "the changes since REV, not since the parent"),
        Flag::flag('c', "continue", "go on with the graft that was interrupted"),
        Flag::long_flag("stop", "end the graft, and keep what it has committed"),
        Flag::long_flag("abort", "end the graft, and remove what it has committed"),
        Flag::flag('e', "edit", "edit the descriptions"),
        Flag::long_flag("log", "name the source in the descriptions"),
        Flag::long_flag("no-commit", "change only the working directory"),
        Flag::flag('f', "force", "graft even what is here already"),
        Flag::flag('D', "currentdate", "the date of the changesets is now"),
        Flag::flag('U', "currentuser", "you are the committer"),
        metadata::DATE,
        metadata::USER,
        Flag::value('t', "tool", "TOOL", "what merges files"),
        Flag::flag(
            'n',
            "dry-run",
            "show what would be grafted, and graft nothing",
        ),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [-r REV]... REV...",
    summary: "copy changes from other branches onto the current branch",
    help: "Brings the changes of each REV to the working directory as a merge would, and commits \
           them with the description, user and date of REV. The extra 'source' of the new changeset \
           names REV, or the changeset that REV is a graft of; then 'intermediate-source' names \
           REV.\n\n\
           Merges, ancestors of the working directory's parent and what was grafted there before are \
           left out; with -f only merges are. --base lets a merge be grafted, as the changes from \
           that changeset to REV, and several changesets as one.\n\n\
           A graft that leaves conflicts waits. Settle them and mark the files with 'hg resolve -m'; \
           then 'hg graft -c' goes on with the options that were given. --stop and --abort give up \
           all changes since the last commit.\n\n\
           With --no-commit only one changeset is grafted at a time.\n\n\
           Ends with 0; with 1 if files are unresolved; with 255 if nothing is grafted.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// The exit code when all changesets are skipped.
const NOTHING: u8 = 255;

/// Options that cannot be together with the first one.
const CONFLICTS: &[(&str, &[&str])] = &[
    ("abort", &["stop", "continue"]),
    ("stop", &["continue"]),
    (
        "no-commit",
        &["edit", "log", "user", "date", "currentdate", "currentuser"],
    ),
    ("user", &["currentuser"]),
    ("date", &["currentdate"]),
    ("stop", INTERRUPTED),
    ("abort", INTERRUPTED),
];

/// Options of a graft that ending one does not take.
const INTERRUPTED: &[&str] = &[
    "edit",
    "log",
    "user",
    "date",
    "currentdate",
    "currentuser",
    "base",
    "rev",
];

fn check(matches: &Matches) -> Result<(), Abort> {
    let given =
        |name: &str| matches.flag(name) || matches.list(name).iter().any(|value| !value.is_empty());
    for (one, others) in CONFLICTS {
        if let Some(other) = others.iter().find(|other| given(one) && given(other)) {
            return Err(Abort::input(format!(
                "cannot specify both --{one} and --{other}"
            )));
        }
    }
    Ok(())
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    check(matches)?;
    let repository = repo.repository()?;
    let lock = repo.lock(ui, LockKind::WorkingCopy)?;
    let code = if matches.flag("stop") {
        interrupted::stop(repo, ui, config, matches, &repository)?
    } else if matches.flag("abort") {
        interrupted::abort(repo, ui, config, matches, &repository)?
    } else {
        let mut run = GraftRun {
            repo,
            ui,
            config,
            matches,
            repository: &repository,
        };
        if matches.flag("continue") {
            interrupted::go_on(&mut run)?
        } else {
            begin(&mut run)?
        }
    };
    drop(lock);
    Ok(code)
}

/// Grafts what the arguments name.
fn begin(run: &mut GraftRun<'_>) -> Result<u8, Abort> {
    let GraftRun {
        repo,
        ui,
        matches,
        repository,
        ..
    } = run;
    let mut settings = GraftSettings::of_options(ui, matches)?;
    if matches.arguments().is_empty() && matches.list("rev").is_empty() {
        return Err(Abort::input("no revisions specified"));
    }
    if !matches.arguments().is_empty() && !matches.list("rev").is_empty() {
        ui.warn("warning: inconsistent use of --rev might give unexpected revision ordering!\n")?;
    }
    unfinished::refuse(repository)?;
    commit::refuse_changes(ui, repository)?;
    let revs = revisions(repo, ui, matches)?;
    let base = matches.value("base").filter(|base| !base.is_empty());
    if let Some(typed) = base {
        if revs.len() > 1 {
            return Err(Abort::input("only one revision allowed with --base"));
        }
        let rev = repo.revision(ui, Some(typed))?;
        settings.base = Some(repo.view()?.changelog().node_or_null(rev));
    }
    let view = repo.view()?;
    let onto = view
        .changelog()
        .rev(&Dirstate::read(repository)?.parents()[0]);
    let options = GraftOptions {
        merges: base.is_some(),
        force: matches.flag("force") || base.is_some(),
    };
    let choice = choose_grafts(&view, onto, &revs, options)?;
    let scans = !options.force && skipped::needs_scan(&choice);
    skipped::print(repo, ui, &choice.skipped, scans)?;
    if choice.revs.is_empty() {
        return Ok(NOTHING);
    }
    if settings.no_commit && choice.revs.len() > 1 {
        return Err(Abort::input(
            "graft --no-commit of more than one revision is not supported",
        ));
    }
    let changelog = view.changelog();
    let nodes: Vec<Node> = choice.revs.iter().map(|rev| changelog.node(*rev)).collect();
    step::graft_all(run, &settings, nodes, Vec::new(), false)
}

/// The changesets that arguments and `--rev` name.
fn revisions(repo: &mut Repo, ui: &mut Ui, matches: &Matches) -> Result<Vec<Rev>, Abort> {
    let options = matches.list("rev");
    let mut specs: Vec<&[u8]> = matches.arguments().iter().map(Vec::as_slice).collect();
    specs.extend(options);
    let revs = repo.revisions_and_null(ui, &specs)?;
    let revs = revs.into_iter().collect::<Option<Vec<Rev>>>();
    revs.ok_or_else(|| Abort::input("the null revision cannot be grafted"))
}
