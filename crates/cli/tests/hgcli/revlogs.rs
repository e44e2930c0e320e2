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
