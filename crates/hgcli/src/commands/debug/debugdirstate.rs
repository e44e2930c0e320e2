//! `debugdirstate`: what the dirstate says of each tracked file.

use crate::arguments::{Flag, Matches};
use crate::context::{Command, Context};
use crate::ui::Abort;
use crate::ui::clock::clock;
use varve_lang::date::Date;
use varve_workdir::Dirstate;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugdirstate", "debugstate"],
    options: &[
        Flag::long_flag("nodates", "do not show times (DEPRECATED)"),
        Flag::long_flag("no-dates", "do not show times"),
        Flag::long_flag("datesort", "sort by the times"),
    ],
    arguments: 0..=0,
    synopsis: "[OPTION]...",
    summary: "print the contents of the dirstate",
    help: "For each file: its state (n normal, a added, r removed, m merged), its mode, its size, \
           the time of its last change, and its path. Then the copies.\n\nEnds with 0.",
    category: None,
    run,
};

/// Bits of a mode that are shown, and the bit that only links have.
const PERMISSIONS: u32 = 0o777;
const LINK: u32 = 0o020_000;

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let repository = context.repo.repository()?;
    let dirstate = Dirstate::read(&repository)?;
    let hides_dates = matches.flag("nodates") || matches.flag("no-dates");
    let mut rows = Vec::new();
    for (path, entry) in dirstate.iter() {
        rows.push((entry.v1_fields(), path));
    }
    if matches.flag("datesort") {
        rows.sort_by_key(|(fields, path)| (fields.mtime, *path));
    }
    for (fields, path) in rows {
        let time = match fields.mtime {
            -1 => "unset               ".to_owned(),
            _ if hides_dates => "set                 ".to_owned(),
            seconds => {
                let time = i64::from(seconds);
                let zone = clock().zone.west_at(time);
                Date { time, zone }.format("%Y-%m-%d %H:%M:%S ")
            }
        };
        let mode = match fields.mode & LINK {
            0 => format!("{:3o}", fields.mode & PERMISSIONS),
            _ => "lnk".to_owned(),
        };
        let head = format!(
            "{} {mode} {:10} {time}",
            char::from(fields.state),
            fields.size
        );
        context.ui.write([head.as_bytes(), path, b"\n"].concat())?;
    }
    for (path, source) in dirstate.copies() {
        let line = [b"copy: ", source, b" -> ", path, b"\n"].concat();
        context.ui.write(line)?;
    }
    Ok(0)
}
