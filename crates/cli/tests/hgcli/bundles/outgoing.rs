//! `outgoing` between repositories of one machine.

use super::{destinations, history};
use crate::hgcli::Twin;

#[test]
fn what_another_repository_lacks_is_shown() {
    let twin = Twin::writing(history);
    destinations(&twin);
    twin.all_same(&[
        "outgoing ../few",
        "out ../few -n -l 2 --template {rev}:{desc}/",
        "outgoing ../few -l 2 -q",
        "outgoing ../few -M -p --git",
        "outgoing ../most --stat --debug",
        "outgoing ../few -G --template {rev}:{desc}",
        "outgoing ../few -G -M -l 2",
        "outgoing ../few -G -n",
        "outgoing ../few -l 0",
        // With several, the output of the real program is no JSON.
        "outgoing ../few -T json -l 1",
        "outgoing ../most ../few -T {rev}.",
        "outgoing ../empty -q",
        "outgoing ../repository",
        "outgoing ../other",
        "outgoing -f ../other -q",
        "outgoing -r 5 ../few -q",
        "outgoing -r 8 ../most -q",
        "outgoing -r none() ../few",
        "outgoing -b old ../few -q",
        "outgoing -b nothing ../few",
        "outgoing ../few#old -q",
        "outgoing",
        "outgoing ../nothing ../few",
        "outgoing --config paths.default=../most --config paths.default-push=../few -q",
        "outgoing -R ../empty ../few",
        "outgoing -R ../few ../repository",
    ]);
}
