//! `serve` as Mercurial's users call it: about one repository.

use super::stdio;
use crate::face::{Abort, Category, Command, Flag, Matches, Session};
use std::os::unix::ffi::OsStringExt;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["serve"],
    options: &[Flag::long_flag(
        "stdio",
        "talk to a client over the standard streams, as ssh connects them",
    )],
    arguments: 0..=0,
    synopsis: "[OPTION]...",
    summary: "let others read and write a repository",
    help: "With --stdio a client of Mercurial is answered over the standard input and output, until \
           it goes. Clients start this over ssh, just in the form 'hg -R PATH serve --stdio'; any \
           other form is refused.\n\n\
           A folder with many repositories is served over HTTP by 'varve serve DIR'.\n\n\
           Ends with 0.",
    category: Some(Category::Exchange),
    run,
};

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    if !matches.flag("stdio") {
        return Err(Abort::new("serve without --stdio is not supported")
            .hint("use 'varve serve DIR' for HTTP"));
    }
    let typed = std::env::args_os().skip(1).map(OsStringExt::into_vec);
    // An alias may lead here, too.
    stdio::check_form(&typed.collect::<Vec<_>>())?;
    stdio::run(session)
}
