//! `debugwhyunstable`: the reasons why a changeset is unstable.

use crate::arguments::Matches;
use crate::context::{Command, Context};
use crate::render::changesets::phase_name;
use crate::ui::Abort;
use varve_repo::Phase;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugwhyunstable"],
    options: &[],
    arguments: 1..=1,
    synopsis: "REV",
    summary: "explain instabilities of a changeset",
    help: "Each line has an instability, the changesets that compete with this one, and the parent or predecessor that \
           is the reason.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let rev = repo.revision(ui, matches.arguments().first().map(Vec::as_slice))?;
    let Some(rev) = rev else {
        return Ok(0);
    };
    let view = repo.view()?;
    for cause in view.instability_causes(rev, &view.instabilities()?)? {
        let mut line = format!("{}: ", cause.instability).into_bytes();
        for node in &cause.divergent {
            let rev = view.changelog().rev(node);
            let phase = rev.map_or(Phase::Public, |rev| view.phases().of(rev));
            line.extend([node.to_string().as_bytes(), b" (", phase_name(phase), b") "].concat());
        }
        line.extend(format!("{} {}\n", cause.reason, cause.node).into_bytes());
        ui.write(line)?;
    }
    Ok(0)
}
