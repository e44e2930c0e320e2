//! `annotate`: where the lines of files come from.

mod columns;
mod files;
mod source;

use super::line_range::{LINE_RANGE, LineRange};
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches, TEMPLATE};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::render::Formatter;
use crate::render::diff::{
    IGNORE_ALL_SPACE, IGNORE_BLANK_LINES, IGNORE_SPACE_AT_EOL, IGNORE_SPACE_CHANGE, of_annotate,
};
use crate::ui::{Abort, Ui};
use columns::{Columns, Page};
use files::{File, FileLocation};
use std::collections::HashSet;
use varve_delta::Blanks;
use varve_repo::{AnnotateOptions, Rev};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["annotate", "blame"],
    options: &[
        Flag::value('r', "rev", "REV", "the files as they are in this changeset"),
        Flag::long_flag("follow", "show the names of files too"),
        Flag::long_flag("no-follow", "do not go along copies and renames"),
        Flag::flag('a', "text", "take all files as text"),
        Flag::flag('u', "user", "show who wrote the line"),
        Flag::flag('f', "file", "show what the file was called"),
        Flag::flag('d', "date", "show the date, with -q the day only"),
        Flag::flag(
            'n',
            "number",
            "show the number of the changeset, as by default",
        ),
        Flag::flag('c', "changeset", "show the id of the changeset"),
        Flag::flag(
            'l',
            "line-number",
            "show which line it was when it first appeared",
        ),
        Flag::long_list(
            "skip",
            "REV",
            "show what was there before these changesets instead",
        ),
        LINE_RANGE,
        IGNORE_ALL_SPACE,
        IGNORE_SPACE_CHANGE,
        IGNORE_BLANK_LINES,
        IGNORE_SPACE_AT_EOL,
        INCLUDE,
        EXCLUDE,
        TEMPLATE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[-r REV] [-f] [-a] [-u] [-d] [-n] [-c] [-l] FILE...",
    summary: "show which changeset each line of a file comes from",
    help: "Lines are followed through merges, copies and renames. With -r \"wdir()\", lines that \
           are not committed are marked with a plus sign. A star instead of the colon marks a line \
           of a changeset that --skip names; what is shown is the one it replaced.\n\nWithout -a, \
           files that are not text are only named.\n\nEnds with 0.",
    category: Some(Category::Contents),
    run,
};

/// How each file is annotated.
struct AnnotateTask {
    blanks: Blanks,
    /// Whether all files are taken as text.
    text: bool,
    skipped: HashSet<Rev>,
    follow: bool,
    /// Printed lines of the files that they name; all if there are none.
    ranges: Vec<LineRange>,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    check_files(matches)?;
    let columns = Columns::new(matches)?;
    let place = FileLocation::of(repo, ui, matches.value("rev"))?;
    let blanks = of_annotate(config, matches)?;
    let mut out = Formatter::new(ui, config, matches, "annotate")?.within(repo, config)?;
    let skipped = match &matches.list("skip")[..] {
        [] => Vec::new(),
        specs => repo.revisions(ui, specs)?,
    };
    let ranges = LineRange::all(repo, matches)?;
    let patterns = match &ranges[..] {
        [] => matches.arguments().to_vec(),
        ranges => {
            let named = |range: &LineRange| [b"path:", &range.path[..]].concat();
            ranges.iter().map(named).collect()
        }
    };
    let task = AnnotateTask {
        blanks,
        text: matches.flag("text"),
        skipped: skipped.into_iter().collect(),
        follow: !matches.flag("no-follow"),
        ranges,
    };
    let (files, missing) = files::listed(repo, ui, matches, &patterns, place)?;
    let page = Page::new(repo, ui, columns, place, &out)?;
    for file in &files {
        out.item(ui)?;
        out.data("path", &file.path);
        annotate(repo, ui, config, &mut out, &page, &task, file)?;
    }
    if let Some(missing) = missing {
        return Err(missing);
    }
    out.end(ui)?;
    Ok(0)
}

/// Refuses calls without a file, or with both files and lines of files.
fn check_files(matches: &Matches) -> Result<(), Abort> {
    let has_files = !matches.arguments().is_empty();
    let has_ranges = !matches.list("line-range").is_empty();
    let words = match (has_files, has_ranges) {
        (_, true) if matches.flag("no-follow") => "--line-range is incompatible with --no-follow",
        (true, true) => "cannot combine filename or pattern and --line-range",
        (false, false) => "at least one filename or pattern is required",
        _ => return Ok(()),
    };
    Err(Abort::input(words))
}

fn annotate(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    out: &mut Formatter,
    page: &Page,
    task: &AnnotateTask,
    file: &File,
) -> Result<(), Abort> {
    let view = repo.view()?;
    let (content, start) = file.start(repo, &view)?;
    if !task.text && content.contains(&0) {
        let shown = repo.display_path(&file.path)?;
        return out.plain(ui, [&shown[..], b": binary file\n"].concat());
    }
    let annotation = view.annotate(
        &start,
        &content,
        &AnnotateOptions {
            follow: task.follow,
            blanks: task.blanks,
            skip: &|rev| task.skipped.contains(&rev),
            stop: &ui.stop,
        },
    )?;
    // As in Mercurial, the first range counts for all files.
    let range = task.ranges.first().map(|range| &range.lines);
    let is_shown = |line| range.is_none_or(|range| range.contains(&line));
    page.print(repo, ui, config, out, (&content, &annotation), is_shown)
}
