//! `log`: the history.

mod follow;
mod lines;

pub(crate) use follow::first_ancestors;

use super::line_range::LINE_RANGE;
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches, STYLE, TEMPLATE};
use crate::context::revision::query;
use crate::context::{Category, Command, Config, Context, Repo};
use crate::render::changesets::{ChangesetFormat, GraphStyle, Printer, PrinterStyle, ShownFiles};
use crate::render::diff::{DiffOptions, GIT, STAT};
use crate::ui::{Abort, Ui};
use varve_lang::patterns::Matcher;
use varve_repo::{Changeset, RepoView, Rev};
use varve_revset::{Engine, Expr, Set};
use varve_workdir::PathAuditor;
use varve_workdir::filesets::FilesetTarget;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["log", "history"],
    options: &[
        Flag::flag(
            'f',
            "follow",
            "go along the ancestors, and along copies of files",
        ),
        Flag::long_flag(
            "follow-first",
            "go along the first parents of merges (DEPRECATED)",
        ),
        Flag::value('d', "date", "DATE", "only changesets of this time"),
        Flag::flag('C', "copies", "show copies and renames"),
        Flag::list(
            'k',
            "keyword",
            "TEXT",
            "only changesets that have this text",
        ),
        Flag::list('r', "rev", "REV", "only these changesets, in this order"),
        LINE_RANGE,
        Flag::long_flag("removed", "changesets that removed the files too"),
        Flag::flag('m', "only-merges", "only merges"),
        Flag::list('u', "user", "USER", "only changesets of this user"),
        Flag::list('b', "branch", "BRANCH", "only changesets of this branch"),
        Flag::long_list("only-branch", "BRANCH", "only changesets of this branch"),
        Flag::list(
            'B',
            "bookmark",
            "BOOKMARK",
            "only changesets that nothing but this bookmark leads to",
        ),
        Flag::list(
            'P',
            "prune",
            "REV",
            "neither these changesets nor their ancestors",
        ),
        Flag::value('l', "limit", "NUM", "no more changesets than this"),
        Flag::flag('M', "no-merges", "no merges"),
        Flag::flag('p', "patch", "show the changes of files"),
        STYLE,
        Flag::flag('G', "graph", "draw how changesets descend from each other"),
        GIT,
        STAT,
        TEMPLATE,
        INCLUDE,
        EXCLUDE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]",
    summary: "show the history of the repository or of files",
    help: "Changesets are shown from the newest to the oldest, or in the order of -r. With files, \
           only those that changed one of them; with -f and -L only those that changed these lines, \
           and with -p only their hunks.\n\nEnds with 0.",
    category: Some(Category::Navigation),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    lines::check(matches)?;
    let limit = limit(matches)?;
    let specs = matches.list("rev");
    match specs.is_empty() || matches.flag("graph") {
        true => repo.warn_of_disabled_markers_for(ui, &[b"all()"])?,
        false => repo.warn_of_disabled_markers_for(ui, &specs)?,
    }
    let view = repo.view()?;
    let engine = repo.engine(&view)?;
    let (mut set, mut shown) = selected(repo, ui, matches, matches.arguments(), &engine)?;
    if !matches.list("line-range").is_empty() {
        (set, shown) = lines::changing(repo, matches, &engine, &set)?;
    }
    let style = style(repo, ui, config, matches, shown)?;
    let graph = matches.flag("graph");
    // In a picture children come before their parents.
    let set = if graph && !set.is_topological() {
        newest_first(&set, &engine)?
    } else {
        set
    };
    let members = set.all_members(&engine).take(limit);
    let revs: Vec<Option<Rev>> = members.collect::<Result<_, _>>()?;
    let printer = Printer::new(repo, ui, config, style)?;
    if graph {
        let look = GraphStyle::new(config)?;
        printer.print_graph(ui, &look, &revs)?;
    } else {
        printer.print_all(repo, ui, config, matches, &revs)?;
    }
    Ok(0)
}

