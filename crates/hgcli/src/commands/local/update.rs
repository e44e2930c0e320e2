//! `update`: the working copy of another changeset.

use super::attend;
use crate::arguments::{Flag, Matches};
use crate::commands::local::attend::Watcher;
use crate::context::{Category, Command, Config, Context, Repo};
use crate::ui::{Abort, Ui, short_hex};
use varve_repo::{LockKind, Node, RepoView, Repository, Rev};
use varve_workdir::{
    BookmarkChange, Destination, DestinationBookmark, Dirstate, GraftState, LocalChanges,
    MergeLabels, UpdateRequest, UpdateStats, WorkdirError,
};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["update", "up", "checkout", "co"],
    options: &[
        Flag::flag('C', "clean", "give up local changes, without a backup"),
        Flag::flag('c', "check", "only if there are no local changes"),
        Flag::flag('m', "merge", "merge local changes, wherever REV is"),
        Flag::value('d', "date", "DATE", "the newest changeset of that date"),
        Flag::value('r', "rev", "REV", "the changeset to go to"),
        Flag::value('t', "tool", "TOOL", "what merges files"),
    ],
    arguments: 0..=1,
    synopsis: "[-C|-c|-m] [-d DATE] [[-r] REV]",
    summary: "update working directory (or switch revisions)",
    help: "Makes the files of the working directory those of REV. Without REV that is the newest \
           changeset of the current branch that follows the present one.\n\n\
           Local changes are merged with those of REV if either changeset follows from the other; \
           else nothing is done, unless -m asks for it. With -C they are given up, with -c any \
           local change ends the command. commands.update.check says what happens without these \
           options: abort, none, linear or noconflict.\n\n\
           Files are merged line by line. Where both sides changed the same lines, both are left \
           in the file between marks, the file as it was gets .orig behind its name, and the \
           merge waits for 'hg resolve'. TOOL, HGMERGE or ui.merge may be :merge, :merge3, \
           :merge-local, :merge-other, :union, :union-other-first, :local, :other, :fail, :dump, \
           :forcedump or :prompt. Other programs are not started: with them, an update that \
           would need one is refused.\n\n\
           A REV that is a bookmark makes it the active one; any other REV leaves the active \
           bookmark.\n\nSubrepositories are left out.\n\nEnds with 0; with 1 if files are unresolved or subrepositories \
           were left out.",
    category: Some(Category::WorkingDirectory),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let given = ["clean", "check", "merge"].map(|name| (name, matches.flag(name)));
    let mut given = given.iter().filter(|(_, given)| *given);
    if let (Some((one, _)), Some((other, _))) = (given.next(), given.next()) {
        let message = format!("cannot specify both --{one} and --{other}");
        return Err(Abort::input(message));
    }
    let typed = match (matches.value("rev"), matches.arguments().first()) {
        (Some(_), Some(_)) => return Err(Abort::input("please specify just one revision")),
        (Some(typed), None) => Some(typed.to_vec()),
        (None, argument) => argument.cloned(),
    };
    let date = matches.value("date").filter(|date| !date.is_empty());
    if typed.is_some() && date.is_some() {
        return Err(Abort::input("you can't specify a revision and a date"));
    }
    let needs_rev = config.boolean("commands", "update.requiredest", false)?;
    if needs_rev && typed.is_none() && date.is_none() {
        return Err(
            Abort::input("you must specify a destination").hint("for example: hg update \".::\"")
        );
    }
    carry_out(repo, ui, config, matches, typed, date)
}

/// As `update` without arguments, for commands that have brought changesets.
pub(crate) fn to_newest(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
) -> Result<u8, Abort> {
    carry_out(repo, ui, config, matches, None, None)
}

/// `hg update REV`.
pub(crate) fn to(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    rev: Vec<u8>,
) -> Result<u8, Abort> {
    carry_out(repo, ui, config, matches, Some(rev), None)
}

fn carry_out(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    typed: Option<Vec<u8>>,
    date: Option<&[u8]>,
) -> Result<u8, Abort> {
    let local = local_changes(config, matches);
    let repository = repo.repository()?;
    let lock = repo.lock(ui, LockKind::WorkingCopy)?;
    super::unfinished::refuse_rewrite(&repository)?;
    GraftState::clear(&repository)?;
    repo.warn_of_disabled_markers(ui)?;
    let (destination, typed) = destination(repo, ui, typed, date)?;
    let hidden = repo.words_about_hidden("updated to", destination.rev)?;
    let updated = go(
        repo,
        ui,
        config,
        matches,
        &repository,
        destination.rev,
        local,
    )?;
    let code = report(ui, &updated)?;
    ui.warn(hidden)?;
    let view = repo.view()?;
    let change = varve_workdir::bookmark_change(&repository, &view, &destination, typed.as_deref());
    if let Some(change) = change? {
        change_bookmark(repo, ui, &repository, &change)?;
    }
    drop(lock);
    if typed.is_none() {
        print_other_heads(repo, ui, &repository)?;
    }
    let is_complete = print_left_out(ui, &view, destination.rev)?;
    Ok(if is_complete { code } else { UNRESOLVED })
}

