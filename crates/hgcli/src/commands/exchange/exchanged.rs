//! Common parts of `incoming` and `outgoing`: a list of the changesets of an exchange; and
//! the options that say which of them are meant, wherever changesets travel.

use crate::arguments::{Flag, Matches};
use crate::commands::history::log;
use crate::context::{Config, Repo};
use crate::render::changesets::{GraphStyle, Printer, ShownFiles};
use crate::ui::{Abort, Ui};
use varve_lang::patterns::Matcher;
use varve_repo::{RepoView, Rev};

/// `--rev` of commands that let changesets travel.
pub(crate) const REV: Flag = Flag::list(
    'r',
    "rev",
    "REV",
    "only this changeset and what it builds on",
);

/// `--branch` of commands that let changesets travel.
pub(crate) const BRANCH: Flag = Flag::list(
    'b',
    "branch",
    "BRANCH",
    "only this branch and what it builds on",
);

/// `--newest-first` of a list.
pub(crate) const NEWEST_FIRST: Flag =
    Flag::flag('n', "newest-first", "from the newest to the oldest");

/// `--patch` of a list.
pub(crate) const PATCH: Flag = Flag::flag('p', "patch", "show the changes of files");

/// `--limit` of a list.
pub(crate) const LIMIT: Flag = Flag::value('l', "limit", "NUM", "no more changesets than this");

/// `--no-merges` of a list.
pub(crate) const NO_MERGES: Flag = Flag::flag('M', "no-merges", "no merges");

/// `--graph` of a list.
pub(crate) const GRAPH: Flag =
    Flag::flag('G', "graph", "draw how changesets descend from each other");

/// `--subrepos`, of which there are none.
pub(crate) const SUBREPOS: Flag = Flag::flag(
    'S',
    "subrepos",
    "with subrepositories, of which there may be none",
);

/// Refuses options that exclude each other in a list.
pub(crate) fn refuse_contradictions(repo: &Repo, matches: &Matches) -> Result<(), Abort> {
    repo.refuse_subrepositories(matches)?;
    match matches.flag("graph") && matches.flag("newest-first") {
        true => Err(Abort::input(
            "-G/--graph option is incompatible with --newest-first",
        )),
        false => Ok(()),
    }
}

/// Prints changesets of an exchange, given oldest first, as the options say.
pub(crate) fn print(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    view: &RepoView,
    outgoing: Vec<Rev>,
) -> Result<(), Abort> {
    let graph = matches.flag("graph");
    let mut revs: Vec<Option<Rev>> = outgoing.into_iter().map(Some).collect();
    if graph || matches.flag("newest-first") {
        revs.reverse();
    }
    if matches.flag("no-merges") && !graph {
        let is_merge = |rev: Rev| view.changelog().parents(rev).iter().all(Option::is_some);
        revs.retain(|rev| !rev.is_some_and(is_merge));
    }
    revs.truncate(log::limit(matches)?);
    let style = log::style(
        repo,
        ui,
        config,
        matches,
        ShownFiles::Matching(Box::new(Matcher::everything())),
    )?;
    let printer = Printer::new(repo, ui, config, style)?;
    if graph {
        let look = GraphStyle::new(config)?.of_shown_parents();
        printer.print_graph(ui, &look, &revs)
    } else {
        printer.print_all(repo, ui, config, matches, &revs)
    }
}
