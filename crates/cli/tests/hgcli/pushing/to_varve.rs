//! Pushes to Varve's own server: `varve push` and stock `hg push` are told the same, and leave the
//! same behind.

use super::commit;
use crate::hgcli::Twin;
use std::path::Path;
use varve_testkit::peers::hg;
use varve_testkit::varve::Server;

const SETTINGS: &str = "[web]\npush_ssl = no\nallow-push = *\n";

#[test]
fn varve_takes_in_what_varve_pushes() {
    let site = tempfile::tempdir().unwrap();
    let hg = hg();
    for side in ["a", "b"] {
        let root = site.path().join("repos").join(side);
        std::fs::create_dir_all(&root).unwrap();
        hg.ok(&root, &["init"]);
        commit(&hg, &root, "first");
        hg.ok(&root, &["phase", "-p", "tip"]);
        std::fs::write(root.join(".hg/hgrc"), SETTINGS).unwrap();
    }
    let server = Server::start(crate::VARVE, site.path());
    let urls = ["a", "b"].map(|side| server.url(&format!("/hg/{side}")));
    let twin = Twin::writing_with(|hg, root| {
        hg.ok(root, &["init"]);
        hg.ok(root, &["pull", "-q", "-u", &urls[0]]);
    });
    for (root, url) in [(twin.theirs(), &urls[0]), (twin.ours(), &urls[1])] {
        std::fs::write(root.join(".hg/hgrc"), format!("[paths]\ndefault = {url}\n")).unwrap();
    }
    let same = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let mut both = twin.run(&words);
        for text in [&mut both.ours.stdout, &mut both.ours.stderr] {
            *text = text.replace(&urls[1], &urls[0]);
        }
        both.same(&words);
    };
    let each = |change: &dyn Fn(&Path)| twin.each(change);
    same("push");
    each(&|root| commit(&hg, root, "second"));
    each(&|root| drop(hg.ok(root, &["bookmark", "mark"])));
    same("outgoing");
    same("push -B mark");
    same("push");
    each(&|root| drop(hg.ok(root, &["update", "-q", "0"])));
    each(&|root| commit(&hg, root, "third"));
    same("push");
    same("push -f");
    each(&|root| drop(hg.ok(root, &["branch", "-q", "other"])));
    each(&|root| commit(&hg, root, "fourth"));
    same("push");
    same("push --new-branch");
    same("outgoing -B");
    let state = |side: &str| {
        let root = site.path().join("repos").join(side);
        hg.ok(&root, &["verify", "-q"]);
        hg.ok(
            &root,
            &["log", "-p", "-T", "{node} {phase} {bookmarks} {branch}\n"],
        )
    };
    assert_eq!(state("a"), state("b"));
    assert!(state("a").contains("+fourth"));
}
