//! The second part: the files of the manifests, and whether changesets name the same.

use super::Check;
use super::changesets::Changesets;
use super::entries::{about, check_link, duplicates, report_duplicate};
use super::findings::{Findings, reason, short};
use crate::format::RepoError;
use crate::format::manifest::ManifestEntries;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use varve_delta::Hunks;
use varve_revlog::{Node, Reader, Rev, Revlog};

/// Number of a file's name in [`Manifests::names`].
pub(super) type FileId = u32;

/// The files and revisions that manifests and changesets name.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    /// All files.
    pub names: Vec<Box<[u8]>>,
    ids: HashMap<Box<[u8]>, FileId>,
    /// The first manifest that names a revision of a file.
    nodes: HashMap<(FileId, Node), u32, BuildHasherDefault<NodeHasher>>,
    /// How many revisions of each file manifests name.
    pub named: Vec<u32>,
    /// Changesets that say they touched a file, oldest first.
    pub changing_revs: Vec<Vec<u32>>,
    /// Why a manifest cannot be read.
    unreadable: HashMap<u32, Vec<u8>>,
    /// The changeset of each manifest, where that is right.
    links: Vec<Option<i64>>,
}

/// Nodes are hashes already.
#[derive(Debug, Default)]
pub(super) struct NodeHasher(u64);

