//! Archives of a changeset's files, made while they are sent.

use super::error::PageError;
use super::page::{ARCHIVES, OfferedArchive};
use super::read::diff::short;
use super::{Page, PageBody};
use crate::hg::{RepoRegistry, streams};
use hyper::StatusCode;
use parking_lot::Mutex;
use std::io::{self, Write};
use std::sync::Arc;
use varve_archive::{ArchiveEntry, ArchiveWriter};
use varve_exchange::server::wire::BodySteps;
use varve_exchange::{ChunkSink, ExchangeError};
use varve_repo::{FileKind, Node, ReaderState, RepoView, Rev};

/// The file that describes the changeset.
const METADATA: &[u8] = b".hg_archival.txt";

/// The archive that the address names: `REVISION.EXTENSION`, and a directory or file that it is about.
///
/// # Errors
/// 404 for an unknown kind, changeset or path; 403 for a kind that `web.allow-archive` does not name.
pub(super) fn render(
    repos: &Arc<RepoRegistry>,
    page: &Page<'_>,
    view: &Arc<RepoView>,
) -> Result<PageBody, PageError> {
    let typed = page.address.rev.as_deref().unwrap_or_default();
    let known = ARCHIVES.iter().find_map(|archive| {
        let rev = typed.strip_suffix(archive.extension)?;
        Some((rev, *archive))
    });
    let Some((key, archive)) = known else {
        let words = "Unsupported archive type";
        return Err(PageError::told(StatusCode::NOT_FOUND, words));
    };
    if !page.archives().contains(&archive) {
        let words = "Archive type not allowed";
        return Err(PageError::told(StatusCode::FORBIDDEN, words));
    }
    let Some(rev) = page.reader.changeset(Some(key))? else {
        return Err(PageError::missing(format!("unknown revision '{key}'")));
    };
    let name = prefix(page, key, view.changelog().node(rev));
    let steps = steps(page, view, (rev, archive), &name)?;
    let answer = streams::in_steps(repos, archive.media_type, Box::new(steps));
    let disposition = format!("attachment; filename={name}{}", archive.extension);
    let body = PageBody { answer };
    Ok(body.with_header("content-disposition", disposition))
}

/// `NAME-REVISION`: in the name one `-` stands for all between words; the revision is as it was typed, and the beginning of
/// its node for `tip`. Mercurial leaves characters in it that part a header or lead to other directories.
fn prefix(page: &Page<'_>, key: &str, node: Node) -> String {
    let name = page.about.name.rsplit('/').next().unwrap_or_default();
    let is_of_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let mut shown = String::new();
    for char in name.chars() {
        match is_of_word(char) {
            true => shown.push(char),
            false if shown.ends_with('-') => {}
            false => shown.push('-'),
        }
    }
    let is_safe = |char: char| is_of_word(char) || matches!(char, '-' | '.');
    let version = match key {
        "tip" => short(&node),
        key => key.replace(|char| !is_safe(char), "_"),
    };
    format!("{shown}-{version}")
}

fn steps(
    page: &Page<'_>,
    view: &Arc<RepoView>,
    (rev, archive): (Rev, OfferedArchive),
    name: &str,
) -> Result<ArchiveSteps, PageError> {
    let path = page.path();
    let manifest = view.manifest_text(Some(rev))?;
    let mut files = Vec::new();
    for entry in view.manifest_entries(&manifest) {
        let entry = entry?;
        let rest = entry.path.strip_prefix(path.as_slice());
        if path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/') {
            files.push((entry.path.to_vec(), entry.node, entry.kind));
        }
    }
    if files.is_empty() {
        return Err(PageError::told(StatusCode::NOT_FOUND, "file(s) not found"));
    }
    files.reverse();
    let date = page.reader.date(Some(rev))?;
    let out = SharedBuffer::default();
    let failed = |error: io::Error| PageError::Failed(crate::Failure::internal(error));
    let writer = ArchiveWriter::begin(archive.kind, out.clone(), date.time, b"");
    let metadata = page.config.boolean("ui", "archivemeta", true);
    let has_metadata = path.is_empty() && metadata.unwrap_or(true);
    let mut steps = ArchiveSteps {
        view: Arc::clone(view),
        writer: Some(writer.map_err(failed)?),
        out,
        files,
        prefix: format!("{name}/").into_bytes(),
        state: ReaderState::default(),
    };
    if has_metadata {
        let text = metadata_of(page, rev)?;
        steps
            .add(METADATA, FileKind::Plain, &text)
            .map_err(failed)?;
    }
    Ok(steps)
}

