//! `resolve`: files that a merge has left with conflicts.

use super::attend::{self, Watcher};
use super::unfinished;
use crate::arguments::{Flag, Matches};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::render::formatter::Formatter;
use crate::ui::{Abort, FailureKind, Ui};
use varve_lang::patterns::{Pattern, PatternKind};
use varve_repo::{LockKind, Repository};
use varve_revset::WORKING_COPY;
use varve_workdir::{Dirstate, FileState, MergeState, ResolveRequest};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["resolve"],
    options: &[
        Flag::flag('a', "all", "all files that are unresolved"),
        Flag::flag('l', "list", "show which files are resolved"),
        Flag::flag('m', "mark", "mark files as resolved"),
        Flag::flag('u', "unmark", "mark files as unresolved"),
        Flag::flag('n', "no-status", "leave out the letter before each file"),
        Flag::long_flag("re-merge", "merge files again"),
        Flag::value('t', "tool", "TOOL", "what merges files"),
        Flag::list('I', "include", "PATTERN", "only files that match"),
        Flag::list('X', "exclude", "PATTERN", "no files that match"),
        Flag::value('T', "template", "TEMPLATE", "how each file is printed"),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "redo merges or set/view the merge status of files",
    help: "A merge or an update may leave files with conflicts. They are unresolved (U) until \
           'hg resolve -m' marks them as resolved (R) or a new try merges them; nothing can be \
           committed before.\n\n\
           'hg resolve FILE' merges the file again, from the versions that were there before the \
           merge, with TOOL if it is given; what the file holds now gets .orig behind its name. \
           'hg resolve -a' does so for all that are unresolved. -l lists the files.\n\n\
           commands.resolve.mark-check says what -m does with files that still have the marks of a \
           conflict: none, warn or abort. With commands.resolve.explicit-re-merge a new try needs \
           --re-merge, and with commands.resolve.confirm -a asks first.\n\n\
           Ends with 0; with 1 if a file could not be merged.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// The wish about the chosen files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Mark,
    Unmark,
    Merge,
}

/// The action that the options ask for, `None` if files are to be listed; refuses options that do not go together.
fn action_of(config: &Config, matches: &Matches) -> Result<Option<Action>, Abort> {
    let [mark, unmark, list, again, all] =
        ["mark", "unmark", "list", "re-merge", "all"].map(|name| matches.flag(name));
    if [mark, unmark, list, again]
        .iter()
        .filter(|given| **given)
        .count()
        > 1
    {
        return Err(Abort::input("too many actions specified"));
    }
    let explicit = config.boolean("commands", "resolve.explicit-re-merge", false)?;
    if explicit && !(mark || unmark || list || again) {
        return Err(
            Abort::input("no action specified").hint("use --mark, --unmark, --list or --re-merge")
        );
    }
    let names_files = names_files(matches);
    if names_files && all {
        return Err(Abort::input("can't specify --all and patterns"));
    }
    if !(all || names_files || mark || unmark || list) {
        return Err(Abort::input("no files or directories specified")
            .hint("use --all to re-merge all unresolved files"));
    }
    Ok(match (list, mark, unmark) {
        (true, _, _) => None,
        (_, true, _) => Some(Action::Mark),
        (_, _, true) => Some(Action::Unmark),
        _ => Some(Action::Merge),
    })
}

fn names_files(matches: &Matches) -> bool {
    let patterns = [matches.list("include"), matches.list("exclude")].concat();
    !(matches.arguments().is_empty() && patterns.is_empty())
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let Some(action) = action_of(config, matches)? else {
        return print_list(repo, ui, config, matches);
    };
    let all = matches.flag("all");
    if !confirms(ui, config, matches, action)? {
        return Err(Abort::of_kind(FailureKind::Canceled, "user quit"));
    }
    let repository = repo.repository()?;
    let lock = repo.lock(ui, LockKind::WorkingCopy)?;
    let mut dirstate = Dirstate::read(&repository)?;
    let state = MergeState::read(&repository)?;
    let Some(mut state) = state else {
        return Err(Abort::state(
            "resolve command not applicable when not merging",
        ));
    };
    let matcher = repo.working_matcher(matches, matches.arguments())?;
    let chosen: Vec<Vec<u8>> = state
        .files()
        .filter(|file| matcher.matches(&file.path))
        .map(|file| file.path.clone())
        .collect();
    let mut failed = false;
    match action {
        Action::Merge => {
            let place = (&repository, &mut dirstate);
            failed = !merge(repo, ui, config, matches, place, &mut state, &chosen)?;
        }
        Action::Mark => {
            let place = (&repository, &state);
            let are_meant = all || !matches.arguments().is_empty();
            check_markers(ui, config, place, (&chosen, are_meant))?;
            set_all(&mut state, &chosen, true);
        }
        Action::Unmark => set_all(&mut state, &chosen, false),
    }
    if chosen.is_empty() && names_files(matches) {
        warn_of_no_match(ui, matches, &state)?;
    }
    state.write(&repository)?;
    dirstate.write(&repository)?;
    drop(lock);
    report(ui, &repository, &state, action)?;
    Ok(u8::from(failed))
}

fn set_all(state: &mut MergeState, chosen: &[Vec<u8>], resolved: bool) {
    for path in chosen {
        state.set_resolved(path, resolved);
    }
}

