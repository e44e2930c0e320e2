//! `debugpickmergetool`: which tool would merge which file.

use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::commands::local::attend::{print_obstacle, tool_table};
use crate::context::matching::files_of;
use crate::context::{Command, Context};
use crate::ui::{Abort, Ui};
use varve_repo::FileKind;
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{FileTraits, ToolTable};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugpickmergetool"],
    options: &[
        Flag::value('r', "rev", "REV", "look at the files of this changeset"),
        Flag::long_flag("changedelete", "as if one side had deleted them"),
        INCLUDE,
        EXCLUDE,
        Flag::value('t', "tool", "TOOL", "as if this tool were asked for"),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[PATTERN]...",
    summary: "print which merge tool is chosen for files",
    help: "Without -r the files are those of the parent of the working directory. With --verbose the \
           option, variable and setting that choose a tool are printed first, with --debug the tools \
           that are passed over.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let table = tool_table(config, matches.value("tool"))?;
    print_choices(ui, &table)?;
    let rev = repo.revision(ui, matches.value("rev"))?;
    let matcher = repo.matcher_at(matches, FilesetTarget::Rev(rev))?;
    let view = repo.view()?;
    let text = view.manifest_text(rev)?;
    for entry in files_of(&view, &text, &matcher, |_| Ok(()))? {
        let content = view.file_content(entry.path, &entry.node)?;
        let traits = FileTraits {
            binary: content.contains(&0),
            symlink: entry.kind == FileKind::Symlink,
            deleted: matches.flag("changedelete"),
        };
        let mut printed = Ok(());
        let debugs = ui.verbosity.debug;
        let picked = table.pick(entry.path, traits, &mut |tool, pattern, obstacle| {
            if debugs && printed.is_ok() {
                printed = print_obstacle(ui, tool, pattern, &obstacle);
            }
        })?;
        printed?;
        if debugs && picked == varve_workdir::PickedTool::Nothing {
            ui.warn([b"no tool found to merge ", entry.path, b"\n"].concat())?;
        }
        ui.write([entry.path, b" = ", &picked.name(), b"\n"].concat())?;
    }
    Ok(0)
}

/// Prints with `--verbose` what chooses a tool before patterns do.
fn print_choices(ui: &mut Ui, table: &ToolTable) -> Result<(), Abort> {
    let choices = [
        ("--tool", &table.forced),
        ("HGMERGE", &table.environment),
        ("ui.merge", &table.configured),
    ];
    for (what, name) in choices {
        if let Some(name) = name {
            let name = String::from_utf8_lossy(name);
            // As Mercurial quotes it: only the variable and the setting have an equals sign.
            let between = if what == "--tool" { " " } else { "=" };
            ui.note(format!("with {what}{between}'{name}'\n"))?;
        }
    }
    Ok(())
}
