//! `debugignore`: why files are ignored.

use crate::arguments::Matches;
use crate::context::{Command, Context};
use crate::ui::Abort;
use varve_workdir::IgnoreFiles;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugignore"],
    options: &[],
    arguments: 1..=usize::MAX,
    synopsis: "FILE...",
    summary: "say which rule ignores a file",
    help: "The rule is named by its file and line. A file below an ignored directory is ignored with it.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let ignore = repo.ignore(ui)?;
    let (root, files) = (repo.root()?.to_owned(), repo.ignore_files()?);
    let matcher = repo.working_matcher(&Matches::default(), matches.arguments())?;
    let mut named = matcher.named().to_vec();
    named.sort_unstable();
    for path in named {
        let shown = repo.relative_path(&path)?;
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let above = ends.map(|(at, _)| &path[..at]).rev();
        let mut candidates = [&path[..]].into_iter().chain(above);
        let Some(ignored) = candidates.find(|candidate| ignore.matches(candidate)) else {
            ui.write([&shown[..], b" is not ignored\n"].concat())?;
            continue;
        };
        ui.write(match ignored == &path[..] {
            true => [&shown[..], b" is ignored\n"].concat(),
            false => [
                &shown[..],
                b" is ignored because of containing directory ",
                ignored,
                b"\n",
            ]
            .concat(),
        })?;
        if let Some(rule) = IgnoreFiles::rule_for(&root, &files, ignored)? {
            let head = format!("(ignore rule in {}, line {}: '", rule.file, rule.line);
            ui.write([head.as_bytes(), &rule.text, b"')\n"].concat())?;
        }
    }
    Ok(0)
}
