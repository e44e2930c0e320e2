//! Which changesets both sides have, found by asking for few of them.
//!
//! Each own changeset is in one of three states: *common*, *missing* there, or *undecided*. If the
//! other side has a changeset it has the ancestors too; if it lacks one it lacks the descendants.
//! So every answer decides more than was asked, and a sample that is spread over all that is
//! undecided leaves little for the next.

use super::Remote;
use crate::ExchangeError;
use varve_repo::RepoView;
use varve_revlog::{Node, Rev, Revlog};

/// Changesets in one question. A hundred fit into the headers that servers commonly accept.
const SAMPLE: usize = 200;

/// What both sides have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Common {
    /// The newest of the changesets that both have; none if there are none.
    pub heads: Vec<Node>,
    /// Heads of the other side.
    pub remote_heads: Vec<Node>,
    /// Whether the other side has changesets that this one lacks.
    pub incoming: bool,
    /// Questions asked, each of which was one round trip.
    pub questions: usize,
}

impl Common {
    /// Whether the sides have no history in common although both have one.
    pub fn is_unrelated(&self, own: usize) -> bool {
        let is_empty = self.remote_heads.iter().all(Node::is_null);
        self.heads.is_empty() && own > 0 && !is_empty
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
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
/// What the other side answers, or that it does not.
pub fn discover(
    view: &RepoView,
    remote: &mut Remote,
    heads: Option<&[Node]>,
) -> Result<Common, ExchangeError> {
    let changelog = view.changelog();
    let mut search = Search::new(changelog, |rev| view.is_visible(rev));
    let sample = search.first_sample();
    let nodes: Vec<Node> = sample.iter().map(|rev| changelog.node(*rev)).collect();
    remote.say(|| "query 1; heads\n".to_owned());
    let look = remote.look(&nodes)?;
    let mut found = Common {
        questions: 1,
        ..Common::default()
    };
    let wanted = heads.unwrap_or(&look.heads);
    found.incoming = wanted.iter().any(|node| {
        let rev = changelog.rev(node);
        !node.is_null() && rev.is_none_or(|rev| !view.is_visible(rev))
    });
    let there = wanted.iter().filter_map(|node| changelog.rev(node));
    search.decide(there.map(|rev| (rev, true)));
    if found.incoming || heads.is_none() {
        search.decide(sample.into_iter().zip(look.known));
    }
    while found.incoming {
        let sample = search.sample();
        if sample.is_empty() {
            break;
        }
        let nodes: Vec<Node> = sample.iter().map(|rev| changelog.node(*rev)).collect();
        let known = remote.known(&nodes)?;
        found.questions += 1;
        search.decide(sample.into_iter().zip(known));
    }
    let common = search.common_heads();
    found.heads = common.into_iter().map(|rev| changelog.node(rev)).collect();
    found.remote_heads = look.heads;
    Ok(found)
}

struct Search<'a> {
    changelog: &'a Revlog,
    states: Vec<State>,
}

impl<'a> Search<'a> {
    fn new(changelog: &'a Revlog, is_visible: impl Fn(Rev) -> bool) -> Self {
        let state = |rev| match is_visible(rev) {
            true => State::Undecided,
            false => State::Absent,
        };
        let states = changelog.revs().map(state).collect();
        Search { changelog, states }
    }

    fn revs_in(&self, wanted: State) -> impl DoubleEndedIterator<Item = Rev> + '_ {
        self.changelog
            .revs()
            .filter(move |rev| self.states[rev.index()] == wanted)
    }

    fn parents(&self, rev: Rev) -> impl Iterator<Item = Rev> + use<> {
        self.changelog.parents(rev).into_iter().flatten()
    }

    /// Takes answers in: what is there with its ancestors, and what is not with its descendants.
    fn decide(&mut self, answers: impl Iterator<Item = (Rev, bool)>) {
        for (rev, is_there) in answers {
            let state = &mut self.states[rev.index()];
            if *state == State::Undecided {
                *state = if is_there {
                    State::Common
                } else {
                    State::Missing
                };
            }
        }
        // Parents come before children.
        for rev in self.changelog.revs().rev() {
            if self.states[rev.index()] == State::Common {
                for parent in self.parents(rev) {
                    self.states[parent.index()] = State::Common;
                }
            }
        }
        for rev in self.changelog.revs() {
            let misses = |parent: Rev| self.states[parent.index()] == State::Missing;
            if self.states[rev.index()] == State::Undecided && self.parents(rev).any(misses) {
                self.states[rev.index()] = State::Missing;
            }
        }
    }

    /// Newest of those in one state.
    fn heads_in(&self, wanted: State) -> Vec<Rev> {
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
        let mut heads = self.heads_in(State::Common);
        heads.reverse();
        heads
    }

    /// The own heads: mostly the other side has either all of them or few.
    fn first_sample(&self) -> Vec<Rev> {
        let mut heads = self.heads_in(State::Undecided);
        heads.truncate(SAMPLE / 2);
        heads
    }

    /// Heads, then changesets at doubling distances before them, where the border commonly is, and
    /// the rest of the sample spread evenly.
    fn sample(&self) -> Vec<Rev> {
        let undecided: Vec<Rev> = self.revs_in(State::Undecided).collect();
        if undecided.len() <= SAMPLE {
            return undecided;
        }
        let mut sample = self.heads_in(State::Undecided);
        sample.truncate(SAMPLE / 4);
        let mut distance = 1;
        while distance < undecided.len() {
            sample.push(undecided[undecided.len() - distance]);
            distance *= 2;
        }
        let rest = SAMPLE - sample.len();
        sample.extend((0..rest).map(|part| undecided[part * undecided.len() / rest]));
        sample.sort_unstable();
        sample.dedup();
        sample
    }
}
