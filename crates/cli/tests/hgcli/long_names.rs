//! Files whose names the store hashes, with histories too long for one file: index and data have
//! hashes of their own.

use super::Twin;
use varve_testkit::peers::hg;
use varve_testkit::repos;

#[test]
fn split_histories_with_hashed_names_are_read_and_written() {
    let name = repos::long_names().pop().unwrap();
    let twin = Twin::writing_with(|hg, path| {
        hg.ok(path, &["init"]);
        repos::write(path, &name, &repos::noise(300_000, 1));
        repos::commit(hg, path, "by stock hg");
    });
    twin.same(&["cat", "-r", "0", &name]);
    twin.same(&["verify"]);
    twin.each(|root| repos::write(root, &name, &repos::noise(300_000, 2)));
    let other = name.replace('n', "m");
    twin.each(|root| repos::write(root, &other, &repos::noise(200_000, 3)));
    twin.same(&["commit", "-q", "-A", "-m", "by both", "-d", "1 0"]);
    for both in [twin.ours(), twin.theirs()] {
        let said = hg().ok(both, &["verify"]);
        assert!(!said.contains("warning"), "{said}");
    }
    twin.same(&["cat", "-r", "1", &other]);
    twin.all_same(&["bundle -q -a -t none-v2 all.hg", "verify"]);
    twin.all_same(&[
        "init fresh",
        "-R fresh unbundle -q all.hg",
        "-R fresh verify",
    ]);
    hg().ok(&twin.ours().join("fresh"), &["verify", "-q"]);
    twin.all_same(&["clone -q --pull -r 1 . selected", "-R selected verify"]);
    hg().ok(&twin.ours().join("selected"), &["verify", "-q"]);
    twin.same(&["commit", "-q", "--amend", "-m", "amended", "-d", "2 0"]);
    hg().ok(twin.ours(), &["verify", "-q"]);
    twin.same(&["verify"]);
}

/// Histories with hashed names keep their data file, lose it or get one.
#[test]
fn recompressing_finds_the_data_files_of_hashed_names() {
    let names = repos::long_names();
    let (name, other) = (&names[names.len() - 1], &names[names.len() - 2]);
    let twin = Twin::writing_with(|hg, path| {
        hg.ok(path, &["init"]);
        repos::write(path, name, &repos::noise(300_000, 1));
        // Inline as zstd packs it, and too long for that when nothing is packed.
        repos::write(path, other, &b"much the same\n".repeat(30_000));
        repos::commit(hg, path, "by stock hg");
    });
    for how in [
        &["--engine", "none"][..],
        &["--engine", "zlib", "--level", "9"],
        &["--engine", "zstd", "--redelta"],
    ] {
        let done = twin.run(&[&["recompress", "."], how].concat()).ours;
        assert_eq!(done.code, Some(0), "{done:?}");
        hg().ok(twin.ours(), &["verify", "-q"]);
        assert!(!twin.ours().join(".hg/store.new").exists());
        for name in [name, other] {
            twin.same(&["cat", "-r", "0", name]);
        }
        let fncache = std::fs::read_to_string(twin.ours().join(".hg/store/fncache")).unwrap();
        let data = fncache.lines().filter(|line| line.ends_with(".d"));
        // With the same deltas, split revlogs stay split.
        let expected = if how.contains(&"--redelta") { 1 } else { 2 };
        assert_eq!(data.count(), expected, "{how:?}");
    }
}
