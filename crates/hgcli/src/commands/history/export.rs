//! `export`: changesets as patches, each with a header.

use super::log::of_bookmark;
use super::output_name::{OutputContent, output_name};
use crate::arguments::{Flag, Matches, TEMPLATE};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::render::Formatter;
use crate::render::diff::{Comparison, DiffOptions, DiffSide, GIT, between, of_changeset, paint};
use crate::render::formatter::Value;
use crate::ui::paint::Painter;
use crate::ui::{Abort, Ui};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use varve_lang::date::Date;
use varve_lang::patterns::Matcher;
use varve_repo::{DEFAULT_BRANCH, Node, RepoView, Rev};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["export"],
    options: &[
        Flag::value(
            'B',
            "bookmark",
            "BOOKMARK",
            "the changesets that nothing but this bookmark leads to",
        ),
        Flag::value(
            'o',
            "output",
            "FORMAT",
            "write to files whose names have this form",
        ),
        Flag::long_flag("switch-parent", "show merges against their second parent"),
        Flag::list('r', "rev", "REV", "export this changeset"),
        Flag::flag('a', "text", "show all files as text"),
        GIT,
        Flag::long_flag("binary", "binary files with their contents, in git's form"),
        Flag::long_flag("nodates", "without dates behind the names"),
        TEMPLATE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [-o FORMAT] [-r] [REV]...",
    summary: "print changesets as patches with headers",
    help: "The header has user, date, branch, ids and description of the changeset, from \
           which Mercurial can make it again. Without a changeset, the first parent of the working directory is meant. Merges are \
           shown against their first parent.\n\nIn the FORMAT of -o, %% is a percent sign; %b the \
           base name of the repository; %h and %H the short and the full id of the changeset, %R \
           its number, %r the same with leading zeros; %n the number of the patch from 1 on, with \
           leading zeros, %N how many there are; %m the first line of the description. Patches with \
           one name are written to one file. Templates in FORMAT are refused.\n\nEnds with 0.",
    category: Some(Category::Contents),
    run,
};

/// Where patches go.
struct Output<'a> {
    ui: &'a mut Ui,
    /// Form of the file names; `None` for the standard output.
    form: Option<&'a [u8]>,
    /// Names of files that this call has begun.
    begun: HashSet<OsString>,
    /// The patches of this call.
    revs: &'a [Option<Rev>],
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let options = DiffOptions::new(&mut context.ui, &context.config, matches)?;
    let revs = exported(&mut context.repo, &mut context.ui, matches)?;
    if revs.is_empty() {
        return Err(Abort::input("export requires at least one changeset"));
    }
    let form = matches.value("output");
    let form = form.filter(|form| !matches!(*form, b"" | b"-"));
    if form.is_some_and(|form| form.contains(&b'{')) {
        return Err(Abort::input(
            "templates in the names of output files are not supported",
        ));
    }
    if matches
        .value("template")
        .is_some_and(|form| !form.is_empty())
    {
        return match form {
            Some(_) => Err(Abort::input("export -o with -T is not supported")),
            None => {
                let Context {
                    repo, ui, config, ..
                } = context;
                print_items((ui, config, repo), matches, &options, &revs)
            }
        };
    }
    let view = context.repo.view()?;
    let digits = digits(&context.ui);
    let ui = &mut context.ui;
    ui.note(match revs.len() {
        1 => "exporting patch:\n",
        _ => "exporting patches:\n",
    })?;
    let mut output = Output {
        ui,
        form,
        begun: HashSet::new(),
        revs: &revs,
    };
    for (index, rev) in revs.iter().enumerate() {
        let parents = parents(&view, *rev, matches.flag("switch-parent"));
        let parent = parents.first().copied().flatten();
        let sides = (DiffSide::Rev(parent), DiffSide::Rev(*rev));
        let changes = between(&view, parent, *rev, &Matcher::everything(), options.git)?;
        let comparison = Comparison::new(&view, sides, &options, digits)?;
        let mut file = output.open(&view, index)?;
        let painter = match &file {
            Some(_) => Painter::default(),
            None => output.ui.painter.clone(),
        };
        let mut write = |text: &[u8]| output.write(file.as_mut(), text);
        write(&PatchHeader::of(&view, *rev, &parents)?.text())?;
        comparison.write_all(&changes, |text| {
            write(&paint::painted(&painter, text.to_vec(), options.by_words))
        })?;
    }
    Ok(0)
}

