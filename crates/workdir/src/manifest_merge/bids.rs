//! The choice among several common ancestors.
//!
//! After two lines of history were merged into each other there is no single base. The merge is planned over each
//! ancestor, and the plans bid for every path: agreement wins, then what needs no merging.

use super::{FileAction, FileMerge, ManifestMerge};
use std::collections::BTreeMap;
use varve_repo::Node;

/// How the choice among several ancestors went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Auction {
    /// The ancestors, in the order of their bids.
    pub ancestors: Vec<Node>,
    /// The choice for each path, sorted by path.
    pub verdicts: Vec<(Vec<u8>, Verdict)>,
}

/// Why an action was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All ancestors say the same; the letters of the action.
    Consensus(&'static str),
    /// The action needs no merging; its name.
    Simple(&'static str),
    /// The first of several.
    Ambiguous(Vec<Bid>),
}

/// The verdict of one ancestor about a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bid {
    /// The reason.
    pub reason: String,
    /// The letters of the action.
    pub action: &'static str,
}

pub(super) fn choose(plans: Vec<(Node, ManifestMerge)>) -> ManifestMerge {
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
    for (ancestor, plan) in plans {
        auction.ancestors.push(ancestor);
        chosen.notes.extend(plan.notes);
        for (path, action) in plan.actions {
            bids.entry(path).or_default().push(action);
        }
    }
    for (path, bids) in bids {
        let (action, verdict) = best(bids);
        auction.verdicts.push((path.clone(), verdict));
        chosen.actions.insert(path, action);
    }
    chosen.auction = Some(auction);
    chosen
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

/// The action that wins.
fn best(mut bids: Vec<FileAction>) -> (FileAction, Verdict) {
    if bids.iter().all(|bid| *bid == bids[0]) {
        let action = bids.swap_remove(0);
        let letters = action.letters();
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
    let all = bids.iter().map(|bid| Bid {
        reason: bid.reason(),
        action: bid.letters(),
    });
    let verdict = Verdict::Ambiguous(all.collect());
    (bids.swap_remove(0), verdict)
}

impl FileAction {
    /// The letters by which Mercurial calls the kind of action.
    fn letters(&self) -> &'static str {
        match self {
            FileAction::Keep => "k",
            FileAction::KeepAbsent => "ka",
            FileAction::KeepNew => "kn",
            FileAction::Get(_) => "g",
            FileAction::SetKind(_) => "e",
            FileAction::Remove => "r",
            FileAction::MoveOurs { .. } => "dm",
            FileAction::GetMoved { .. } => "dg",
            FileAction::Merge(_) => "m",
            FileAction::ChangedDeleted(_) => "cd",
            FileAction::DeletedChanged(_) => "dc",
        }
    }

    /// The reason in Mercurial's words.
    fn reason(&self) -> String {
        let of = |words: &str, path: &[u8]| format!("{words} {}", String::from_utf8_lossy(path));
        match self {
            FileAction::Keep => "remote unchanged".to_owned(),
            FileAction::KeepAbsent => "local not present, remote unchanged".to_owned(),
            FileAction::KeepNew => "ancestor missing, remote missing".to_owned(),
            FileAction::Get(_) => "remote is newer".to_owned(),
            FileAction::SetKind(_) => "update permissions".to_owned(),
            FileAction::Remove => "other deleted".to_owned(),
            FileAction::MoveOurs { from, .. } => of("remote directory rename - move from", from),
            FileAction::GetMoved { from, .. } => of("local directory rename - get from", from),
            FileAction::Merge(merge) => merge.reason(),
            FileAction::ChangedDeleted(_) => "prompt changed/deleted".to_owned(),
            FileAction::DeletedChanged(_) => "prompt deleted/changed".to_owned(),
        }
    }
}

impl FileMerge {
    fn reason(&self) -> String {
        let base = self.base.as_deref().map(String::from_utf8_lossy);
        let Some(base) = base else {
            return match self.ours == self.theirs {
                true => "both created".to_owned(),
                false => "directory rename, both created".to_owned(),
            };
        };
        match (self.ours == self.theirs, self.theirs == self.base) {
            (true, true) => "versions differ".to_owned(),
            (true, false) => format!("both renamed from {base}"),
            (false, true) => format!("local copied/moved from {base}"),
            (false, false) if self.moves => format!("remote moved from {base}"),
            (false, false) => format!("remote copied from {base}"),
        }
    }
}