impl Hasher for NodeHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk::<8>() {
            self.0 ^= u64::from_le_bytes(*first);
        }
    }

    fn write_usize(&mut self, _len: usize) {}

    fn write_u32(&mut self, id: u32) {
        self.0 ^= u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

const LABEL: &[u8] = b"manifest";
const NAME: &[u8] = b"00manifest";

impl Manifests {
    pub fn read(check: Check<'_>, manifest: &Revlog) -> Result<Manifests, RepoError> {
        let mut this = Manifests::default();
        let mut reader = manifest.reader();
        // Another one for the few that are put together, so that each keeps its place in the file.
        let mut whole = manifest.reader();
        let mut delta = Vec::new();
        for rev in manifest.revs() {
            check.stop.check()?;
            let outcome = if check.full {
                this.note_whole(manifest, &mut whole, rev)
            } else {
                this.note_delta(manifest, &mut reader, &mut whole, rev, &mut delta)
            };
            if let Err(problem) = outcome {
                this.unreadable.insert(rev.0, problem);
            }
            check.progress.advance(1);
        }
        Ok(this)
    }

    /// Notes the lines of the stored patch. A patch of a foreign writer need not begin at lines; then
    /// the whole text is looked at.
    fn note_delta(
        &mut self,
        manifest: &Revlog,
        reader: &mut Reader<'_>,
        whole: &mut Reader<'_>,
        rev: Rev,
        delta: &mut Vec<u8>,
    ) -> Result<(), Vec<u8>> {
        let fail = |error| reason(&error, manifest, NAME);
        reader.stored_delta(rev, delta).map_err(fail)?;
        if manifest.delta_parent(rev).is_none() {
            return self.note_lines(delta, rev).map_err(<[u8]>::to_vec);
        }
        for hunk in Hunks::new(delta) {
            let noted = match hunk {
                Ok(hunk) => self.note_lines(hunk.data, rev).is_ok(),
                Err(_) => return Err(b"invalid patch".to_vec()),
            };
            if !noted {
                return self.note_whole(manifest, whole, rev);
            }
        }
        Ok(())
    }

    fn note_whole(
        &mut self,
        manifest: &Revlog,
        whole: &mut Reader<'_>,
        rev: Rev,
    ) -> Result<(), Vec<u8>> {
        let text = whole.text(rev).map_err(|e| reason(&e, manifest, NAME))?;
        self.note_lines(text, rev).map_err(<[u8]>::to_vec)
    }

    fn note_lines(&mut self, lines: &[u8], rev: Rev) -> Result<(), &'static [u8]> {
        for entry in ManifestEntries::new(lines) {
            let entry = entry.map_err(|_| &b"Manifest had implausibly-short line."[..])?;
            let id = self.id(entry.path);
            let named = &mut self.named[id as usize];
            self.nodes.entry((id, entry.node)).or_insert_with(|| {
                *named += 1;
                rev.0
            });
        }
        Ok(())
    }

    fn id(&mut self, name: &[u8]) -> FileId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.names.len() as FileId;
        self.names.push(name.into());
        self.ids.insert(name.into(), id);
        self.named.push(0);
        self.changing_revs.push(Vec::new());
        id
    }

    /// Compares the manifests with the changesets that name them, and takes over the files that
    /// changesets speak of.
    pub fn link(
        &mut self,
        changelog: &Revlog,
        manifest: &Revlog,
        changesets: &mut Changesets,
        found: &mut Findings,
    ) {
        for (rev, name) in changesets.mentions() {
            let id = self.id(name);
            self.changing_revs[id as usize].push(rev);
        }
        if manifest.is_empty() && !changesets.by_manifest.is_empty() {
            found.error(Some(0), b"empty or missing manifest", None);
        }
        let twice = duplicates(manifest);
        for rev in manifest.revs() {
            let node = manifest.node(rev);
            let expected = changesets.by_manifest.remove(&node);
            let known = expected.is_some();
            let expected = expected.unwrap_or_default();
            let link = check_link(manifest, rev, &expected, changelog.len(), LABEL, found);
            report_duplicate(rev, &twice, link, LABEL, found);
            if !known && !twice.contains_key(&rev) {
                let message = [&short(&node)[..], b" not in changesets"].concat();
                found.error(link, &message, Some(LABEL));
            }
            if let Some(problem) = self.unreadable.get(&rev.0) {
                let message = about("reading delta", manifest, rev, problem);
                found.error(link, &message, Some(LABEL));
            }
            self.links.push(link);
        }
    }

    /// Compares the files that manifests name with those that changesets speak of.
    pub fn cross_check(
        &self,
        check: Check<'_>,
        changelog: &Revlog,
        manifest: &Revlog,
        changesets: &Changesets,
        found: &mut Findings,
    ) {
        if manifest.is_empty() {
            return;
        }
        let unknown = changesets.by_manifest.iter();
        let mut unknown: Vec<_> = unknown
            .flat_map(|(node, revs)| revs.iter().map(move |rev| (*rev, *node)))
            .collect();
        unknown.sort_unstable();
        for (rev, node) in unknown {
            let message = [b"changeset refers to unknown revision ", &short(&node)[..]].concat();
            found.error(Some(i64::from(rev)), &message, Some(LABEL));
        }
        let sorted = self.sorted();
        if !changelog.is_empty() {
            let untouched = |id: &&FileId| self.changing_revs[**id as usize].is_empty();
            for id in sorted.iter().filter(untouched) {
                let link = self.first_link(check, *id);
                let name = &self.names[*id as usize];
                found.error(link, b"in manifest but not in changeset", Some(name));
            }
        }
        for id in sorted.iter().filter(|id| self.named[**id as usize] == 0) {
            let link = self.changing_revs[*id as usize].first();
            let name = &self.names[*id as usize];
            let message = b"in changeset but not in manifest";
            found.error(link.map(|rev| i64::from(*rev)), message, Some(name));
        }
    }

    /// The oldest changeset in the file's own history of the revisions that manifests name.
    fn first_link(&self, check: Check<'_>, id: FileId) -> Option<i64> {
        let path = check.context.filelog_path(&self.names[id as usize]);
        let log = Revlog::open(&check.context.storage, &path).ok()?;
        let nodes = self.nodes_of(id);
        let links = nodes.map(|(node, _)| log.rev(&node).map(|rev| log.linkrev(rev)));
        links.collect::<Option<Vec<_>>>()?.into_iter().min()
    }

    /// Numbers of all files, in the order of their names.
    pub fn sorted(&self) -> Vec<FileId> {
        let mut sorted: Vec<FileId> = (0..self.names.len() as FileId).collect();
        sorted.sort_unstable_by_key(|id| &self.names[*id as usize]);
        sorted
    }

    /// Whether any manifest names this revision of a file.
    pub fn names_node(&self, id: FileId, node: &Node) -> bool {
        self.nodes.contains_key(&(id, *node))
    }

    /// All revisions of a file that manifests name, each with its changeset. Looks at all files:
    /// for those with damage.
    pub fn nodes_of(&self, id: FileId) -> impl Iterator<Item = (Node, Option<i64>)> {
        let of_file = self.nodes.iter().filter(move |((file, _), _)| *file == id);
        of_file.map(|((_, node), rev)| (*node, self.links.get(*rev as usize).copied().flatten()))
    }
}
