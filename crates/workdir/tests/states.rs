//! States of interrupted commands in a storage in memory: written and read back, cut at any byte, and as a power cut may leave them.

use proptest::prelude::*;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use varve_base::storage::read_if_there;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_repo::{Node, Repository};
use varve_testkit::Recorder;
use varve_workdir::{
    GraftState, HisteditAction, HisteditRule, HisteditState, RebaseState, RebaseStep,
    UnshelveState, WorkdirError, fuzzing,
};

/// A state that is kept in one file between two calls.
trait SavedState: Sized + Clone + Debug + PartialEq {
    const FILE: &'static str;
    /// Part of the message about damage.
    const DAMAGED: &'static str;

    fn write(&self, repository: &Repository) -> Result<(), WorkdirError>;
    fn read(repository: &Repository) -> Result<Option<Self>, WorkdirError>;
    fn is_there(repository: &Repository) -> Result<bool, WorkdirError>;
    fn clear(repository: &Repository) -> Result<(), WorkdirError>;
    /// The fuzz target of the format.
    const TARGET: fn(&[u8]);

    /// Whether the file may end behind this many bytes of `whole`: its format has no count of what follows.
    fn may_end(whole: &[u8], at: usize) -> bool;
}

macro_rules! saved_state {
    ($state:ty, $file:literal, $damaged:literal, $target:path, $may_end:expr) => {
        impl SavedState for $state {
            const FILE: &'static str = $file;
            const DAMAGED: &'static str = $damaged;
            const TARGET: fn(&[u8]) = $target;

            fn write(&self, repository: &Repository) -> Result<(), WorkdirError> {
                <$state>::write(self, repository)
            }

            fn read(repository: &Repository) -> Result<Option<Self>, WorkdirError> {
                <$state>::read(repository)
            }

            fn is_there(repository: &Repository) -> Result<bool, WorkdirError> {
                <$state>::is_there(repository)
            }

            fn clear(repository: &Repository) -> Result<(), WorkdirError> {
                <$state>::clear(repository)
            }

            fn may_end(whole: &[u8], at: usize) -> bool {
                let may_end: fn(&[u8]) -> bool = $may_end;
                may_end(&whole[..at])
            }
        }
    };
}

saved_state!(
    GraftState,
    "graftstate",
    "graftstate is damaged",
    fuzzing::graft_state,
    |_| false
);
saved_state!(
    HisteditState,
    "histedit-state",
    "histedit-state is damaged",
    fuzzing::histedit_state,
    |_| false
);
// Behind the bookmark and behind each changeset.
saved_state!(
    RebaseState,
    "rebasestate",
    "rebasestate is damaged",
    fuzzing::rebase_state,
    |cut| { cut.ends_with(b"\n") && cut.iter().filter(|byte| **byte == b'\n').count() >= 7 }
);
// Old programs wrote no bookmark.
saved_state!(
    UnshelveState,
    "shelvedstate",
    "corrupted shelved state",
    fuzzing::unshelve_state,
    |cut| {
        let lines: Vec<&[u8]> = cut.split(|byte| *byte == b'\n').collect();
        cut.ends_with(b"\n") && lines.iter().any(|line| line.starts_with(b"keep="))
    }
);

fn repository(storage: Arc<dyn Storage>) -> Repository {
    Repository::create(storage, Path::new("")).unwrap()
}

/// Puts these bytes in the place of the state.
fn overwrite<S: SavedState>(storage: &dyn Storage, bytes: &[u8]) {
    let path = Path::new(".hg").join(S::FILE);
    if storage.kind(&path).unwrap().is_some() {
        storage.remove(&path).unwrap();
    }
    let file = storage.open(&path, OpenMode::CreateNew).unwrap();
    file.append(bytes).unwrap();
}

fn is_damage<S: SavedState>(found: &Result<Option<S>, WorkdirError>) -> bool {
    match found {
        Err(error) => error.to_string().contains(S::DAMAGED),
        Ok(_) => false,
    }
}

