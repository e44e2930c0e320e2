//! The choice among several common ancestors.
//!
//! After two lines of history were merged into each other there is no single base. The merge is planned over each
//! ancestor, and the plans bid for every path: agreement wins, then what needs no merging.

use super::{CopyReport, FileAction, ManifestMerge, Reason};
use crate::{Tree, WorkdirError};
use std::collections::BTreeMap;
use varve_repo::Node;

/// How the choice among several ancestors went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Auction {
    /// The ancestors, in the order of their bids.
    pub ancestors: Vec<Bidder>,
    /// The choice for each path, sorted by path.
    pub verdicts: Vec<(Vec<u8>, Verdict)>,
}

/// A common ancestor with its bids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bidder {
    /// The ancestor.
    pub node: Node,
    /// Copies since the ancestor, if there are any.
    pub copies: Option<CopyReport>,
    /// A bid for each path, sorted by path.
    pub bids: Vec<(Vec<u8>, Reason)>,
}

impl Auction {
    /// All bids for a path, sorted by their letters, and then in the order of the ancestors.
    pub fn bids_for(&self, path: &[u8]) -> Vec<&Reason> {
        let mut bids: Vec<&Reason> = Vec::new();
        for Bidder { bids: all, .. } in &self.ancestors {
            let at = all.binary_search_by(|(known, _)| known[..].cmp(path));
            bids.extend(at.ok().map(|at| &all[at].1));
        }
        bids.sort_by_key(|bid| bid.letters);
        bids
    }
}

/// Why an action was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All ancestors say the same; the letters of the action.
    Consensus(&'static str),
    /// The action needs no merging; its name.
    Simple(&'static str),
    /// The first of several.
    Ambiguous(Vec<Reason>),
}

pub(super) fn choose(
    plans: Vec<(Node, ManifestMerge)>,
    ours: &Tree<'_>,
) -> Result<ManifestMerge, WorkdirError> {
    let mut chosen = ManifestMerge::default();
    let mut auction = Auction::default();
    let mut bids: BTreeMap<Vec<u8>, Vec<FileAction>> = BTreeMap::new();
    let shortest = |all: &[&BTreeMap<Vec<u8>, Vec<Vec<u8>>>]| {
        let shortest = all.iter().min_by_key(|remarks| remarks.len());
        shortest
            .map(|remarks| (*remarks).clone())
            .unwrap_or_default()
    };
    let all: Vec<_> = plans.iter().map(|(_, plan)| &plan.divergent).collect();
    chosen.divergent = shortest(&all);
    let all: Vec<_> = plans
        .iter()
        .map(|(_, plan)| &plan.renamed_and_deleted)
        .collect();
    chosen.renamed_and_deleted = shortest(&all);
    for (node, plan) in plans {
        let mut bidder = Bidder {
            node,
            copies: plan.copies,
            bids: Vec::with_capacity(plan.actions.len()),
        };
        chosen.notes.extend(plan.notes);
        for (path, action) in plan.actions {
            let is_here = ours.get(&path)?.is_some();
            bidder.bids.push((path.clone(), action.reason(is_here)));
            bids.entry(path).or_default().push(action);
        }
        auction.ancestors.push(bidder);
    }
    for (path, bids) in bids {
        let is_here = ours.get(&path)?.is_some();
        let (action, verdict) = best(bids, is_here);
        auction.verdicts.push((path.clone(), verdict));
        chosen.actions.insert(path, action);
    }
    chosen.auction = Some(auction);
    Ok(chosen)
}

type IsWanted = fn(&FileAction) -> bool;

/// One ancestor says that a file is new, another that one side has deleted it: the user decides.
const CONTRADICTING: &[(IsWanted, IsWanted)] = &[
    (
        |bid| *bid == FileAction::KeepNew,
        |bid| matches!(bid, FileAction::ChangedDeleted(_)),
    ),
    (
        |bid| matches!(bid, FileAction::Get(_)),
        |bid| matches!(bid, FileAction::DeletedChanged(_)),
    ),
];

/// Actions that need no merging, in the order in which they are preferred.
const SIMPLE: &[(&str, IsWanted)] = &[
    ("keep", |bid| *bid == FileAction::Keep),
    ("keep absent", |bid| *bid == FileAction::KeepAbsent),
    ("keep new", |bid| *bid == FileAction::KeepNew),
    ("get", |bid| matches!(bid, FileAction::Get(_))),
];

/// The action that wins; `is_here` says whether our side has the file.
fn best(mut bids: Vec<FileAction>, is_here: bool) -> (FileAction, Verdict) {
    if bids.iter().all(|bid| *bid == bids[0]) {
        let action = bids.swap_remove(0);
        let letters = action.reason(is_here).letters;
        return (action, Verdict::Consensus(letters));
    }
    let stays = |bid: &&FileAction| matches!(bid, FileAction::Keep | FileAction::KeepAbsent);
    let contradicting = match bids.iter().any(|bid| stays(&bid)) {
        true => &[],
        false => CONTRADICTING,
    };
    for (new, deleted) in contradicting {
        let is_new = bids.iter().any(new);
        if let Some(conflict) = bids.iter().find(|bid| is_new && deleted(bid)) {
            return (conflict.clone(), Verdict::Simple("changed/deleted"));
        }
    }
    for (name, is_wanted) in SIMPLE {
        let mut matching = bids.iter().filter(|bid| is_wanted(bid));
        if let Some(first) = matching.next()
            && matching.all(|bid| bid == first)
        {
            return (first.clone(), Verdict::Simple(name));
        }
    }
    let all = bids.iter().map(|bid| bid.reason(is_here));
    let verdict = Verdict::Ambiguous(all.collect());
    (bids.swap_remove(0), verdict)
}
