//! `debugformat` and `debugrequires`.

use super::Twin;
use varve_testkit::repos;

#[test]
fn formats_are_told_alike() {
    let twin = Twin::reading();
    twin.all_same(&[
        "debugformat",
        "debugformat -v",
        "debugformat -q",
        "debugformat -T json",
        "debugformat -v --config format.revlog-compression=zlib --config format.dotencode=no",
        "debugformat --config storage.revlog.zstd.level=5",
        "debugrequires",
        "debugrequires x",
    ]);
    for variant in repos::VARIANTS {
        let make = |hg: &varve_testkit::peers::Hg, path: &std::path::Path| {
            std::fs::create_dir_all(path).unwrap();
            hg.with_config(variant.config).ok(path, &["init"]);
        };
        Twin::writing(make).all_same(&["debugformat -v", "debugrequires"]);
    }
}

#[test]
fn an_upgrade_changes_the_compression_and_nothing_else() {
    let twin = Twin::writing(|hg, path| {
        std::fs::create_dir_all(path).unwrap();
        hg.ok(path, &["init"]);
        repos::write(path, "a", b"text\n".repeat(100).as_slice());
        repos::commit(hg, path, "One");
    });
    let ours = |arguments: &[&str]| twin.run(arguments).ours;
    let zlib = "format.revlog-compression=zlib";
    let said = ours(&["debugupgraderepo", "--config", zlib]).success();
    assert!(said.contains("from zstd to zlib"), "{said}");
    let requires = || std::fs::read_to_string(twin.ours().join(".hg/store/requires")).unwrap();
    assert!(requires().contains("zstd"));
    ours(&["debugupgraderepo", "--run", "--config", zlib]).success();
    assert!(!requires().contains("zstd"));
    varve_testkit::peers::hg().ok(twin.ours(), &["verify"]);
    let refused = ours(&["debugupgraderepo", "--config", "format.use-dirstate-v2=yes"]);
    assert_eq!(refused.code, Some(10));
    assert!(
        refused
            .stderr
            .contains("cannot add the feature dirstate-v2"),
        "{refused}"
    );
}

#[test]
fn new_repositories_have_the_format_that_is_set() {
    for setting in [
        "format.dotencode=no",
        "format.sparse-revlog=no",
        "format.use-dirstate-tracked-hint=yes",
        "format.use-share-safe=no",
        "format.usegeneraldelta=no",
    ] {
        let twin = Twin::writing(|_, path| std::fs::create_dir_all(path).unwrap());
        twin.all_same(&[&format!("init --config {setting}")]);
        for number in 0..3 {
            twin.each(|path| {
                repos::write(path, ".a b", format!("{number}\n").repeat(99).as_bytes());
                repos::write(path, "b", number.to_string().as_bytes());
            });
            twin.same(&["commit", "-q", "-A", "-m", "one", "-d", "0 0", "-u", "ada"]);
        }
        twin.all_same(&["log --debug", "debugformat"]);
        let read = |path: &std::path::Path| {
            let names = ["requires", "store/requires", "store/00manifest.i"];
            let files = names.map(|name| std::fs::read(path.join(".hg").join(name)).ok());
            let [outside, inside, manifest] = files;
            // The header tells whether deltas are general.
            (outside, inside, manifest.unwrap()[..4].to_vec())
        };
        assert_eq!(read(twin.theirs()), read(twin.ours()), "{setting}");
        varve_testkit::peers::hg().ok(twin.ours(), &["verify", "-q"]);
    }
}

#[test]
fn a_new_repository_may_have_the_second_form_of_the_dirstate() {
    let hg = varve_testkit::peers::hg();
    let hg = hg.with_config(&["storage.dirstate-v2.slow-path=allow"]);
    let twin = Twin::writing(|_, path| std::fs::create_dir_all(path).unwrap());
    let setting = "format.use-dirstate-v2=yes";
    twin.run(&["init", "--config", setting]).ours.success();
    repos::write(twin.ours(), "a", b"a");
    twin.run(&["add", "a"]).ours.success();
    let requires = std::fs::read_to_string(twin.ours().join(".hg/requires")).unwrap();
    assert_eq!(requires, "dirstate-v2\nshare-safe\n");
    assert_eq!(hg.ok(twin.ours(), &["status"]), "A a\n");
}