/// Writes the state, reads it and forgets it, and reads what is left of it when it is cut.
fn check<S: SavedState>(state: &S) -> Result<(), TestCaseError> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let repository = repository(storage.clone());
    prop_assert!(!S::is_there(&repository).unwrap());
    prop_assert_eq!(S::read(&repository).unwrap(), None);
    S::clear(&repository).unwrap();
    state.write(&repository).unwrap();
    prop_assert!(S::is_there(&repository).unwrap());
    prop_assert_eq!(S::read(&repository).unwrap(), Some(state.clone()));
    // A second one takes the place of the first.
    state.write(&repository).unwrap();
    prop_assert_eq!(S::read(&repository).unwrap(), Some(state.clone()));
    let path = Path::new(".hg").join(S::FILE);
    let whole = read_if_there(storage.as_ref(), &path).unwrap().unwrap();
    let shown = whole.escape_ascii().to_string();
    for at in 0..whole.len() {
        overwrite::<S>(storage.as_ref(), &whole[..at]);
        let found = S::read(&repository);
        match S::may_end(&whole, at) {
            true => prop_assert!(found.is_ok(), "{at} of {shown}"),
            false => prop_assert!(is_damage(&found), "{at} of {shown}: {found:?}"),
        }
        prop_assert!(S::is_there(&repository).unwrap());
    }
    S::clear(&repository).unwrap();
    prop_assert!(!S::is_there(&repository).unwrap());
    Ok(())
}

/// Bytes that are put in other places of a file.
type Changes = Vec<(prop::sample::Index, u8)>;

fn changes() -> impl Strategy<Value = Changes> {
    proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)
}

/// A state in which bytes have changed is read, written and read again as the same, or refused; so are any bytes.
fn check_changed<S: SavedState>(state: &S, changes: &Changes, any_bytes: &[u8]) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let repository = repository(storage.clone());
    state.write(&repository).unwrap();
    let path = Path::new(".hg").join(S::FILE);
    let mut bytes = read_if_there(storage.as_ref(), &path).unwrap().unwrap();
    for (at, byte) in changes {
        let at = at.index(bytes.len());
        bytes[at] = *byte;
    }
    (S::TARGET)(&bytes);
    (S::TARGET)(any_bytes);
    // The version is in front of what is any.
    (S::TARGET)(&[&bytes[..2], any_bytes].concat());
    overwrite::<S>(storage.as_ref(), &bytes);
    let found = S::read(&repository);
    assert!(
        found.is_ok() || is_damage(&found) || found.unwrap_err().to_string().contains("version")
    );
}

fn nodes() -> impl Strategy<Value = Node> {
    any::<[u8; Node::LEN]>().prop_map(Node)
}

fn node_lists() -> impl Strategy<Value = Vec<Node>> {
    proptest::collection::vec(nodes(), 0..3)
}

/// Any text in one line.
fn lines() -> impl Strategy<Value = Option<Vec<u8>>> {
    let byte = any::<u8>().prop_filter("no line end", |byte| *byte != b'\n');
    prop::option::of(proptest::collection::vec(byte, 1..9))
}

fn grafts() -> impl Strategy<Value = GraftState> {
    let options = (
        lines(),
        lines(),
        prop::option::of(nodes()),
        any::<[bool; 2]>(),
    );
    (node_lists(), node_lists(), options).prop_map(|(nodes, new_nodes, options)| {
        let (user, date, base, [log, no_commit]) = options;
        GraftState {
            nodes,
            new_nodes,
            user,
            date,
            base,
            log,
            no_commit,
        }
    })
}

fn histedits() -> impl Strategy<Value = HisteditState> {
    use HisteditAction::{Base, Drop, Edit, Fold, Mess, Pick, Roll};
    let action = prop::sample::select(vec![Pick, Edit, Fold, Roll, Drop, Mess, Base]);
    let rule = (action, nodes()).prop_map(|(action, node)| HisteditRule { action, node });
    let rules = proptest::collection::vec(rule, 0..4);
    let replacements = proptest::collection::vec((nodes(), node_lists()), 0..4);
    let backup = lines().prop_map(Option::unwrap_or_default);
    let sides = (nodes(), nodes(), any::<bool>());
    (sides, rules, replacements, backup).prop_map(|(sides, rules, replacements, backup)| {
        let mut state = HisteditState::new(sides.0, sides.1, sides.2);
        (state.rules, state.replacements, state.backup) = (rules, replacements, backup);
        state
    })
}

fn rebases() -> impl Strategy<Value = RebaseState> {
    let step = (nodes(), prop::option::of(nodes()), nodes());
    let step = step.prop_map(|(old, new, destination)| RebaseStep {
        old,
        new,
        destination,
    });
    let steps = proptest::collection::vec(step, 0..4);
    (nodes(), nodes(), any::<[bool; 3]>(), lines(), steps).prop_map(
        |(original, external, [collapses, keeps, keeps_branches], active_bookmark, steps)| {
            RebaseState {
                original,
                external,
                collapses,
                keeps,
                keeps_branches,
                active_bookmark,
                steps,
            }
        },
    )
}

