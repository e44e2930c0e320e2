//! `debuguiprompt`: a question and its answer.

use crate::arguments::{Flag, Matches};
use crate::context::{Command, Context};
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debuguiprompt"],
    options: &[Flag::value('p', "prompt", "TEXT", "the question")],
    arguments: 0..=0,
    synopsis: "",
    summary: "ask a question and print the answer",
    help: "The answer is y where questions cannot be answered.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let ui = &mut context.ui;
    let question = matches.value("prompt").unwrap_or_default();
    ui.write([question, b" "].concat())?;
    let answer = match ui.is_interactive()? {
        true => ui.read_answer(b"y")?,
        false => {
            ui.write("y\n")?;
            b"y".to_vec()
        }
    };
    ui.write([b"response: ", &answer[..], b"\n"].concat())?;
    Ok(0)
}
