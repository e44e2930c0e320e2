//! `status`: changes in the working copy, or between changesets.

mod terse;

use super::unfinished;
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches, TEMPLATE};
use crate::commands::history::diff;
use crate::context::{Category, Command, Config, Context, Repo};
use crate::render::Formatter;
use crate::render::diff::DiffSide;
use crate::ui::{Abort, Ui, environment};
use std::collections::BTreeMap;
use varve_repo::Rev;
use varve_revset::WORKING_COPY;
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{
    Dirstate, Status, StatusLists, StatusRequest, path_copies, path_copies_to_working_copy,
    status_against, status_between, working_status,
};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["status", "st"],
    options: &[
        Flag::flag('A', "all", "show all files, changed or not"),
        Flag::flag('m', "modified", "show modified files"),
        Flag::flag('a', "added", "show added files"),
        Flag::flag('r', "removed", "show removed files"),
        Flag::flag('d', "deleted", "show tracked files that are missing"),
        Flag::flag('c', "clean", "show files without changes"),
        Flag::flag('u', "unknown", "show files that are not tracked"),
        Flag::flag('i', "ignored", "show ignored files"),
        Flag::value(
            't',
            "terse",
            "VALUE",
            "show directories whose files are all of these kinds (EXPERIMENTAL)",
        ),
        Flag::flag('n', "no-status", "show names only"),
        Flag::flag('C', "copies", "show what files are copies of"),
        Flag::flag('0', "print0", "end names with a zero byte, for xargs -0"),
        Flag::long_list(
            "rev",
            "REV",
            "show changes since this revision, or between two",
        ),
        Flag::long_value("change", "REV", "show the changes of this revision"),
        INCLUDE,
        EXCLUDE,
        Flag::flag('S', "subrepos", "include subrepositories"),
        TEMPLATE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "show files that changed in the working directory",
    help: "Names and patterns choose files; without any, all are shown that changed or are not \
           tracked. With -q, files that are not tracked are left out.\n\n\
           M is a modified file, A an added and R a removed one, C a clean one, ! one that is \
           tracked but missing, ? one that is not tracked, I an ignored one. The source of a copy \
           stands on the line below it.\n\n\
           The VALUE of --terse has the letters of the options for the kinds: -t mu is for modified and for unknown files.\n\n\
           Ends with 0.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// The lists of a status in the order in which they are shown: option, letter.
const LISTS: [(&str, char); 7] = [
    ("modified", 'M'),
    ("added", 'A'),
    ("removed", 'R'),
    ("deleted", '!'),
    ("unknown", '?'),
    ("ignored", 'I'),
    ("clean", 'C'),
];

fn list(status: &Status, letter: char) -> &[Vec<u8>] {
    match letter {
        'M' => &status.modified,
        'A' => &status.added,
        'R' => &status.removed,
        '!' => &status.deleted,
        '?' => &status.unknown,
        'I' => &status.ignored,
        _ => &status.clean,
    }
}

fn list_mut(status: &mut Status, letter: char) -> &mut Vec<Vec<u8>> {
    match letter {
        'M' => &mut status.modified,
        'A' => &mut status.added,
        'R' => &mut status.removed,
        '!' => &mut status.deleted,
        '?' => &mut status.unknown,
        'I' => &mut status.ignored,
        _ => &mut status.clean,
    }
}

/// Which changesets are compared.
enum ComparedRevisions {
    /// The first parent with the working copy.
    Working,
    /// A changeset with the working copy.
    Since(Option<Rev>),
    /// Two changesets.
    Between(Option<Rev>, Option<Rev>),
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let sides = sides(repo, ui, matches)?;
    ui.guard.writes();
    let shown = shown(ui, matches);
    let folded = folded_lists(config, matches)?;
    let has = |letter| shown.contains(&letter) || !folded.is_empty();
    let listing = StatusLists {
        unknown: has('?'),
        ignored: has('I'),
        clean: has('C'),
    };
    let patterns = matches.arguments();
    let matcher = match sides {
        ComparedRevisions::Between(_, new) => repo.matcher_at(matches, FilesetTarget::Rev(new))?,
        _ => repo.working_matcher(matches, patterns)?,
    };
    let always = config.boolean("ui", "statuscopies", false)?;
    let with_copies =
        (matches.flag("all") || matches.flag("copies") || always) && !matches.flag("no-status");
    let (mut status, copies) = if let ComparedRevisions::Between(old, new) = sides {
        let view = repo.view()?;
        let status = status_between(&view, old, new, &matcher, listing.clean)?;
        let copies = match with_copies {
            true => path_copies(&view, old, new)?,
            false => BTreeMap::new(),
        };
        (status, copies)
    } else {
        let repository = repo.repository()?;
        let dirstate = Dirstate::read(&repository)?;
        repo.warn_of_missing_files(ui, &matcher, &dirstate)?;
        let ignore = match listing.unknown || listing.ignored {
            true => repo.ignore(ui)?,
            false => Default::default(),
        };
        let stop = ui.stop.clone();
        let request = StatusRequest {
            repository: &repository,
            dirstate: &dirstate,
            matcher: &matcher,
            ignore: &ignore,
            listing,
            stop: &stop,
        };
        working(repo, &request, &sides, with_copies)?
    };
    if !folded.is_empty() {
        terse::fold(&mut status, &folded);
    }
    let subject = match sides {
        ComparedRevisions::Between(_, new) => new,
        _ => Some(WORKING_COPY),
    };
    let found = StatusOutput {
        status,
        copies,
        subject,
    };
    print(repo, ui, config, matches, &found, &shown)?;
    let verbose = ui.verbosity.verbose || config.boolean("commands", "status.verbose", false)?;
    let is_scripted = matches.value("template").is_some() || environment::is_plain(None);
    if verbose && !ui.verbosity.quiet && !is_scripted {
        unfinished::print(ui, config, &repo.repository()?)?;
    }
    Ok(0)
}

type Copies = BTreeMap<Vec<u8>, Vec<u8>>;

/// The files to print.
struct StatusOutput {
    status: Status,
    copies: Copies,
    /// The newer side, whose files are listed.
    subject: Option<Rev>,
}

fn working(
    repo: &mut Repo,
    request: &StatusRequest<'_>,
    sides: &ComparedRevisions,
    with_copies: bool,
) -> Result<(Status, Copies), Abort> {
    let found = working_status(request)?;
    found.remember(request)?;
    let mut status = found.status;
    let dirstate = request.dirstate;
    let mut copies = Copies::new();
    if let ComparedRevisions::Since(old) = sides {
        let view = repo.view()?;
        status = status_against(request, &view, *old, status)?;
        if with_copies {
            copies = path_copies_to_working_copy(&view, *old, dirstate)?;
        }
    } else if with_copies {
        let all = dirstate.copies();
        copies = all
            .map(|(path, from)| (path.to_vec(), from.to_vec()))
            .collect();
    }
    Ok((status, copies))
}

/// The two sides that the options compare.
fn sides(repo: &mut Repo, ui: &mut Ui, matches: &Matches) -> Result<ComparedRevisions, Abort> {
    let revs = matches.list("rev");
    let change = matches.value("change").filter(|rev| !rev.is_empty());
    if !revs.is_empty() && change.is_some() {
        return Err(Abort::input("cannot specify both --rev and --change"));
    }
    repo.refuse_subrepositories(matches)?;
    if let Some(change) = change {
        let new = repo.revision(ui, Some(change))?;
        let view = repo.view()?;
        let old = new.and_then(|rev| view.changelog().parents(rev)[0]);
        return Ok(ComparedRevisions::Between(old, new));
    }
    if revs.is_empty() {
        return Ok(ComparedRevisions::Working);
    }
    let revs: Vec<Vec<u8>> = revs.iter().map(|rev| rev.to_vec()).collect();
    Ok(match diff::pair(repo, ui, &revs)? {
        (DiffSide::Rev(old), DiffSide::Rev(new)) => ComparedRevisions::Between(old, new),
        (DiffSide::Rev(old), DiffSide::Working) => {
            let repository = repo.repository()?;
            let parent = Dirstate::read(&repository)?.parents()[0];
            match repo.view()?.changelog().rev(&parent) == old {
                true => ComparedRevisions::Working,
                false => ComparedRevisions::Since(old),
            }
        }
        (DiffSide::Working, _) => {
            return Err(Abort::new(
                "the working directory is compared with changesets only",
            ));
        }
    })
}

/// Letters of the lists that `--terse` or the setting means.
fn folded_lists(config: &Config, matches: &Matches) -> Result<Vec<char>, Abort> {
    let has_revs = !matches.list("rev").is_empty();
    let letters = match matches.value("terse") {
        Some(letters) if has_revs && !letters.is_empty() => {
            return Err(Abort::input("cannot use --terse with --rev"));
        }
        Some(letters) => letters,
        None if has_revs => b"",
        None => config.get("commands", "status.terse").unwrap_or_default(),
    };
    let changes_one = matches.value("change").is_some_and(|rev| !rev.is_empty());
    let lists = terse::lists(letters)?;
    Ok(if changes_one { Vec::new() } else { lists })
}

/// Letters of the lists that are shown.
fn shown(ui: &Ui, matches: &Matches) -> Vec<char> {
    if matches.flag("all") {
        return LISTS.iter().map(|(_, letter)| *letter).collect();
    }
    let asked = LISTS.iter().filter(|(option, _)| matches.flag(option));
    let asked: Vec<char> = asked.map(|(_, letter)| *letter).collect();
    if !asked.is_empty() {
        return asked;
    }
    let count = if ui.verbosity.quiet { 4 } else { 5 };
    LISTS[..count].iter().map(|(_, letter)| *letter).collect()
}

/// Label of a list.
fn label(letter: char) -> &'static str {
    match letter {
        'M' => "status.modified",
        'A' => "status.added",
        'R' => "status.removed",
        '!' => "status.deleted",
        '?' => "status.unknown",
        'I' => "status.ignored",
        _ => "status.clean",
    }
}

