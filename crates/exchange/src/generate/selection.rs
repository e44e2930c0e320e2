//! Which changesets are sent: all ancestors of the heads that are no ancestors of the common ones.

use varve_revlog::{Rev, Revlog};

/// Changesets that a client gets or has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    states: Vec<Membership>,
    sent: usize,
}

/// Role of a changeset in one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Membership {
    /// Neither sent nor at the client: hidden, or no ancestor of a requested head.
    Excluded,
    /// An ancestor of a head.
    Sent,
    /// At the client already.
    Common,
}

impl Selection {
    /// Selects among the changesets of `changelog`. The client has `common` and their ancestors;
    /// all `heads` and their ancestors may be shown to it.
    pub(crate) fn new(changelog: &Revlog, heads: &[Rev], common: &[Rev]) -> Self {
        let mut states = vec![Membership::Excluded; changelog.len()];
        let mut mark = |revs: &[Rev], state| {
            for rev in revs {
                if let Some(place) = states.get_mut(rev.index()) {
                    *place = state;
                }
            }
        };
        mark(heads, Membership::Sent);
        mark(common, Membership::Common);
        if !states.contains(&Membership::Sent) {
            // A pull of nothing new, for which the rest of the history need not be looked at.
            states.fill(Membership::Common);
            return Selection { states, sent: 0 };
        }
        // Parents come before children: one pass from the newest on reaches every ancestor.
        for rev in changelog.revs().rev() {
            let state = states[rev.index()];
            if state == Membership::Excluded {
                continue;
            }
            for parent in changelog.parents(rev).into_iter().flatten() {
                let place = &mut states[parent.index()];
                if *place != Membership::Common {
                    *place = state;
                }
            }
        }
        let count = |wanted| states.iter().filter(|state| **state == wanted).count();
        Selection {
            sent: count(Membership::Sent),
            states,
        }
    }

    /// Sends `revs`, which are oldest first and have whatever lies between two of them, and nothing
    /// else. The client has `common` and the parents of `revs`.
    pub(crate) fn exactly(changelog: &Revlog, revs: &[Rev], common: &[Rev]) -> Self {
        let parents = |rev: &Rev| changelog.parents(*rev).into_iter().flatten();
        let outside = |rev: &Rev| revs.binary_search(rev).is_err();
        let below = revs.iter().flat_map(parents).filter(outside);
        let common: Vec<Rev> = common.iter().copied().chain(below).collect();
        Selection::new(changelog, revs, &common)
    }

    /// Number of changesets sent.
    pub(crate) fn sent_len(&self) -> usize {
        self.sent
    }

    /// Whether every changeset is sent: a clone of everything.
    pub(crate) fn is_everything(&self) -> bool {
        self.sent == self.states.len()
    }

    /// Whether a changeset is sent.
    pub(crate) fn is_sent(&self, rev: Rev) -> bool {
        self.states.get(rev.index()) == Some(&Membership::Sent)
    }

    /// Whether a changeset is at the client already.
    pub(crate) fn is_common(&self, rev: Rev) -> bool {
        self.states.get(rev.index()) == Some(&Membership::Common)
    }

    /// The changesets sent, oldest first.
    pub(crate) fn sent(&self) -> impl Iterator<Item = Rev> + '_ {
        self.all_in(Membership::Sent)
    }

    /// The changesets that are neither sent nor at the client, oldest first.
    pub(crate) fn excluded(&self) -> impl Iterator<Item = Rev> + '_ {
        self.all_in(Membership::Excluded)
    }

    fn all_in(&self, wanted: Membership) -> impl Iterator<Item = Rev> + '_ {
        let numbered = (0..).map(Rev).zip(&self.states);
        numbered.filter_map(move |(rev, state)| (*state == wanted).then_some(rev))
    }

    /// The changeset of a link, if it is sent.
    pub(crate) fn sent_link(&self, link: i64) -> Option<Rev> {
        self.link_in(link, Membership::Sent)
    }

    /// Whether the client has the changeset of a link, and so the revisions that it introduced.
    pub(crate) fn client_has_link(&self, link: i64) -> bool {
        self.link_in(link, Membership::Common).is_some()
    }

    /// Links past the end are of a commit that was not done when the changelog was read.
    fn link_in(&self, link: i64, state: Membership) -> Option<Rev> {
        let number = u32::try_from(link).ok()?;
        let found = self.states.get(number as usize)?;
        (*found == state).then_some(Rev(number))
    }
}
