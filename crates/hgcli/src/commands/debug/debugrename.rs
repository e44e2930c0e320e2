//! `debugrename`: the copies that changesets record.

use crate::arguments::{Flag, Matches};
use crate::context::matching::files_of;
use crate::context::{Command, Context};
use crate::ui::Abort;
use varve_repo::{FileText, Node};
use varve_workdir::filesets::FilesetTarget;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugrename"],
    options: &[Flag::value('r', "rev", "REV", "look at this changeset")],
    arguments: 0..=usize::MAX,
    synopsis: "[-r REV] [FILE]...",
    summary: "print which files are recorded as copies, and of which revisions",
    help: "Without -r it is the parent of the working directory.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let rev = repo.revision(ui, matches.value("rev"))?;
    let matcher = repo.matcher_at(matches, FilesetTarget::Rev(rev))?;
    let view = repo.view()?;
    let text = view.manifest_text(rev)?;
    let node = view.changelog().node_or_null(rev);
    let mut missing = Vec::new();
    let files = files_of(&view, &text, &matcher, |path| {
        missing.push(path.to_vec());
        Ok(())
    })?;
    for path in missing {
        repo.warn_not_in_revision(ui, &path, &node)?;
    }
    for entry in files {
        let filelog = view.filelog(entry.path)?;
        let shown = repo.relative_path(entry.path)?;
        let copied = match filelog.rev(&entry.node) {
            // A copy has the null revision as its first parent.
            Some(rev) if filelog.parents(rev)[0].is_none() => {
                let text = filelog.text(rev)?;
                let copied = FileText::parse(&text).copied_from;
                copied.map(|(source, node): (&[u8], Node)| (source.to_vec(), node))
            }
            _ => None,
        };
        let line = match copied {
            Some((source, node)) => {
                let words = [
                    &shown[..],
                    b" renamed from ",
                    &source,
                    b":",
                    &node.to_hex(),
                    b"\n",
                ];
                words.concat()
            }
            None => [&shown[..], b" not renamed\n"].concat(),
        };
        ui.write(line)?;
    }
    Ok(0)
}
