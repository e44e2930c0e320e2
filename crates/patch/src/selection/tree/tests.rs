use super::*;

const PATCH: &str = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,9 +1,10 @@ fn\n 1\n-2\n+two\n 3\n+x\n 4\n 5\n 6\n 7\n\
    -8\n+eight\n 9\n\
    diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-g\n\
    diff --git a/b b/c\nrename from b\nrename to c\n--- a/b\n+++ b/c\n@@ -1,1 +1,1 @@\n-b\n+c\n\
    diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n";

fn tree() -> SelectionTree {
    let files = OfferedFile::read_all(PATCH.as_bytes());
    SelectionTree::new(files, OfferedFile::shown_header)
}

/// Does as the keys of the screen do; `!` inverts.
fn press(tree: &mut SelectionTree, keys: &str) {
    for key in keys.chars() {
        match key {
            'j' => tree.move_cursor(Movement::Next),
            'k' => tree.move_cursor(Movement::Previous),
            'J' => tree.move_cursor(Movement::NextSibling),
            'K' => tree.move_cursor(Movement::PreviousSibling),
            'l' => tree.move_cursor(Movement::Child),
            'h' => tree.move_cursor(Movement::Parent),
            'H' => tree.move_cursor(Movement::File),
            'g' => tree.move_cursor(Movement::First),
            'G' => tree.move_cursor(Movement::Last),
            'f' => tree.toggle_fold(),
            'F' => tree.toggle_parent_fold(),
            'x' => tree.toggle(),
            'n' => tree.toggle_and_advance(),
            'X' => tree.toggle_range(),
            'A' => tree.toggle_all(),
            '!' => tree.invert(),
            _ => unreachable!(),
        }
    }
}

/// The cursor, in numbers between dots.
fn at(tree: &SelectionTree) -> String {
    let ItemPath { file, hunk, line } = tree.cursor();
    let below: Vec<String> = [hunk, line]
        .into_iter()
        .flatten()
        .map(|n| format!(".{n}"))
        .collect();
    format!("{file}{}", below.concat())
}

#[track_caller]
fn leads(keys: &str, to: &str) -> SelectionTree {
    let mut tree = tree();
    press(&mut tree, keys);
    assert_eq!(at(&tree), to, "{keys}");
    tree
}

fn chosen(keys: &str) -> String {
    let mut tree = tree();
    press(&mut tree, keys);
    String::from_utf8(tree.chosen_patch(PatchBase::Old)).unwrap()
}

#[test]
fn keys_move_among_the_items_that_are_shown() {
    for (keys, to) in [
        ("k", "0"),
        ("jjjj", "3"),
        ("l", "0.0"),
        ("ll", "0.0.0"),
        ("lll", "0.0.0"),
        ("lljjj", "0.1.0"),
        ("ljk", "0.0"),
        ("lhj", "0.1"),
        ("lhh", "0"),
        ("lhhhj", "1"),
        ("llh", "0.0"),
        ("llHj", "0.0"),
        ("llHHj", "1"),
        ("G", "3"),
        ("llGg", "0"),
        ("jl", "1.0"),
        ("Gl", "3"),
        ("llF", "0.0"),
        ("llFj", "0.1"),
        ("llFFj", "1"),
        ("fj", "0.0"),
        ("ffj", "1"),
        ("ljjfk", "0.0.0"),
    ] {
        leads(keys, to);
    }
}

#[test]
fn siblings_come_before_the_items_behind_their_parent() {
    for (keys, to) in [
        ("J", "1"),
        ("lJJ", "0.2"),
        ("lJJJ", "1"),
        ("llJ", "0.0.1"),
        ("llJJ", "0.1"),
        ("lJJlJ", "0.2.1"),
        ("lJJlJJ", "0.2.1"),
        ("lJKK", "0"),
        ("llK", "0.0"),
        ("jK", "0"),
        ("GJ", "3"),
    ] {
        leads(keys, to);
    }
}

#[test]
fn toggling_reaches_parents_and_children() {
    let tree = leads("llx", "0.0.0");
    assert_eq!(tree.selected(ItemPath::of_hunk(0, 0)), Selected::Partly);
    assert_eq!(tree.selected(ItemPath::of_file(0)), Selected::Partly);
    let tree = leads("llxHx", "0");
    assert_eq!(tree.selected(ItemPath::of_line(0, 2, 1)), Selected::No);
    let tree = leads("lxJxJx", "0.2");
    assert_eq!(tree.selected(ItemPath::of_file(0)), Selected::No);
    // A renamed file stays selected without its lines.
    let tree = leads("jjlx", "2.0");
    assert_eq!(tree.selected(ItemPath::of_file(2)), Selected::Partly);
    assert_eq!(chosen("AllxJx"), chosen("AlX"));
    assert_eq!(chosen("A"), "");
    assert_eq!(chosen("xA"), "");
    assert_eq!(chosen("AxA"), PATCH_AGAIN.concat());
    assert_eq!(chosen("nnnn"), "");
}