/// How the options show changesets, and the changes of these files in them.
pub(crate) fn style(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    shown: ShownFiles,
) -> Result<PrinterStyle, Abort> {
    let form = ChangesetFormat::new(repo, ui, config, matches)?;
    if matches!(form, ChangesetFormat::Json) && matches.flag("graph") {
        return Err(Abort::input("-T json does not support --graph"));
    }
    let (patch, stat) = (matches.flag("patch"), matches.flag("stat"));
    let diff = if (patch || stat) && !ui.verbosity.quiet {
        Some((DiffOptions::new(ui, config, matches)?, shown))
    } else {
        None
    };
    Ok(PrinterStyle {
        copies: matches.flag("copies"),
        patch,
        stat,
        diff,
        form,
    })
}

fn newest_first(set: &Set, engine: &Engine<'_>) -> Result<Set, Abort> {
    Ok(set.clone().ascending(engine)?.reversed(engine)?)
}

/// The number of `-l`.
pub(crate) fn limit(matches: &Matches) -> Result<usize, Abort> {
    let Some(text) = matches.value("limit").filter(|text| !text.is_empty()) else {
        return Ok(usize::MAX);
    };
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse::<i64>().ok());
    let number = number.ok_or_else(|| Abort::input("limit must be a positive integer"))?;
    usize::try_from(number)
        .ok()
        .filter(|limit| *limit > 0)
        .ok_or_else(|| Abort::input("limit must be positive"))
}

/// All that the options leave, in order, and the files whose changes are to be shown.
pub(crate) fn selected(
    repo: &mut Repo,
    ui: &mut Ui,
    matches: &Matches,
    patterns: &[Vec<u8>],
    engine: &Engine<'_>,
) -> Result<(Set, ShownFiles), Abort> {
    let specs = matches.list("rev");
    let given = (!specs.is_empty())
        .then(|| query(engine, &specs))
        .transpose()?;
    let auditor = PathAuditor::new(repo.root()?);
    let matcher = repo.matcher_with(matches, patterns, &auditor, FilesetTarget::Working)?;
    let (set, shown) = if matches.flag("follow") || matches.flag("follow-first") {
        follow::followed(repo, ui, engine, given.as_ref(), matches, matcher)?
    } else {
        let set = match given {
            Some(given) => given,
            None if engine.view().tip().is_none() => Set::list(Vec::new()),
            None => engine.all().reversed(engine)?,
        };
        let set = match matcher.is_everything() {
            true => set,
            false => set.and(touching(engine, matches, matcher.clone())?),
        };
        (set, ShownFiles::Matching(Box::new(matcher)))
    };
    Ok((filtered(set, matches, engine)?, shown))
}

/// Changesets that changed a file which matches. Plain names of files are looked up in their
/// filelogs, which do not know of removals.
fn touching(engine: &Engine<'_>, matches: &Matches, matcher: Matcher) -> Result<Set, Abort> {
    if has_plain_names(matches, &matcher)
        && let Some(set) = by_filelogs(engine.view(), &matcher)?
    {
        return Ok(set);
    }
    Ok(changing(engine, matcher))
}

/// Changesets that name a file which matches.
fn changing(engine: &Engine<'_>, matcher: Matcher) -> Set {
    engine.where_text(move |_: Rev, changeset: &Changeset<'_>| {
        changeset.files().any(|file| matcher.matches(file))
    })
}

/// Whether nothing but names tell which files are asked for, and no removals are.
fn has_plain_names(matches: &Matches, matcher: &Matcher) -> bool {
    let options = ["include", "exclude"];
    !matcher.is_wild()
        && !matches.flag("removed")
        && options.iter().all(|name| matches.list(name).is_empty())
}

