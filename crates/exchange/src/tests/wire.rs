//! Commands of the wire protocol, answered from a repository in memory.

use super::history::{History, histories, nodes_in, some_heads, sorted};
use crate::ExchangeError;
use crate::server::wire::{
    ClientMedia, ReadHooks, TYPE_ERROR, WireRequest, WireResponse, WireSettings, respond,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use varve_repo::{Node, Repository};

/// The content type and body of an answer.
pub(super) fn ask(
    repository: &Repository,
    command: &str,
    args: &[(&str, &str)],
) -> (&'static str, Vec<u8>) {
    let args = args.iter();
    let request = WireRequest {
        command: command.to_owned(),
        args: args
            .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
            .collect(),
        accepts: ClientMedia::bare(),
    };
    match respond(
        repository,
        &request,
        &WireSettings::default(),
        &ReadHooks::default(),
    )
    .unwrap()
    {
        WireResponse::Whole { content_type, body } => (content_type, body),
        WireResponse::Stream {
            content_type, body, ..
        } => {
            let mut bytes = Vec::new();
            body.send(&mut bytes).unwrap();
            (content_type, bytes)
        }
    }
}

pub(super) fn text(repository: &Repository, command: &str, args: &[(&str, &str)]) -> String {
    String::from_utf8(ask(repository, command, args).1).unwrap()
}

pub(super) fn hex(nodes: &[Node]) -> String {
    let words: Vec<String> = nodes.iter().map(Node::to_string).collect();
    words.join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn getbundle_brings_the_ancestors_of_heads_without_those_of_common(
        history in histories(30),
        heads in some_heads(),
        common in some_heads(),
        caps in prop::sample::select(vec!["", "HG20,bundle2=HG20", "HG20,bundle2=HG20%0Achangegroup%3D02%2C03"]),
    ) {
        let everything: BTreeSet<usize> = history.closure(&(0..30).collect::<Vec<_>>());
        let repository = history.repository(&everything);
        let (heads, common) = (history.closure(&heads), history.closure(&common));
        let (head_words, common_words) = (hex(&history.heads_of(&heads)), hex(&history.heads_of(&common)));
        let args = [("heads", head_words.as_str()), ("common", &common_words), ("bundlecaps", caps)];
        let (_, bundle) = ask(&repository, "getbundle", &args);
        let expected: BTreeSet<usize> = heads.difference(&common).copied().collect();
        prop_assert_eq!(nodes_in(&bundle), history.sorted(&expected));
    }

    #[test]
    fn changegroupsubset_brings_what_lies_between_bases_and_heads(
        history in histories(30),
        base in 0_usize..1000,
        heads in some_heads(),
    ) {
        let everything: BTreeSet<usize> = history.closure(&(0..30).collect::<Vec<_>>());
        let repository = history.repository(&everything);
        let base = base % everything.len();
        let heads = history.closure(&heads);
        let expected: BTreeSet<usize> = heads.iter().copied().filter(|n| history.closure(&[*n]).contains(&base)).collect();
        let (bases, heads) = (hex(&[history.node(base)]), hex(&history.heads_of(&heads)));
        let (_, changegroup) = ask(&repository, "changegroupsubset", &[("bases", &bases), ("heads", &heads)]);
        prop_assert_eq!(nodes_in(&changegroup), history.sorted(&expected));
    }

    #[test]
    fn heads_known_and_branchmap_agree(history in histories(30), there in some_heads()) {
        let there = history.closure(&there);
        let repository = history.repository(&there);
        let all: Vec<usize> = history.closure(&(0..30).collect::<Vec<_>>()).into_iter().collect();
        let nodes: Vec<Node> = all.iter().map(|number| history.node(*number)).collect();
        let digits: String = all.iter().map(|number| if there.contains(number) { '1' } else { '0' }).collect();
        prop_assert_eq!(text(&repository, "known", &[("nodes", &hex(&nodes))]), digits.clone());
        let heads = text(&repository, "heads", &[]);
        let found = heads.trim_end().split(' ').map(|word| Node::from_hex(word.as_bytes()).unwrap()).collect();
        let expected = match there.is_empty() {
            true => vec![Node::NULL],
            false => history.heads_of(&there),
        };
        prop_assert_eq!(sorted(found), expected.clone());
        let branchmap = text(&repository, "branchmap", &[]);
        let words = branchmap.strip_prefix("default ").unwrap_or_default().split_ascii_whitespace();
        let found: Vec<Node> = words.map(|word| Node::from_hex(word.as_bytes()).unwrap()).collect();
        let expected = if there.is_empty() { Vec::new() } else { expected };
        prop_assert_eq!(sorted(found), expected);
        let batch = format!("heads ;known nodes={}", hex(&nodes));
        prop_assert_eq!(text(&repository, "batch", &[("cmds", &batch)]), format!("{heads};{digits}"));
    }
}

#[test]
fn between_gives_changesets_at_doubling_distances() {
    let history = History::line(20);
    let repository = history.repository(&history.closure(&[19]));
    let pair =
        |top: usize, bottom: usize| format!("{}-{}", history.node(top), history.node(bottom));
    let line = |numbers: &[usize]| {
        let nodes: Vec<Node> = numbers.iter().map(|number| history.node(*number)).collect();
        format!("{}\n", hex(&nodes))
    };
    let pairs = format!("{} {}", pair(19, 0), pair(3, 2));
    let expected = line(&[18, 17, 15, 11, 3]) + &line(&[]);
    assert_eq!(text(&repository, "between", &[("pairs", &pairs)]), expected);
    let (root, null) = (history.node(0), Node::NULL);
    let branches = format!("{} {root} {null} {null}\n", history.node(19));
    let node = history.node(19).to_string();
    assert_eq!(text(&repository, "branches", &[("nodes", &node)]), branches);
}

#[test]
fn lookup_takes_numbers_prefixes_and_names() {
    let history = History::line(3);
    let repository = history.repository(&history.closure(&[2]));
    let tip = history.node(2).to_string();
    for key in ["tip", "2", &tip, &tip[..12], "default"] {
        let answer = text(&repository, "lookup", &[("key", key)]);
        assert_eq!(answer, format!("1 {tip}\n"), "{key}");
    }
    let unknown = text(&repository, "lookup", &[("key", "nothing")]);
    assert_eq!(unknown, "0 unknown revision 'nothing'\n");
}

#[test]
fn namespaces_and_phases_are_listed() {
    let history = History::line(2);
    let repository = history.repository(&history.closure(&[1]));
    let keys = |namespace| text(&repository, "listkeys", &[("namespace", namespace)]);
    assert_eq!(keys("namespaces"), "bookmarks\t\nnamespaces\t\nphases\t");
    let root = history.node(0);
    assert_eq!(keys("phases"), format!("{root}\t1\npublishing\tTrue"));
    assert_eq!(keys("bookmarks"), "");
    assert_eq!(keys("nothing"), "");
}

#[test]
fn wrong_requests_are_refused_in_words() {
    let history = History::line(1);
    let repository = history.repository(&history.closure(&[0]));
    let unknown = "ab".repeat(20);
    for (command, args, words) in [
        ("lookup", &[][..], "command lookup needs the argument key\n"),
        (
            "known",
            &[("nodes", "xyz")],
            "argument nodes of command known must be a list of nodes of 40 hex digits each\n",
        ),
        (
            "unbundle",
            &[("heads", "")],
            "unbundle needs a repository that may be written to\n",
        ),
        (
            "getbundle",
            &[("heads", unknown.as_str())],
            &format!("unknown revision '{unknown}'\n"),
        ),
        (
            "between",
            &[("pairs", "xyz")],
            "argument pairs of command between must be a list of pairs of nodes\n",
        ),
    ] {
        let (content_type, body) = ask(&repository, command, args);
        assert_eq!(content_type, TYPE_ERROR, "{command}");
        assert_eq!(String::from_utf8(body).unwrap(), words);
    }
    let unknown_command = WireRequest {
        command: "nothing".to_owned(),
        args: Vec::new(),
        accepts: ClientMedia::bare(),
    };
    let refused = respond(
        &repository,
        &unknown_command,
        &WireSettings::default(),
        &ReadHooks::default(),
    )
    .err();
    assert!(matches!(
        refused,
        Some(ExchangeError::UnknownCommand { .. })
    ));
    let (_, bundle) = ask(
        &repository,
        "getbundle",
        &[("heads", &unknown), ("bundlecaps", "HG20")],
    );
    let expected: &[u8] =
        b"HG20\0\0\0\0\0\0\0\x56\x0bERROR:ABORT\0\0\0\0\x01\0\x07\x3bmessageunknown revision";
    assert!(bundle.starts_with(expected), "{}", bundle.escape_ascii());
}
