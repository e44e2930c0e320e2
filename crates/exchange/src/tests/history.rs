//! Histories without files, and repositories in memory that hold parts of them.

use crate::ExchangeError;
use crate::apply::BundleApplier;
use crate::format::bundle::{Bundle, open_bundle};
use crate::format::bundle20::BundleWriter;
use crate::format::changegroup::{
    ChangegroupReader, ChangegroupVersion, DeltaHeader, Group, full_text_hunk, write_end,
};
use crate::format::input::Finish;
use crate::format::limits::BundleLimits;
use crate::format::part::{Part, changegroup};
use proptest::prelude::*;
use sha1::{Digest, Sha1};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, Silent};
use varve_codec::EngineSetting;
use varve_repo::{LockKind, Node, ReceiveReport, Repository, ViewFilter};

/// Changesets by number; parents have lower numbers.
#[derive(Clone, Debug)]
pub(super) struct History {
    parents: Vec<Vec<usize>>,
    nodes: Vec<Node>,
}

impl History {
    pub(super) fn new(parents: Vec<Vec<usize>>) -> History {
        let mut nodes: Vec<Node> = Vec::new();
        for (number, of) in parents.iter().enumerate() {
            let mut both = [Node::NULL; 2];
            for (place, parent) in both.iter_mut().zip(of) {
                *place = nodes[*parent];
            }
            both.sort_unstable();
            let mut hash = Sha1::new();
            both.iter().for_each(|parent| hash.update(parent.0));
            hash.update(text(number));
            nodes.push(Node(hash.finalize().into()));
        }
        History { parents, nodes }
    }

