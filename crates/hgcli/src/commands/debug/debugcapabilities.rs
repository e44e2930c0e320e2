//! `debugcapabilities`: the features that another repository offers.

use crate::arguments::{Flag, Matches};
use crate::context::{Command, Context};
use crate::remote::peers;
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugcapabilities"],
    options: &[Flag::long_list(
        "bundle2-cap",
        "NAME",
        "only this capability of bundle2",
    )],
    arguments: 1..=1,
    synopsis: "PATH",
    summary: "list the capabilities of another repository",
    help: "First those of the protocol, then those of bundle2, each with its values below it.\n\nEnds with 0.",
    category: None,
    run,
};

/// Capabilities that count without a wire; for a repository of this machine no others are listed.
const OF_LOCAL: &[&str] = &[
    "branchmap",
    "bundle2",
    "getbundle",
    "known",
    "lookup",
    "pushkey",
    "unbundle",
];

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let Some(typed) = matches.arguments().first() else {
        return Ok(0);
    };
    let wanted = matches.list("bundle2-cap");
    for source in peers::sources(repo, ui, config, typed)? {
        let remote = peers::connect(repo, ui, config, &source)?;
        let is_local = !source.is_elsewhere();
        if wanted.is_empty() {
            ui.write("Main capabilities:\n")?;
            for (name, value) in remote.capabilities().words() {
                match value {
                    _ if is_local && !OF_LOCAL.contains(&name) => {}
                    // The forms of a bundle are those that can come over a wire.
                    _ if is_local && name == "unbundle" => ui.write("  unbundle\n")?,
                    "" => ui.write(format!("  {name}\n"))?,
                    value => ui.write(format!("  {name}={value}\n"))?,
                }
            }
            ui.write("Bundle2 capabilities:\n")?;
        }
        for (name, values) in remote.capabilities().all_bundle2() {
            if !wanted.is_empty() && !wanted.contains(&name.as_bytes()) {
                continue;
            }
            ui.write(format!("  {name}\n"))?;
            for value in values {
                ui.write(format!("    {value}\n"))?;
            }
        }
    }
    Ok(0)
}
