//! How much changed in each file, as a small picture.

use crate::ui::columns;
use crate::ui::paint::Painter;
use std::io::Write;

/// The narrowest picture.
const NARROWEST: usize = 10;

/// One file's counts.
#[derive(Clone, Debug)]
pub(crate) struct FileStat {
    pub(crate) path: Vec<u8>,
    /// Lines that came.
    pub(crate) added: usize,
    /// Lines that went.
    pub(crate) removed: usize,
    /// Not a text.
    pub(crate) binary: bool,
}

impl FileStat {
    /// Counts the lines of a file's hunks.
    pub(super) fn of(path: Vec<u8>, hunks: &[u8], binary: bool) -> FileStat {
        let begin = |sign: u8| {
            // Mercurial also splits at carriage returns.
            let lines = hunks.split(|byte| matches!(byte, b'\n' | b'\r'));
            lines.filter(|line| line.first() == Some(&sign)).count()
        };
        FileStat {
            path,
            added: begin(b'+'),
            removed: begin(b'-'),
            binary,
        }
    }
}

/// Appends the picture of a patch in git's form, `width` columns wide.
pub(crate) fn push_of_patch(painter: &Painter, patch: &[u8], width: usize, out: &mut Vec<u8>) {
    let mut stats: Vec<FileStat> = Vec::new();
    let mut is_header = false;
    let mut source = None;
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if let Some(names) = line.strip_prefix(b"diff --git a/") {
            let at = names.windows(3).rposition(|window| window == b" b/");
            let path = at.map_or(names, |at| &names[at + 3..]).to_vec();
            stats.push(FileStat::of(path, b"", false));
            is_header = true;
            continue;
        }
        let Some(stat) = stats.last_mut() else {
            continue;
        };
        if let Some(from) = line.strip_prefix(b"rename from ") {
            source = Some(from.to_vec());
        } else if let (Some(to), Some(from)) = (line.strip_prefix(b"rename to "), source.take()) {
            // Mercurial keeps the ends of the lines.
            stat.path = [&from[..], b"\n => ", to, b"\n"].concat();
        } else if line.starts_with(b"@@") {
            is_header = false;
        } else if line.starts_with(b"GIT binary patch") {
            stat.binary = true;
        } else if !is_header {
            stat.added += usize::from(line.starts_with(b"+"));
            stat.removed += usize::from(line.starts_with(b"-"));
        }
    }
    push(painter, &stats, width, out);
}

/// Appends the picture, `width` columns wide.
pub(crate) fn push(painter: &Painter, stats: &[FileStat], width: usize, out: &mut Vec<u8>) {
    if stats.is_empty() {
        return;
    }
    let total = |stat: &FileStat| stat.added + stat.removed;
    let most = stats.iter().map(total).max().unwrap_or_default();
    let name_width = stats.iter().map(|stat| columns::width(&stat.path)).max();
    let name_width = name_width.unwrap_or_default();
    let mut count_width = most.to_string().len();
    if stats.iter().any(|stat| stat.binary) {
        count_width = count_width.max(3);
    }
    let picture = width
        .saturating_sub(count_width + name_width + 6)
        .max(NARROWEST);
    let scaled = |count: usize| {
        if most <= picture {
            count
        } else {
            (count * picture / most).max(usize::from(count > 0))
        }
    };
    for stat in stats {
        let count = if stat.binary {
            "Bin".to_owned()
        } else {
            total(stat).to_string()
        };
        let (plus, minus) = (
            "+".repeat(scaled(stat.added)),
            "-".repeat(scaled(stat.removed)),
        );
        out.push(b' ');
        out.extend_from_slice(&stat.path);
        // Writing to memory does not fail.
        let _ = write!(
            out,
            "{} |  {count:>count_width$} ",
            columns::padding(&stat.path, name_width)
        );
        painter.push("diffstat.inserted", plus.as_bytes(), out);
        painter.push("diffstat.deleted", minus.as_bytes(), out);
        out.push(b'\n');
    }
    let sum = |count: fn(&FileStat) -> usize| stats.iter().map(count).sum::<usize>();
    let _ = writeln!(
        out,
        " {} files changed, {} insertions(+), {} deletions(-)",
        stats.len(),
        sum(|stat| stat.added),
        sum(|stat| stat.removed)
    );
}
