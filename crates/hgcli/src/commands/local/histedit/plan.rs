//! The plan: as the editor shows it, and as it is read.

use super::autoverb;
use super::run::HisteditRun;
use crate::arguments::Matches;
use crate::commands::local::commit::editor;
use crate::context::{Config, Repo};
use crate::render::changesets::{ChangesetFormat, Printer, PrinterStyle, first_line};
use crate::ui::{Abort, Ui, columns, short_hex};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use varve_repo::{Changeset, Node, PrefixMatch, RepoView, Rev};
use varve_workdir::{HisteditAction, HisteditPlanError, HisteditRule, PlanCheck, parse_plan};

/// Columns of a line where they are not set.
const LINE_LENGTH: i64 = 80;
/// A line has at least room for word and hash.
const LEAST_LENGTH: i64 = 22;
/// Where the text of the last editor stays, below the root.
const LAST_EDIT: &str = ".hg/histedit-last-edit.txt";

/// The actions as the editor explains them, in Mercurial's order and words.
const ACTIONS: &str = "\
#  e, edit = use commit, but allow edits before making new commit
#  m, mess = edit commit message without changing commit content
#  p, pick = use commit
#  b, base = checkout changeset and apply further changesets from there
#  d, drop = remove commit from history
#  f, fold = use commit, but combine it with the one above
#  r, roll = like fold, but discard this commit's description and date
#
";

/// Changesets of a plan.
pub(super) struct PlanSource<'a> {
    /// The changesets that must be in it.
    pub(super) candidates: &'a [Node],
    /// The first of them, or what they go on.
    pub(super) first: Node,
    /// The lines for the editor.
    pub(super) shown: Vec<u8>,
}

/// The plan that changes nothing.
pub(super) fn picks(nodes: &[Node]) -> Vec<HisteditRule> {
    let pick = |node: &Node| HisteditRule {
        action: HisteditAction::Pick,
        node: *node,
    };
    nodes.iter().map(pick).collect()
}

/// The template of a changeset in a plan.
const SUMMARY: &[u8] = b"{rev} {desc|firstline}";

/// Rules as lines of a plan for the editor.
pub(super) fn lines(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    rules: &[HisteditRule],
) -> Result<Vec<u8>, Abort> {
    let length = config.integer("histedit", "linelen")?;
    let length = length.unwrap_or(LINE_LENGTH).max(LEAST_LENGTH);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let view = repo.view()?;
    let rules = match config.boolean("experimental", "histedit.autoverb", false)? {
        true => autoverb::arranged(&view, rules)?,
        false => rules.to_vec(),
    };
    let template = config.get("histedit", "summary-template");
    // The editor shows no labels.
    let painter = std::mem::take(&mut ui.painter);
    let printer = summary_printer(repo, ui, config, template.unwrap_or(SUMMARY));
    ui.painter = painter;
    let printer = printer?;
    let mut text = Vec::new();
    for rule in rules {
        let rev = known(&view, &rule.node)?;
        let head = format!("{} {} ", rule.action.verb(), short_hex(&rule.node));
        let line = [head.as_bytes(), first_line(&printer.text_of(rev)?)].concat();
        text.extend(columns::shortened(line.trim_ascii_end(), length));
        text.push(b'\n');
    }
    Ok(text)
}

fn known(view: &RepoView, node: &Node) -> Result<Rev, Abort> {
    let rev = view.changelog().rev(node);
    rev.ok_or_else(|| Abort::new(format!("unknown revision '{node}'")))
}

/// The first line of a changeset's description.
pub(super) fn description_line(view: &RepoView, node: &Node) -> Result<Vec<u8>, Abort> {
    let rev = known(view, node)?;
    let line = |changeset: Changeset<'_>| first_line(changeset.description).to_vec();
    Ok(view.with_changeset(rev, line)?)
}

fn summary_printer(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    template: &[u8],
) -> Result<Printer, Abort> {
    let style = PrinterStyle {
        form: ChangesetFormat::of_template(template)?,
        ..PrinterStyle::default()
    };
    Printer::new(repo, ui, config, style)
}

/// Reads the plan, from `--commands` or the editor, and checks it.
pub(super) fn read(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    (topmost, source): (&Node, &PlanSource<'_>),
) -> Result<Vec<HisteditRule>, Abort> {
    let file = matches.value("commands").filter(|file| !file.is_empty());
    let text = match file {
        Some(file) => read_file(repo, ui, file)?,
        None => edited(repo, ui, topmost, source)?,
    };
    let view = repo.view()?;
    let find = |hash: &[u8]| match view.changelog().rev_by_prefix(hash) {
        PrefixMatch::One(rev) => Some(view.changelog().node(rev)),
        PrefixMatch::None | PrefixMatch::Ambiguous => None,
    };
    let check = PlanCheck {
        candidates: source.candidates,
        drops_missing: config.boolean("histedit", "dropmissing", false)?,
    };
    let rules = parse_plan(&text, find).and_then(|rules| check.complete(rules));
    match rules {
        Ok(rules) => Ok(rules),
        Err(error) => Err(refused(repo, ui, &error)?),
    }
}

fn refused(repo: &Repo, ui: &mut Ui, error: &HisteditPlanError) -> Result<Abort, Abort> {
    if repo.root()?.join(LAST_EDIT).exists() {
        ui.warn(format!("warning: histedit rules saved to: {LAST_EDIT}\n"))?;
    }
    Ok(Abort::Parse {
        message: error.to_string(),
        at: None,
        hint: error.hint(),
    })
}

fn read_file(repo: &Repo, ui: &Ui, file: &[u8]) -> Result<Vec<u8>, Abort> {
    if file == b"-" {
        let mut text = Vec::new();
        ui.streams.input().read_to_end(&mut text)?;
        return Ok(text);
    }
    let path = repo.cwd.join(OsStr::from_bytes(file));
    std::fs::read(&path).map_err(|error| Abort::file(&error, OsStr::from_bytes(file)))
}

/// The lines as the user's editor leaves them.
fn edited(
    repo: &Repo,
    ui: &mut Ui,
    topmost: &Node,
    source: &PlanSource<'_>,
) -> Result<Vec<u8>, Abort> {
    let (first, last) = (short_hex(&source.first), short_hex(topmost));
    let notes = format!(
        "\n# Edit history between {first} and {last}\n#\n\
         # Commits are listed from least to most recent\n#\n\
         # You can reorder changesets by reordering the lines\n#\n\
         # Commands:\n#\n{ACTIONS}"
    );
    let text = [&source.shown[..], notes.as_bytes()].concat();
    let edited = editor::edit_as(ui, &text, "histedit")?;
    // For the user, should the plan be refused.
    let _ = std::fs::write(repo.root()?.join(LAST_EDIT), &edited);
    Ok(edited)
}

/// `--edit-plan`.
pub(super) fn edit_rest(run: &mut HisteditRun<'_>) -> Result<u8, Abort> {
    let nodes: Vec<Node> = run.state.rules.iter().map(|rule| rule.node).collect();
    let source = PlanSource {
        candidates: &nodes,
        first: run.state.parent,
        shown: lines(run.repo, run.ui, run.config, &run.state.rules)?,
    };
    let place = (&run.state.topmost, &source);
    run.state.rules = read(run.repo, run.ui, run.config, run.matches, place)?;
    run.state.write(run.repository)?;
    Ok(0)
}
