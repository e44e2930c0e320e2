//! Changes and the changesets that they belong to, as they are shown before they are applied.

use crate::arguments::Matches;
use crate::context::{Config, Repo};
use crate::render::Formatter;
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use std::ops::Range;
use varve_delta::AbsorbedHunk;
use varve_repo::{RepoView, Rev, ViewFilter};
use varve_workdir::AbsorbedFile;

/// Digits of a changeset's name before a line.
const DIGITS: usize = 7;

/// Lines of a file in one item each.
struct Lines<'a> {
    file: &'a AbsorbedFile,
    view: &'a RepoView,
}

/// One side of a hunk.
#[derive(Clone, Copy)]
enum Side {
    Deleted,
    Inserted,
}

/// Prints all changes, and the changesets that would absorb them, newest first.
pub(super) fn print(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    matches: &Matches,
    files: &[AbsorbedFile],
) -> Result<(), Abort> {
    let mut out = Formatter::new(ui, config, matches, "absorb")?.within(repo, config)?;
    let view = repo.repository()?.view_for(ViewFilter::Unfiltered)?;
    let mut affected = BTreeSet::new();
    for file in files {
        out.item(ui)?;
        out.data("linetype", "path");
        out.plain(ui, "showing changes for ")?;
        let path = file.path.clone();
        out.labelled(ui, "absorb.path", ("path", path), &file.path)?;
        out.plain(ui, "\n")?;
        let lines = Lines { file, view: &view };
        for hunk in &file.hunks {
            lines.print_hunk(ui, &mut out, hunk)?;
            let parts = hunk.parts.iter();
            affected.extend(parts.filter_map(|part| file.rev(part.version)));
        }
    }
    out.item(ui)?;
    out.data("linetype", "summary");
    let count = affected.len();
    out.plain(ui, "\n")?;
    let number = i64::try_from(count).unwrap_or(i64::MAX);
    out.field(
        ui,
        "count",
        number,
        format!("{count} changesets affected\n"),
    )?;
    for rev in affected.into_iter().rev() {
        print_changeset(ui, &mut out, &view, rev)?;
    }
    out.end(ui)
}

fn print_changeset(
    ui: &mut Ui,
    out: &mut Formatter,
    view: &RepoView,
    rev: Rev,
) -> Result<(), Abort> {
    out.item(ui)?;
    out.about_changeset(Some(rev));
    out.data("linetype", "changeset");
    print_node(ui, out, view, Some(rev))?;
    let first = view.with_changeset(rev, |changeset| {
        let line = changeset.description.split(|byte| *byte == b'\n').next();
        line.unwrap_or_default().to_vec()
    })?;
    let shown = ui.local(&first);
    let value = ("descfirstline", shown.clone());
    out.labelled(ui, "absorb.description", value, &shown)?;
    out.plain(ui, "\n")
}

/// The beginning of a line: the changeset's name, or blanks.
fn print_node(
    ui: &mut Ui,
    out: &mut Formatter,
    view: &RepoView,
    rev: Option<Rev>,
) -> Result<(), Abort> {
    let hex = rev.map(|rev| view.changelog().node(rev).to_string());
    let hex = hex.unwrap_or_default();
    let short = hex.get(..DIGITS).unwrap_or_default();
    let shown = format!("{short:DIGITS$} ");
    out.labelled(ui, "absorb.node", ("node", hex.as_str()), shown)
}

impl Lines<'_> {
    fn print_hunk(
        &self,
        ui: &mut Ui,
        out: &mut Formatter,
        hunk: &AbsorbedHunk,
    ) -> Result<(), Abort> {
        out.item(ui)?;
        out.data("linetype", "hunk");
        out.data("path", self.file.path.clone());
        let (old, new) = (&hunk.old, &hunk.new);
        let (at_old, at_new) = (old.start, new.start);
        let text = format!("@@ -{at_old},{} +{at_new},{} @@", old.len(), new.len());
        let shown = format!("{:width$}{text}", "", width = DIGITS + 1);
        out.labelled(ui, "diff.hunk", ("hunk", text.as_str()), shown)?;
        out.plain(ui, "\n")?;
        self.print_side(ui, out, (Side::Deleted, old.clone()), hunk)?;
        self.print_side(ui, out, (Side::Inserted, new.clone()), hunk)
    }

    fn print_side(
        &self,
        ui: &mut Ui,
        out: &mut Formatter,
        (side, lines): (Side, Range<usize>),
        hunk: &AbsorbedHunk,
    ) -> Result<(), Abort> {
        let text = match side {
            Side::Deleted => &self.file.newest,
            Side::Inserted => &self.file.changed,
        };
        let all = text.split_inclusive(|byte| *byte == b'\n').enumerate();
        for (number, line) in all.skip(lines.start).take(lines.len()) {
            let (name, sign, label, version) = match side {
                Side::Deleted => ("deleted", "-", "diff.deleted", hunk.version_of_old(number)),
                Side::Inserted => (
                    "inserted",
                    "+",
                    "diff.inserted",
                    hunk.version_of_new(number),
                ),
            };
            out.item(ui)?;
            out.data("linetype", name);
            out.data("path", self.file.path.clone());
            let rev = version.and_then(|version| self.file.rev(version));
            if let Some(rev) = rev {
                out.about_file(Some(rev), &self.file.path);
            }
            print_node(ui, out, self.view, rev)?;
            out.data("diffchar", sign);
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let shown = [sign.as_bytes(), line].concat();
            out.labelled(ui, label, (name, line.to_vec()), shown)?;
            out.plain(ui, "\n")?;
        }
        Ok(())
    }
}

/// Asks whether to apply the changes; no is the default.
pub(super) fn confirms(ui: &mut Ui) -> Result<bool, Abort> {
    loop {
        ui.print_question("apply changes (y/N)? ")?;
        if !ui.is_interactive()? {
            ui.write("n\n")?;
            return Ok(false);
        }
        match &ui.read_answer(b"n")?.to_ascii_lowercase()[..] {
            b"y" => return Ok(true),
            b"n" => return Ok(false),
            _ => ui.write("unrecognized response\n")?,
        }
    }
}
