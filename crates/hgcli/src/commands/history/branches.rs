//! `branches`: named branches and whether something is open on them.

use crate::arguments::{Flag, Matches, TEMPLATE};
use crate::context::{Category, Command, Context, Repo};
use crate::render::Formatter;
use crate::ui::{Abort, Ui, columns};
use varve_repo::Rev;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["branches"],
    options: &[
        Flag::flag(
            'a',
            "active",
            "only branches with a head that nothing was merged from",
        ),
        Flag::flag('c', "closed", "closed branches too"),
        Flag::list('r', "rev", "REV", "only branches of these changesets"),
        TEMPLATE,
    ],
    arguments: 0..=0,
    synopsis: "[-c]",
    summary: "list the named branches",
    help: "Branches all of whose heads have been merged into other branches are marked as \
           inactive.\n\nEnds with 0.",
    category: Some(Category::Organization),
    run,
};

/// Where the number of the changeset ends.
const COLUMNS: usize = 31;

/// One line; sorted from the last to the first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct BranchLine {
    active: bool,
    tip: Rev,
    name: Vec<u8>,
    open: bool,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    context.repo.warn_of_disabled_markers(&mut context.ui)?;
    let view = context.repo.view()?;
    let chosen = chosen_branches(&mut context.repo, &mut context.ui, &matches.list("rev"))?;
    let heads = view.heads();
    let mut lines: Vec<BranchLine> = Vec::new();
    for (name, branch) in view.branchmap()? {
        let Some(tip) = branch.tip() else { continue };
        let mut open = branch
            .heads
            .iter()
            .filter(|head| !branch.closed.contains(head));
        let is_open = open.clone().next().is_some();
        lines.push(BranchLine {
            active: open.any(|head| heads.contains(head)),
            tip,
            name: name.clone(),
            open: is_open,
        });
    }
    lines.sort_unstable();
    let current = context.repo.working_branch()?;
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "branches")?;
    out = out.within(&mut context.repo, &context.config)?;
    for line in lines.iter().rev() {
        let hidden = matches.flag("active") && !line.active;
        let closed = !line.open && !matches.flag("closed");
        let other = chosen
            .as_ref()
            .is_some_and(|names| !names.contains(&line.name));
        if !hidden && !closed && !other {
            print(
                &mut context.repo,
                &mut context.ui,
                &mut out,
                line,
                line.name == current,
            )?;
        }
    }
    out.end(&mut context.ui)?;
    Ok(0)
}

/// Branches of the changesets of `-r`; `None` without `-r`.
fn chosen_branches(
    repo: &mut Repo,
    ui: &mut Ui,
    specs: &[&[u8]],
) -> Result<Option<Vec<Vec<u8>>>, Abort> {
    if specs.is_empty() {
        return Ok(None);
    }
    let view = repo.view()?;
    let names = repo.revisions(ui, specs)?.into_iter().map(|rev| {
        let branch = view.with_changeset(rev, |changeset| changeset.branch().into_owned());
        branch.map_err(Abort::from)
    });
    names.collect::<Result<_, _>>().map(Some)
}

fn print(
    repo: &mut Repo,
    ui: &mut Ui,
    out: &mut Formatter,
    line: &BranchLine,
    current: bool,
) -> Result<(), Abort> {
    let node = repo.view()?.changelog().node(line.tip);
    out.item(ui)?;
    out.about_changeset(Some(line.tip));
    let shown = ui.local(&line.name);
    let label = match (current, line.open, line.active) {
        (true, _, _) => "branches.current",
        (_, false, _) => "branches.closed",
        (_, _, false) => "branches.inactive",
        _ => "branches.active",
    };
    out.labelled(ui, label, ("branch", &line.name), &shown)?;
    out.data("rev", line.tip);
    out.data("node", node);
    if !ui.verbosity.quiet {
        let number = line.tip.0.to_string();
        let wanted = COLUMNS.saturating_sub(number.len());
        let (pad, hex) = (columns::padding(&shown, wanted), ui.hex(&node));
        let notice = match (line.active, line.open) {
            (true, _) => "",
            (false, false) => " (closed)",
            (false, true) => " (inactive)",
        };
        let phase = repo.view()?.phases().of(line.tip).name();
        let labels = format!("log.changeset changeset.{phase}");
        out.plain_labelled(ui, &labels, format!("{pad} {number}:{hex}"))?;
        out.plain(ui, notice)?;
    }
    out.data("active", line.active);
    out.data("closed", !line.open);
    out.data("current", current);
    out.plain(ui, "\n")
}