/// Warns if the changeset has subrepositories, which are not brought here; returns whether it has none.
pub(crate) fn print_left_out(
    ui: &mut Ui,
    view: &RepoView,
    rev: Option<Rev>,
) -> Result<bool, Abort> {
    let manifest = view.manifest_text(rev)?;
    let Some(entry) = view.find_in_manifest(&manifest, b".hgsub")? else {
        return Ok(true);
    };
    let text = view.file_content(b".hgsub", &entry.node)?;
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    // As in any file of configuration, sections begin with a bracket.
    let named = lines.filter(|line| !line.is_empty() && !b"#;[".contains(&line[0]));
    let paths = named.filter_map(|line| line.split(|byte| *byte == b'=').next());
    let paths: Vec<_> = paths
        .map(|path| String::from_utf8_lossy(path.trim_ascii()))
        .collect();
    if paths.is_empty() {
        return Ok(true);
    }
    let paths = paths.join(", ");
    ui.warn(format!(
        "subrepositories are not supported and were left out: {paths}\n"
    ))?;
    Ok(false)
}

/// The destination that was given as a revision or a date, or the default one; and the name of its revision, if one
/// was given.
fn destination(
    repo: &mut Repo,
    ui: &mut Ui,
    typed: Option<Vec<u8>>,
    date: Option<&[u8]>,
) -> Result<(Destination, Option<Vec<u8>>), Abort> {
    let at = |rev| Destination {
        rev,
        bookmark: None,
    };
    if let Some(date) = date {
        let rev = repo.tipmost_of_date(ui, date)?;
        return Ok((at(Some(rev)), Some(rev.0.to_string().into_bytes())));
    }
    if let Some(typed) = typed {
        return Ok((at(repo.revision(ui, Some(&typed))?), Some(typed)));
    }
    let view = repo.view()?;
    let found = varve_workdir::default_destination(&repo.repository()?, &view)?;
    if let Some(DestinationBookmark::Follows(name)) = &found.bookmark {
        ui.status([b"updating to active bookmark ", &name[..], b"\n"].concat())?;
    }
    Ok((found, None))
}

/// The treatment of local changes, from the options or else the configuration.
fn local_changes(config: &Config, matches: &Matches) -> LocalChanges {
    match ["clean", "check", "merge"].map(|name| matches.flag(name)) {
        [true, ..] => LocalChanges::Discard,
        [_, true, _] => LocalChanges::Refuse,
        [.., true] => LocalChanges::Merge,
        _ => LocalChanges::of_setting(config.get("commands", "update.check")),
    }
}

/// Updates between the hooks `preupdate` and `update`.
pub(crate) fn go(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    repository: &Repository,
    target: Option<Rev>,
    local: LocalChanges,
) -> Result<UpdateStats, Abort> {
    let view = repo.view()?;
    let has_hook = repo.asks_before_update();
    varve_workdir::check_update(repository, local, has_hook, &ui.stop)?;
    let mut dirstate = Dirstate::read(repository)?;
    let parents = [view.changelog().node_or_null(target), Node::NULL];
    repo.before_update(ui, &parents)?;
    let place = (repository, &*view);
    let updated = go_to(ui, config, matches, place, &mut dirstate, target, local)?;
    repo.after_update(ui, &parents, updated.unresolved)?;
    Ok(updated)
}

/// Updates, and prints the steps.
pub(crate) fn go_to(
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    (repository, view): (&Repository, &RepoView),
    dirstate: &mut Dirstate,
    target: Option<Rev>,
    local: LocalChanges,
) -> Result<UpdateStats, Abort> {
    let tool = attend::tool_choice(config, matches.value("tool"))?;
    let progress = std::mem::replace(&mut ui.progress, Box::new(varve_base::Silent));
    let stop = ui.stop.clone();
    let request = UpdateRequest {
        repository,
        view,
        target,
        local,
        tool: &tool,
        progress: progress.as_ref(),
        stop: &stop,
    };
    let mut watcher = Watcher::new(ui, config, &MergeLabels::of_update())?;
    let updated = varve_workdir::update(&request, dirstate, &mut watcher);
    let told = watcher.finish();
    ui.progress = progress;
    told?;
    warn_of_untracked(ui, &updated)?;
    warn_of_lost_directory(ui, repository)?;
    Ok(updated?)
}

/// Says that the directory from which the command was called is gone, as the last file in it is.
pub(crate) fn warn_of_lost_directory(ui: &mut Ui, repository: &Repository) -> Result<(), Abort> {
    if std::env::current_dir().is_ok() {
        return Ok(());
    }
    let root = repository.root().display();
    ui.warn(format!(
        "current directory was removed\n(consider changing to repo root: {root})\n"
    ))
}