fn unshelves() -> impl Strategy<Value = UnshelveState> {
    let name = lines().prop_map(Option::unwrap_or_default);
    (
        name,
        any::<[[u8; Node::LEN]; 3]>(),
        node_lists(),
        lines(),
        lines(),
        any::<[bool; 2]>(),
    )
        .prop_map(
            |(name, nodes, temporary, branch, active_bookmark, [keeps, is_interactive])| {
                let [original, pending, shelved] = nodes.map(Node);
                UnshelveState {
                    name,
                    original,
                    pending,
                    shelved,
                    temporary,
                    branch,
                    keeps,
                    active_bookmark,
                    is_interactive,
                }
            },
        )
}

proptest! {
    #[test]
    fn changed_states_are_read_or_refused(
        graft in grafts(), histedit in histedits(), rebase in rebases(), unshelve in unshelves(),
        changes in changes(), any_bytes in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        check_changed(&graft, &changes, &any_bytes);
        check_changed(&histedit, &changes, &any_bytes);
        check_changed(&rebase, &changes, &any_bytes);
        check_changed(&unshelve, &changes, &any_bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn grafts_are_read_back_or_their_damage_is_named(state in grafts()) {
        check(&state)?;
    }

    #[test]
    fn histedits_are_read_back_or_their_damage_is_named(state in histedits()) {
        check(&state)?;
    }

    #[test]
    fn rebases_are_read_back_or_their_damage_is_named(state in rebases()) {
        check(&state)?;
    }

    #[test]
    fn unshelves_are_read_back_or_their_damage_is_named(state in unshelves()) {
        check(&state)?;
    }
}

/// A rebase that was begun and has gone on: every image has one of both states whole, or its damage is named.
#[test]
fn a_power_cut_leaves_a_state_or_damage_that_is_named() {
    let recorder = Recorder::default();
    let repository = repository(Arc::new(recorder.clone()));
    let step = |new| RebaseStep {
        old: Node([1; Node::LEN]),
        new,
        destination: Node([2; Node::LEN]),
    };
    let begun = RebaseState {
        original: Node([3; Node::LEN]),
        external: Node::NULL,
        collapses: false,
        keeps: false,
        keeps_branches: true,
        active_bookmark: Some(b"here".to_vec()),
        steps: vec![step(None)],
    };
    let done = RebaseState {
        steps: vec![step(Some(Node([4; Node::LEN])))],
        ..begun.clone()
    };
    recorder.acknowledge();
    begun.write(&repository).unwrap();
    recorder.acknowledge();
    done.write(&repository).unwrap();
    recorder.acknowledge();
    RebaseState::clear(&repository).unwrap();
    recorder.acknowledge();
    let mut seen = [0; 4];
    recorder.for_each_image(1024, |image| {
        if image.acknowledged == 0 {
            return;
        }
        let storage: Arc<dyn Storage> = Arc::new(image.storage);
        let repository = Repository::open(storage, Path::new("")).unwrap();
        let kind = match RebaseState::read(&repository) {
            Ok(None) => 0,
            Ok(Some(state)) if state == begun => 1,
            Ok(Some(state)) if state == done => 2,
            // Only its changesets may be cut off, whose lines are not counted.
            Ok(Some(state)) => {
                assert!(state.steps.is_empty(), "{}: {state:?}", image.cut);
                3
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(RebaseState::DAMAGED), "{}: {text}", image.cut);
                3
            }
        };
        // Nothing is there before the first and after the last call.
        assert!(
            kind != 0 || [1, 3, 4].contains(&image.acknowledged),
            "{}",
            image.cut
        );
        seen[kind] += 1;
    });
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

/// Old programs left changesets alone for reasons of their own; every other sign is damage.
#[test]
fn only_known_signs_stand_for_changesets_that_were_left_alone() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let repository = repository(storage.clone());
    let [a, b, c] = ["1", "2", "3"].map(|digit| digit.repeat(40));
    for (sign, steps) in [
        ("-1", Some(1)),
        ("-2", Some(0)),
        ("-3", Some(0)),
        ("-4", Some(0)),
        ("-5", Some(0)),
        ("-", None),
        ("-12", None),
        ("", None),
    ] {
        let text = format!("{a}\n\n{c}\n0\n0\n0\n\n{b}:{sign}:{c}\n");
        overwrite::<RebaseState>(storage.as_ref(), text.as_bytes());
        let found = RebaseState::read(&repository);
        match steps {
            Some(steps) => assert_eq!(found.unwrap().unwrap().steps.len(), steps, "{sign}"),
            None => assert!(is_damage(&found), "{sign}: {found:?}"),
        }
    }
}
