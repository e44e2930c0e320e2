//! The text of a merge: clear lines as they are, conflicts as the tool writes them.

use super::{MergeLabels, MergeTool, Merged};
use varve_delta::{MergedRegion, TouchingChanges};

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
    (tool, touching): (MergeTool, TouchingChanges),
    labels: &MergeLabels,
    texts: [&[u8]; 3],
) -> Merged {
    let markers = Markers::new(labels, newline_of(texts[1]));
    let mut content = Vec::new();
    let (mut conflicts, mut settled) = (false, false);
    for piece in varve_delta::merge(touching, texts) {
        match piece {
            MergedRegion::Clear(text) => content.extend_from_slice(text),
            MergedRegion::Conflict { base, ours, theirs } => {
                let sides = ConflictSides { base, ours, theirs };
                let remains = push_conflict(tool, &sides, &markers, &mut content);
                conflicts |= remains;
                settled |= !remains;
            }
        }
    }
    Merged {
        content,
        conflicts,
        settled,
    }
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
        MergeTool::Mergediff => {
            push_difference(sides, markers, out);
            return true;
        }
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

/// Writes one side of a conflict as it is, and how the other one differs from the base. The difference is that of the side
/// that keeps more lines of the base, or else of ours.
fn push_difference(sides: &ConflictSides<'_>, markers: &Markers, out: &mut Vec<u8>) {
    let name = |marker: &'_ [u8]| marker.get(OURS.len()..).unwrap_or_default().to_vec();
    let (ours, theirs) = (name(&markers.ours), name(&markers.theirs));
    let [by_us, by_them] = [sides.ours, sides.theirs].map(|side| Difference::new(sides.base, side));
    let shows_ours = by_us.same >= by_them.same;
    let (difference, differing, whole, text) = match shows_ours {
        true => (by_us.text, ours, theirs, sides.theirs),
        false => (by_them.text, theirs, ours, sides.ours),
    };
    let line = |marker: &[u8], name: &[u8]| [marker, name, markers.newline].concat();
    let difference = [
        line(b"------- ", &name(&markers.base)),
        line(b"+++++++ ", &differing),
        difference,
    ];
    let whole = [line(b"======= ", &whole), text.to_vec()];
    let (difference, whole) = (difference.concat(), whole.concat());
    out.extend(line(b"<<<<<<<", b""));
    out.extend(match shows_ours {
        true => [difference, whole].concat(),
        false => [whole, difference].concat(),
    });
    out.extend(line(b">>>>>>>", b""));
}

/// How a side of a conflict differs from the base.
struct Difference {
    /// The lines of both, each behind a blank, a minus or a plus sign.
    text: Vec<u8>,
    /// How many lines both have.
    same: usize,
}

impl Difference {
    fn new(base: &[u8], side: &[u8]) -> Difference {
        let lines =
            |text| -> Vec<&[u8]> { <[u8]>::split_inclusive(text, |byte| *byte == b'\n').collect() };
        let (old, new) = (lines(base), lines(side));
        let mut difference = Difference {
            text: Vec::new(),
            same: 0,
        };
        let (mut at_old, mut at_new) = (0, 0);
        for block in varve_delta::same_lines(base, side) {
            difference.push(b'-', old.get(at_old..block.a));
            difference.push(b'+', new.get(at_new..block.b));
            (at_old, at_new) = (block.a + block.len, block.b + block.len);
            difference.push(b' ', old.get(block.a..at_old));
            difference.same += block.len;
        }
        difference
    }

    fn push(&mut self, sign: u8, lines: Option<&[&[u8]]>) {
        for line in lines.unwrap_or_default() {
            self.text.push(sign);
            self.text.extend_from_slice(line);
        }
    }
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

/// The lines that a merge leaves around a conflict begin so; those without a label do not count.
const MARKERS: [&[u8]; 6] = [OURS, BASE, b"======= ", THEIRS, b"------- ", b"+++++++ "];

/// Whether a content has the lines that a merge leaves around a conflict.
pub(crate) fn has_markers(content: &[u8]) -> bool {
    let mut lines = content.split(|byte| *byte == b'\n');
    lines.any(|line| MARKERS.iter().any(|marker| line.starts_with(marker)))
}
