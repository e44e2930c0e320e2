//! `histedit`: a line of history is made again by a plan of the user.

mod action;
mod autoverb;
mod finish;
mod fold;
mod interrupted;
mod outgoing;
mod plan;
mod run;
mod selection;

use super::{commit, unfinished};
use crate::arguments::{Flag, Matches, TEMPLATE};
use crate::context::{Category, Command, Config, Context};
use crate::render::Formatter;
use crate::ui::Abort;
use run::HisteditRun;
use varve_repo::LockKind;
use varve_workdir::HisteditState;

/// See [`Command`]. The extension `histedit` switches it on.
pub(crate) const COMMAND: Command = Command {
    names: &["histedit"],
    options: &[
        Flag::long_value("commands", "FILE", "read the plan from a file"),
        Flag::flag('c', "continue", "go on with the edit that is under way"),
        Flag::long_flag("edit-plan", "change the rest of the plan"),
        Flag::flag('k', "keep", "keep the old changesets"),
        Flag::long_flag("abort", "give up the edit that is under way"),
        Flag::flag(
            'o',
            "outgoing",
            "edit the changesets that another repository lacks",
        ),
        Flag::flag(
            'f',
            "force",
            "with --outgoing: also if the repositories are unrelated",
        ),
        Flag::list('r', "rev", "REV", "the first changeset to edit"),
        TEMPLATE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTIONS] ([ANCESTOR] | --outgoing [URL])",
    summary: "interactively edit changeset history",
    help: "Makes the changesets from ANCESTOR to the parent of the working directory again, as a plan says. \
           The editor shows the plan, with a line for each changeset, the oldest first: lines may \
           change places, and the word in front says what becomes of the changeset.\n\n\
           pick uses it; edit stops before it is committed, for changes; fold makes it part of the \
           one above, with both descriptions and the later date; roll does so with the description \
           and date of the one above; drop leaves it out; mess changes its description; base goes on \
           from another changeset.\n\n\
           With --outgoing it is the first changeset that URL lacks, by default the path default-push or \
           default. Without ANCESTOR it is the first of the draft changesets that no other head has, or what \
           histedit.defaultrev says. Old changesets are removed, and a bundle in .hg/strip-backup \
           keeps them; if experimental.evolution allows createmarkers, they are marked as \
           obsolete.\n\n\
           After a stop, 'hg histedit --continue' goes on, and --abort brings everything back as it \
           was. Only the editor is there, no interface for terminals.\n\n\
           Ends with 0; with 1 if the user has to do something first.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// Name of the command in markers, bundles and data.
const OPERATION: &str = "histedit";

/// The work that the options ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    New,
    Continue,
    EditPlan,
    Abort,
}

fn goal(matches: &Matches) -> Result<Goal, Abort> {
    let is_given = |name| matches.value(name).is_some_and(|value| !value.is_empty());
    let names_revision = !matches.arguments().is_empty() || !matches.list("rev").is_empty();
    let is_new = matches.flag("outgoing") || names_revision;
    let has_commands = is_given("commands");
    let (aborts, plans) = (matches.flag("abort"), matches.flag("edit-plan"));
    if matches.flag("force") && !matches.flag("outgoing") {
        return Err(Abort::input("--force only allowed with --outgoing"));
    }
    let (goal, refusal) = if matches.flag("continue") {
        let others = is_new || has_commands || aborts || plans;
        let refusal = others.then_some("no arguments allowed with --continue");
        (Goal::Continue, refusal)
    } else if aborts {
        let others = is_new || has_commands || plans;
        (
            Goal::Abort,
            others.then_some("no arguments allowed with --abort"),
        )
    } else if plans {
        let refusal = is_new.then_some("only --commands argument allowed with --edit-plan");
        (Goal::EditPlan, refusal)
    } else {
        (Goal::New, None)
    };
    let refusal = refusal.or_else(|| match goal {
        Goal::New if matches.flag("outgoing") => outgoing_refusal(matches),
        _ => None,
    });
    match refusal {
        Some(refusal) => Err(Abort::input(refusal)),
        None => Ok(goal),
    }
}

fn outgoing_refusal(matches: &Matches) -> Option<&'static str> {
    if !matches.list("rev").is_empty() {
        return Some("no revisions allowed with --outgoing");
    }
    let names_several = matches.arguments().len() > 1;
    names_several.then_some("only one repo argument allowed with --outgoing")
}

/// Refuses what is not there, by name.
fn refuse(config: &Config, matches: &Matches) -> Result<(), Abort> {
    let interface = config.text("ui", "interface.histedit");
    let interface = interface.or_else(|| config.text("ui", "interface"));
    if interface.as_deref() == Some("curses") && matches.value("commands").is_none() {
        return Err(Abort::input(
            "the interface 'curses' of histedit is not supported",
        ));
    }
    Ok(())
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let goal = goal(matches)?;
    refuse(&context.config, matches)?;
    let Context {
        repo, ui, config, ..
    } = context;
    let repository = repo.repository()?;
    let _lock = repo.lock(ui, LockKind::WorkingCopy)?;
    repo.refresh();
    if goal == Goal::New {
        unfinished::refuse(&repository)?;
        commit::refuse_changes(ui, &repository)?;
        let out = Formatter::new(ui, config, matches, OPERATION)?;
        let state = selection::select(repo, ui, config, matches, &repository)?;
        let mut run = HisteditRun {
            repo,
            ui,
            config,
            matches,
            repository: &repository,
            state,
            out: Some(out),
        };
        run.state.write(&repository)?;
        return run.carry_out();
    }
    let state = HisteditState::read(&repository)?;
    let state = state.ok_or_else(|| match unfinished::continuation(&repository) {
        Ok(Some(continuation)) => {
            Abort::state("no histedit in progress").hint(format!("continue: {continuation}"))
        }
        _ => Abort::state("no histedit in progress"),
    })?;
    let mut run = HisteditRun {
        out: Some(Formatter::new(ui, config, matches, OPERATION)?),
        repo,
        ui,
        config,
        matches,
        repository: &repository,
        state,
    };
    match goal {
        Goal::Abort => interrupted::abort(&mut run),
        Goal::EditPlan => plan::edit_rest(&mut run),
        Goal::Continue | Goal::New => interrupted::go_on(&mut run),
    }
}