/// `None` if one of the names is no file that was ever tracked.
fn by_filelogs(view: &RepoView, matcher: &Matcher) -> Result<Option<Set>, Abort> {
    let mut revs = Vec::new();
    for named in matcher.named() {
        let filelog = match view.filelog(named) {
            Ok(filelog) => filelog,
            Err(varve_repo::RepoError::Revlog(varve_repo::RevlogError::Storage(_))) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let introducing = view.changesets_of_file(named, &filelog)?;
        revs.extend(introducing.into_iter().map(Some));
    }
    Ok(Some(Set::list(revs)))
}

/// Before a text that is no pattern, in queries.
const LITERAL: &[u8] = b"literal:";

/// Changesets of the branch of this name, or of the branch of one changeset; neither is a pattern.
fn of_branch(engine: &Engine<'_>, named: &[u8]) -> Result<Set, Abort> {
    let call = |argument: Expr| -> Result<Set, Abort> {
        Ok(engine.evaluate(&Expr::Call(b"branch".to_vec(), vec![argument]))?)
    };
    if engine.view().branchmap()?.contains_key(named) {
        return call(Expr::Text([LITERAL, named].concat()));
    }
    match named.starts_with(b"re:") || named.starts_with(LITERAL) {
        true => {
            let named = String::from_utf8_lossy(named);
            Err(Abort::input(format!("unknown revision '{named}'")))
        }
        false => call(Expr::Text(named.to_vec())),
    }
}

/// Changesets that pass the options which ask something of each.
fn filtered(mut set: Set, matches: &Matches, engine: &Engine<'_>) -> Result<Set, Abort> {
    let call = |function: &str, argument: &[u8]| {
        let call = Expr::Call(
            function.as_bytes().to_vec(),
            vec![Expr::Text(argument.to_vec())],
        );
        engine.evaluate(&call)
    };
    let merges = || engine.evaluate(&Expr::Call(b"merge".to_vec(), Vec::new()));
    if let Some(date) = matches.value("date").filter(|date| !date.is_empty()) {
        set = set.and(call("date", date)?);
    }
    let of_option = |option: &str, argument: &[u8]| match option {
        "keyword" => Ok(call("keyword", argument)?),
        "user" => Ok(call("user", &[LITERAL, argument].concat())?),
        _ => of_branch(engine, argument),
    };
    for option in ["keyword", "user", "branch", "only-branch"] {
        let wanted = matches.list(option);
        if !wanted.is_empty() {
            let sets = wanted.iter().map(|argument| of_option(option, argument));
            set = set.and(Set::chain(sets.collect::<Result<_, _>>()?));
        }
    }
    let bookmarks = matches.list("bookmark");
    if !bookmarks.is_empty() {
        let sets = bookmarks.iter().map(|name| of_bookmark(engine, name));
        set = set.and(Set::chain(sets.collect::<Result<_, _>>()?));
    }
    if matches.flag("only-merges") {
        set = set.and(merges()?);
    }
    if matches.flag("no-merges") {
        set = set.without(merges()?);
    }
    let pruned = matches.list("prune");
    if !pruned.is_empty() {
        let pruned = query(engine, &pruned)?;
        set = set.without(engine.ancestors_of(&pruned)?);
    }
    Ok(set)
}

/// Changesets that only one bookmark leads to: neither another one nor the head of a branch.
pub(crate) fn of_bookmark(engine: &Engine<'_>, name: &[u8]) -> Result<Set, Abort> {
    let (bookmarks, changelog) = (engine.view().bookmarks(), engine.view().changelog());
    let node = bookmarks.get(name).ok_or_else(|| {
        let name = String::from_utf8_lossy(name);
        Abort::input(format!("bookmark '{name}' does not exist"))
    })?;
    let own = Set::list(vec![changelog.rev(node)]);
    let heads = engine.evaluate(&Expr::Call(b"head".to_vec(), Vec::new()))?;
    let marked = bookmarks.values().map(|node| changelog.rev(node));
    let others = Set::chain(vec![heads, Set::list(marked.collect())]).without(own.clone());
    let below = engine.ancestors_of(&others)?;
    Ok(engine.ancestors_of(&own)?.without(below))
}
