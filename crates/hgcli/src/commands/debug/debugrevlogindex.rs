//! `debugrevlogindex`: the index of a revlog, in two layouts.

use crate::arguments::{Flag, Matches};
use crate::commands::debug::revlogs::{CHANGELOG, MANIFEST, RevlogSelection};
use crate::context::{Command, Context};
use crate::ui::{Abort, Ui};
use varve_repo::{Node, Rev, Revlog};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugrevlogindex"],
    options: &[
        CHANGELOG,
        MANIFEST,
        Flag::value('f', "format", "FORMAT", "layout of the table: 0 or 1"),
    ],
    arguments: 0..=1,
    synopsis: "[-f FORMAT] -c|-m|FILE",
    summary: "print the index of a revlog",
    help: "Layout 0 has the nodes of parents, layout 1 flags, sizes and numbers of parents. With -v, the places in \
           the data are printed too; with --debug, ids are printed whole.\n\nEnds with 0.",
    category: None,
    run,
};

/// Nodes of parents, or flags and numbers of parents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IndexLayout {
    Nodes,
    Numbers,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let chosen = RevlogSelection::of_argument(repo, matches, &COMMAND)?;
    let layout = match matches.value("format").map(<[u8]>::trim_ascii) {
        None | Some(b"0") => IndexLayout::Nodes,
        Some(b"1") => IndexLayout::Numbers,
        Some(other) => {
            let shown = String::from_utf8_lossy(other);
            return Err(Abort::new(format!("unknown format {shown}")));
        }
    };
    let revlog = chosen.revlog()?;
    ui.write(title(ui, layout))?;
    for rev in revlog.revs() {
        ui.write(line(ui, revlog, rev, layout))?;
    }
    Ok(0)
}

fn title(ui: &Ui, layout: IndexLayout) -> String {
    let width = ui.hex(&Node::NULL).len();
    let verbose = ui.verbosity.verbose;
    match layout {
        IndexLayout::Nodes => {
            let places = if verbose { "    offset  length" } else { "" };
            format!(
                "   rev{places} linkrev {:<width$} {:<width$} p2\n",
                "nodeid", "p1"
            )
        }
        IndexLayout::Numbers => {
            let places = if verbose { "   offset   length" } else { "" };
            let node = format!("{:>width$}", "nodeid");
            format!("   rev flag{places}     size   link     p1     p2 {node}\n")
        }
    }
}

fn line(ui: &Ui, revlog: &Revlog, rev: Rev, layout: IndexLayout) -> String {
    let entry = revlog.entry(rev);
    let (offset, stored) = (entry.offset, entry.stored_len);
    let (number, link, node) = (rev.0, entry.link, ui.hex(&entry.node));
    let verbose = ui.verbosity.verbose;
    match layout {
        IndexLayout::Nodes => {
            let places = match verbose {
                true => format!(" {offset:>9} {stored:>7}"),
                false => String::new(),
            };
            let parents = [entry.p1, entry.p2].map(|rev| ui.hex(&revlog.node_or_null(rev)));
            let [first, second] = parents;
            format!("{number:>6}{places} {link:>7} {node} {first} {second}\n")
        }
        IndexLayout::Numbers => {
            let places = match verbose {
                true => format!(" {offset:>8} {stored:>8}"),
                false => String::new(),
            };
            let size = entry.raw_len.map_or("-1".to_owned(), |len| len.to_string());
            let parents = [entry.p1, entry.p2];
            let [first, second] =
                parents.map(|rev| rev.map_or("-1".to_owned(), |rev| rev.0.to_string()));
            let flags = entry.flags;
            format!(
                "{number:>6} {flags:04x}{places} {size:>8} {link:>6} {first:>6} {second:>6} {node}\n"
            )
        }
    }
}
