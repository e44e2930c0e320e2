//! Laws of the merge of three texts, and of their modes.

use super::{MergeLabels, MergeTool, is_binary, merge_kinds, merge_texts};
use proptest::prelude::*;
use varve_repo::FileKind;

/// Texts of few lines, so that changes meet.
fn texts() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "d\n"]);
    proptest::collection::vec(line, 0..7).prop_map(|lines| lines.concat())
}

const DECIDING: [MergeTool; 4] = [
    MergeTool::MergeLocal,
    MergeTool::MergeOther,
    MergeTool::Union,
    MergeTool::UnionOtherFirst,
];

fn merged(tool: MergeTool, base: &str, ours: &str, theirs: &str) -> (String, bool) {
    let texts = [base, ours, theirs].map(str::as_bytes);
    let merged = merge_texts(
        tool,
        varve_delta::TouchingChanges::Conflict,
        &MergeLabels::of_update(),
        texts,
    );
    (String::from_utf8(merged.content).unwrap(), merged.conflicts)
}

/// The text of one side, out of a text with markers.
fn side(text: &str, wants_ours: bool) -> String {
    let (mut found, mut keeps) = (String::new(), true);
    for line in text.split_inclusive('\n') {
        match line.trim_end() {
            "<<<<<<< working copy" => keeps = wants_ours,
            "||||||| working copy parent" => keeps = false,
            "=======" => keeps = !wants_ours,
            ">>>>>>> destination" => keeps = true,
            _ if keeps => found += line,
            _ => {}
        }
    }
    found
}

proptest! {
    #[test]
    fn a_side_without_changes_gives_way(base in texts(), changed in texts()) {
        for tool in DECIDING.into_iter().chain([MergeTool::Merge, MergeTool::Merge3]) {
            prop_assert_eq!(merged(tool, &base, &base, &changed), (changed.clone(), false), "{:?}", tool);
            prop_assert_eq!(merged(tool, &base, &changed, &base), (changed.clone(), false), "{:?}", tool);
            prop_assert_eq!(merged(tool, &base, &changed, &changed), (changed.clone(), false), "{:?}", tool);
        }
    }

    #[test]
    fn tools_that_decide_leave_no_conflict(base in texts(), ours in texts(), theirs in texts()) {
        let conflicts = merged(MergeTool::Merge, &base, &ours, &theirs).1;
        for tool in DECIDING {
            let (text, left) = merged(tool, &base, &ours, &theirs);
            prop_assert!(!left && !text.contains("<<<<<<<"), "{:?}", tool);
            if !conflicts {
                prop_assert_eq!(text, merged(MergeTool::Merge, &base, &ours, &theirs).0);
            }
        }
        prop_assert_eq!(merged(MergeTool::Merge3, &base, &ours, &theirs).1, conflicts);
        // One side first, or the other: the same as merging the other way round.
        let turned = merged(MergeTool::UnionOtherFirst, &base, &theirs, &ours).0;
        prop_assert_eq!(merged(MergeTool::Union, &base, &ours, &theirs).0, turned);
        let turned = merged(MergeTool::MergeOther, &base, &theirs, &ours).0;
        prop_assert_eq!(merged(MergeTool::MergeLocal, &base, &ours, &theirs).0, turned);
    }

    /// Taking our part of every conflict equals the tool that decides for us.
    #[test]
    fn markers_hold_both_sides(base in texts(), ours in texts(), theirs in texts()) {
        for tool in [MergeTool::Merge, MergeTool::Merge3] {
            let (text, conflicts) = merged(tool, &base, &ours, &theirs);
            prop_assert_eq!(text.contains("<<<<<<<"), conflicts);
            prop_assert_eq!(text.matches("<<<<<<<").count(), text.matches(">>>>>>>").count());
            prop_assert_eq!(side(&text, true), merged(MergeTool::MergeLocal, &base, &ours, &theirs).0);
            prop_assert_eq!(side(&text, false), merged(MergeTool::MergeOther, &base, &ours, &theirs).0);
        }
    }

    #[test]
    fn a_mode_that_one_side_changed_is_taken(base in 0..3_usize, ours in 0..3_usize, theirs in 0..3_usize) {
        let kinds = [FileKind::Plain, FileKind::Executable, FileKind::Symlink];
        let (base, ours, theirs) = (kinds[base], kinds[ours], kinds[theirs]);
        let (kind, ambiguous) = merge_kinds(Some(base), ours, theirs);
        prop_assert!(!ambiguous);
        prop_assert_eq!(kind, if ours == base { theirs } else { ours });
        prop_assert_eq!(merge_kinds(None, ours, theirs), (ours, ours != theirs));
    }
}

#[test]
fn markers_end_as_lines_of_our_side_do() {
    for (ours, end) in [("x\r\n", "\r\n"), ("x\n", "\n"), ("", "\n"), ("x", "\n")] {
        let (text, conflicts) = merged(MergeTool::Merge, "base\n", ours, "y\n");
        assert!(conflicts);
        assert!(
            text.starts_with(&format!("<<<<<<< working copy{end}")),
            "{text:?}"
        );
        assert!(
            text.ends_with(&format!(">>>>>>> destination{end}")),
            "{text:?}"
        );
    }
}

#[test]
fn a_zero_byte_makes_a_text_binary() {
    assert!(is_binary(b"a\0b") && is_binary(b"\0"));
    assert!(!is_binary(b"") && !is_binary(b"\xff\xfea\n"));
}
