//! Which changesets both sides have, found by asking for few of them.
//!
//! Each own changeset is in one of three states: *common*, *missing* there, or *undecided*. If the
//! other side has a changeset it has the ancestors too; if it lacks one it lacks the descendants.
//! So every answer decides more than was asked, and a sample that is spread over all that is
//! undecided leaves little for the next.

use crate::ExchangeError;
use crate::client::peer::{HeadsAndKnown, Remote};
use crate::client::sampling::SamplingSettings;
use std::time::Instant;
use varve_repo::RepoView;
use varve_revlog::{Node, Rev, Revlog};

/// The history that both sides have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiscoveryResult {
    /// The newest of the changesets that both have; none if there are none.
    pub common_heads: Vec<Node>,
    /// Heads of the other side.
    pub remote_heads: Vec<Node>,
    /// Whether the other side has changesets that this one lacks.
    pub incoming: bool,
    /// Questions asked, each of which was one round trip.
    pub questions: usize,
    /// Changesets that were asked about.
    pub asked: usize,
}

impl DiscoveryResult {
    /// Whether the sides have no history in common although both have one.
    pub fn is_unrelated(&self, own: usize) -> bool {
        let is_empty = self.remote_heads.iter().all(Node::is_null);
        self.common_heads.is_empty() && own > 0 && !is_empty
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knowledge {
    Undecided,
    Common,
    Missing,
    /// Hidden here: as if it were not there.
    Absent,
}

/// Compares a repository with another. `heads`, if given, are the changesets of the other side
/// that matter, instead of all its heads.
///
/// # Errors
/// Errors of the other side and of the connection.
pub fn discover(
    view: &RepoView,
    remote: &mut Remote,
    heads: Option<&[Node]>,
) -> Result<DiscoveryResult, ExchangeError> {
    Discovery::begin(view, remote, heads)?.finish(remote)
}

/// A comparison after its first question.
pub struct Discovery<'a> {
    search: Search<'a>,
    /// Of the changesets that count, in ascending order.
    own_heads: Vec<Rev>,
    sampling: SamplingSettings,
    found: DiscoveryResult,
    begun: Instant,
}

impl<'a> Discovery<'a> {
    /// Asks for heads, and about the own ones. The rest is as of [`discover`].
    ///
    /// # Errors
    /// As of [`discover`].
    pub fn begin(
        view: &'a RepoView,
        remote: &mut Remote,
        heads: Option<&[Node]>,
    ) -> Result<Self, ExchangeError> {
        let visible = |rev| view.is_visible(rev);
        Discovery::begin_among(view, (&visible, &visible), remote, heads)
    }

    /// The same as if this repository had only the changesets of which `exists` is true, and about those only of
    /// which `counts` is true; both are true of the ancestors, too.
    ///
    /// # Errors
    /// As of [`discover`].
    pub fn begin_among(
        view: &'a RepoView,
        (exists, counts): (&dyn Fn(Rev) -> bool, &dyn Fn(Rev) -> bool),
        remote: &mut Remote,
        heads: Option<&[Node]>,
    ) -> Result<Self, ExchangeError> {
        let begun = Instant::now();
        let changelog = view.changelog();
        let mut search = Search::new(changelog, counts);
        let mut own_heads = search.heads_in(Knowledge::Undecided);
        own_heads.reverse();
        let sampling = remote.sampling();
        // Mostly the other side has either all own heads or few.
        let sample = match (sampling.exchange_heads, remote.limits_arguments()) {
            (false, _) => Vec::new(),
            (true, true) => sampling.thin_out(own_heads.clone(), sampling.initial_size),
            (true, false) => own_heads.clone(),
        };
        let nodes: Vec<Node> = sample.iter().map(|rev| changelog.node(*rev)).collect();
        let first = match sampling.exchange_heads {
            true => remote.heads_and_known(&nodes)?,
            false => HeadsAndKnown {
                heads: remote.heads()?,
                known: Vec::new(),
            },
        };
        let wanted = heads.unwrap_or(&first.heads);
        let incoming = wanted.iter().any(|node| {
            let rev = changelog.rev(node);
            !node.is_null() && rev.is_none_or(|rev| !exists(rev))
        });
        let there = wanted.iter().filter_map(|node| changelog.rev(node));
        // A head of the other side is common even if it does not count.
        for rev in there.filter(|rev| sampling.exchange_heads && exists(*rev)) {
            search.states[rev.index()] = Knowledge::Common;
        }
        search.decide(std::iter::empty());
        if incoming || heads.is_none() {
            search.decide(sample.into_iter().zip(first.known));
        }
        let found = DiscoveryResult {
            common_heads: Vec::new(),
            remote_heads: first.heads,
            incoming,
            questions: usize::from(sampling.exchange_heads),
            asked: nodes.len(),
        };
        Ok(Discovery {
            search,
            own_heads,
            sampling,
            found,
            begun,
        })
    }

    /// Whether the other side has all own changesets that count, and others.
    pub fn knows_all(&self) -> bool {
        self.found.incoming && !self.search.has_doubts()
    }

    /// Heads of the changesets that count.
    pub fn own_heads(&self) -> Vec<Node> {
        let heads = self.own_heads.iter();
        heads.map(|rev| self.search.changelog.node(*rev)).collect()
    }

    /// Whether the other side has changesets that are not here.
    pub fn has_incoming(&self) -> bool {
        self.found.incoming
    }

