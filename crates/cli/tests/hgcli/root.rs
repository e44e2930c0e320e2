//! `root` and `init`.

use super::Twin;

#[test]
fn root_is_found_from_below() {
    Twin::reading().all_same(&["root", "root -T json", "version -q", "version -T json"]);
    Twin::reading().all_same(&["help nope", "--pager never root"]);
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
    for engine in ["zlib", "none", "nope,zlib"] {
        let setting = format!("format.revlog-compression={engine}");
        twin.same(&["--config", &setting, "init", engine]);
        let name = format!("{engine}/.hg/store/requires");
        let read = |root: &std::path::Path| std::fs::read(root.join(&name)).unwrap();
        assert_eq!(read(twin.theirs()), read(twin.ours()), "{name}");
    }
    for name in [".hg/requires", ".hg/store/requires", ".hg/00changelog.i"] {
        let read = |root: &std::path::Path| std::fs::read(root.join(name)).unwrap();
        assert_eq!(read(twin.theirs()), read(twin.ours()), "{name}");
    }
}
