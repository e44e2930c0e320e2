//! The changesets that may absorb changes.

use varve_repo::{Phase, RepoView, Rev};

/// The changesets below and including one, up to a public one or a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsorbStack {
    /// Oldest first.
    pub revs: Vec<Rev>,
    /// There may be older ones than the limit allows.
    pub is_cut: bool,
}

impl AbsorbStack {
    /// The stack that ends with `top`, of at most `limit` changesets; 0 is no limit, and a negative one allows none.
    pub fn of(view: &RepoView, top: Option<Rev>, limit: i64) -> AbsorbStack {
        let most = match limit {
            0 => usize::MAX,
            limit => usize::try_from(limit).unwrap_or(0),
        };
        let mut revs = Vec::new();
        let mut next = top;
        while let Some(rev) = next.filter(|_| revs.len() < most) {
            let [first, second] = view.changelog().parents(rev);
            if second.is_some() || view.phases().of(rev) == Phase::Public {
                break;
            }
            revs.push(rev);
            next = first;
        }
        revs.reverse();
        AbsorbStack {
            is_cut: limit != 0 && revs.len() >= most,
            revs,
        }
    }
}
