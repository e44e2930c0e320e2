//! `debugpushkey`: the keys of a namespace of another repository.

use crate::arguments::{INSECURE, Matches, REMOTECMD, SSH};
use crate::context::{Command, Context};
use crate::remote::peers;
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugpushkey"],
    options: &[SSH, REMOTECMD, INSECURE],
    arguments: 2..=2,
    synopsis: "REPO NAMESPACE",
    summary: "list the keys of a namespace of another repository",
    help: "The namespaces are bookmarks, namespaces, obsolete and phases. Keys are not changed: see push and \
           bookmarks.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let [typed, namespace] = matches.arguments() else {
        return Ok(0);
    };
    let namespace = String::from_utf8_lossy(namespace).into_owned();
    for source in peers::sources(repo, ui, config, typed)? {
        let mut remote = peers::connect(repo, ui, config, &source)?;
        for (key, value) in remote.list_keys(&namespace)? {
            let line = format!("{}\t{}\n", key.escape_ascii(), value.escape_ascii());
            ui.write(line)?;
        }
    }
    Ok(0)
}