/// Names the files that are in the way.
pub(crate) fn warn_of_untracked(
    ui: &mut Ui,
    updated: &Result<UpdateStats, WorkdirError>,
) -> Result<(), Abort> {
    if let Err(WorkdirError::UntrackedDiffer(files)) = updated {
        for file in files {
            ui.warn(format!("{file}: untracked file differs\n"))?;
        }
    }
    Ok(())
}

/// The exit code when files are left with conflicts.
pub(crate) const UNRESOLVED: u8 = 1;

/// Prints the counts of an update; returns the exit code.
pub(crate) fn report(ui: &mut Ui, updated: &UpdateStats) -> Result<u8, Abort> {
    print_stats(ui, updated)?;
    if updated.unresolved == 0 {
        return Ok(0);
    }
    ui.status("use 'hg resolve' to retry unresolved file merges\n")?;
    Ok(UNRESOLVED)
}

/// Prints the counts of an update.
pub(crate) fn print_stats(ui: &mut Ui, stats: &UpdateStats) -> Result<(), Abort> {
    let UpdateStats {
        updated,
        merged,
        removed,
        unresolved,
    } = *stats;
    ui.status(format!(
        "{updated} files updated, {merged} files merged, {removed} files removed, {unresolved} \
         files unresolved\n"
    ))
}

/// Prints the change of a bookmark, and makes it.
fn change_bookmark(
    repo: &mut Repo,
    ui: &mut Ui,
    repository: &Repository,
    change: &BookmarkChange,
) -> Result<(), Abort> {
    let line = |before: &[u8], name: &[u8], after: &[u8]| [before, name, after].concat();
    match change {
        BookmarkChange::Move { name, to } => {
            ui.status(line(b"updating bookmark ", name, b"\n"))?;
            let lock = repo.lock(ui, LockKind::Store)?;
            repository.set_bookmark(lock, name, *to)?;
            repo.refresh();
        }
        BookmarkChange::Activate(name) => {
            ui.status(line(b"(activating bookmark ", name, b")\n"))?;
            varve_workdir::set_active_bookmark(repository, Some(name))?;
        }
        BookmarkChange::Deactivate(name) => {
            ui.status(line(b"(leaving bookmark ", name, b")\n"))?;
            varve_workdir::set_active_bookmark(repository, None)?;
        }
    }
    Ok(())
}

/// Prints the number of bookmarks beside the active one, such as `name@path`, that are elsewhere.
fn print_divergent_bookmarks(
    repo: &mut Repo,
    ui: &mut Ui,
    view: &RepoView,
    active: &[u8],
) -> Result<(), Abort> {
    let parents = repo.working_parents()?;
    let bookmarks = view.bookmarks();
    let is_parent = |node: &&Node| {
        let rev = view.changelog().rev(node);
        rev.is_some_and(|rev| parents.contains(&rev))
    };
    let Some(at) = bookmarks.get(active).filter(is_parent) else {
        return Ok(());
    };
    let base = |name: &[u8]| name.split(|byte| *byte == b'@').next().map(<[u8]>::to_vec);
    let others = bookmarks
        .iter()
        .filter(|(name, node)| base(name) == base(active) && *node != at);
    match others.count() {
        0 => Ok(()),
        count => {
            let active = String::from_utf8_lossy(active);
            ui.status(format!(
                "{count} other divergent bookmarks for \"{active}\"\n"
            ))
        }
    }
}

/// Prints the other heads of the branch after an update without a revision.
fn print_other_heads(repo: &mut Repo, ui: &mut Ui, repository: &Repository) -> Result<(), Abort> {
    let view = repo.view()?;
    let active = repo.active_bookmark()?;
    if let Some(active) = active.filter(|name| view.bookmarks().contains_key(name)) {
        return print_divergent_bookmarks(repo, ui, &view, &active);
    }
    let Some(found) = varve_workdir::other_heads(repository, &view)? else {
        return Ok(());
    };
    let branch = String::from_utf8_lossy(&found.branch).into_owned();
    let others = found.others;
    if found.at_is_closed {
        ui.warn(format!(
            "no open descendant heads on branch \"{branch}\", updating to a closed head\n"
        ))?;
        return ui.warn(if others == 0 {
            format!("(committing will reopen branch \"{branch}\")\n")
        } else {
            format!(
                "(committing will reopen the head, use 'hg heads .' to see {others} other heads)\n"
            )
        });
    }
    if others > 0 {
        let short = short_hex(&view.changelog().node(found.at));
        let first = view.with_changeset(found.at, |changeset| {
            let line = changeset.description.split(|byte| *byte == b'\n').next();
            String::from_utf8_lossy(line.unwrap_or_default()).into_owned()
        })?;
        ui.status(format!("updated to \"{short}: {first}\"\n"))?;
        ui.status(format!("{others} other heads for branch \"{branch}\"\n"))?;
    }
    Ok(())
}
