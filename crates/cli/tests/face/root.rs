//! `root` and `init`.

use super::Twin;

#[test]
fn root_is_found_from_below() {
    Twin::reading().same(&["root"]);
}

#[test]
fn init_makes_the_same_repository_once() {
    let twin = Twin::writing(|_, _| ());
    twin.all_same(&[
        "init",
        "init",
        "init a",
        "init a/b/c",
        "init a",
        "-R a/b/c root",
    ]);
    for name in [".hg/requires", ".hg/store/requires", ".hg/00changelog.i"] {
        let read = |root: &std::path::Path| std::fs::read(root.join(name)).unwrap();
        assert_eq!(read(twin.theirs()), read(twin.ours()), "{name}");
    }
}
