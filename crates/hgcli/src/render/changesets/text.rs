//! The text of a changeset that people read.

use super::{Lines, Printer, Subject, push_rev};
use crate::ui::Abort;
use varve_lang::date::Date;
use varve_repo::{DEFAULT_BRANCH, Node, Phase, Rev, WORKING_NODE};
use varve_revset::WORKING_COPY;

pub(super) fn render(
    printer: &Printer,
    lines: Lines,
    subject: &Subject<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Abort> {
    let digits = printer.digits();
    if printer.verbosity.quiet {
        if lines.bisect {
            let label = printer.bisect_label(subject)?.as_bytes();
            let letter = label.first().unwrap_or(&b' ').to_ascii_uppercase();
            out.extend_from_slice(&[letter, b' ']);
        }
        let of = (subject.number(), &subject.node, digits);
        changeset_line(printer, ("log.node", ""), of, out);
        return Ok(());
    }
    let labels = changeset_labels(printer, "log.changeset", subject.rev);
    let of = (subject.number(), &subject.node, digits);
    changeset_line(printer, (&labels, "changeset:   "), of, out);
    if lines.bisect {
        let label = printer.bisect_label(subject)?;
        line(
            printer,
            "log.bisect",
            b"bisect:      ",
            label.as_bytes(),
            out,
        );
    }
    names(printer, lines, subject, out);
    parents(printer, subject, digits, out);
    if printer.verbosity.debug {
        manifest(printer, subject, out)?;
    }
    let changeset = subject.changeset;
    line(printer, "log.user", b"user:        ", changeset.user, out);
    let date = Date {
        time: changeset.time,
        zone: changeset.zone,
    };
    line(
        printer,
        "log.date",
        b"date:        ",
        date.default_format().as_bytes(),
        out,
    );
    if !lines.phase && !lines.status && !lines.bisect {
        unstable(printer, subject, out)?;
    }
    files(printer, lines, subject, out)?;
    description(printer, subject, out);
    if lines.status {
        status(printer, subject, out)?;
    }
    out.push(b'\n');
    Ok(())
}

/// Appends a line with labels: a heading and a value.
fn line(printer: &Printer, labels: &str, heading: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let text = [heading, value, b"\n"].concat();
    printer.painter.push(labels, &text, out);
}

/// Labels of a changeset, behind `label`.
fn changeset_labels(printer: &Printer, label: &str, rev: Option<Rev>) -> String {
    let mut labels = format!("{label} changeset.{}", printer.phase_of(rev).name());
    let Some(rev) = rev else { return labels };
    if printer.unstable.obsolete.contains(&rev) {
        labels += " changeset.obsolete";
    }
    let names: Vec<&str> = printer.unstable.names(rev).collect();
    if !names.is_empty() {
        labels += " changeset.unstable";
        for name in names {
            labels += &format!(" instability.{name}");
        }
    }
    labels
}

/// Appends a heading with the number and the node of a changeset.
fn changeset_line(
    printer: &Printer,
    (labels, heading): (&str, &str),
    (number, node, digits): (i64, &Node, usize),
    out: &mut Vec<u8>,
) {
    let mut text = heading.as_bytes().to_vec();
    push_rev(number, node, digits, &mut text);
    text.push(b'\n');
    printer.painter.push(labels, &text, out);
}

fn unstable(printer: &Printer, subject: &Subject<'_>, out: &mut Vec<u8>) -> Result<(), Abort> {
    let names = printer.instabilities(subject);
    if !names.is_empty() {
        line(
            printer,
            "log.instability",
            b"instability: ",
            names.join(", ").as_bytes(),
            out,
        );
    }
    for fate in printer.fates(subject)? {
        line(printer, "log.obsfate", b"obsolete:    ", &fate, out);
    }
    Ok(())
}

fn names(printer: &Printer, lines: Lines, subject: &Subject<'_>, out: &mut Vec<u8>) {
    let branch = subject.changeset.branch();
    if branch.as_ref() != DEFAULT_BRANCH {
        line(printer, "log.branch", b"branch:      ", &branch, out);
    }
    for bookmark in printer.names.bookmarks(subject.rev) {
        line(printer, "log.bookmark", b"bookmark:    ", bookmark, out);
    }
    for tag in printer.names.tags(subject.rev) {
        line(printer, "log.tag", b"tag:         ", tag, out);
    }
    if printer.verbosity.debug || lines.phase {
        let name = phase_name(printer.phase_of(subject.rev));
        line(printer, "log.phase", b"phase:       ", name, out);
    }
}

pub(crate) fn phase_name(phase: Phase) -> &'static [u8] {
    match phase {
        Phase::Public => b"public",
        Phase::Draft => b"draft",
        Phase::Secret => b"secret",
    }
}

/// Both parents of a merge; the only one if it is not the changeset before this one.
fn parents(printer: &Printer, subject: &Subject<'_>, digits: usize, out: &mut Vec<u8>) {
    let changelog = printer.view.changelog();
    let [first, second] = subject.parents;
    let number = |parent: Option<varve_repo::Rev>| parent.map_or(-1, |rev| i64::from(rev.0));
    let count = if second.is_some() || printer.verbosity.debug {
        2
    } else {
        usize::from(number(first) < subject.number() - 1)
    };
    for parent in [first, second].into_iter().take(count) {
        let labels = changeset_labels(printer, "log.parent", parent);
        let of = (number(parent), &changelog.node_or_null(parent), digits);
        changeset_line(printer, (&labels, "parent:      "), of, out);
    }
}

