//! Changes of the working copy that a stack absorbs.

use super::model::{Files, WorkingCopy, begin, file, files_of, plain_files};
use proptest::prelude::*;
use varve_base::Interrupt;
use varve_repo::Node;
use varve_workdir::{
    AbsorbRequest, AbsorbStack, AbsorbedFile, FollowedSources, LocalChanges, MergeTool, absorb,
};

/// One letter a line.
fn text(letters: &str) -> String {
    letters
        .chars()
        .map(|letter| format!("{letter}\n"))
        .collect()
}

/// The newest version with the lines that belong to a changeset in place of theirs.
fn with_parts(file: &AbsorbedFile) -> Vec<u8> {
    let lines = |text: &[u8]| -> Vec<Vec<u8>> {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    };
    let (newest, changed) = (lines(&file.newest), lines(&file.changed));
    let (mut all, mut at) = (Vec::new(), 0);
    for part in file.hunks.iter().flat_map(|hunk| &hunk.parts) {
        all.extend_from_slice(&newest[at..part.old.start]);
        all.extend_from_slice(&changed[part.new.clone()]);
        at = part.old.end;
    }
    all.extend_from_slice(&newest[at..]);
    all.concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The stack ends with what was absorbed, the working file stays, and the rest shows as a change.
    #[test]
    fn a_stack_ends_with_what_it_absorbed(
        versions in prop::collection::vec("[a-e]{0,6}", 2..5),
        changed in "[a-g]{0,6}",
    ) {
        let copy = WorkingCopy::new();
        let mut before = Files::new();
        let mut top = Node::NULL;
        for (number, letters) in versions.iter().enumerate() {
            // The other file has each version be a changeset.
            let files = plain_files(&[("a", &text(letters)), ("number", &number.to_string())]);
            top = copy.commit(top, &before, &files);
            before = files;
        }
        copy.update(top, LocalChanges::Discard, MergeTool::Fail).unwrap();
        let changed = text(&changed);
        copy.write("a", &file(&changed));
        let view = copy.view();
        let stack = AbsorbStack::of(&view, view.changelog().rev(&top), 0);
        prop_assert_eq!(stack.revs.len(), versions.len());
        let mut followed = FollowedSources::default();
        let place = (&b"a"[..], changed.clone().into_bytes());
        let absorbed = AbsorbedFile::read(&view, &stack, place, &mut followed).unwrap().unwrap();
        let expected = with_parts(&absorbed);
        let applied = absorbed.applied;
        let request = AbsorbRequest {
            view: &view,
            stack: &stack,
            files: &[absorbed],
            keeps_empty: true,
            names_source: false,
            stop: &Interrupt::default(),
        };
        let mut dirstate = copy.dirstate();
        let made = absorb(&copy.repository, begin(&copy.repository), &mut dirstate, &request).unwrap();
        prop_assert_eq!(made.is_empty(), applied == 0);
        let now = dirstate.parents()[0];
        prop_assert_eq!(copy.dirstate().parents()[0], now);
        prop_assert_eq!(&files_of(&copy.view(), &now)["a"].0, &expected);
        prop_assert_eq!(std::fs::read_to_string(copy.path("a")).unwrap(), changed.clone());
        let shown = copy.status().modified == [b"a".to_vec()];
        prop_assert_eq!(shown, expected != changed.as_bytes());
    }
}
