//! Requests of clients without `getbundle`: both servers answer the same.

use super::raw::{answered, arg, command, output, same};
use super::{Side, Talk};

/// Two equal repositories, `a` for stock hg and `b` for this program:
///
/// ```text
/// 0 - 1 - 2 - 4 (merge) - 5
///  |    `- 3 -'
///   `- 6 - 7        0 - 8 is secret
/// ```
fn branched() -> (Talk, Vec<String>) {
    let talk = Talk::new((Side::Hg, Side::Hg));
    talk.stock("", "init a");
    let add = |name: &str| talk.commit("a", name);
    ["0", "1", "2"].into_iter().for_each(add);
    talk.stock("a", "update -q 1");
    add("3");
    talk.stock("a", "merge -q 2");
    talk.stock("a", "commit -q -m 4 -u me");
    add("5");
    talk.stock("a", "update -q 0");
    ["6", "7"].into_iter().for_each(add);
    talk.stock("a", "update -q 0");
    add("8");
    talk.stock("a", "phase -f -s 8");
    talk.stock("", "init b");
    talk.stock("b", "pull -q ../a -r 5 -r 7");
    talk.stock("b", "update -q 0");
    talk.commit("b", "8");
    talk.stock("b", "phase -f -s 8");
    let nodes = talk.stock("b", "log -r all() -T {node}\\n");
    assert_eq!(nodes, talk.stock("a", "log -r all() -T {node}\\n"));
    let nodes = nodes.lines().map(str::to_owned).collect();
    (talk, nodes)
}

/// Nodes by their numbers; `n` is the null node, `x` is unknown to all.
fn list(nodes: &[String], words: &str) -> Vec<u8> {
    let node = |word: &str| match word {
        "n" => "0".repeat(40),
        "x" => "f".repeat(40),
        number => nodes[number.parse::<usize>().unwrap()].clone(),
    };
    let listed: Vec<String> = words.split_whitespace().map(node).collect();
    listed.join(" ").into_bytes()
}

#[test]
fn branches_lead_down_to_a_merge_or_the_first() {
    let (talk, nodes) = branched();
    for words in ["", "7", "5", "4 3 2 0", "n", "5 n 6"] {
        let said = same(
            &talk,
            &command("branches", &[arg("nodes", &list(&nodes, words))]),
        );
        assert!(said.contains("\\n"), "{said}");
    }
    let in_batch = [b"branches nodes=".to_vec(), list(&nodes, "5 7")].concat();
    let batch = [b"* 0\n".to_vec(), arg("cmds", &in_batch)];
    let said = same(&talk, &command("batch", &batch));
    assert!(said.contains(&nodes[4]), "{said}");
}

/// Contents of a changegroup 01: names of groups, and of each revision its node, its parents and its
/// changeset. Each server chooses the bases of the patches.
fn brought(changegroup: &[u8]) -> Vec<&[u8]> {
    let (mut found, mut rest) = (Vec::new(), changegroup);
    let mut ends = 0;
    while let Some((len, after)) = rest.split_first_chunk() {
        let len = u32::from_be_bytes(*len).saturating_sub(4) as usize;
        let (chunk, after) = after.split_at(len);
        ends += usize::from(len == 0);
        found.push(&chunk[..len.min(4 * 20)]);
        rest = after;
    }
    assert!(rest.is_empty() && ends >= 3, "{found:?}");
    found
}

/// Both servers bring the same; that of this program comes back.
#[track_caller]
fn same_brought(talk: &Talk, sent: &[u8]) -> Vec<u8> {
    let theirs = output(talk, Side::Hg, "a", sent);
    let ours = output(talk, Side::Varve, "b", sent);
    let (theirs, bytes) = (theirs.stdout, ours.stdout);
    assert_eq!(brought(&bytes), brought(&theirs), "{}", sent.escape_ascii());
    bytes
}

#[test]
fn changegroups_of_what_descends() {
    let (talk, nodes) = branched();
    for words in ["0", "1", "3", "5 6", "8", "7", "n 5", "4", "n"] {
        let roots = arg("roots", &list(&nodes, words));
        let bytes = same_brought(&talk, &command("changegroup", &[roots]));
        let bundle = [b"HG10UN", &bytes[..]].concat();
        std::fs::write(talk.path("last.hg"), bundle).unwrap();
    }
    talk.stock("", "init c");
    talk.stock("c", "unbundle -q ../last.hg");
    talk.stock("c", "verify -q");
    assert_eq!(
        talk.stock("c", "log -r all() -T {node}\\n"),
        nodes[..8].join("\n") + "\n"
    );
    let all = [
        ("n", "5"),
        ("1", "5"),
        ("3", "5"),
        ("1", "7"),
        ("5", "5"),
        ("6", ""),
        ("2", "5 7"),
        ("n", "8"),
        ("0", "n"),
        ("5", "3"),
        ("2 3", "4"),
        ("n", "2"),
        ("n", "7 5"),
    ];
    for (bases, heads) in all {
        let args = [("bases", bases), ("heads", heads)];
        let args = args.map(|(name, words)| arg(name, &list(&nodes, words)));
        same_brought(&talk, &command("changegroupsubset", &args));
    }
}

#[test]
fn what_old_clients_may_not_ask() {
    let (talk, nodes) = branched();
    for (name, key, words) in [
        ("branches", "nodes", "8"),
        ("branches", "nodes", "5 x"),
        ("changegroup", "roots", ""),
        ("changegroup", "roots", "5 x"),
    ] {
        let sent = command(name, &[arg(key, &list(&nodes, words))]);
        for (side, repository) in [(Side::Hg, "a"), (Side::Varve, "b")] {
            let (said, _, code) = answered(&talk, side, repository, &sent);
            assert_eq!((&said[..], code == Some(0)), ("", false), "{side:?} {name}");
        }
    }
}