/// Text of `.hg_archival.txt`.
fn metadata_of(page: &Page<'_>, rev: Rev) -> Result<Vec<u8>, PageError> {
    let entry = page.reader.entry(Some(rev))?;
    let first = page.reader.view.changelog().node(Rev(0));
    let head = format!("repo: {first}\nnode: {}\nbranch: ", entry.node);
    let mut out = [head.as_bytes(), &entry.branch, b"\n"].concat();
    let local = page.reader.view.local_tag_names()?;
    let mut tags = entry.tags.clone();
    tags.retain(|tag| tag != b"tip" && !local.contains(tag));
    match tags.is_empty() {
        true => out.extend_from_slice(&latest_tag(page, rev)?),
        false => {
            for tag in tags {
                out.extend_from_slice(&[b"tag: ", &tag[..], b"\n"].concat());
            }
        }
    }
    Ok(out)
}

/// The nearest tagged ancestors, the longest way to them, and the changesets since.
fn latest_tag(page: &Page<'_>, rev: Rev) -> Result<Vec<u8>, PageError> {
    let view = page.reader.view;
    let changelog = view.changelog();
    let local = view.local_tag_names()?;
    let mut names: std::collections::BTreeMap<Rev, Vec<Vec<u8>>> = Default::default();
    for (name, node) in view.tags()? {
        if let Some(tagged) = changelog.rev(&node)
            && name != b"tip"
            && !local.contains(&name)
        {
            names.entry(tagged).or_default().push(name);
        }
    }
    // For each changeset: date of the tagged one, its number, and the length of the way.
    let mut known: std::collections::BTreeMap<Rev, (i64, Option<Rev>, usize)> = Default::default();
    for current in view.missing_ancestors(&[rev], &[]) {
        let nearest = match names.contains_key(&current) {
            true => (page.reader.date(Some(current))?.time, Some(current), 0),
            false => {
                let parents = changelog.parents(current).into_iter().flatten();
                let ways = parents.filter_map(|parent| known.get(&parent).copied());
                let best = ways.max_by_key(|(date, tagged, way)| (*date, *tagged, *way));
                let (date, tagged, way) = best.unwrap_or((i64::MIN, None, 0));
                (date, tagged, way + 1)
            }
        };
        known.insert(current, nearest);
    }
    let (_, tagged, distance) = known.get(&rev).copied().unwrap_or_default();
    let mut out = Vec::new();
    let of_tagged = tagged.and_then(|tagged| names.get(&tagged));
    let null = vec![b"null".to_vec()];
    for name in of_tagged.unwrap_or(&null) {
        out.extend_from_slice(&[b"latesttag: ", &name[..], b"\n"].concat());
    }
    let heads = tagged.map(|tagged| vec![tagged]).unwrap_or_default();
    let since = view.missing_ancestors(&[rev], &heads).len();
    let numbers = format!("latesttagdistance: {distance}\nchangessincelatesttag: {since}\n");
    out.extend_from_slice(numbers.as_bytes());
    Ok(out)
}

/// The output of a writer that was not sent yet.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An archive, of which each step makes a file.
struct ArchiveSteps {
    view: Arc<RepoView>,
    /// `None` once it has ended.
    writer: Option<ArchiveWriter<SharedBuffer>>,
    out: SharedBuffer,
    /// The next one is the last.
    files: Vec<(Vec<u8>, Node, FileKind)>,
    prefix: Vec<u8>,
    state: ReaderState,
}

impl ArchiveSteps {
    fn add(&mut self, path: &[u8], kind: FileKind, content: &[u8]) -> io::Result<()> {
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        writer.add(&ArchiveEntry {
            name: &[&self.prefix, path].concat(),
            mode: match kind {
                FileKind::Executable => 0o755,
                _ => 0o644,
            },
            is_link: kind == FileKind::Symlink,
            content,
        })
    }
}

impl BodySteps for ArchiveSteps {
    fn step(&mut self, sink: &mut dyn ChunkSink) -> Result<bool, ExchangeError> {
        match self.files.pop() {
            Some((path, node, kind)) => {
                let content = self.view.file_content_with(&path, &node, &mut self.state)?;
                self.add(&path, kind, &content)?;
            }
            None => {
                if let Some(writer) = self.writer.take() {
                    writer.finish()?;
                }
            }
        }
        let made = std::mem::take(&mut *self.out.0.lock());
        if !made.is_empty() {
            sink.send(made)?;
        }
        Ok(self.writer.is_some())
    }
}
