//! In which form `serve --stdio` may be called.

use super::{Side, Talk};
use std::process::Stdio;
use varve_testkit::peers::Outcome;

#[test]
fn other_forms_of_the_command_are_refused() {
    let talk = Talk::new((Side::Hg, Side::Hg));
    talk.stock("", "init src");
    for words in [
        &["-R", "src", "serve", "--stdio"][..],
        &["serve", "--stdio"],
        &["serve", "--stdio", "-R", "src"],
        &["-R", "src", "serve", "--stdio", "--debug"],
        &["-R", "src", "--debug", "serve", "--stdio"],
        &["-Rsrc", "serve", "--stdio"],
        &["--repository", "src", "serve", "--stdio"],
        &["-R", "--config=ui.debug=yes", "serve", "--stdio"],
        &["-R", "--it's", "serve", "--stdio"],
        &["-R", "nowhere", "serve", "--stdio"],
        &["-R", "", "serve", "--stdio"],
    ] {
        let [theirs, ours] = [Side::Hg, Side::Varve].map(|side| {
            let mut command = talk.command(side, "", words);
            command.stdin(Stdio::null());
            Outcome::of(&mut command, &side.program())
        });
        assert_eq!(
            (theirs.code, &theirs.stdout, &theirs.stderr),
            (ours.code, &ours.stdout, &ours.stderr),
            "{words:?}"
        );
    }
}
