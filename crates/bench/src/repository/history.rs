//! The revlogs of a repository.

use crate::BenchError;
use crate::report::Histogram;
use std::path::Path;
use std::sync::Arc;
use varve_base::Storage;
use varve_repo::Repository;
use varve_revlog::{ENTRY_LEN, Rev, Revlog};

/// Part of a history that a revlog holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HistoryPart {
    /// `00changelog`.
    Changelog,
    /// `00manifest`.
    Manifest,
    /// One tracked file.
    File,
}

impl HistoryPart {
    /// All parts, in the order of tables.
    pub const ALL: [HistoryPart; 3] = [
        HistoryPart::Changelog,
        HistoryPart::Manifest,
        HistoryPart::File,
    ];

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            HistoryPart::Changelog => "changelog",
            HistoryPart::Manifest => "manifests",
            HistoryPart::File => "files",
        }
    }
}

/// All revlogs of a store, and the manifest apart.
#[derive(Debug)]
pub(crate) struct History {
    pub revlogs: Vec<(HistoryPart, Revlog)>,
    pub manifest: Revlog,
}

/// Number and bytes of the chunks of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkCounts {
    /// How many.
    pub count: u64,
    /// Their bytes as stored.
    pub bytes: u64,
}

impl ChunkCounts {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

/// Contents of a store by part, kind and type.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// By part: full texts, snapshots against others, deltas.
    pub parts: [[ChunkCounts; 3]; 3],
    /// Entries of all indexes, in bytes.
    pub index_bytes: u64,
    /// By type of the chunks that were looked at, in the order of [`CHUNK_TYPES`].
    pub types: [ChunkCounts; CHUNK_TYPES.len()],
    /// Sizes of the chunks that were looked at, before compression.
    pub sizes: Histogram,
}

/// Types of chunks as `debugrevlog` names them, by the first byte; the last has none.
pub const CHUNK_TYPES: [(&str, Option<u8>); 5] = [
    ("0x00", Some(0)),
    ("0x75 (u)", Some(b'u')),
    ("0x78 (x)", Some(b'x')),
    ("0x28 (()", Some(b'(')),
    ("empty", None),
];

/// Kinds of stored revisions, in the order of [`Breakdown::parts`].
pub const REVISION_KINDS: [&str; 3] = ["full texts", "snapshots", "deltas"];

impl Breakdown {
    pub(crate) fn of(history: &History) -> Breakdown {
        let mut all = Breakdown {
            parts: [[ChunkCounts::default(); 3]; 3],
            index_bytes: 0,
            types: [ChunkCounts::default(); CHUNK_TYPES.len()],
            sizes: Histogram::new(
                "Sizes of chunks before compression",
                "bytes in a chunk (classes double)",
            ),
        };
        for (part, revlog) in &history.revlogs {
            all.index_bytes += (revlog.len() * ENTRY_LEN) as u64;
            let mut snapshots: Vec<bool> = Vec::with_capacity(revlog.len());
            for rev in revlog.revs() {
                let kind = match revlog.delta_parent(rev) {
                    None => 0,
                    Some(base) if snapshots[base.index()] && !is_parent(revlog, rev, base) => 1,
                    Some(_) => 2,
                };
                snapshots.push(kind < 2);
                let stored = u64::from(revlog.entry(rev).stored_len);
                all.parts[*part as usize][kind].add(stored);
            }
        }
        all
    }

    /// Counts one chunk that was looked at.
    pub(crate) fn add_chunk(&mut self, stored: &[u8], raw_len: usize) {
        let first = stored.first().copied();
        let found = CHUNK_TYPES.iter().position(|(_, byte)| *byte == first);
        if let Some(found) = found {
            self.types[found].add(stored.len() as u64);
        }
        self.sizes.add(raw_len as u64);
    }

    /// Bytes of one part's chunks.
    pub fn part_bytes(&self, part: HistoryPart) -> u64 {
        let kinds = self.parts[part as usize].iter();
        kinds.map(|counts| counts.bytes).sum()
    }

    /// Bytes of all revlogs.
    pub fn store_bytes(&self) -> u64 {
        let parts = HistoryPart::ALL.map(|part| self.part_bytes(part));
        self.index_bytes + parts.iter().sum::<u64>()
    }

    /// Number of revisions.
    pub fn revisions(&self) -> u64 {
        let kinds = self.parts.iter().flatten();
        kinds.map(|counts| counts.count).sum()
    }
}

fn is_parent(revlog: &Revlog, rev: Rev, base: Rev) -> bool {
    revlog.parents(rev).contains(&Some(base))
}

impl History {
    pub fn open(storage: &Arc<dyn Storage>, repository: &Repository) -> Result<Self, BenchError> {
        let (mut revlogs, mut manifest) = (Vec::new(), None);
        for (index, data) in repository.revlog_files()? {
            let revlog = Revlog::open(storage, &index)?.with_data(data);
            let part = part_of(&index);
            if part == HistoryPart::Manifest {
                manifest = Some(revlog.share());
            }
            revlogs.push((part, revlog));
        }
        let manifest = manifest.filter(|manifest| !manifest.is_empty());
        let manifest = manifest.ok_or(BenchError::Nothing)?;
        revlogs.sort_by(|a, b| (a.0, a.1.path()).cmp(&(b.0, b.1.path())));
        Ok(History { revlogs, manifest })
    }

    /// Number of all revisions.
    pub fn revisions(&self) -> usize {
        self.revlogs.iter().map(|(_, revlog)| revlog.len()).sum()
    }

    /// One in so many chunks makes a sample of about `wanted`.
    pub fn stride(&self, wanted: Option<usize>) -> usize {
        let wanted = wanted.unwrap_or(usize::MAX).max(1);
        self.revisions().div_ceil(wanted).max(1)
    }

    pub fn newest_manifests(&self, count: usize) -> Vec<Rev> {
        let from = self.manifest.len().saturating_sub(count);
        self.manifest.revs().skip(from).collect()
    }
}

fn part_of(index: &Path) -> HistoryPart {
    match index.file_name().and_then(|name| name.to_str()) {
        Some("00changelog.i") => HistoryPart::Changelog,
        Some("00manifest.i") => HistoryPart::Manifest,
        _ => HistoryPart::File,
    }
}