    /// Asks until nothing is undecided that matters.
    ///
    /// # Errors
    /// As of [`discover`].
    pub fn finish(mut self, remote: &mut Remote) -> Result<DiscoveryResult, ExchangeError> {
        let matters = self.found.incoming || !self.sampling.exchange_heads;
        if matters && (self.search.has_doubts() || !self.sampling.exchange_heads) {
            self.ask_all(remote)?;
            let (number, seconds) = (self.found.questions, self.begun.elapsed().as_secs_f64());
            remote.debug(|| format!("{number} total queries in {seconds:.4}s\n"));
        }
        let common = self.search.common_heads().into_iter();
        let changelog = self.search.changelog;
        self.found.common_heads = common.map(|rev| changelog.node(rev)).collect();
        Ok(self.found)
    }

    /// Asks about samples until nothing is undecided.
    fn ask_all(&mut self, remote: &mut Remote) -> Result<(), ExchangeError> {
        let mut settings = match remote.limits_arguments() {
            true => self.sampling.limited(),
            false => self.sampling,
        };
        let mut from_both_ends = !settings.exchange_heads;
        loop {
            let undecided = self.search.revs_in(Knowledge::Undecided).count();
            if undecided == 0 {
                return Ok(());
            }
            let sample = self.sample(remote, &mut settings, from_both_ends);
            from_both_ends = true;
            self.found.questions += 1;
            self.found.asked += sample.len();
            let (number, size) = (self.found.questions, sample.len());
            remote.debug_progress(|| format!("searching: {number} queries\n"));
            remote.debug(|| {
                format!("query {number}; still undecided: {undecided}, sample size is: {size}\n")
            });
            let changelog = self.search.changelog;
            let nodes: Vec<Node> = sample.iter().map(|rev| changelog.node(*rev)).collect();
            let known = remote.known(&nodes)?;
            self.search.decide(sample.into_iter().zip(known));
        }
    }

    /// The next sample, which has at least one undecided changeset.
    fn sample(
        &self,
        remote: &mut Remote,
        settings: &mut SamplingSettings,
        from_both_ends: bool,
    ) -> Vec<Rev> {
        let knows_some = || self.search.revs_in(Knowledge::Common).next().is_some();
        if from_both_ends {
            remote.note("sampling from both directions\n");
        } else if knows_some() {
            remote.debug(|| "taking initial sample\n".to_owned());
        } else {
            // Where nothing is known to be there, Mercurial takes its samples in a quicker way.
            remote.debug(|| "taking quick initial sample\n".to_owned());
            return self.search.quick_sample(&self.own_heads, settings);
        }
        let sample = self.search.full_sample(settings);
        settings.grow();
        sample
    }
}

pub(super) struct Search<'a> {
    pub(super) changelog: &'a Revlog,
    pub(super) states: Vec<Knowledge>,
}

impl<'a> Search<'a> {
    fn new(changelog: &'a Revlog, is_visible: impl Fn(Rev) -> bool) -> Self {
        let state = |rev| match is_visible(rev) {
            true => Knowledge::Undecided,
            false => Knowledge::Absent,
        };
        let states = changelog.revs().map(state).collect();
        Search { changelog, states }
    }

    /// Whether not all is known to be there.
    fn has_doubts(&self) -> bool {
        [Knowledge::Undecided, Knowledge::Missing]
            .into_iter()
            .any(|state| self.revs_in(state).next().is_some())
    }

    pub(super) fn revs_in(&self, wanted: Knowledge) -> impl DoubleEndedIterator<Item = Rev> + '_ {
        self.changelog
            .revs()
            .filter(move |rev| self.states[rev.index()] == wanted)
    }

    pub(super) fn parents(&self, rev: Rev) -> impl Iterator<Item = Rev> + use<> {
        self.changelog.parents(rev).into_iter().flatten()
    }

    /// Takes answers in: a changeset there implies its ancestors, an absent one its descendants.
    fn decide(&mut self, answers: impl Iterator<Item = (Rev, bool)>) {
        for (rev, is_there) in answers {
            let state = &mut self.states[rev.index()];
            if *state == Knowledge::Undecided {
                *state = if is_there {
                    Knowledge::Common
                } else {
                    Knowledge::Missing
                };
            }
        }
        // Parents come before children.
        for rev in self.changelog.revs().rev() {
            if self.states[rev.index()] == Knowledge::Common {
                for parent in self.parents(rev) {
                    self.states[parent.index()] = Knowledge::Common;
                }
            }
        }
        for rev in self.changelog.revs() {
            let misses = |parent: Rev| self.states[parent.index()] == Knowledge::Missing;
            if self.states[rev.index()] == Knowledge::Undecided && self.parents(rev).any(misses) {
                self.states[rev.index()] = Knowledge::Missing;
            }
        }
    }

    /// Newest of those in one state.
    pub(super) fn heads_in(&self, wanted: Knowledge) -> Vec<Rev> {
        let mut has_child = vec![false; self.states.len()];
        let mut heads = Vec::new();
        for rev in self.revs_in(wanted).rev() {
            if !has_child[rev.index()] {
                heads.push(rev);
            }
            for parent in self.parents(rev) {
                has_child[parent.index()] = true;
            }
        }
        heads
    }

    fn common_heads(&self) -> Vec<Rev> {
        let mut heads = self.heads_in(Knowledge::Common);
        heads.reverse();
        heads
    }
}