fn manifest(printer: &Printer, subject: &Subject<'_>, out: &mut Vec<u8>) -> Result<(), Abort> {
    let node = &subject.changeset.manifest;
    let rev = match *node {
        Node::NULL => None,
        WORKING_NODE => Some(WORKING_COPY),
        _ => printer.view.manifest()?.rev(node),
    };
    let number = rev.map_or(-1, |rev| i64::from(rev.0));
    let of = (number, node, 2 * Node::LEN);
    changeset_line(printer, ("ui.debug log.manifest", "manifest:    "), of, out);
    Ok(())
}

fn files(
    printer: &Printer,
    lines: Lines,
    subject: &Subject<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Abort> {
    let changeset = subject.changeset;
    let labels = match printer.verbosity.debug {
        true => "ui.debug log.files",
        false => "ui.note log.files",
    };
    let joined = |heading: &[u8], files: &[Vec<u8>], out: &mut Vec<u8>| {
        if !files.is_empty() {
            let labels = match heading {
                b"copies:      " => "ui.note log.copies",
                _ => labels,
            };
            line(printer, labels, heading, &files.join(&b' '), out);
        }
    };
    match subject.rev {
        _ if lines.status => {}
        Some(rev) if printer.verbosity.debug => {
            let changed_files = printer.changed_files(Some(rev), changeset)?;
            joined(b"files:       ", &changed_files.modified, out);
            joined(b"files+:      ", &changed_files.added, out);
            joined(b"files-:      ", &changed_files.removed, out);
        }
        _ if printer.verbosity.verbose => {
            let files: Vec<Vec<u8>> = changeset.files().map(<[u8]>::to_vec).collect();
            joined(b"files:       ", &files, out);
        }
        _ => {}
    }
    if printer.style.copies
        && printer.verbosity.verbose
        && let Some(rev) = subject.rev
    {
        let copies = printer.copies_of(Some(rev), changeset)?;
        let shown = |(file, source): (Vec<u8>, Vec<u8>)| [&file[..], b" (", &source, b")"].concat();
        let copies: Vec<Vec<u8>> = copies.into_iter().map(shown).collect();
        joined(b"copies:      ", &copies, out);
    }
    if printer.verbosity.debug {
        extras(printer, subject, out);
    }
    Ok(())
}

/// Status of each file.
fn status(printer: &Printer, subject: &Subject<'_>, out: &mut Vec<u8>) -> Result<(), Abort> {
    let Some(rev) = subject.rev else {
        return Ok(());
    };
    let changed_files = printer.changed_files(Some(rev), subject.changeset)?;
    let copies = match printer.style.copies {
        true => printer.copies_of(Some(rev), subject.changeset)?,
        false => Vec::new(),
    };
    let lists = [
        (&b"M "[..], changed_files.modified),
        (b"A ", changed_files.added),
        (b"R ", changed_files.removed),
    ];
    if lists.iter().any(|(_, files)| !files.is_empty()) {
        out.extend_from_slice(b"files:\n");
    }
    for (letter, file) in lists
        .iter()
        .flat_map(|(letter, files)| files.iter().map(move |file| (letter, file)))
    {
        let labels = match *letter {
            b"M " => "status.modified",
            b"A " => "status.added",
            _ => "status.removed",
        };
        line(printer, labels, letter, file, out);
        if let Some((_, source)) = copies.iter().find(|(name, _)| name == file) {
            line(printer, "status.copied", b"  ", source, out);
        }
    }
    Ok(())
}

fn extras(printer: &Printer, subject: &Subject<'_>, out: &mut Vec<u8>) {
    let extras = subject.changeset.extras();
    let mut extras: Vec<(Vec<u8>, Vec<u8>)> = extras
        .map(|(key, value)| (key.into_owned(), value.into_owned()))
        .collect();
    if !extras.iter().any(|(key, _)| key == b"branch") {
        extras.push((b"branch".to_vec(), DEFAULT_BRANCH.to_vec()));
    }
    extras.sort_unstable();
    for (key, value) in extras {
        let value = value.escape_ascii().to_string();
        line(
            printer,
            "ui.debug log.extra",
            b"extra:       ",
            &[&key[..], b"=", value.as_bytes()].concat(),
            out,
        );
    }
}

fn description(printer: &Printer, subject: &Subject<'_>, out: &mut Vec<u8>) {
    let description = subject.changeset.description.trim_ascii();
    if description.is_empty() {
        return;
    }
    if printer.verbosity.verbose {
        let labels = "ui.note log.description";
        line(printer, labels, b"description:", b"", out);
        printer.painter.push(labels, description, out);
        out.extend_from_slice(b"\n\n");
    } else {
        line(
            printer,
            "log.summary",
            b"summary:     ",
            first_line(description),
            out,
        );
    }
}

/// The first line, whatever ends it.
pub(crate) fn first_line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    &text[..end.unwrap_or(text.len())]
}
