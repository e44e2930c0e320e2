//! Whatever happens to a repository, its database has the documents that one has which is filled anew.

use crate::history::{History, plain, write};
use proptest::prelude::*;
use varve_repo::{NewChangeset, Node, Phase, ViewFilter};

/// One change of a repository; numbers choose among what is there.
#[derive(Clone, Debug)]
enum Change {
    Commit {
        parent: usize,
        branch: bool,
        phase: u8,
        file: u8,
    },
    Strip(usize),
    Phase {
        of: usize,
        phase: u8,
    },
    Bookmark {
        name: u8,
        at: usize,
    },
    Settings {
        drafts: bool,
        lines: bool,
        files: bool,
        data: bool,
    },
    Synchronize,
    Reopen,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let any_rev = 0_usize..100;
    let change = prop_oneof![
        5 => (any_rev.clone(), any::<bool>(), 0_u8..3, 0_u8..4)
            .prop_map(|(parent, branch, phase, file)| Change::Commit { parent, branch, phase, file }),
        1 => any_rev.clone().prop_map(Change::Strip),
        2 => (any_rev.clone(), 0_u8..3).prop_map(|(of, phase)| Change::Phase { of, phase }),
        2 => (0_u8..3, any_rev).prop_map(|(name, at)| Change::Bookmark { name, at }),
        1 => (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(drafts, lines, files, data)| Change::Settings { drafts, lines, files, data }),
        4 => Just(Change::Synchronize),
        1 => Just(Change::Reopen),
    ];
    proptest::collection::vec(change, 1..25)
}

fn phase(number: u8) -> Phase {
    [Phase::Public, Phase::Draft, Phase::Secret][usize::from(number % 3)]
}

/// A changeset by a number that chooses; `None` in an empty repository.
fn chosen(history: &History, number: usize) -> Option<Node> {
    let view = history.repository.view_for(ViewFilter::Unfiltered).unwrap();
    let changelog = view.changelog();
    let rev = number.checked_rem(changelog.len())?;
    Some(changelog.node(changelog.rev_at(rev as i64)?))
}

fn apply(history: History, change: &Change, at: usize) -> History {
    match *change {
        Change::Commit {
            parent,
            branch,
            phase: number,
            file,
        } => {
            let parent = chosen(&history, parent);
            let path = format!("f{file}.json");
            // One in four cannot be read as data.
            let content = match at % 4 {
                0 => format!("{at}\n"),
                kept => format!("{{\"at\": {at}, \"kept\": {kept}, \"{kept}\": 0}}\n"),
            };
            let view = history.repository.view_for(ViewFilter::Unfiltered).unwrap();
            let least = parent.and_then(|parent| view.changelog().rev(&parent));
            let least = least.map_or(Phase::Public, |rev| view.phases().of(rev));
            drop(view);
            history.commit_one(&NewChangeset {
                parents: [parent.unwrap_or(Node::NULL), Node::NULL],
                branch: if branch { b"other" } else { b"default" },
                phase: phase(number).max(least),
                changes: &[write(&path, &content)],
                date: (at as i64, 0),
                ..plain()
            });
        }
        Change::Strip(number) => {
            if let Some(node) = chosen(&history, number) {
                history.strip(&[node]);
            }
        }
        Change::Phase { of, phase: number } => {
            if let Some(node) = chosen(&history, of) {
                history.set_phase(node, phase(number));
            }
        }
        Change::Bookmark { name, at } => {
            if let Some(node) = chosen(&history, at) {
                history.bookmark(&format!("b{name}"), node);
            }
        }
        Change::Settings {
            drafts,
            lines,
            files,
            data,
        } => {
            let mut history = history;
            history.settings.includes_drafts = drafts;
            history.settings.counts_lines = lines;
            history.settings.lists_files = files;
            history.settings.data = if data {
                vec!["*.json".to_owned()]
            } else {
                Vec::new()
            };
            return history;
        }
        Change::Synchronize => {
            history.synchronize();
        }
        Change::Reopen => return history.reopened(),
    }
    history
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_database_that_followed_is_as_one_that_is_new(changes in changes()) {
        let mut history = History::new();
        for (at, change) in changes.iter().enumerate() {
            history = apply(history, change, at);
        }
        history.synchronize();
        prop_assert_eq!(history.generated(), history.expected());
        prop_assert_eq!(history.synchronize().commits, 0);
    }
}
