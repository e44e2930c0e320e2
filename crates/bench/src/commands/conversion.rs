//! The visible history as a git repository, by `git fast-import`.

use crate::BenchError;
use crate::processes::{Program, words};
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use varve_base::{Interrupt, Progress, Unit};
use varve_repo::{FileKind, ManifestEntry, Node, ReaderState, RepoView, Rev};

/// The branch whose head becomes the newest changeset.
pub(super) const BRANCH: &str = "main";

/// Writes all visible changesets into the empty git repository at `directory`.
///
/// # Errors
/// [`BenchError`]: damage; git fails, as it does for files whose names it does not take.
pub(super) fn convert(
    view: &RepoView,
    git: &Program,
    directory: &Path,
    (progress, interrupt): (&dyn Progress, &Interrupt),
) -> Result<(), BenchError> {
    let import = words(&["fast-import", "--quiet"]);
    let mut command = git.command();
    command.args(&import).current_dir(directory);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    command.stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| git.cannot_run(&error))?;
    let input = child.stdin.take();
    let input = input.ok_or_else(|| git.cannot_run(&io::ErrorKind::BrokenPipe.into()))?;
    let revs: Vec<Rev> = view
        .changelog()
        .revs()
        .filter(|rev| view.is_visible(*rev))
        .collect();
    progress.begin("converting to git", Unit::Items, Some(revs.len() as u64));
    let mut exporter = Exporter::new(view, input);
    let written = revs.iter().try_for_each(|rev| {
        interrupt.check()?;
        progress.advance(1);
        exporter.push(*rev)
    });
    let written = written.and_then(|()| exporter.finish());
    progress.end();
    let done = child
        .wait_with_output()
        .map_err(|error| git.cannot_run(&error))?;
    // Its own words say more than a pipe that broke.
    git.succeeded(&import, &done)?;
    written
}

/// Writes the stream that `git fast-import` reads.
struct Exporter<'v> {
    view: &'v RepoView,
    out: BufWriter<ChildStdin>,
    state: ReaderState,
    /// Marks of commits by revision.
    commits: HashMap<Rev, u64>,
    /// Marks of contents by the revision of a file that has them.
    blobs: HashMap<Node, u64>,
    last_mark: u64,
    /// The manifest that was written last: usually that of the next one's parent.
    last: Option<(Rev, Vec<u8>)>,
}

fn broken(error: io::Error) -> BenchError {
    varve_exchange::ExchangeError::Write(error).into()
}

impl<'v> Exporter<'v> {
    fn new(view: &'v RepoView, out: ChildStdin) -> Exporter<'v> {
        Exporter {
            view,
            out: BufWriter::with_capacity(1 << 20, out),
            state: ReaderState::default(),
            commits: HashMap::new(),
            blobs: HashMap::new(),
            last_mark: 0,
            last: None,
        }
    }

    fn next_mark(&mut self) -> u64 {
        self.last_mark += 1;
        self.last_mark
    }

    /// Writes one changeset; its parents were written before.
    fn push(&mut self, rev: Rev) -> Result<(), BenchError> {
        let parents = self.view.changelog().parents(rev);
        let parents: Vec<Rev> = parents.into_iter().flatten().collect();
        let before = match (parents.first(), self.last.take()) {
            (None, _) => Vec::new(),
            (Some(first), Some((last, text))) if *first == last => text,
            (Some(first), _) => self.view.manifest_text(Some(*first))?,
        };
        let after = self.view.manifest_text(Some(rev))?;
        let changes = self.changes(&before, &after)?;
        let mut commit = Vec::new();
        if parents.is_empty() {
            // Else the commit would follow the one that the branch names.
            commit.extend_from_slice(format!("reset refs/heads/{BRANCH}\n\n").as_bytes());
        }
        let mark = self.next_mark();
        self.commits.insert(rev, mark);
        commit.extend_from_slice(format!("commit refs/heads/{BRANCH}\nmark :{mark}\n").as_bytes());
        self.view
            .with_changeset(rev, |changeset| push_head(&changeset, &mut commit))?;
        for (index, parent) in parents.iter().enumerate() {
            let word = if index == 0 { "from" } else { "merge" };
            if let Some(mark) = self.commits.get(parent) {
                commit.extend_from_slice(format!("{word} :{mark}\n").as_bytes());
            }
        }
        commit.extend_from_slice(&changes);
        commit.push(b'\n');
        self.out.write_all(&commit).map_err(broken)?;
        self.last = Some((rev, after));
        Ok(())
    }

    /// Writes new contents; returns the lines of a commit that change the first manifest into the second.
    fn changes(&mut self, before: &[u8], after: &[u8]) -> Result<Vec<u8>, BenchError> {
        let view = self.view;
        let mut old = view.manifest_entries(before).peekable();
        let mut new = view.manifest_entries(after).peekable();
        // Removals come first, so that a directory can take the place of a file.
        let (mut removed, mut written) = (Vec::new(), Vec::new());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(Ok(old)), Some(Ok(new))) => old.path.cmp(new.path),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(Err(_)), _) => std::cmp::Ordering::Less,
                (_, Some(Err(_))) => std::cmp::Ordering::Greater,
            };
            let left = if order.is_le() { old.next() } else { None };
            let right = if order.is_ge() { new.next() } else { None };
            match (left.transpose()?, right.transpose()?) {
                (Some(left), None) => {
                    removed.extend_from_slice(b"D ");
                    push_path(left.path, &mut removed);
                }
                (Some(left), Some(right)) if (left.node, left.kind) == (right.node, right.kind) => {
                }
                (_, Some(right)) => {
                    let mark = self.blob(&right)?;
                    let mode = match right.kind {
                        FileKind::Plain => "100644",
                        FileKind::Executable => "100755",
                        FileKind::Symlink => "120000",
                    };
                    written.extend_from_slice(format!("M {mode} :{mark} ").as_bytes());
                    push_path(right.path, &mut written);
                }
                (None, None) => {}
            }
        }
        removed.extend_from_slice(&written);
        Ok(removed)
    }

    /// Mark of a file's content, which is written if it is new.
    fn blob(&mut self, entry: &ManifestEntry<'_>) -> Result<u64, BenchError> {
        if let Some(mark) = self.blobs.get(&entry.node) {
            return Ok(*mark);
        }
        let view = self.view;
        let content = view.file_content_with(entry.path, &entry.node, &mut self.state)?;
        let mark = self.next_mark();
        self.blobs.insert(entry.node, mark);
        write!(self.out, "blob\nmark :{mark}\ndata {}\n", content.len()).map_err(broken)?;
        self.out.write_all(&content).map_err(broken)?;
        self.out.write_all(b"\n").map_err(broken)?;
        Ok(mark)
    }

    /// Gives every head a branch, so that git keeps all history.
    fn finish(mut self) -> Result<(), BenchError> {
        for head in self.view.heads() {
            if let Some(mark) = self.commits.get(&head) {
                let rev = head.0;
                write!(self.out, "reset refs/heads/head-{rev}\nfrom :{mark}\n\n")
                    .map_err(broken)?;
            }
        }
        self.out.flush().map_err(broken)
    }
}

