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