/// Digits of nodes in the headers of differences.
fn digits(ui: &Ui) -> usize {
    match ui.verbosity.debug {
        true => 2 * Node::LEN,
        false => 12,
    }
}

/// Prints the changesets through a template, or for programs.
fn print_items(
    (ui, config, repo): (&mut Ui, &Config, &mut Repo),
    matches: &Matches,
    options: &DiffOptions,
    revs: &[Option<Rev>],
) -> Result<u8, Abort> {
    let view = repo.view()?;
    let mut out = Formatter::new(ui, config, matches, "export")?.within(repo, config)?;
    for rev in revs {
        let parents = parents(&view, *rev, matches.flag("switch-parent"));
        let parent = parents.first().copied().flatten();
        let sides = (DiffSide::Rev(parent), DiffSide::Rev(*rev));
        let changes = between(&view, parent, *rev, &Matcher::everything(), options.git)?;
        let comparison = Comparison::new(&view, sides, options, digits(ui))?;
        out.item(ui)?;
        out.about_changeset(*rev);
        PatchHeader::of(&view, *rev, &parents)?.add_to(&mut out);
        let mut text = Vec::new();
        comparison.push_all(&changes, &mut text)?;
        out.data("diff", text);
    }
    out.end(ui)?;
    Ok(0)
}

/// A changeset as a patch with its header.
pub(crate) fn patch(view: &RepoView, rev: Rev, options: &DiffOptions) -> Result<Vec<u8>, Abort> {
    patch_of_files(view, rev, options, &Matcher::everything())
}

/// The same with the differences of files that match.
pub(crate) fn patch_of_files(
    view: &RepoView,
    rev: Rev,
    options: &DiffOptions,
    matcher: &Matcher,
) -> Result<Vec<u8>, Abort> {
    let parents = parents(view, Some(rev), false);
    let mut out = PatchHeader::of(view, Some(rev), &parents)?.text();
    let (comparison, changes) = of_changeset(view, Some(rev), None, options, 12, matcher)?;
    comparison.push_all(&changes, &mut out)?;
    Ok(out)
}

/// The parents that are there, the one to compare with first.
fn parents(view: &RepoView, rev: Option<Rev>, are_switched: bool) -> Vec<Option<Rev>> {
    let mut parents = match rev {
        Some(rev) => view.changelog().parents(rev).to_vec(),
        None => Vec::new(),
    };
    parents.retain(Option::is_some);
    if are_switched {
        parents.reverse();
    }
    parents
}

/// The changesets that the arguments or `-B` name.
fn exported(repo: &mut Repo, ui: &mut Ui, matches: &Matches) -> Result<Vec<Option<Rev>>, Abort> {
    let revs = matches.list("rev");
    if let Some(name) = matches.value("bookmark").filter(|name| !name.is_empty()) {
        if !revs.is_empty() {
            return Err(Abort::input("cannot specify both --rev and --bookmark"));
        }
        let view = repo.view()?;
        if !view.bookmarks().contains_key(name) {
            let name = String::from_utf8_lossy(name);
            return Err(Abort::input(format!("bookmark '{name}' not found")));
        }
        let engine = repo.engine(&view)?;
        let set = of_bookmark(&engine, name)?;
        let mut members: Vec<_> = set.members(&engine).collect::<Result<_, _>>()?;
        members.sort_unstable();
        return Ok(members);
    }
    let arguments = matches.arguments().iter().map(Vec::as_slice);
    let mut specs: Vec<&[u8]> = arguments.chain(revs).collect();
    if specs.is_empty() {
        specs.push(b".");
    }
    repo.revisions_and_null(ui, &specs)
}

