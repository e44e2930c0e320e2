//! Damage, as lines in Mercurial's words.

use super::{VerifyEvent, VerifyReport};
use varve_revlog::{Node, Revlog, RevlogError, flag};

/// Bytes of a node that are shown.
const SHORT: usize = 12;

/// Lines of one part of the work, with the counts that they add to.
#[derive(Debug, Default)]
pub(super) struct Findings {
    lines: Vec<Vec<u8>>,
    warnings: usize,
    errors: usize,
    first_damaged: Option<i64>,
}

impl Findings {
    /// A damage that belongs to the changeset `link`, if that is known, and to `file`.
    pub fn error(&mut self, link: Option<i64>, message: &[u8], file: Option<&[u8]>) {
        let at = match link {
            Some(link) => link.to_string(),
            None => "?".to_owned(),
        };
        let at = at.as_bytes();
        self.lines.push(match file {
            Some(file) => [b" ", file, b"@", at, b": ", message].concat(),
            None => [b" ", at, b": ", message].concat(),
        });
        self.errors += 1;
        let older = |first: i64| link.map_or(first, |link| link.min(first));
        self.first_damaged = self.first_damaged.map_or(link, |first| Some(older(first)));
    }

    /// An oddity; a whole line.
    pub fn warn(&mut self, line: Vec<u8>) {
        self.lines.push(line);
        self.warnings += 1;
    }

    /// Moves the lines of `later` behind these.
    pub fn append(&mut self, later: &mut Findings) {
        self.lines.append(&mut later.lines);
        self.warnings += std::mem::take(&mut later.warnings);
        self.errors += std::mem::take(&mut later.errors);
        let both = self.first_damaged.into_iter().chain(later.first_damaged);
        self.first_damaged = both.min();
    }

    pub fn report(self, report: &mut VerifyReport, on_event: &mut dyn FnMut(VerifyEvent<'_>)) {
        for line in &self.lines {
            on_event(VerifyEvent::Problem(line));
        }
        report.warnings += self.warnings;
        report.errors += self.errors;
        let both = report.first_damaged.into_iter().chain(self.first_damaged);
        report.first_damaged = both.min();
    }
}

/// The first digits of a node.
pub(super) fn short(node: &Node) -> Vec<u8> {
    node.to_hex()[..SHORT].to_vec()
}

/// Why a revision cannot be read. `name` is Mercurial's name of the revlog: the tracked file,
/// `00changelog` or `00manifest`.
pub(super) fn reason(error: &RevlogError, log: &Revlog, name: &[u8]) -> Vec<u8> {
    let text = match error {
        RevlogError::WrongHash { rev, .. } => {
            return [
                b"integrity check failed on ",
                name,
                b":",
                rev.to_string().as_bytes(),
            ]
            .concat();
        }
        RevlogError::DamagedChunk { rev, reason, .. } => {
            return damaged_chunk(log, *rev, reason, name);
        }
        RevlogError::Storage(error) if error.is_not_found() => {
            let path = log.data_path().display();
            format!("[Errno 2] No such file or directory: b'{path}'")
        }
        RevlogError::Flagged { rev, .. } => about_flags(log.flags(*rev)),
        RevlogError::DamagedChain { .. } => "invalid patch".to_owned(),
        other => other.to_string(),
    };
    text.into_bytes()
}

/// Flags of revisions that have their text elsewhere, and unknown flags.
fn about_flags(flags: u16) -> String {
    let unknown = flags & !(flag::HINTS | flag::CENSORED | flag::ELLIPSIS | flag::STORED_OUTSIDE);
    if unknown != 0 {
        return format!("incompatible revision flag '{unknown:#x}'");
    }
    let outside = [flag::ELLIPSIS, flag::STORED_OUTSIDE];
    let first = outside.into_iter().find(|known| flags & known != 0);
    format!("missing processor for flag '{:#x}'", first.unwrap_or(flags))
}

fn damaged_chunk(log: &Revlog, rev: varve_revlog::Rev, reason: &str, name: &[u8]) -> Vec<u8> {
    let entry = log.entry(rev);
    if reason == varve_revlog::CHUNK_OUTSIDE {
        let file_len = log.data_file_len().unwrap_or(0);
        let left = i128::from(file_len) - i128::from(entry.offset);
        let data = match name {
            b"00changelog" | b"00manifest" => [name, b".d"].concat(),
            _ => [b"data/", name, b".d"].concat(),
        };
        let wanted = format!(
            "; expected {} bytes from offset {}, got {left}",
            entry.stored_len, entry.offset
        );
        return [b"partial read of revlog ", &data[..], wanted.as_bytes()].concat();
    }
    let reason = match reason.strip_prefix("zstd failed: ") {
        Some(zstd) => format!("zstd decompressor error: {zstd}"),
        None => reason.to_owned(),
    };
    format!("revlog decompress error: {reason}").into_bytes()
}
