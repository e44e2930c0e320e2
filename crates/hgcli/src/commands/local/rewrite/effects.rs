//! The metadata of obsolescence markers: how a changeset differs from the one whose place it takes.

use super::{Replacement, RewriteEnd};
use crate::render::diff::{self, DiffOptions};
use crate::ui::Abort;
use sha1::{Digest, Sha1};
use varve_lang::patterns::Matcher;
use varve_repo::{NewMarker, Node, RepoView, Rev};
use varve_workdir::ChangesetMetadata;

/// A marker that is to be written.
pub(super) struct MarkerFacts {
    pub(super) old: Node,
    pub(super) new: Vec<Node>,
    /// Parents of a changeset without successors.
    pub(super) parents: Option<Vec<Node>>,
    /// Sorted by key.
    facts: Vec<(&'static str, Vec<u8>)>,
}

impl MarkerFacts {
    pub(super) fn pairs(&self) -> Vec<(&[u8], &[u8])> {
        let pairs = self.facts.iter();
        pairs
            .map(|(key, value)| (key.as_bytes(), &value[..]))
            .collect()
    }
}

impl MarkerFacts {
    /// Says nothing about differences.
    pub(super) fn without_effects(&mut self) {
        for (key, value) in &mut self.facts {
            if *key == "ef1" {
                *value = b"0".to_vec();
            }
        }
    }

    /// The marker to be written, with its facts as [`MarkerFacts::pairs`] returns them.
    pub(super) fn to_new<'a>(
        &'a self,
        facts: &'a [(&'a [u8], &'a [u8])],
        date: (i64, i32),
    ) -> NewMarker<'a> {
        NewMarker {
            old: self.old,
            successors: &self.new,
            parents: self.parents.as_deref(),
            flags: 0,
            date,
            metadata: facts,
        }
    }
}

/// The markers of the replaced changesets, by the numbers of these.
pub(super) fn markers(
    view: &RepoView,
    replacements: &[Replacement],
    end: &RewriteEnd<'_>,
    user: &[u8],
) -> Result<Vec<MarkerFacts>, Abort> {
    let mut sorted: Vec<&Replacement> = replacements.iter().collect();
    sorted.sort_by_key(|of| of.old.first().and_then(|node| view.changelog().rev(node)));
    let mut made = Vec::new();
    for of in sorted {
        let fold = (of.old.len() > 1).then(|| fold_id(view, of, user));
        for (at, old) in of.old.iter().enumerate() {
            let effects = effects(view, of, old)?;
            let mut facts = vec![
                ("ef1", effects.to_string().into_bytes()),
                ("operation", end.operation.as_bytes().to_vec()),
                ("user", user.to_vec()),
            ];
            if let Some(id) = &fold {
                facts.push(("fold-id", id.clone().into_bytes()));
                facts.push(("fold-idx", (at + 1).to_string().into_bytes()));
                facts.push(("fold-size", of.old.len().to_string().into_bytes()));
            }
            facts.extend(end.note.map(|note| ("note", note.to_vec())));
            facts.sort_unstable();
            let rev = view.changelog().rev(old).filter(|_| of.new.is_empty());
            made.push(MarkerFacts {
                old: *old,
                new: of.new.clone(),
                parents: rev.map(|rev| parents(view, rev)),
                facts,
            });
        }
    }
    Ok(made)
}

/// The parents of a changeset as Mercurial lists them: the first one always.
fn parents(view: &RepoView, rev: Rev) -> Vec<Node> {
    let changelog = view.changelog();
    let [first, second] = changelog.parents(rev);
    let mut nodes = vec![changelog.node_or_null(first)];
    nodes.extend(second.map(|second| changelog.node(second)));
    nodes
}

/// Mercurial's name for a fold: a digest of the user and of all its changesets.
fn fold_id(view: &RepoView, of: &Replacement, user: &[u8]) -> String {
    let mut digest = Sha1::new();
    digest.update(user);
    for node in of.old.iter().chain(&of.new) {
        let rev = view.changelog().rev(node);
        digest.update(rev.map_or(-1, |rev| i64::from(rev.0)).to_string());
        digest.update(node.0);
    }
    let [a, b, c, d, ..] = <[u8; 20]>::from(digest.finalize());
    format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
}

/// The bits of the key `ef1`.
fn effects(view: &RepoView, of: &Replacement, old: &Node) -> Result<u32, Abort> {
    let Some(before) = view.changelog().rev(old) else {
        return Ok(0);
    };
    let metadata = ChangesetMetadata::read(view, before)?;
    let mut effects = 0;
    for new in &of.new {
        let Some(after) = view.changelog().rev(new) else {
            continue;
        };
        effects |= ChangesetMetadata::read(view, after)?.effects(&metadata);
        if parents(view, before) != parents(view, after) {
            effects |= ChangesetMetadata::PARENTS;
        }
        if !of.keeps_diff && comparable_diff(view, before)? != comparable_diff(view, after)? {
            effects |= ChangesetMetadata::CONTENT;
        }
    }
    Ok(effects)
}

/// The change of a changeset without the numbers of its lines.
fn comparable_diff(view: &RepoView, rev: Rev) -> Result<Vec<u8>, Abort> {
    let options = DiffOptions::comparable();
    let everything = Matcher::everything();
    let (comparison, changes) =
        diff::of_changeset(view, Some(rev), None, &options, 12, &everything)?;
    let mut text = Vec::new();
    comparison.push_all(&changes, &mut text)?;
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let lines = lines.map(|line| match line.starts_with(b"@@") {
        true => b"@@\n",
        false => line,
    });
    Ok(lines.flatten().copied().collect())
}
