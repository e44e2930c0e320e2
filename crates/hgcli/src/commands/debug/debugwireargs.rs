//! `debugwireargs`: arguments that travel to another repository and back.

use crate::arguments::{Flag, INSECURE, Matches, REMOTECMD, SSH};
use crate::context::{Command, Context};
use crate::remote::peers;
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugwireargs"],
    options: &[
        Flag::long_value("three", "VALUE", "the third argument"),
        Flag::long_value("four", "VALUE", "the fourth argument"),
        Flag::long_value(
            "five",
            "VALUE",
            "the fifth argument, which servers leave out",
        ),
        SSH,
        REMOTECMD,
        INSECURE,
    ],
    arguments: 1..=usize::MAX,
    synopsis: "REPO [OPTION]... ONE TWO",
    summary: "send arguments to another repository, and print what comes back",
    help: "Shows that arguments of a request survive the way: None stands for those that were not sent.\n\n\
           Ends with 0.",
    category: None,
    run,
};

/// Names of the arguments in the protocol.
const NAMES: [&str; 5] = ["one", "two", "three", "four", "five"];

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let Some((typed, values)) = matches.arguments().split_first() else {
        return Ok(0);
    };
    let mut arguments: Vec<(&str, Vec<u8>)> = NAMES
        .into_iter()
        .zip(values)
        .map(|(name, value)| (name, value.clone()))
        .collect();
    for name in &NAMES[2..] {
        if let Some(value) = matches.value(name).filter(|value| !value.is_empty()) {
            arguments.retain(|(other, _)| other != name);
            arguments.push((name, value.to_vec()));
        }
    }
    for source in peers::sources(repo, ui, config, typed)? {
        let mut remote = peers::connect(repo, ui, config, &source)?;
        if !source.is_elsewhere() {
            let words = NAMES.map(|name| {
                let sent = arguments.iter().find(|(other, _)| *other == name);
                sent.map_or(&b"None"[..], |(_, value)| value)
            });
            ui.write([&words.join(&b' ')[..], b"\n"].concat())?;
            continue;
        }
        let [first, second] = [
            remote.echo_arguments(&arguments)?,
            remote.echo_arguments(&arguments)?,
        ];
        ui.write([&first[..], b"\n"].concat())?;
        if first != second {
            ui.warn([&second[..], b"\n"].concat())?;
        }
    }
    Ok(0)
}
