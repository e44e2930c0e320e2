//! Which changesets both sides have, found by asking for few of them.
//!
//! Each own changeset is in one of three states: *common*, *missing* there, or *undecided*. If the
//! other side has a changeset it has the ancestors too; if it lacks one it lacks the descendants.
//! So every answer decides more than was asked, and a sample that is spread over all that is
//! undecided leaves little for the next.

use crate::ExchangeError;
use crate::client::peer::Remote;
use std::time::Instant;
use varve_repo::RepoView;
use varve_revlog::{Node, Rev, Revlog};

/// Changesets in one question. A hundred fit into the headers that servers commonly accept.
const SAMPLE: usize = 200;

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
enum Knowledge {
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
        let sample = search.first_sample();
        let nodes: Vec<Node> = sample.iter().map(|rev| changelog.node(*rev)).collect();
        let first = remote.heads_and_known(&nodes)?;
        let wanted = heads.unwrap_or(&first.heads);
        let incoming = wanted.iter().any(|node| {
            let rev = changelog.rev(node);
            !node.is_null() && rev.is_none_or(|rev| !exists(rev))
        });
        let there = wanted.iter().filter_map(|node| changelog.rev(node));
        // A head of the other side is common even if it does not count.
        for rev in there.filter(|rev| exists(*rev)) {
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
            questions: 1,
            asked: nodes.len(),
        };
        Ok(Discovery {
            search,
            found,
            begun,
        })
    }

    /// Whether the other side has all own changesets that count, and others.
    pub fn knows_all(&self) -> bool {
        self.found.incoming && !self.search.has_doubts()
    }

    /// Whether the other side has changesets that are not here.
    pub fn has_incoming(&self) -> bool {
        self.found.incoming
    }

    /// Asks until nothing is undecided that matters.
    ///
    /// # Errors
    /// As of [`discover`].
    pub fn finish(self, remote: &mut Remote) -> Result<DiscoveryResult, ExchangeError> {
        let Discovery {
            mut search,
            mut found,
            begun,
        } = self;
        let changelog = search.changelog;
        let is_open = found.incoming && search.has_doubts();
        if found.incoming && !search.sample().is_empty() {
            // Where nothing is known to be there, Mercurial takes its samples in a quicker way.
            let quick = match search.revs_in(Knowledge::Common).next() {
                Some(_) => "",
                None => "quick ",
            };
            remote.debug(|| format!("taking {quick}initial sample\n"));
        }
        while found.incoming {
            let sample = search.sample();
            if sample.is_empty() {
                break;
            }
            found.questions += 1;
            found.asked += sample.len();
            let number = found.questions;
            let undecided = search.revs_in(Knowledge::Undecided).count();
            let size = sample.len();
            remote.debug_progress(|| format!("searching: {number} queries\n"));
            remote.debug(|| {
                format!("query {number}; still undecided: {undecided}, sample size is: {size}\n")
            });
            let nodes: Vec<Node> = sample.iter().map(|rev| changelog.node(*rev)).collect();
            let known = remote.known(&nodes)?;
            search.decide(sample.into_iter().zip(known));
        }
        if is_open {
            let (number, seconds) = (found.questions, begun.elapsed().as_secs_f64());
            remote.debug(|| format!("{number} total queries in {seconds:.4}s\n"));
        }
        let common = search.common_heads();
        found.common_heads = common.into_iter().map(|rev| changelog.node(rev)).collect();
        Ok(found)
    }
}

struct Search<'a> {
    changelog: &'a Revlog,
    states: Vec<Knowledge>,
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

    fn revs_in(&self, wanted: Knowledge) -> impl DoubleEndedIterator<Item = Rev> + '_ {
        self.changelog
            .revs()
            .filter(move |rev| self.states[rev.index()] == wanted)
    }

    fn parents(&self, rev: Rev) -> impl Iterator<Item = Rev> + use<> {
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
    fn heads_in(&self, wanted: Knowledge) -> Vec<Rev> {
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

    /// The own heads: mostly the other side has either all of them or few.
    fn first_sample(&self) -> Vec<Rev> {
        spread(self.heads_in(Knowledge::Undecided), SAMPLE)
    }

    /// Where the border may be: heads and roots of the undecided changesets, and changesets at doubling
    /// distances from them, along each line of descent. The rest of the sample is spread evenly.
    fn sample(&self) -> Vec<Rev> {
        let undecided: Vec<Rev> = self.revs_in(Knowledge::Undecided).collect();
        if undecided.len() <= SAMPLE {
            return undecided;
        }
        let [from_heads, from_roots] = self.distances(&undecided);
        let is_far = |rev: &Rev| {
            let distances = [&from_heads, &from_roots].map(|all| all[rev.index()]);
            distances.iter().any(|distance| distance.is_power_of_two())
        };
        let candidates = undecided.iter().copied().filter(is_far).collect();
        let mut sample = spread(candidates, SAMPLE);
        sample.extend(spread(undecided, SAMPLE - sample.len()));
        sample.sort_unstable();
        sample.dedup();
        sample
    }

    /// How far each undecided changeset is from the next head, and from the next root, of all that
    /// are undecided; those themselves have 1.
    fn distances(&self, undecided: &[Rev]) -> [Vec<u32>; 2] {
        let is_undecided = |rev: &Rev| self.states[rev.index()] == Knowledge::Undecided;
        let [mut from_heads, mut from_roots] = [(); 2].map(|()| vec![u32::MAX; self.states.len()]);
        for rev in undecided.iter().rev() {
            let own = match from_heads[rev.index()] {
                u32::MAX => 1,
                known => known,
            };
            from_heads[rev.index()] = own;
            for parent in self.parents(*rev).filter(is_undecided) {
                let distance = &mut from_heads[parent.index()];
                *distance = (*distance).min(own + 1);
            }
        }
        for rev in undecided {
            let parents = self.parents(*rev).filter(is_undecided);
            let nearest = parents.map(|parent| from_roots[parent.index()]).min();
            from_roots[rev.index()] = nearest.unwrap_or(0) + 1;
        }
        [from_heads, from_roots]
    }
}

/// At most so many of them, at even distances.
fn spread(revs: Vec<Rev>, most: usize) -> Vec<Rev> {
    if revs.len() <= most {
        return revs;
    }
    let parts = (0..most).map(|part| revs[part * revs.len() / most]);
    parts.collect()
}
