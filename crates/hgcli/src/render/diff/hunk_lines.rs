//! Restricting hunks to those that touch some lines of the new text.

use std::ops::Range;

/// The hunks that touch `lines`, which are counted from 0. Hunks are taken with the lines around their changes. As in
/// Mercurial, which compares with numbers from 1 here, a hunk that begins with the last of the lines is left out, and
/// one that ends right before the first is kept.
pub(super) fn touching(hunks: &[u8], lines: &[Range<usize>]) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut is_kept = true;
    for line in hunks.split_inclusive(|byte| *byte == b'\n') {
        if let Some((start, length)) = new_range(line) {
            let touches = |lines: &Range<usize>| lines.start < start + length && start < lines.end;
            is_kept = lines.iter().any(touches);
        }
        if is_kept {
            kept.extend_from_slice(line);
        }
    }
    kept
}

/// First line, counted from 1, and number of lines of the new text in `@@ -1,2 +3,4 @@`. No line of a text can look
/// so in a hunk, where each has a mark before it.
fn new_range(line: &[u8]) -> Option<(usize, usize)> {
    let header = line
        .strip_prefix(b"@@ -")?
        .split(|byte| *byte == b'@')
        .next()?;
    let (_, range) = std::str::from_utf8(header).ok()?.trim().split_once(" +")?;
    let (start, length) = range.split_once(',').unwrap_or((range, "1"));
    Some((start.parse().ok()?, length.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_that_touch_no_line_are_left_out() {
        let hunks = b"@@ -1,2 +1,3 @@\n a\n+b\n c\n@@ -9,1 +10,1 @@ f()\n-x\n+@@ -1,1 +1,1 @@\n";
        let second = hunks.iter().rposition(|byte| *byte == b'f').unwrap() - 17;
        let touching_one = |lines| touching(hunks, std::slice::from_ref(&lines));
        assert_eq!(touching_one(9..11), hunks[second..]);
        assert_eq!(touching_one(0..2), hunks[..second]);
        assert_eq!(touching_one(4..9), b"");
        assert_eq!(touching(hunks, &[0..2, 9..20]), hunks);
    }
}
