//! The text of a merge: clear lines as they are, conflicts as the tool writes them.

use super::{MergeLabels, MergeTool, Merged};
use varve_delta::MergedRegion;

const OURS: &[u8] = b"<<<<<<< ";
const BASE: &[u8] = b"||||||| ";
const BETWEEN: &[u8] = b"=======";
const THEIRS: &[u8] = b">>>>>>> ";

/// The marker lines of one file, without their ends.
struct Markers {
    ours: Vec<u8>,
    base: Vec<u8>,
    theirs: Vec<u8>,
    newline: &'static [u8],
}

impl Markers {
    fn new(labels: &MergeLabels, newline: &'static [u8]) -> Markers {
        Markers {
            ours: [OURS, &labels.ours].concat(),
            base: [BASE, &labels.base].concat(),
            theirs: [THEIRS, &labels.theirs].concat(),
            newline,
        }
    }
}

/// The sides of one conflict.
struct ConflictSides<'t> {
    base: &'t [u8],
    ours: &'t [u8],
    theirs: &'t [u8],
}

pub(super) fn merge(
    tool: MergeTool,
    labels: &MergeLabels,
    [base, ours, theirs]: [&[u8]; 3],
) -> Merged {
    let markers = Markers::new(labels, newline_of(ours));
    let (mut content, mut conflicts) = (Vec::new(), false);
    for piece in varve_delta::merge(base, ours, theirs) {
        match piece {
            MergedRegion::Clear(text) => content.extend_from_slice(text),
            MergedRegion::Conflict { base, ours, theirs } => {
                let sides = ConflictSides { base, ours, theirs };
                conflicts |= push_conflict(tool, &sides, &markers, &mut content);
            }
        }
    }
    Merged { content, conflicts }
}

/// Whether the conflict remains.
fn push_conflict(
    tool: MergeTool,
    sides: &ConflictSides<'_>,
    markers: &Markers,
    out: &mut Vec<u8>,
) -> bool {
    let ConflictSides { base, ours, theirs } = sides;
    let newline = markers.newline;
    match tool {
        MergeTool::MergeLocal => out.extend_from_slice(ours),
        MergeTool::MergeOther => out.extend_from_slice(theirs),
        MergeTool::Union => out.extend([*ours, theirs].concat()),
        MergeTool::UnionOtherFirst => out.extend([*theirs, ours].concat()),
        MergeTool::Merge3 => {
            let parts = [
                &markers.ours,
                newline,
                ours,
                &markers.base,
                newline,
                base,
                BETWEEN,
                newline,
                theirs,
                &markers.theirs,
                newline,
            ];
            out.extend(parts.concat());
            return true;
        }
        _ => {
            let (before, ours, theirs, behind) = without_common(ours, theirs);
            let parts = [
                before,
                &markers.ours,
                newline,
                ours,
                BETWEEN,
                newline,
                theirs,
                &markers.theirs,
                newline,
                behind,
            ];
            out.extend(parts.concat());
            return true;
        }
    }
    false
}

/// Takes the lines that both sides begin with, and those that both end with, out of a conflict.
fn without_common<'t>(
    ours: &'t [u8],
    theirs: &'t [u8],
) -> (&'t [u8], &'t [u8], &'t [u8], &'t [u8]) {
    let common = |a: &mut dyn Iterator<Item = &'t [u8]>, b: &mut dyn Iterator<Item = &'t [u8]>| {
        let same = a.zip(b).take_while(|(a, b)| a == b);
        same.map(|(line, _)| line.len()).sum::<usize>()
    };
    let lines = |text: &'t [u8]| text.split_inclusive(|byte| *byte == b'\n');
    let before = common(&mut lines(ours), &mut lines(theirs));
    let (first, ours) = ours.split_at(before);
    let theirs = &theirs[before..];
    let behind = common(&mut lines(ours).rev(), &mut lines(theirs).rev());
    let (ours, last) = ours.split_at(ours.len() - behind);
    (first, ours, &theirs[..theirs.len() - behind], last)
}

/// Markers end as the first line of our side does.
fn newline_of(text: &[u8]) -> &'static [u8] {
    let line = text.split_inclusive(|byte| *byte == b'\n').next();
    match line {
        Some([.., b'\r', b'\n']) => b"\r\n",
        Some([.., b'\r']) => b"\r",
        _ => b"\n",
    }
}

/// The lines that a merge leaves around a conflict begin so.
const MARKERS: [&[u8]; 3] = [b"<<<<<<< ", b"=======", b">>>>>>> "];

/// Whether a content has the lines that a merge leaves around a conflict.
pub(crate) fn has_markers(content: &[u8]) -> bool {
    let mut lines = content.split(|byte| *byte == b'\n');
    lines.any(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line == MARKERS[1] || line.starts_with(MARKERS[0]) || line.starts_with(MARKERS[2])
    })
}
