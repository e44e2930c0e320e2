//! The last part: the history of every file.

use super::entries::{about, check_link, duplicates, report_duplicate};
use super::findings::{Findings, reason, short};
use super::manifests::{FileId, Manifests};
use super::{Check, data_off_by};
use crate::format::{FileText, RepoError};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_base::Unit;
use varve_revlog::{Node, ReaderState, Rev, Revlog, RevlogError, flag};

/// The changelog and manifests that filelogs are compared with.
#[derive(Clone, Copy)]
pub(super) struct Links<'a> {
    pub changelog: &'a Revlog,
    pub manifests: &'a Manifests,
    pub has_manifests: bool,
    /// Names of the store's files, as its list has them.
    pub listed: &'a HashSet<Vec<u8>>,
}

/// Totals over all files.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub revisions: usize,
    /// Names of the store's files that belong to tracked files.
    pub stored: HashSet<Vec<u8>>,
    pub incomplete_list: bool,
}

/// Findings of one thread, each with the index of its file.
#[derive(Default)]
struct WorkerFindings {
    found: Vec<(usize, Findings)>,
    checked: Checked,
}

/// Checks all files, with a thread for every core.
pub(super) fn check_all(
    check: Check<'_>,
    links: &Links<'_>,
) -> Result<(Checked, Findings), RepoError> {
    let files = links.manifests.sorted();
    let step = "checking files";
    check
        .progress
        .begin(step, Unit::Items, Some(files.len() as u64));
    let next = AtomicUsize::new(0);
    let shares = Mutex::new(Vec::new());
    let work = || -> Result<(), RepoError> {
        let (mut share, mut state) = (WorkerFindings::default(), ReaderState::default());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(id) = files.get(at) else {
                break;
            };
            check.stop.check()?;
            let mut file = File {
                check,
                links,
                id: *id,
                name: &links.manifests.names[*id as usize],
                found: Findings::default(),
                copies: Vec::new(),
            };
            file.check(&mut state, &mut share.checked)?;
            share.found.push((at, file.found));
            check.progress.advance(1);
        }
        let mut shares = shares.lock();
        shares.push(share);
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut outcome = work();
        for helper in helpers {
            // A panic of a helper goes on in this thread.
            let helped = helper
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(helped);
        }
        outcome
    })?;
    check.progress.end();
    Ok(merge(shares.into_inner()))
}

fn merge(shares: Vec<WorkerFindings>) -> (Checked, Findings) {
    let mut all = Checked::default();
    let mut found = Vec::new();
    for share in shares {
        all.revisions += share.checked.revisions;
        all.stored.extend(share.checked.stored);
        all.incomplete_list |= share.checked.incomplete_list;
        found.extend(share.found);
    }
    found.sort_unstable_by_key(|(at, _)| *at);
    let mut findings = Findings::default();
    for (_, mut of_file) in found {
        findings.append(&mut of_file);
    }
    (all, findings)
}

struct File<'a> {
    check: Check<'a>,
    links: &'a Links<'a>,
    id: FileId,
    name: &'a [u8],
    found: Findings,
    /// Revisions that say they are copies, with their source.
    copies: Vec<(Rev, Vec<u8>, Node)>,
}