fn print(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    found: &StatusOutput,
    shown: &[char],
) -> Result<(), Abort> {
    let names_only = matches.flag("no-status");
    let end: &[u8] = if matches.flag("print0") { b"\0" } else { b"\n" };
    let relative = match config.get("commands", "status.relative") {
        Some(_) => config.boolean("commands", "status.relative", false)?,
        None => repo.uses_relative_paths(!matches.arguments().is_empty())?,
    };
    let mut out = Formatter::new(ui, config, matches, "status")?.within(repo, config)?;
    for letter in shown {
        let label = label(*letter);
        let letter = letter.to_string();
        for path in list(&found.status, letter.chars().next().unwrap_or('C')) {
            let name = |repo: &Repo, path: &[u8]| match relative {
                // The directory that the user is in may stand for its files.
                true => repo.relative_path(path).map(|path| match path.is_empty() {
                    true => b".".to_vec(),
                    false => path,
                }),
                false => Ok(path.to_vec()),
            };
            out.item(ui)?;
            out.about_file(found.subject, path);
            out.data("itemtype", "file");
            let before = if names_only {
                ""
            } else {
                &format!("{letter} ")
            };
            out.labelled(ui, label, ("status", letter.as_str()), before)?;
            let shown = name(repo, path)?;
            let line = [&shown[..], end].concat();
            out.labelled(ui, label, ("path", shown.as_slice()), line)?;
            if let Some(source) = found.copies.get(path) {
                let shown = name(repo, source)?;
                let line = [b"  ", &shown[..], end].concat();
                out.labelled(ui, "status.copied", ("source", shown.as_slice()), line)?;
            }
        }
    }
    out.end(ui)
}