/// Author, date and message of a commit.
fn push_head(changeset: &varve_repo::Changeset<'_>, out: &mut Vec<u8>) {
    let (name, address) = author(changeset.user);
    // Git's dates begin in 1970, local ones too; Mercurial counts zones to the west.
    let time = changeset.time.max(i64::from(changeset.zone)).max(0);
    let minutes = -changeset.zone / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let zone = format!("{sign}{:02}{:02}", minutes.abs() / 60, minutes.abs() % 60);
    for role in ["author", "committer"] {
        out.extend_from_slice(role.as_bytes());
        out.push(b' ');
        out.extend_from_slice(&name);
        out.extend_from_slice(b" <");
        out.extend_from_slice(&address);
        out.extend_from_slice(format!("> {time} {zone}\n").as_bytes());
    }
    let description = changeset.description;
    out.extend_from_slice(format!("data {}\n", description.len()).as_bytes());
    out.extend_from_slice(description);
    out.push(b'\n');
}

/// Name and address of `Name <address>`, without the characters that git gives a meaning.
fn author(user: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let cleaned = |part: &[u8]| -> Vec<u8> {
        let part = part.trim_ascii().iter().copied();
        part.filter(|byte| !matches!(byte, b'<' | b'>' | b'\n' | 0))
            .collect()
    };
    match user.iter().position(|byte| *byte == b'<') {
        Some(at) => (cleaned(&user[..at]), cleaned(&user[at..])),
        None => (cleaned(user), Vec::new()),
    }
}

/// A path at the end of a line; in quotes if it begins with one.
fn push_path(path: &[u8], out: &mut Vec<u8>) {
    match path.first() {
        Some(b'"') => {
            out.push(b'"');
            for byte in path {
                if matches!(byte, b'"' | b'\\') {
                    out.push(b'\\');
                }
                out.push(*byte);
            }
            out.push(b'"');
        }
        _ => out.extend_from_slice(path),
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_and_paths_have_the_form_that_git_reads() {
        let parts = |user: &str| {
            let (name, address) = author(user.as_bytes());
            let text = |bytes| String::from_utf8(bytes).unwrap();
            (text(name), text(address))
        };
        let pair = |name: &str, address: &str| (name.to_owned(), address.to_owned());
        assert_eq!(parts("Ada L <ada@x.org>"), pair("Ada L", "ada@x.org"));
        assert_eq!(parts("ada"), pair("ada", ""));
        assert_eq!(parts("a>b <c <d>"), pair("ab", "c d"));
        let path = |path: &[u8]| {
            let mut out = Vec::new();
            push_path(path, &mut out);
            out
        };
        assert_eq!(path(b"a b"), b"a b\n");
        assert_eq!(path(b"\"a\\"), b"\"\\\"a\\\\\"\n");
    }
}
