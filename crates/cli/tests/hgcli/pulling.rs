//! Data that `pull`, `clone` and `unbundle` bring besides changesets, and the hooks for it: markers,
//! phases and bookmarks, in one transaction.

use super::Twin;
use super::elsewhere::{Origin, empty, same_history};
use varve_testkit::repos;

const EVOLVES: &str = "[experimental]\nevolution = all\n";

/// Shows the facts of a hook but those that are different each time.
const SHOW: &str = "env | grep '^HG_' | grep -v -e TXNID= | sort; echo \"$HG_TXNNAME\"";

const KINDS: [&str; 11] = [
    "pretxnopen",
    "prechangegroup",
    "pretxnchangegroup",
    "pretxnclose-bookmark",
    "pretxnclose-phase",
    "pretxnclose",
    "txnclose-bookmark",
    "txnclose-phase",
    "txnclose",
    "changegroup",
    "incoming",
];

fn configure(twin: &Twin, below: &str, settings: &str) {
    twin.each(|root| {
        let path = format!("{below}.hg/hgrc");
        repos::write(root, &path, settings.as_bytes());
    });
}

fn amend(origin: &Origin, message: &str, date: &str) {
    let line = ["commit", "-q", "--amend", "-m", message, "-d", date];
    origin.hg().ok(&origin.path(), &line);
}

/// A repository with all that others may bring: heads, a merge, a closed branch, changesets in each
/// phase, obsolete and orphaned ones, and bookmarks.
fn tangled() -> Origin {
    let origin = Origin::rich();
    let rc = format!("[phases]\npublish = no\n{EVOLVES}");
    repos::write(&origin.path(), ".hg/hgrc", rc.as_bytes());
    origin.ok("update -q tip");
    origin.ok("branch -q ending");
    origin.commit("last");
    let close = ["commit", "-q", "--close-branch", "-m", "end", "-d", "2 0"];
    origin.hg().ok(&origin.path(), &close);
    origin.ok("update -q default");
    origin.commit("first-try");
    origin.commit("on-top");
    origin.ok("update -q -r desc('first-try')");
    amend(&origin, "second try", "3 0");
    origin.ok("bookmark mark");
    origin.ok("bookmark -r 1 old");
    origin.ok("update -q 0");
    repos::add_secret(origin.hg(), &origin.path());
    origin.ok("update -q -r desc('on-top')");
    origin
}

#[test]
fn everything_comes_with_markers_and_phases() {
    let origin = tangled();
    let server = origin.serve();
    let (path, url) = (origin.path(), server.url());
    for source in [path.to_str().unwrap(), url] {
        let twin = empty();
        configure(&twin, "", EVOLVES);
        twin.all_same(&[
            &format!("pull -r 2 {source}"),
            &format!("pull -u {source}"),
            &format!("pull {source}"),
            "log -G -T {rev}-{phase}-{instabilities}-{obsolete}-{bookmarks}\\n",
            "heads",
            "branches --closed",
        ]);
        same_history(&twin, "");
        twin.all_same(&[
            &format!("clone --pull {source} c --config experimental.evolution=all"),
            &format!("clone --pull {source} without"),
        ]);
        same_history(&twin, "c");
        same_history(&twin, "without");
    }
}

#[test]
fn what_is_hidden_here_does_not_come_again() {
    let origin = Origin::nothing();
    let settings = format!("[phases]\npublish = no\n{EVOLVES}");
    origin.hg().ok(origin.directory(), &["init", "origin"]);
    repos::write(&origin.path(), ".hg/hgrc", settings.as_bytes());
    for name in ["a", "b"] {
        origin.commit(name);
    }
    let server = origin.serve();
    let twin = empty();
    let paths = format!("[paths]\ndefault = {}\n", server.url());
    configure(&twin, "", &format!("{settings}{paths}"));
    twin.all_same(&["pull -q", "update -q 1"]);
    twin.each(|root| {
        let line = ["commit", "-q", "--amend", "-m", "other", "-d", "5 0"];
        origin.hg().ok(root, &line);
    });
    twin.all_same(&["pull", "incoming", "log -G --hidden"]);
    origin.ok("phase -p 1");
    twin.all_same(&["pull", "log -G --hidden"]);
}

