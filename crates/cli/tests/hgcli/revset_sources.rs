//! Functions of queries about lines of files, and about what stands beside the history: bundles, merges, lists of nodes.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

/// A file that is renamed, changed on two sides and merged; a list of nodes, a bundle, and an entry of `.hgsubstate`.
fn history(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    let change = |name: &str, content: &str, message: &str| {
        write(path, name, content.as_bytes());
        commit(hg, path, message);
    };
    change("f", "1\n2\n3\n4\n5\n6\n", "0");
    change("f", "1\n2x\n3\n4\n5\n6\n", "1");
    hg.ok(path, &["mv", "f", "g"]);
    change("g", "0\n1\n2x\n3\n4y\n5\n6\n", "2");
    change("g", "0\n1\n2x\n3\n4y\n5\n6\n7\n", "3");
    hg.ok(path, &["update", "-q", "1"]);
    change("f", "1\n2z\n3\n4\n5\n6z\n", "4");
    hg.ok(path, &["merge", "-q", "3", "-t", ":union"]);
    commit(hg, path, "5");
    let other = "nosuch\n0000000000000000000000000000000000000000\n";
    let nodes = hg.ok(path, &["log", "-r", "1+3", "-T", "{node}\\n"]) + other;
    write(path, "nodes", nodes.as_bytes());
    hg.ok(path, &["bundle", "-q", "-r", "5", "--base", "1", "some.hg"]);
    hg.ok(path, &["clone", "-q", "-r", "1", ".", "behind"]);
}

fn all(twin: &Twin, queries: &[&str]) {
    for query in queries {
        twin.same(&["log", "-T", "{rev} ", "-r", query]);
    }
}

#[test]
fn lines_are_followed_both_ways() {
    let arguments = [
        "",
        "g",
        "g,1",
        "g,1:2",
        "g,2:4",
        "g,4:5",
        "g,3:3",
        "g,3:2",
        "g,0:1",
        "g,1:100",
        "g,8:9",
        "g,1:8",
        "g,1:2,3",
        "f,2:2,startrev=1",
        "f,1:6,startrev=4",
        "f,2:2,startrev=0,descend=True",
        "f,2:2,startrev=0,descend=no",
        "f,2:2,startrev=0,descend=maybe",
        "f,2:2,startrev=0,descend='yes'",
        "f,6:6,startrev=0,descend=1",
        "f,2:3,startrev=1,descend=True",
        "g,2:5,descend=True",
        "g,2:3,startrev=2,descend=True",
        "f,2:2,0,descend=True",
        "nosuch,1:2",
        "g,a:b",
        "g,:2",
        "g,2:",
        "g,:",
        "g,1:2,startrev=nosuch",
        "g,1:2,startrev=3+4",
        "g,1:2,startrev=none()",
        "glob:g,1:2",
        "'glob:g',2:4",
        "'glob:*',1:2",
        "'path:g',2:4",
        "x=1,y=2",
        "g,startrev=3",
        "g,fromline=1",
        "g,'1:2'",
        "g,1:2,startrev=3,descend=False",
        "g,-1:2",
    ];
    let queries: Vec<String> = arguments
        .iter()
        .map(|one| format!("followlines({one})"))
        .collect();
    let twin = Twin::writing(history);
    all(
        &twin,
        &queries.iter().map(String::as_str).collect::<Vec<_>>(),
    );
}

#[test]
fn nodes_bundles_and_merges_are_looked_up() {
    let twin = Twin::writing(history);
    all(
        &twin,
        &[
            "nodefromfile('nodes')",
            "sort(nodefromfile(nodes),-rev)",
            "nodefromfile('nosuch')",
            "nodefromfile('behind')",
            "nodefromfile()",
            "nodefromfile(nodes,1)",
            "bundle()",
            "conflictlocal()",
            "conflictother() or 1",
            "conflictlocal(1)",
            "subrepo()",
            "subrepo('x')",
            "subrepo(1,2)",
        ],
    );
    for query in ["bundle()", "not bundle()", "heads(bundle())"] {
        twin.same_in(
            "behind",
            &["-R", "../some.hg", "log", "-T", "{rev} ", "-r", query],
        );
    }
    twin.same(&["update", "-q", "3"]);
    twin.same(&["merge", "-q", "4", "-t", ":fail"]);
    all(
        &twin,
        &["conflictlocal()", "conflictother()", "conflictlocal()::"],
    );
    twin.same(&["resolve", "-q", "-m", "--all"]);
    all(&twin, &["conflictlocal()", "conflictother()"]);
}
