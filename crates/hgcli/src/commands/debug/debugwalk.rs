//! `debugwalk`: the files that arguments mean in the working copy.

use crate::arguments::{EXCLUDE, INCLUDE, Matches};
use crate::context::{Command, Context};
use crate::ui::{Abort, columns};
use std::collections::BTreeSet;
use varve_workdir::{Dirstate, StatusLists, StatusRequest, working_status};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugwalk"],
    options: &[INCLUDE, EXCLUDE],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "print which files of the working directory the arguments mean",
    help: "For each file: its path, its path from the current directory on, and whether it is an \
           argument itself.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let matcher = repo.working_matcher(matches, matches.arguments())?;
    let repository = repo.repository()?;
    let dirstate = Dirstate::read(&repository)?;
    repo.warn_of_missing_files(ui, &matcher, &dirstate)?;
    let ignore = repo.ignore(ui)?;
    let status = working_status(&StatusRequest {
        repository: &repository,
        dirstate: &dirstate,
        matcher: &matcher,
        ignore: &ignore,
        listing: StatusLists {
            unknown: true,
            ignored: false,
            clean: true,
        },
        stop: &ui.stop,
    })?
    .status;
    let lists = [
        status.modified,
        status.added,
        status.removed,
        status.deleted,
        status.unknown,
        status.clean,
    ];
    let mut rows = Vec::new();
    for path in lists.into_iter().flatten().collect::<BTreeSet<_>>() {
        rows.push((repo.relative_path(&path)?, path));
    }
    let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0);
    let path_width = widest(&mut rows.iter().map(|(_, path)| columns::width(path)));
    let shown_width = widest(&mut rows.iter().map(|(shown, _)| columns::width(shown)));
    for (shown, path) in rows {
        let exact: &[u8] = if matcher.is_exact(&path) {
            b"exact"
        } else {
            b""
        };
        let (pad, shown_pad) = (
            columns::padding(&path, path_width),
            columns::padding(&shown, shown_width),
        );
        let line = [
            b"f  ",
            &path[..],
            pad.as_bytes(),
            b"  ",
            &shown,
            shown_pad.as_bytes(),
            b"  ",
            exact,
        ];
        let mut line = line.concat();
        line.truncate(line.trim_ascii_end().len());
        line.push(b'\n');
        ui.write(line)?;
    }
    Ok(0)
}
