//! `debugindex`: the index of a revlog.

use crate::arguments::{Matches, TEMPLATE};
use crate::commands::debug::revlogs::{CHANGELOG, MANIFEST, RevlogSelection};
use crate::context::{Command, Context};
use crate::render::Formatter;
use crate::ui::{Abort, Ui};
use varve_repo::{Rev, Revlog};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugindex"],
    options: &[CHANGELOG, MANIFEST, TEMPLATE],
    arguments: 0..=1,
    synopsis: "-c|-m|FILE",
    summary: "print the index of a revlog",
    help: "With -v, all fields are printed; with --debug, ids are printed whole too.",
    category: None,
    run,
};

/// A column: its name, its width, whether it is printed without `-v`.
struct Column(&'static str, usize, bool);

/// Width of a node, which depends on `--debug`.
const NODE: usize = 0;

const COLUMNS: &[Column] = &[
    Column("rev", 6, true),
    Column("rank", 6, false),
    Column("linkrev", 7, true),
    Column("nodeid", NODE, true),
    Column("p1-rev", 6, false),
    Column("p1-nodeid", NODE, true),
    Column("p2-rev", 6, false),
    Column("p2-nodeid", NODE, true),
    Column("full-size", 20, false),
    Column("delta-base", 10, false),
    Column("flags", 5, false),
    Column("comp-mode", 9, false),
    Column("data-offset", 20, false),
    Column("chunk-size", 10, false),
    Column("sd-comp-mode", 12, false),
    Column("sidedata-offset", 20, false),
    Column("sd-chunk-size", 13, false),
];

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let chosen = RevlogSelection::find(&mut context.repo, matches, matches.arguments().first())?;
    let chosen = chosen.ok_or_else(|| Abort::input("cannot give path to non-revlog"))?;
    let revlog = chosen.revlog()?;
    let verbose = context.ui.verbosity.verbose;
    let node_width = context.ui.hex(&varve_repo::Node::NULL).len();
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "debugindex")?;
    let columns = || {
        COLUMNS
            .iter()
            .enumerate()
            .filter(|(_, column)| column.2 || verbose)
    };
    let width = |column: &Column| {
        if column.1 == NODE {
            node_width
        } else {
            column.1
        }
    };
    let titles = columns().map(|(_, column)| format!("{:>1$}", column.0, width(column)));
    out.plain(&mut context.ui, titles.collect::<Vec<_>>().join(" ") + "\n")?;
    for rev in revlog.revs() {
        let values = values(&context.ui, revlog, rev);
        out.item(&mut context.ui)?;
        let mut line = Vec::new();
        for (at, column) in columns() {
            out.data(column.0, values[at].as_str());
            line.push(format!("{:>1$}", values[at], width(column)));
        }
        out.plain(&mut context.ui, line.join(" ") + "\n")?;
    }
    out.end(&mut context.ui)?;
    Ok(0)
}

/// The values of all columns.
fn values(ui: &Ui, revlog: &Revlog, rev: Rev) -> [String; 17] {
    let entry = revlog.entry(rev);
    let number = |rev: Option<Rev>| rev.map_or("-1".to_owned(), |rev| rev.0.to_string());
    let node = |rev: Option<Rev>| ui.hex(&revlog.node_or_null(rev));
    [
        rev.0.to_string(),
        // Known only to a changelog format that is not supported here.
        "-1".to_owned(),
        entry.link.to_string(),
        ui.hex(&entry.node),
        number(entry.p1),
        node(entry.p1),
        number(entry.p2),
        node(entry.p2),
        entry.raw_len.map_or("-1".to_owned(), |len| len.to_string()),
        number(entry.base),
        entry.flags.to_string(),
        // Each chunk names its own codec.
        "2".to_owned(),
        entry.offset.to_string(),
        entry.stored_len.to_string(),
        "inline".to_owned(),
        "0".to_owned(),
        "0".to_owned(),
    ]
}
