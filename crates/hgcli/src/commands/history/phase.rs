//! `phase`: public, draft or secret changesets.

use crate::arguments::{Flag, Matches};
use crate::commands::local::instabilities;
use crate::context::{Category, Command, Config, Context, Repo};
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

const PHASES: [Phase; 3] = [Phase::Public, Phase::Draft, Phase::Secret];

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let mut wanted = PHASES
        .into_iter()
        .filter(|phase| matches.flag(phase.name()));
    let target = wanted.next();
    if wanted.next().is_some() {
        return Err(Abort::input("only one phase can be specified"));
    }
    let mut specs: Vec<&[u8]> = matches.arguments().iter().map(Vec::as_slice).collect();
    specs.extend(matches.list("rev"));
    if specs.is_empty() {
        specs.push(b".");
        // In a merge both parents count.
        if context.repo.working_parents()?.len() > 1 {
            specs.push(b"p2()");
        }
    }
    let Context {
        repo, ui, config, ..
    } = context;
    match target {
        Some(target) => {
            let force = matches.flag("force");
            change((repo, ui, config), &specs, target, force)
        }
        None => show(repo, ui, &specs),
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
        let name = view.phases().of(rev).name();
        ui.write(format!("{}: {name}\n", rev.0))?;
    }
    Ok(0)
}

fn change(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    specs: &[&[u8]],
    target: Phase,
    force: bool,
) -> Result<u8, Abort> {
    let lock = repo.lock(ui, LockKind::Store)?;
    repo.refresh();
    let named = repo.revisions_and_null(ui, specs)?;
    if named.is_empty() {
        return Err(Abort::input("empty revision set"));
    }
    let nulls = named.iter().filter(|rev| rev.is_none()).count();
    if nulls > 0 && force && target != Phase::Public {
        return Err(Abort::new("cannot change null revision phase"));
    }
    let revs: Vec<Rev> = named.into_iter().flatten().collect();
    let repository = repo.repository()?;
    let reports = config.evolution()?.markers;
    let unstable = match reports {
        true => Some(
            repository
                .view_for(ViewFilter::Unfiltered)?
                .instabilities()?,
        ),
        false => None,
    };
    let mut moved = repository.move_phases(lock, &revs, target, force)?;
    // Mercurial takes the null revision for a draft one here.
    if target == Phase::Secret {
        moved.rejected += nulls;
    }
    repo.refresh();
    if let Some(unstable) = unstable {
        instabilities::report(ui, &repository, &unstable)?;
    }
    if moved.rejected > 0 {
        let rejected = moved.rejected;
        ui.warn(format!(
            "cannot move {rejected} changesets to a higher phase, use --force\n"
        ))?;
    }
    let changed = format!("phase changed for {} changesets\n", moved.changed);
    match (moved.changed, moved.rejected) {
        (0, _) => ui.warn("no phases changed\n")?,
        (_, 0) => ui.note(changed)?,
        _ => ui.status(changed)?,
    }
    Ok(u8::from(moved.rejected > 0))
}