    /// A line of so many changesets.
    pub(super) fn line(len: usize) -> History {
        let parents = (0..len).map(|number| Vec::from_iter(number.checked_sub(1)));
        History::new(parents.collect())
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn parents_of(&self, number: usize) -> &[usize] {
        &self.parents[number]
    }

    pub(super) fn node(&self, number: usize) -> Node {
        self.nodes[number]
    }

    /// Changesets and their ancestors; numbers are taken modulo the length.
    pub(super) fn closure(&self, heads: &[usize]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut left: Vec<usize> = heads.iter().map(|head| head % self.nodes.len()).collect();
        while let Some(number) = left.pop() {
            if found.insert(number) {
                left.extend(&self.parents[number]);
            }
        }
        found
    }

    /// Nodes of those that have no child in the set, sorted.
    pub(super) fn heads_of(&self, set: &BTreeSet<usize>) -> Vec<Node> {
        let parents: BTreeSet<usize> = set.iter().flat_map(|n| self.parents[*n].clone()).collect();
        self.sorted(&set.difference(&parents).copied().collect())
    }

    pub(super) fn sorted(&self, set: &BTreeSet<usize>) -> Vec<Node> {
        sorted(set.iter().map(|number| self.nodes[*number]).collect())
    }

    /// A part with these changesets as a changegroup of version 02.
    pub(super) fn part(&self, numbers: &BTreeSet<usize>) -> Part<Vec<u8>> {
        let mut payload = Vec::new();
        for number in numbers {
            let parent = |at: usize| self.parents[*number].get(at);
            let parent = |at| parent(at).map_or(Node::NULL, |parent| self.nodes[*parent]);
            let text = text(*number);
            let header = DeltaHeader {
                node: self.nodes[*number].0,
                p1: parent(0).0,
                p2: parent(1).0,
                base: Node::NULL.0,
                changeset: self.nodes[*number].0,
                flags: 0,
            };
            let hunk = full_text_hunk(text.len()).unwrap();
            let len = hunk.len() + text.len();
            header
                .write(ChangegroupVersion::V2, len, &mut payload)
                .unwrap();
            payload.write_all(&hunk).unwrap();
            payload.write_all(&text).unwrap();
        }
        for _ in 0..3 {
            write_end(&mut payload).unwrap();
        }
        let header = changegroup::header(ChangegroupVersion::V2, Some(numbers.len()), None);
        Part { header, payload }
    }

    /// A repository in memory with these changesets.
    pub(super) fn repository(&self, numbers: &BTreeSet<usize>) -> Repository {
        let storage = Arc::new(MemoryStorage::default());
        let repository = Repository::create(storage, Path::new("r")).unwrap();
        if !numbers.is_empty() {
            apply(&repository, &bundle_of(&[self.part(numbers)])).unwrap();
        }
        repository
    }
}

fn text(number: usize) -> Vec<u8> {
    let manifest = "0".repeat(40);
    format!("{manifest}\ntest\n0 0\n\nchange {number}").into_bytes()
}

pub(super) fn sorted(mut nodes: Vec<Node>) -> Vec<Node> {
    nodes.sort_unstable();
    nodes
}

/// A bundle2 of parts.
pub(super) fn bundle_of(parts: &[Part<Vec<u8>>]) -> Vec<u8> {
    let mut bundle = BundleWriter::new(Vec::new()).unwrap();
    for part in parts {
        bundle.write_part(part).unwrap();
    }
    bundle.finish().unwrap()
}

/// Applies a bundle that is neither pushed nor pulled.
pub(super) fn apply(
    repository: &Repository,
    bundle: &[u8],
) -> Result<ReceiveReport, ExchangeError> {
    let lock = repository.try_lock(LockKind::Store).unwrap();
    let applier = BundleApplier {
        repository,
        write: EngineSetting::ZLIB.into(),
        source: "unbundle",
        url: Vec::new(),
        takes_markers: false,
        checks_all: false,
        only_history: false,
        downloads: None,
        progress: &Silent,
        stop: &Interrupt::default(),
        debug: false,
        asks: false,
        on_event: &mut |_| {},
        push: None,
        pull: None,
    };
    let bundle = open_bundle(bundle, BundleLimits::default())?;
    applier.apply(lock, bundle).map(|(report, _lock)| report)
}

/// All changesets of a repository, sorted.
pub(super) fn nodes_of(repository: &Repository) -> Vec<Node> {
    let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
    let changelog = view.changelog();
    sorted(changelog.revs().map(|rev| changelog.node(rev)).collect())
}

/// Changesets in a bundle, sorted. A bare changegroup is one of version 01.
pub(super) fn nodes_in(bytes: &[u8]) -> Vec<Node> {
    if !bytes.starts_with(b"HG") {
        return changesets(ChangegroupReader::new(bytes, ChangegroupVersion::V1));
    }
    let mut nodes = Vec::new();
    match open_bundle(bytes, BundleLimits::default()).unwrap() {
        Bundle::Bundle10(reader) => nodes = changesets(reader),
        Bundle::Bundle20(mut parts) => {
            while let Some(part) = parts.next_part().unwrap() {
                if let Ok(parameters) = changegroup::decode(&part.header)
                    && part.header.kind() == b"changegroup"
                {
                    nodes = changesets(ChangegroupReader::new(part.payload, parameters.version));
                }
            }
        }
        Bundle::Packed(_) => panic!("a packed bundle has no changegroup"),
    }
    nodes
}

fn changesets<R: Read + Finish>(mut reader: ChangegroupReader<R>) -> Vec<Node> {
    let (mut nodes, mut patch) = (Vec::new(), Vec::new());
    while let Some(group) = reader.next_group().unwrap() {
        while let Some(header) = reader.next_delta(&mut patch).unwrap() {
            if group == Group::Changesets {
                nodes.push(Node(header.node));
            }
        }
    }
    sorted(nodes)
}

/// Histories of up to `most` changesets: lines, branches, merges, and more than one root.
pub(super) fn histories(most: usize) -> impl Strategy<Value = History> {
    let changeset = (0_usize..10, 0_usize..5, 1_usize..5);
    proptest::collection::vec(changeset, 1..most).prop_map(|rows| {
        let parents = rows
            .into_iter()
            .enumerate()
            .map(|(number, (kind, near, far))| {
                let first = number.checked_sub(1 + near % number.max(1));
                let second = first.and_then(|first| first.checked_sub(far));
                match (kind, first, second) {
                    (0, ..) | (_, None, _) => Vec::new(),
                    (1 | 2, Some(first), Some(second)) => vec![first, second],
                    (_, Some(first), _) => vec![first],
                }
            });
        History::new(parents.collect())
    })
}

/// Some changesets, to be closed by [`History::closure`].
pub(super) fn some_heads() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0_usize..1000, 0..4)
}
