//! `grep`: lines that match a regular expression.

mod files;
mod output;
mod versions;

use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches, TEMPLATE};
use crate::context::{Category, Command, Context};
use crate::render::Formatter;
use crate::ui::{Abort, Ui};
use files::{Content, SearchedFile, of_working_copy};
use output::{Hit, Page};
use std::collections::HashSet;
use varve_lang::patterns::{LineSearch, PythonRegexError, why_invalid};
use varve_repo::changed_lines;
use varve_revset::WORKING_COPY;
use versions::{Scope, Version, versions};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["grep"],
    options: &[
        Flag::flag('0', "print0", "end fields with a zero byte"),
        Flag::long_flag("all", "the same as --diff (DEPRECATED)"),
        Flag::long_flag(
            "diff",
            "find the changesets that added or removed lines with a match",
        ),
        Flag::flag('a', "text", "take all files as text"),
        Flag::flag(
            'f',
            "follow",
            "search the ancestors, with --diff along copies and renames",
        ),
        Flag::flag('i', "ignore-case", "upper and lower case are the same"),
        Flag::flag(
            'l',
            "files-with-matches",
            "print only the names of files and the changesets",
        ),
        Flag::flag('n', "line-number", "print the numbers of lines"),
        Flag::list('r', "rev", "REV", "search in these changesets"),
        Flag::long_flag(
            "all-files",
            "search all files of a changeset, as by default (DEPRECATED)",
        ),
        Flag::flag('u', "user", "print who made the changeset, with -v in full"),
        Flag::flag('d', "date", "print the date, with -q the day only"),
        TEMPLATE,
        INCLUDE,
        EXCLUDE,
    ],
    arguments: 1..=usize::MAX,
    synopsis: "[--diff] [OPTION]... PATTERN [FILE]...",
    summary: "search for a pattern in files",
    help: "Searches the tracked files of the working directory, or with -r those of changesets, for a \
           regular expression of Python; ^ and $ stand for the ends of lines.\n\nWith --diff, \
           the changesets are searched that changed a file: + stands before lines with a match that they \
           added, - before those that they removed.\n\nWithout -a, files that are not text are only \
           named.\n\nEnds with 0 if there is a match, else with 1.",
    category: Some(Category::Contents),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let scope = Scope::of(matches)?;
    let [pattern, patterns @ ..] = matches.arguments() else {
        return Err(COMMAND.usage_error("invalid arguments"));
    };
    let Some(search) = compiled(ui, pattern, matches.flag("ignore-case"))? else {
        return Ok(1);
    };
    let found = versions(repo, ui, matches, patterns, scope)?;
    let mut out = Formatter::new(ui, config, matches, "grep")?;
    out = out.within(repo, config)?;
    let mut page = Page::new(repo, matches, found.shows_rev, out)?;
    let view = repo.view()?;
    let mut done: HashSet<Vec<u8>> = HashSet::new();
    for version in &found.versions {
        let files = match version {
            Version::Working if scope == Scope::Everything => {
                of_working_copy(repo, &found.working, scope)?
            }
            Version::Working => of_working_copy(repo, &found.files.of(Some(WORKING_COPY)), scope)?,
            Version::Stored(rev) => {
                let files = found.files.of(Some(*rev));
                SearchedFile::of_changeset(&view, *rev, &files, scope)?
            }
        };
        page.begin(repo, ui, config, *version)?;
        for file in files {
            ui.stop.check().map_err(varve_repo::RepoError::from)?;
            if scope == Scope::Changed && done.contains(file.path()) {
                continue;
            }
            let content = Content::read(&view, &file)?;
            let matched: Vec<_> = search.lines(content.bytes()).collect();
            let before = match scope {
                Scope::Differences => file.before(&view, matches.flag("follow"))?,
                _ => Vec::new(),
            };
            let hits: Vec<Hit<'_>> = match scope {
                Scope::Differences => {
                    let changed = changed_lines(&search, &before, matched);
                    changed.into_iter().map(Hit::from).collect()
                }
                _ => matched.into_iter().map(Hit::from).collect(),
            };
            let is_text = matches.flag("text") || !content.bytes().contains(&0);
            let shown = page.print(repo, ui, &search, file.path(), &hits, is_text)?;
            if shown {
                done.insert(file.path().to_vec());
            }
        }
    }
    page.end(ui)
}

/// The compiled expression; says why one is wrong.
fn compiled(ui: &mut Ui, pattern: &[u8], ignore_case: bool) -> Result<Option<LineSearch>, Abort> {
    match LineSearch::new(pattern, ignore_case) {
        Ok(search) => Ok(Some(search)),
        Err(PythonRegexError::Invalid) => {
            let reason = why_invalid(pattern);
            ui.warn(format!("grep: invalid match pattern: {reason}\n"))?;
            Ok(None)
        }
        Err(other) => Err(Abort::new(format!("grep: {other}"))),
    }
}
