//! Output of `--debug` and `--verbose` during a push.

use super::Pair;
use crate::hgcli::exchange_words::IgnoredOutput;

/// Stock `hg` lists the bookmarks twice, and can do something more with an answer.
const PUSHES: IgnoredOutput = IgnoredOutput {
    unasked: &["bookmarks"],
    unsaid: &["bundle2-output-part: \"replycaps\" "],
};

#[track_caller]
fn same(pair: &Pair, lines: &[&str]) {
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        PUSHES.compare(pair.run(&words), &words);
    }
    pair.same_state();
}

#[test]
fn all_that_is_asked_for_a_push_is_told() {
    let pair = Pair::new();
    for loud in ["-v", "--debug"] {
        pair.commit(&format!("c{loud}"));
        let (push, name) = (format!("push {loud}"), format!("mark{loud}"));
        pair.here(&format!("bookmark -r tip {name}"));
        same(&pair, &[&format!("{push} -B {name}"), &push]);
        pair.commit_there(&format!("d{loud}"));
        same(&pair, &[&push]);
        pair.commit(&format!("e{loud}"));
        let outgoing = format!("outgoing {loud}");
        same(&pair, &[&outgoing, &push, &format!("{push} -f"), &push]);
        same(&pair, &[&format!("{push} -r 0")]);
    }
}
