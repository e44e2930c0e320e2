//! `phase`: what is public, draft or secret.

use crate::arguments::{Category, Command, Flag, Matches};
use crate::context::Session;
use crate::ui::Abort;
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
           the first parent of the working folder. What a changeset follows never has a higher \
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

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
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
        Some(target) => change(session, &specs, target, matches.flag("force")),
        None => show(session, &specs),
    }
}

fn show(session: &mut Session, specs: &[&[u8]]) -> Result<u8, Abort> {
    let view = session.view()?;
    if specs == [b"."] && session.working_parents()?.is_empty() {
        session.write("-1: public\n")?;
        return Ok(0);
    }
    for rev in session.revisions(specs)? {
        let phase = view.phases().of(rev);
        let name = PHASES.iter().find(|(_, known)| *known == phase);
        let name = name.map_or("", |(name, _)| name);
        session.write(format!("{}: {name}\n", rev.0))?;
    }
    Ok(0)
}

fn change(session: &mut Session, specs: &[&[u8]], target: Phase, force: bool) -> Result<u8, Abort> {
    let lock = session.lock(LockKind::Store)?;
    session.forget_view();
    let revs: Vec<Rev> = session.revisions(specs)?;
    if revs.is_empty() {
        return Err(Abort::new("empty revision set"));
    }
    let repository = session.repository()?;
    let all = repository.view_for(ViewFilter::Unfiltered)?;
    let moved = all.phases().moved(all.changelog(), &revs, target, force);
    if moved.changed > 0 {
        let mut transaction = repository.transaction(lock, "phase")?;
        transaction.set_phases(all.changelog(), &moved);
        transaction.finish()?;
        session.forget_view();
    }
    if moved.rejected > 0 {
        let rejected = moved.rejected;
        session.warn(format!(
            "cannot move {rejected} changesets to a higher phase, use --force\n"
        ))?;
    }
    let told = format!("phase changed for {} changesets\n", moved.changed);
    match (moved.changed, moved.rejected) {
        (0, _) => session.warn("no phases changed\n")?,
        (_, 0) => session.note(told)?,
        _ => session.status(told)?,
    }
    Ok(u8::from(moved.rejected > 0))
}