impl File<'_> {
    fn check(&mut self, state: &mut ReaderState, all: &mut Checked) -> Result<(), RepoError> {
        let path = self.check.context.filelog_path(self.name);
        let log = match Revlog::open_or_empty(&self.check.context.storage, &path) {
            Ok(log) => log.with_data(self.check.context.filelog_data_path(self.name)),
            Err(error) => {
                let message = broken(&error, self.name);
                self.found.error(self.first(), &message, Some(self.name));
                return Ok(());
            }
        };
        self.check_list(&log, all);
        if log.is_empty() {
            let message = [b"empty or missing ", self.name].concat();
            self.found.error(self.first(), &message, None);
        } else {
            all.revisions += log.len();
            let off = data_off_by(self.check.context, &log)?;
            if off != 0 {
                let message = format!("data length off by {off} bytes");
                let message = message.as_bytes();
                self.found.error(self.first(), message, Some(self.name));
            }
            self.check_texts(&log, state);
        }
        self.check_links(&log, &path);
        Ok(())
    }

    fn changing_revs(&self) -> &[u32] {
        &self.links.manifests.changing_revs[self.id as usize]
    }

    /// The oldest changeset that speaks of the file.
    fn first(&self) -> Option<i64> {
        self.changing_revs().first().map(|rev| i64::from(*rev))
    }

    /// The store's list must have the files of this revlog.
    fn check_list(&mut self, log: &Revlog, all: &mut Checked) {
        let ends: &[&[u8]] = if log.is_empty() || log.header().inline {
            &[b".i"]
        } else {
            &[b".i", b".d"]
        };
        for end in ends {
            let name = [b"data/", self.name, end].concat();
            if !self.links.listed.contains(&name) {
                let line = [b" warning: revlog '", &name[..], b"' not in fncache!"].concat();
                self.found.warn(line);
                all.incomplete_list = true;
            }
            all.stored.insert(name);
        }
    }

    fn check_texts(&mut self, log: &Revlog, state: &mut ReaderState) {
        let mut reader = log.reader_with(std::mem::take(state));
        for rev in log.revs() {
            // Censored revisions have no text to be checked.
            if log.flags(rev) & !flag::HINTS == flag::CENSORED {
                let text = reader.unchecked_text(rev);
                if text.is_ok_and(|text| text.starts_with(b"\x01\ncensored:")) {
                    let link = Some(log.linkrev(rev));
                    let message = b"censored file data";
                    self.found.error(link, message, Some(self.name));
                }
                continue;
            }
            let problem = match reader.text(rev) {
                Ok(text) => match log.entry(rev).raw_len {
                    Some(len) if len as usize != text.len() => {
                        let found = text.len();
                        Some(format!("unpacked size is {found}, {len} expected").into_bytes())
                    }
                    _ => {
                        self.note_copy(log, rev, text);
                        None
                    }
                },
                Err(error) => {
                    let reason = reason(&error, log, self.name);
                    Some(about("unpacking", log, rev, &reason))
                }
            };
            if let Some(message) = problem {
                let link = Some(log.linkrev(rev));
                self.found.error(link, &message, Some(self.name));
            }
        }
        *state = reader.into_state();
    }

    fn note_copy(&mut self, log: &Revlog, rev: Rev, text: &[u8]) {
        // A copy's first parent is null: its history goes on in the source's.
        if !text.starts_with(b"\x01\n") || log.parents(rev)[0].is_some() {
            return;
        }
        if let Some((source, node)) = FileText::parse(text).copied_from {
            self.copies.push((rev, source.to_vec(), node));
        }
    }

    /// Compares the revisions with the changesets and manifests that speak of them.
    fn check_links(&mut self, log: &Revlog, path: &Path) {
        debug_assert_eq!(log.path(), path);
        let twice = duplicates(log);
        let mut copies = std::mem::take(&mut self.copies).into_iter().peekable();
        let mut named = 0;
        for rev in log.revs() {
            let (touched, count) = (
                self.links.manifests.changing_revs[self.id as usize].as_slice(),
                self.links.changelog.len(),
            );
            let link = check_link(log, rev, touched, count, self.name, &mut self.found);
            report_duplicate(rev, &twice, link, self.name, &mut self.found);
            let node = log.node(rev);
            let again = twice.contains_key(&rev);
            if !again && self.links.manifests.names_node(self.id, &node) {
                named += 1;
            } else if self.links.has_manifests && self.is_in_manifests() {
                let message = [&short(&node)[..], b" not in manifests"].concat();
                self.found.error(link, &message, Some(self.name));
            }
            while let Some((_, source, node)) = copies.next_if(|(of, ..)| *of == rev) {
                self.check_source(log, rev, link, &source, &node);
            }
        }
        if named < self.links.manifests.named[self.id as usize] {
            self.report_missing(log);
        }
    }

    fn is_in_manifests(&self) -> bool {
        self.links.manifests.named[self.id as usize] > 0
    }

    /// Revisions that manifests name and the file does not have.
    fn report_missing(&mut self, log: &Revlog) {
        let nodes = self.links.manifests.nodes_of(self.id);
        let mut missing: Vec<_> = nodes
            .filter(|(node, _)| log.rev(node).is_none())
            .map(|(node, link)| (link, node))
            .collect();
        missing.sort_unstable();
        for (link, node) in missing {
            let message = [b"manifest refers to unknown revision ", &short(&node)[..]].concat();
            self.found.error(link, &message, Some(self.name));
        }
    }

    /// The source of a copy must be there.
    fn check_source(
        &mut self,
        log: &Revlog,
        rev: Rev,
        link: Option<i64>,
        source: &[u8],
        node: &Node,
    ) {
        let context = self.check.context;
        let path = context.filelog_path(source);
        let message = match Revlog::open_or_empty(&context.storage, &path) {
            Ok(other) if other.is_empty() => {
                let source = [source, b":", &short(node)].concat();
                [b"empty or missing copy source revlog ", &source[..]].concat()
            }
            Ok(other) if node.is_null() || other.rev(node).is_some() => return,
            Ok(_) => {
                let reason = [source, b"@", &node.to_hex(), b": no node"].concat();
                about("checking rename of", log, rev, &reason)
            }
            Err(error) => about("checking rename of", log, rev, &broken(&error, source)),
        };
        self.found.error(link, &message, Some(self.name));
    }
}

/// Why a revlog cannot be opened.
fn broken(error: &RevlogError, name: &[u8]) -> Vec<u8> {
    let inner = match error {
        RevlogError::UnknownFormat { header, .. } => {
            let (flags, version) = (header >> 16, header & 0xffff);
            let text = if version == 1 {
                format!("unknown flags ({:#04x}) in version 1 revlog ", flags & !3)
            } else {
                format!("unknown version ({version}) in revlog ")
            };
            [text.as_bytes(), name].concat()
        }
        RevlogError::DamagedIndex { .. } => [b"index ", name, b" is corrupted"].concat(),
        other => other.to_string().into_bytes(),
    };
    [b"broken revlog! (", &inner[..], b")"].concat()
}
