//! `debugknown`: which changesets another repository has.

use crate::arguments::{INSECURE, Matches, REMOTECMD, SSH};
use crate::context::{Command, Context};
use crate::remote::peers;
use crate::ui::Abort;
use varve_repo::Node;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugknown"],
    options: &[SSH, REMOTECMD, INSECURE],
    arguments: 1..=usize::MAX,
    synopsis: "REPO ID...",
    summary: "test which changesets another repository has",
    help: "Prints a digit for each ID, which has to be whole: 1 if the changeset is there, else 0.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let Some((typed, ids)) = matches.arguments().split_first() else {
        return Ok(0);
    };
    let mut nodes = Vec::new();
    for id in ids {
        let shown = String::from_utf8_lossy(id);
        let wrong = || Abort::input(format!("'{shown}' is not a whole changeset id"));
        nodes.push(Node::from_hex(id).ok_or_else(wrong)?);
    }
    for source in peers::sources(repo, ui, config, typed)? {
        let mut remote = peers::connect(repo, ui, config, &source)?;
        let mut known = remote.known(&nodes)?;
        if !source.is_elsewhere() {
            // Servers say of the null revision that they do not have it.
            for (known, node) in known.iter_mut().zip(&nodes) {
                *known |= node.is_null();
            }
        }
        let digits: String = known
            .iter()
            .map(|known| if *known { '1' } else { '0' })
            .collect();
        ui.write(digits + "\n")?;
    }
    Ok(0)
}
