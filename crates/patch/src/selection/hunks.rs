//! Taking back the hunks of a patch.

use super::file::OfferedFile;

/// A patch in git's form that takes back the hunks of another one. What that changes besides, modes and files as a whole,
/// is left out.
pub fn reversed_hunks(patch: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for file in OfferedFile::read_all(patch) {
        let Some(path) = file.paths().last().filter(|_| !file.hunks().is_empty()) else {
            continue;
        };
        // A tab, so that a reader sees where a name with blanks ends.
        let end: &[u8] = match path.contains(&b' ') {
            true => b"\t\n",
            false => b"\n",
        };
        out.extend_from_slice(&[b"diff --git a/", &path[..], b" b/", path, b"\n"].concat());
        out.extend_from_slice(&[b"--- a/", &path[..], end, b"+++ b/", path, end].concat());
        for hunk in file.hunks() {
            out.extend_from_slice(&hunk.reversed().text());
        }
    }
    out
}