/// The patch in hunks with one change each.
const PATCH_AGAIN: &[&str] = &[
    "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@ fn\n 1\n-2\n+two\n 3\n",
    "@@ -3,5 +3,6 @@ fn\n 3\n+x\n 4\n 5\n 6\n 7\n@@ -4,6 +5,6 @@ fn\n 4\n 5\n 6\n 7\n-8\n+eight\n 9\n",
    "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-g\n",
    "diff --git a/b b/c\nrename from b\nrename to c\n--- a/b\n+++ b/c\n@@ -1,1 +1,1 @@\n-b\n+c\n",
    "diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n",
];

#[test]
fn enter_goes_on_within_the_file() {
    leads("lnn", "0.2");
    leads("lnnn", "0.2");
    leads("lln", "0.0.1");
    leads("llnn", "0.1.0");
    leads("lJJllnnn", "0.2.1");
    leads("nn", "2");
}

#[test]
fn ranges_begin_at_the_item_that_was_toggled_last() {
    // The hunk in between takes its lines along.
    assert_eq!(chosen("llxjjjX"), chosen("lxJx"));
    assert_eq!(chosen("X"), chosen("x"));
    assert_eq!(chosen("jjxkkX"), chosen("nnn"));
    // A range is no item that was toggled by itself.
    assert_eq!(chosen("llxjXjjX"), chosen("llxjjjX"));
}

#[test]
fn inverting_is_about_lines() {
    let text = chosen("A!");
    assert!(!text.contains("mode 100755"), "{text}");
    let text = chosen("llx!");
    assert!(text.contains("@@ -1,3 +1,2 @@ fn\n 1\n-2\n 3\n"), "{text}");
    // A renamed file stays renamed.
    assert!(text.ends_with(
        "rename from b\nrename to c\ndiff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n"
    ));
}

#[test]
fn unselected_lines_stay_or_do_not_come() {
    let text = chosen("llx");
    assert!(
        text.contains("@@ -1,3 +1,4 @@ fn\n 1\n 2\n+two\n 3\n@@ -3,5 +4,6 @@"),
        "{text}"
    );
    let mut tree = leads("llx", "0.0.0");
    let text = String::from_utf8(tree.chosen_patch(PatchBase::New)).unwrap();
    assert!(
        text.contains("@@ -1,2 +1,3 @@ fn\n 1\n+two\n 3\n@@ -2,5 +3,6 @@"),
        "{text}"
    );
    press(&mut tree, "jx");
    let text = tree.chosen_patch(PatchBase::Old);
    assert!(text.starts_with(b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -3,5 +3,6 @@"));
}

#[test]
fn an_edited_hunk_takes_the_place_of_the_first() {
    let mut tree = leads("lJlx", "0.1.0");
    let patch = String::from_utf8(tree.hunk_patch(PatchBase::Old).unwrap()).unwrap();
    assert!(
        patch.ends_with("+++ b/a\n@@ -3,5 +3,5 @@ fn\n 3\n 4\n 5\n 6\n 7\n"),
        "{patch}"
    );
    tree.replace_hunk(b"diff --git a/a b/a\n@@ -3,5 +3,5 @@ fn\n 3\n+y\n 4\n+z\n 5\n 6\n 7\n");
    assert_eq!(
        (at(&tree), tree.files()[0].hunks().len()),
        ("0.1.0".to_owned(), 4)
    );
    assert_eq!(tree.selected(ItemPath::of_file(0)), Selected::Yes);
    tree.replace_hunk(b"");
    assert_eq!(
        (at(&tree), tree.files()[0].hunks().len()),
        ("0.1".to_owned(), 3)
    );
    for _ in 0..3 {
        tree.replace_hunk(b"");
    }
    assert_eq!(at(&tree), "0");
    assert!(
        tree.chosen_patch(PatchBase::Old)
            .starts_with(b"diff --git a/gone")
    );
    assert_eq!(tree.hunk_patch(PatchBase::Old), None);
}

#[test]
fn texts_and_names_are_found() {
    let mut tree = tree();
    let is = |word: &'static str| move |text: &[u8]| text == word.as_bytes();
    assert!(tree.find(false, is("eight")));
    assert_eq!(at(&tree), "0.2.1");
    assert!(!tree.files()[0].is_folded() && tree.files()[0].hunks()[0].is_folded());
    assert!(!tree.find(false, is("eight")));
    assert!(tree.find(false, is("gone")));
    assert_eq!(at(&tree), "1");
    assert!(!tree.files()[1].is_folded() && tree.files()[1].hunks()[0].is_folded());
    assert!(tree.find(true, is("2")));
    assert_eq!(at(&tree), "0.0.0");
}

#[test]
fn a_patch_without_files_has_nothing_to_move_to() {
    let mut tree = SelectionTree::new(Vec::new(), OfferedFile::shown_header);
    press(&mut tree, "jkJKlhHgGfFxnXA!");
    tree.replace_hunk(b"");
    assert_eq!(tree.chosen_patch(PatchBase::Old), b"");
}
