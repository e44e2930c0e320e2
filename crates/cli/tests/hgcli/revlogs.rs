//! Commands that look into revlogs.

use super::Twin;

#[test]
fn indexes_texts_and_chains_are_printed_alike() {
    let twin = Twin::reading();
    twin.all_same(&[
        "debugindex README",
        "debugindex -m",
        "debugindex -c -v",
        "debugindex --debug data.bin",
        "debugindex README -T json",
        "debugindex nope",
        "debugindex -c -m",
        "debugindex -c README",
        "debugrevlogindex README",
        "debugrevlogindex -c -v",
        "debugrevlogindex -m --debug -f 1",
        "debugrevlogindex README -v -f1",
        "debugrevlogindex README -f 2",
        "debugrevlogindex nope",
        "debugdata dir/b.txt 0",
        "debugdata -c 1",
        "debugdata -c 99",
        "debugdata -c x",
        "debugdata README",
        "debugdata -m 0 1",
        "debugdata nope 0",
        "debugdeltachain -m",
        "debugdeltachain data.bin -T json",
        "debugdeltachain --all-info chain.txt",
        "debugdeltachain nope",
    ]);
    twin.same_but_output(&["debugdata"]);
}

#[test]
fn statistics_are_those_of_the_peer() {
    for path in [
        Twin::reading().theirs(),
        &varve_testkit::peers::small_corpus(),
    ] {
        Twin::of(path).all_same(&["debugrevlog -c", "debugrevlog -m", "debugrevlog -m -d"]);
    }
    Twin::of(&varve_testkit::peers::small_corpus()).same(&["debugdeltachain", "-m", "--all-info"]);
    Twin::reading().all_same(&[
        "debugrevlog chain.txt",
        "debugrevlog empty",
        "debugrevlog nope",
    ]);
}

#[test]
fn other_formats_are_refused_in_the_same_words() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        varve_testkit::repos::write(path, "d/a", b"a\n");
        varve_testkit::repos::commit(hg, path, "one");
    });
    for name in ["00changelog.i", "00manifest.i", "data/d/a.i"] {
        for header in [0x0001_0000_u32, 0x0010_0001, 0xbeef, 2, 0x0010_dead] {
            let place = |root: &std::path::Path| root.join(".hg/store").join(name);
            let kept = std::fs::read(place(twin.ours())).unwrap();
            let wrong = [&header.to_be_bytes()[..], &kept[4..]].concat();
            twin.each(|root| std::fs::write(place(root), &wrong).unwrap());
            twin.same(&["cat", "-r", "0", "d/a"]);
            twin.each(|root| std::fs::write(place(root), &kept).unwrap());
        }
    }
}
