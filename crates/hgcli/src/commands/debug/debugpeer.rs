//! `debugpeer`: how another repository is reached.

use crate::arguments::{INSECURE, Matches, REMOTECMD, SSH};
use crate::context::{Command, Context};
use crate::remote::peers;
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugpeer"],
    options: &[SSH, REMOTECMD, INSECURE],
    arguments: 1..=1,
    synopsis: "PATH",
    summary: "connect to another repository and tell what it is",
    help: "Prints the URL, whether it is on this machine, and whether a push may go there.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let Some(typed) = matches.arguments().first() else {
        return Ok(0);
    };
    for source in peers::sources(repo, ui, config, typed)? {
        let remote = peers::connect(repo, ui, config, &source)?;
        let is_local = !source.is_elsewhere();
        let yes = |is: bool| if is { "yes" } else { "no" };
        let url = match is_local {
            true => format!("file:{}", peers::root_of(repo, &source)?.display()).into_bytes(),
            false => source.without_password(),
        };
        ui.write([b"url: ", &url[..], b"\n"].concat())?;
        ui.write(format!("local: {}\n", yes(is_local)))?;
        let takes_pushes = remote.capabilities().has("unbundle");
        ui.write(format!("pushable: {}\n", yes(is_local || takes_pushes)))?;
    }
    Ok(0)
}