/// The facts before the differences.
struct PatchHeader {
    user: Vec<u8>,
    date: Date,
    branch: Vec<u8>,
    node: Node,
    /// The parents that are there.
    parents: Vec<Node>,
    /// Without blanks at its end.
    description: Vec<u8>,
}

impl PatchHeader {
    fn of(
        view: &RepoView,
        rev: Option<Rev>,
        parents: &[Option<Rev>],
    ) -> Result<PatchHeader, Abort> {
        let changelog = view.changelog();
        let parents = parents.iter().map(|parent| changelog.node_or_null(*parent));
        let mut header = PatchHeader {
            user: Vec::new(),
            date: Date::default(),
            branch: DEFAULT_BRANCH.to_vec(),
            node: changelog.node_or_null(rev),
            parents: parents.collect(),
            description: Vec::new(),
        };
        if let Some(rev) = rev {
            view.with_changeset(rev, |changeset| {
                header.user = changeset.user.to_vec();
                header.branch = changeset.branch().to_vec();
                header.description = changeset.description.trim_ascii_end().to_vec();
                header.date = Date {
                    time: changeset.time,
                    zone: changeset.zone,
                };
            })?;
        }
        Ok(header)
    }

    /// The lines of a patch.
    fn text(&self) -> Vec<u8> {
        let Date { time, zone } = self.date;
        let mut out = [b"# HG changeset patch\n# User ", &self.user[..], b"\n"].concat();
        let shown = self.date.default_format();
        out.extend(format!("# Date {time} {zone}\n#      {shown}\n").into_bytes());
        if self.branch != DEFAULT_BRANCH {
            out.extend([b"# Branch ", &self.branch[..], b"\n"].concat());
        }
        out.extend([b"# Node ID ", &self.node.to_hex()[..], b"\n"].concat());
        let first = self.parents.first().unwrap_or(&Node::NULL);
        for parent in [first].into_iter().chain(self.parents.iter().skip(1)) {
            out.extend([b"# Parent  ", &parent.to_hex()[..], b"\n"].concat());
        }
        out.extend([&self.description[..], b"\n\n"].concat());
        out
    }

    /// The same for programs.
    fn add_to(self, out: &mut Formatter) {
        out.data("user", self.user);
        out.data("date", Value::Date(self.date.time, self.date.zone));
        out.data("branch", self.branch);
        out.data("node", self.node);
        let parents = self.parents.into_iter().map(Value::from);
        out.data("parents", parents.collect::<Vec<Value>>());
        out.data("desc", self.description);
    }
}

impl Output<'_> {
    /// The file of a patch, created by its first patch; `None` for the standard output.
    fn open(&mut self, view: &RepoView, index: usize) -> Result<Option<File>, Abort> {
        let Some(form) = self.form else {
            return Ok(None);
        };
        let name = output_name(
            form,
            (view, self.revs[index]),
            &OutputContent::Patch(self.revs, index),
        )?;
        let is_first = self.begun.insert(name.clone());
        let mut options = OpenOptions::new();
        options.create(true).write(true);
        options.truncate(is_first).append(!is_first);
        let path = Path::new(&name);
        let file = options.open(path);
        let file = file.map_err(|error| Abort::file(&error, path))?;
        if is_first {
            self.ui.note([name.as_bytes(), b"\n"].concat())?;
        }
        Ok(Some(file))
    }

    fn write(&mut self, file: Option<&mut File>, text: &[u8]) -> Result<(), Abort> {
        match file {
            Some(file) => Ok(file.write_all(text)?),
            None => self.ui.write(text),
        }
    }
}
