//! `debugformat` and `debugrequires`.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
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
        "debugformat compression -v",
        "debugformat v2 level nosuch",
        "debugformat nosuch",
        "debugrequires",
        "debugrequires x",
    ]);
    for variant in repos::VARIANTS {
        let make = |hg: &varve_testkit::peers::Hg, path: &std::path::Path| {
            std::fs::create_dir_all(path).unwrap();
            hg.with_config(variant.config).ok(path, &["init"]);
        };
        Twin::writing_with(make).all_same(&["debugformat -v", "debugrequires"]);
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
        assert_eq!(
            format_of(twin.theirs()),
            format_of(twin.ours()),
            "{setting}"
        );
        varve_testkit::peers::hg().ok(twin.ours(), &["verify", "-q"]);
    }
}

/// Requirements, and the first bytes of the manifest's index, which tell whether deltas are general.
fn format_of(repository: &Path) -> [Option<Vec<u8>>; 3] {
    let names = ["requires", "store/requires", "store/00manifest.i"];
    names.map(|name| {
        let bytes = std::fs::read(repository.join(".hg").join(name)).ok()?;
        Some(bytes[..if name.ends_with(".i") { 4 } else { bytes.len() }].to_vec())
    })
}

const FORMAT_SETTINGS: [&str; 6] = [
    "format.dotencode=no",
    "format.revlog-compression=zlib",
    "format.sparse-revlog=no",
    "format.use-dirstate-tracked-hint=yes",
    "format.use-share-safe=no",
    "format.usegeneraldelta=no",
];

/// A repository `source` with some history.
fn make_source(hg: &Hg, path: &Path, settings: &[&str]) {
    let source = path.join("source");
    std::fs::create_dir_all(&source).unwrap();
    let hg = hg.with_config(settings);
    hg.ok(&source, &["init"]);
    for number in 0..4 {
        repos::write(&source, ".a b", format!("{number}\n").repeat(99).as_bytes());
        repos::write(&source, &format!("b{number}"), b"");
        repos::commit(&hg, &source, &number.to_string());
    }
}

#[test]
fn clones_and_shares_have_the_format_that_is_set() {
    for of_source in [
        &[][..],
        &FORMAT_SETTINGS[2..3],
        &FORMAT_SETTINGS[3..4],
        &FORMAT_SETTINGS[4..5],
    ] {
        let twin = Twin::writing_with(|hg, path| make_source(hg, path, of_source));
        let commands = [
            "clone",
            "clone --pull",
            "clone -r 2",
            "clone -U --stream",
            "--config extensions.share= share -U",
        ];
        for (number, command) in commands.into_iter().enumerate() {
            for (other, setting) in FORMAT_SETTINGS.into_iter().enumerate() {
                let name = format!("made{number}-{other}");
                let line = format!("{command} --config {setting} source {name}");
                let ended = twin.run(&line.split(' ').collect::<Vec<_>>());
                assert_eq!(ended.ours.code, ended.theirs.code, "{}", ended.ours);
                let [ours, theirs] =
                    [twin.ours(), twin.theirs()].map(|path| format_of(&path.join(&name)));
                assert_eq!(ours, theirs, "{of_source:?}: {line}");
                assert!(ours[0].is_some(), "{line}");
            }
        }
        for number in 0..commands.len() {
            for other in 0..FORMAT_SETTINGS.len() {
                let path = twin.ours().join(format!("made{number}-{other}"));
                varve_testkit::peers::hg().ok(&path, &["verify", "-q"]);
            }
        }
    }
}

#[test]
fn settings_of_stores_count_where_one_is_made() {
    let twin = Twin::writing(|hg, path| make_source(hg, path, &[]));
    for setting in [
        "usestore=no",
        "usefncache=no",
        "generaldelta=no",
        "use-persistent-nodemap=yes",
    ] {
        for command in ["clone -U", "--config extensions.share= share -U"] {
            let name = format!("kept-{}-{setting}", command.len());
            twin.all_same(&[&format!(
                "{command} --config format.{setting} source {name}"
            )]);
            let [ours, theirs] =
                [twin.ours(), twin.theirs()].map(|path| format_of(&path.join(&name)));
            assert_eq!(ours, theirs, "{command} {setting}");
        }
        let name = format!("anew-{setting}");
        let setting = format!("format.{setting}");
        let words = ["clone", "--pull", "--config", &setting, "source", &name];
        let refused = twin.run(&words).ours;
        assert_eq!(refused.code, Some(10), "{refused}");
        assert!(refused.stderr.contains(&setting), "{refused}");
        assert!(!twin.ours().join(&name).exists());
    }
    twin.all_same(&[
        "clone --config format.usestore=perhaps source refused",
        "clone --config format.usegeneraldelta=perhaps source refused",
        "clone --pull --config format.use-share-safe=perhaps source refused",
    ]);
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
