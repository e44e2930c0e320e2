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