#[test]
fn what_becomes_obsolete_or_unstable_is_told() {
    let origin = Origin::nothing();
    let settings = format!("[phases]\npublish = no\n{EVOLVES}");
    origin.hg().ok(origin.directory(), &["init", "origin"]);
    repos::write(&origin.path(), ".hg/hgrc", settings.as_bytes());
    for name in ["a", "b", "c"] {
        origin.commit(name);
    }
    let server = origin.serve();
    let twin = empty();
    configure(
        &twin,
        "",
        &format!("{settings}[paths]\ndefault = {}\n", server.url()),
    );
    twin.all_same(&["pull"]);
    twin.all_same(&["clone -q . two --config experimental.evolution=all"]);
    configure(&twin, "two/", &settings);
    origin.ok("update -q 1");
    amend(&origin, "b again", "3 0");
    let bundle = origin.directory().join("bundle.hg");
    let bundle = bundle.to_str().unwrap();
    origin.ok(&format!(
        "bundle -q -a -t none-v2 --config experimental.evolution.bundle-obsmarker=yes {bundle}"
    ));
    // Markers of this side's own, which compete with those that come.
    twin.each(|root| {
        let hg = origin.hg();
        hg.ok(&root.join("two"), &["update", "-q", "1"]);
        let line = ["commit", "-q", "--amend", "-m", "other b", "-d", "4 0"];
        hg.ok(&root.join("two"), &line);
    });
    twin.all_same(&[
        "pull",
        "pull",
        &format!("-R two unbundle {bundle}"),
        &format!("-R two unbundle {bundle}"),
        "-R two log -T {rev}-{phase}-{instabilities}-{obsolete}\\n",
        "push -f two",
        "-R two push -f .",
        "log -T {rev}-{phase}-{instabilities}-{obsolete}\\n",
    ]);
    same_history(&twin, "");
    same_history(&twin, "two");
}

#[test]
fn hooks_learn_where_a_pull_comes_from() {
    let origin = tangled();
    let server = origin.serve();
    let path = origin.path().to_str().unwrap().to_owned();
    let twin = empty();
    configure(&twin, "", "[hooks]\npretxnclose = echo \"$HG_TXNNAME\"\n");
    twin.all_same(&[
        &format!("pull -r 0 {path}"),
        &format!("pull -r 1 file://{path}"),
        &format!("pull {}", server.url()),
    ]);
}

#[test]
fn hooks_see_one_transaction() {
    let origin = tangled();
    let server = origin.serve();
    let twin = empty();
    let listening = |kinds: &[&str]| {
        let hooks = kinds
            .iter()
            .map(|kind| format!("{kind} = echo {kind}; {SHOW}\n"));
        let hooks: String = hooks.collect();
        let url = server.url();
        let settings = format!("[hooks]\n{hooks}[paths]\ndefault = {url}\n{EVOLVES}");
        configure(&twin, "", &settings);
    };
    listening(&KINDS);
    twin.all_same(&["pull -r 0", "pull -r 0"]);
    // With bookmarks, this hook runs after the messages about them.
    let others = KINDS.iter().filter(|kind| **kind != "pretxnchangegroup");
    listening(&others.copied().collect::<Vec<_>>());
    twin.all_same(&["pull", "pull"]);
    origin.ok("bookmark -f -r 2 old");
    origin.ok("bookmark -r 0 new");
    twin.all_same(&["pull"]);
    origin.ok("phase -p -r .");
    twin.all_same(&["pull", "bookmarks"]);
    same_history(&twin, "");
}

#[test]
fn a_hook_that_refuses_a_bookmark_keeps_everything_out() {
    let origin = tangled();
    let server = origin.serve();
    let twin = empty();
    let url = server.url();
    for kind in ["pretxnclose-bookmark", "pretxnclose-phase", "pretxnclose"] {
        configure(&twin, "", &format!("[hooks]\n{kind} = exit 3\n{EVOLVES}"));
        twin.all_same(&[
            &format!("pull {url}"),
            "log --hidden -T {rev}\\n",
            "bookmarks",
        ]);
    }
    same_history(&twin, "");
}

#[test]
fn an_update_goes_to_the_first_of_the_wanted() {
    let origin = Origin::rich();
    origin.ok("bookmark -f -r 1 mark");
    let source = origin.path().to_str().unwrap().to_owned();
    let mut twin = empty();
    for options in ["-r 0 -r 1", "-r 1 -r 0", "-B mark", "-B mark -r 0"] {
        let line = format!("pull -q -u {options} {source}");
        twin.all_same(&[&line, "parents", "bookmarks", "summary"]);
        twin = empty();
    }
}

#[test]
fn what_markers_hide_is_counted_on_arrival() {
    let origin = Origin::rich();
    let source = origin.path().to_str().unwrap().to_owned();
    origin.ok("bookmark -d feature");
    let tip = origin
        .hg()
        .ok(&origin.path(), &["id", "-r", "tip", "--debug", "-i"]);
    let twin = empty();
    configure(&twin, "", EVOLVES);
    let publishes = "phases.publish=no";
    origin
        .hg()
        .ok(&origin.path(), &["phase", "-f", "-d", "tip"]);
    let pull = format!("pull {source} --config {publishes} -R .");
    twin.all_same(&[
        &format!("pull -r tip^ {source}"),
        &format!("debugobsolete {}", tip.trim()),
    ]);
    twin.all_same(&[&pull, &pull]);
}
