//! Tags that are added and removed in a working copy.

use super::model::{Files, WorkingCopy};
use std::collections::BTreeMap;
use varve_repo::{FileKind, Node};
use varve_workdir::{
    LocalChanges, MergeTool, TagChange, TagOptions, TagRefusal, WorkdirError, check_tag_parent,
    check_tags, tag_description, write_local_tags, write_tags,
};

fn files(content: &str) -> Files {
    Files::from([("a".to_owned(), (content.into(), FileKind::Plain))])
}

/// Two changesets, the second of which is checked out.
fn two() -> (WorkingCopy, [Node; 2]) {
    let copy = WorkingCopy::new();
    let first = copy.commit(Node::NULL, &Files::new(), &files("1"));
    let second = copy.commit(first, &files("1"), &files("2"));
    copy.update(second, LocalChanges::Refuse, MergeTool::Local)
        .unwrap();
    (copy, [first, second])
}

fn names(of: &[&str]) -> Vec<Vec<u8>> {
    of.iter().map(|name| name.as_bytes().to_vec()).collect()
}

fn refusal<T: std::fmt::Debug>(result: Result<T, WorkdirError>) -> TagRefusal {
    match result.unwrap_err() {
        WorkdirError::Tags(refusal) => refusal,
        other => panic!("{other}"),
    }
}

#[test]
fn existing_tags_are_not_added_and_missing_ones_not_removed() {
    let (copy, [first, _]) = two();
    let local = TagChange {
        names: &names(&["local"]),
        node: first,
        known: &BTreeMap::new(),
    };
    write_local_tags(&copy.repository, &local).unwrap();
    let known: BTreeMap<Vec<u8>, Node> = [("local", first), ("global", first)]
        .map(|(name, node)| (name.as_bytes().to_vec(), node))
        .into();
    let check = |name: &str, local: bool, removes: bool, force: bool| {
        let options = TagOptions {
            local,
            removes,
            force,
        };
        check_tags(
            &copy.view(),
            &names(&["new", name][removes as usize..]),
            &known,
            options,
        )
    };
    let named = |refusal: fn(String) -> TagRefusal, name: &str| refusal(name.to_owned());
    for local in [false, true] {
        for name in ["local", "global"] {
            let refused = check(name, local, false, false);
            assert_eq!(refusal(refused), named(TagRefusal::Exists, name));
            check(name, local, false, true).unwrap();
        }
        let refused = check("new", local, true, true);
        assert_eq!(refusal(refused), named(TagRefusal::Unknown, "new"));
    }
    check("local", true, true, false).unwrap();
    check("global", false, true, false).unwrap();
    let refused = check("global", true, true, false);
    assert_eq!(refusal(refused), named(TagRefusal::NotLocal, "global"));
    let refused = check("local", false, true, false);
    assert_eq!(refusal(refused), named(TagRefusal::NotGlobal, "local"));
}

#[test]
fn tags_are_committed_on_heads_only() {
    let (copy, [first, second]) = two();
    let check = |force| check_tag_parent(&copy.view(), &copy.dirstate(), force);
    check(false).unwrap();
    copy.update(first, LocalChanges::Refuse, MergeTool::Local)
        .unwrap();
    assert_eq!(refusal(check(false)), TagRefusal::NotAHead);
    check(true).unwrap();
    let mut merging = copy.dirstate();
    merging.set_parents([first, second]);
    let refused = check_tag_parent(&copy.view(), &merging, true);
    assert_eq!(refusal(refused), TagRefusal::Merge);
}

#[test]
fn an_empty_repository_has_no_head_to_be_on() {
    let copy = WorkingCopy::new();
    check_tag_parent(&copy.view(), &copy.dirstate(), false).unwrap();
}

#[test]
fn tags_are_written_tracked_and_listed_for_the_commit() {
    let (copy, [first, second]) = two();
    let mut dirstate = copy.dirstate();
    let change = TagChange {
        names: &names(&["v1", "v2"]),
        node: first,
        known: &BTreeMap::new(),
    };
    let status = write_tags(&copy.repository, &mut dirstate, &change).unwrap();
    assert_eq!(status.added, [b".hgtags".to_vec()]);
    assert!(status.modified.is_empty());
    let written = std::fs::read_to_string(copy.path(".hgtags")).unwrap();
    assert_eq!(written, format!("{first} v1\n{first} v2\n"));
    assert!(dirstate.get(b".hgtags").unwrap().is_tracked());

    // With a tracked file the next tags are a modification.
    let with_tags = {
        let mut with_tags = files("2");
        let tags = (written.clone().into_bytes(), FileKind::Plain);
        with_tags.insert(".hgtags".to_owned(), tags);
        with_tags
    };
    std::fs::remove_file(copy.path(".hgtags")).unwrap();
    let third = copy.commit(second, &files("2"), &with_tags);
    copy.update(third, LocalChanges::Refuse, MergeTool::Local)
        .unwrap();
    let mut dirstate = copy.dirstate();
    let known = copy.view().tags().unwrap();
    let change = TagChange {
        names: &names(&["v1"]),
        node: Node::NULL,
        known: &known,
    };
    let status = write_tags(&copy.repository, &mut dirstate, &change).unwrap();
    assert_eq!(status.modified, [b".hgtags".to_vec()]);
    let expected = format!("{written}{first} v1\n{} v1\n", Node::NULL);
    assert_eq!(
        std::fs::read_to_string(copy.path(".hgtags")).unwrap(),
        expected
    );
}

#[test]
fn a_changed_tags_file_is_left_to_the_user() {
    let (copy, [first, _]) = two();
    std::fs::write(copy.path(".hgtags"), "mine\n").unwrap();
    let change = TagChange {
        names: &names(&["v1"]),
        node: first,
        known: &BTreeMap::new(),
    };
    let refused = write_tags(&copy.repository, &mut copy.dirstate(), &change);
    assert_eq!(refusal(refused), TagRefusal::ChangedFile);
    assert_eq!(std::fs::read(copy.path(".hgtags")).unwrap(), b"mine\n");
}

/// A link to itself stands for any file that cannot be read, and that a rename would replace.
#[test]
fn local_tags_that_cannot_be_read_are_not_replaced() {
    let (copy, [first, _]) = two();
    let path = copy.path(".hg/localtags");
    std::os::unix::fs::symlink("localtags", &path).unwrap();
    let change = TagChange {
        names: &names(&["v1"]),
        node: first,
        known: &BTreeMap::new(),
    };
    write_local_tags(&copy.repository, &change).unwrap_err();
    assert!(path.is_symlink());
}

/// As `hg tag` 7.2 describes its commits.
#[test]
fn descriptions_name_the_tags_and_the_changeset() {
    let node = Node([0xab; 20]);
    let added = tag_description(&names(&["a", "b"]), &node);
    assert_eq!(added, b"Added tag a, b for changeset abababababab");
    let removed = tag_description(&names(&["a"]), &Node::NULL);
    assert_eq!(removed, b"Removed tag a");
}