/// Asks before all files are merged or marked, if `commands.resolve.confirm` says so; patterns of options name no
/// files here.
fn confirms(
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    action: Action,
) -> Result<bool, Abort> {
    if !config.boolean("commands", "resolve.confirm", false)? {
        return Ok(true);
    }
    if matches.flag("all") && !ui.confirm("re-merge all unresolved files")? {
        return Ok(false);
    }
    match (action, matches.arguments()) {
        (Action::Mark, []) => ui.confirm("mark all unresolved files as resolved"),
        (Action::Unmark, []) => ui.confirm("mark all resolved files as unresolved"),
        _ => Ok(true),
    }
}

fn letter(file: &FileState) -> &'static str {
    if file.resolved { "R" } else { "U" }
}

/// `--list`.
fn print_list(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
) -> Result<u8, Abort> {
    let repository = repo.repository()?;
    let state = MergeState::read(&repository)?;
    let matcher = repo.working_matcher(matches, matches.arguments())?;
    let mut out = Formatter::new(ui, config, matches, "resolve")?.within(repo, config)?;
    let relative = repo.uses_relative_paths(false)?;
    let files = state.iter().flat_map(MergeState::files);
    for file in files.filter(|file| matcher.matches(&file.path)) {
        out.item(ui)?;
        out.about_file(Some(WORKING_COPY), &file.path);
        if !matches.flag("no-status") {
            let letter = letter(file);
            out.field(ui, "mergestatus", letter, letter)?;
            out.plain(ui, " ")?;
        }
        let shown = match relative {
            true => repo.relative_path(&file.path)?,
            false => file.path.clone(),
        };
        out.field(ui, "path", &file.path, &shown)?;
        out.plain(ui, "\n")?;
    }
    out.end(ui)?;
    Ok(0)
}

/// Merges the files that are unresolved again; returns whether all are resolved then.
fn merge(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    (repository, dirstate): (&Repository, &mut Dirstate),
    state: &mut MergeState,
    chosen: &[Vec<u8>],
) -> Result<bool, Abort> {
    let tool = attend::tool_choice(config, matches.value("tool"))?;
    let view = repo.view()?;
    let stop = ui.stop.clone();
    let request = ResolveRequest {
        repository,
        view: &view,
        tool: &tool,
        stop: &stop,
    };
    let mut watcher = Watcher::new(ui, config, &state.labels)?;
    let mut resolved = true;
    for path in chosen {
        resolved &= varve_workdir::merge_again(&request, state, path, dirstate, &mut watcher)?;
        // What is merged stays so if a later file ends the command.
        state.write(repository)?;
    }
    watcher.finish()?;
    Ok(resolved)
}

/// Files among those to be marked that still have the marks of a conflict.
fn check_markers(
    ui: &mut Ui,
    config: &Config,
    (repository, state): (&Repository, &MergeState),
    (chosen, are_meant): (&[Vec<u8>], bool),
) -> Result<(), Abort> {
    let check = config.text("commands", "resolve.mark-check");
    let check = check.as_deref().unwrap_or("none");
    let mut marked = Vec::new();
    if matches!(check, "warn" | "abort") {
        for path in chosen {
            let is_open = state.file(path).is_some_and(|file| !file.resolved);
            if is_open && varve_workdir::has_conflict_markers(repository, path)? {
                marked.push(path);
            }
        }
    }
    if marked.is_empty() {
        return Ok(());
    }
    ui.warn("warning: the following files still have conflict markers:\n")?;
    for path in marked {
        ui.warn([b"  ", &path[..], b"\n"].concat())?;
    }
    match check == "abort" && !are_meant {
        true => Err(Abort::state("conflict markers detected").hint("use --all to mark anyway")),
        false => Ok(()),
    }
}

/// Nothing that was named is part of the merge; names that would be, relative to the repository, are offered.
fn warn_of_no_match(ui: &mut Ui, matches: &Matches, state: &MergeState) -> Result<(), Abort> {
    ui.warn("arguments do not match paths that need resolving\n")?;
    let names = matches.arguments();
    let has_kind = names.iter().any(|name| has_kind(name));
    if has_kind || !names.iter().any(|name| state.file(name).is_some()) {
        return Ok(());
    }
    let mut flags = String::new();
    for (name, short) in [
        ("all", "-a"),
        ("mark", "-m"),
        ("unmark", "-u"),
        ("re-merge", "--re-merge"),
        ("no-status", "-n"),
    ] {
        if matches.flag(name) {
            flags.push_str(short);
            flags.push(' ');
        }
    }
    let names = names.iter().map(|name| String::from_utf8_lossy(name));
    let names: Vec<String> = names.map(|name| format!("path:{name}")).collect();
    ui.warn(format!("(try: hg resolve {flags}{})\n", names.join(" ")))
}

/// A pattern begins with its kind and a colon.
fn has_kind(pattern: &[u8]) -> bool {
    Pattern::parse(pattern, PatternKind::RelPath).text.len() < pattern.len()
}

/// The lines at the end, once nothing is unresolved.
fn report(
    ui: &mut Ui,
    repository: &Repository,
    state: &MergeState,
    action: Action,
) -> Result<(), Abort> {
    if action == Action::Unmark || state.unresolved() > 0 {
        return Ok(());
    }
    ui.status("(no more unresolved files)\n")?;
    match unfinished::continuation(repository)? {
        Some(command) => ui.warn(format!("continue: {command}\n")),
        None => ui.note("continue: hg commit\n"),
    }
}
