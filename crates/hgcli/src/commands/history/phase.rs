//! `phase`: public, draft or secret changesets.

use crate::arguments::{Flag, Matches};
use crate::context::{Category, Command, Context, Repo};
use crate::ui::{Abort, Ui};
use varve_repo::{LockKind, Phase, Rev, ViewFilter};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["phase"],
    options: &[
        Flag::flag('p', "public", "move to the public phase"),
        Flag::flag('d', "draft", "move to the draft phase"),
        Flag::flag('s', "secret", "move to the secret phase"),
        Flag::flag(
            'f',
            "force",
            "also move up, from public to draft for instance",
        ),
        Flag::list('r', "rev", "REV", "changesets"),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[-p|-d|-s] [-f] [-r] [REV...]",
    summary: "set or show the current phase name",
    help: "Without -p, -d and -s the phases of the changesets are shown; without a REV, that of \
           the first parent of the working directory. What a changeset follows never has a higher \
           phase than itself; public is the lowest, secret the highest.\n\n\
           Ends with 0; with 1 if a changeset could not be moved.",
    category: Some(Category::Organization),
    run,
};

const PHASES: [(&str, Phase); 3] = [
    ("public", Phase::Public),
    ("draft", Phase::Draft),
    ("secret", Phase::Secret),
];

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let mut wanted = PHASES.iter().filter(|(name, _)| matches.flag(name));
    let target = wanted.next().map(|(_, phase)| *phase);
    if wanted.next().is_some() {
        return Err(Abort::new("only one phase can be specified"));
    }
    let mut specs: Vec<&[u8]> = matches.arguments().iter().map(Vec::as_slice).collect();
    specs.extend(matches.list("rev"));
    if specs.is_empty() {
        specs.push(b".");
    }
    match target {
        Some(target) => change(context, &specs, target, matches.flag("force")),
        None => show(&mut context.repo, &mut context.ui, &specs),
    }
}

/// The line about the null revision.
const NULL: &str = "-1: public\n";

fn show(repo: &mut Repo, ui: &mut Ui, specs: &[&[u8]]) -> Result<u8, Abort> {
    let view = repo.view()?;
    if specs == [b"."] && repo.working_parents()?.is_empty() {
        ui.write(NULL)?;
        return Ok(0);
    }
    for rev in repo.revisions_and_null(ui, specs)? {
        let Some(rev) = rev else {
            ui.write(NULL)?;
            continue;
        };
        let phase = view.phases().of(rev);
        let name = PHASES.iter().find(|(_, known)| *known == phase);
        let name = name.map_or("", |(name, _)| name);
        ui.write(format!("{}: {name}\n", rev.0))?;
    }
    Ok(0)
}

fn change(context: &mut Context, specs: &[&[u8]], target: Phase, force: bool) -> Result<u8, Abort> {
    let lock = context.repo.lock(&mut context.ui, LockKind::Store)?;
    context.repo.refresh();
    let named = context.repo.revisions_and_null(&mut context.ui, specs)?;
    if named.is_empty() {
        return Err(Abort::new("empty revision set"));
    }
    // The null revision is public and stays so.
    let revs: Vec<Rev> = named.into_iter().flatten().collect();
    let repository = context.repo.repository()?;
    let all = repository.view_for(ViewFilter::Unfiltered)?;
    let moved = all.phases().moved(all.changelog(), &revs, target, force);
    if moved.changed > 0 {
        let mut transaction = repository.transaction(lock, "phase")?;
        transaction.set_phases(all.changelog(), &moved);
        transaction.finish()?;
        context.repo.refresh();
    }
    if moved.rejected > 0 {
        let rejected = moved.rejected;
        context.ui.warn(format!(
            "cannot move {rejected} changesets to a higher phase, use --force\n"
        ))?;
    }
    let told = format!("phase changed for {} changesets\n", moved.changed);
    match (moved.changed, moved.rejected) {
        (0, _) => context.ui.warn("no phases changed\n")?,
        (_, 0) => context.ui.note(told)?,
        _ => context.ui.status(told)?,
    }
    Ok(u8::from(moved.rejected > 0))
}
