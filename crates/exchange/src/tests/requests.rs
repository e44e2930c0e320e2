//! Requests of the wire protocol: arguments in headers, query, body and streams, and many commands in one.

use super::history::{History, histories, some_heads};
use super::push::{request, with_handler};
use super::wire::{ask, hex, text};
use crate::format::batch;
use crate::server::stdio::StdioServer;
use crate::server::wire::{
    Args, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, ReadHooks, WireRequest, WireSettings,
};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use proptest::collection::vec;
use proptest::prelude::*;
use varve_repo::Node;

/// Any pairs but a key that would be the command.
fn arguments() -> impl Strategy<Value = Args> {
    let key = vec(any::<u8>(), 1..9).prop_filter("the command", |key| key != b"cmd");
    vec((key, vec(any::<u8>(), 0..20)), 0..8)
}

fn encoded(args: &[(Vec<u8>, Vec<u8>)]) -> String {
    let quoted = |bytes: &[u8]| percent_encode(bytes, NON_ALPHANUMERIC).to_string();
    let pairs = args
        .iter()
        .map(|(key, value)| format!("{}={}", quoted(key), quoted(value)));
    pairs.collect::<Vec<_>>().join("&")
}

proptest! {
    /// Long arguments are cut anywhere, even within an escape, into headers that arrive in any order.
    #[test]
    fn arguments_come_together_from_headers(
        args in arguments(), width in 1_usize..40, shuffle in any::<prop::sample::Index>(), upper: bool,
    ) {
        let text = encoded(&args);
        let name = if upper { "X-HGARG" } else { "X-HgArg" };
        let lines = text.as_bytes().chunks(width).enumerate();
        let mut headers: Vec<(String, Vec<u8>)> =
            lines.map(|(at, line)| (format!("{name}-{}", at + 1), line.to_vec())).collect();
        headers.push(("Accept".to_owned(), b"x=y".to_vec()));
        let len = headers.len();
        headers.rotate_left(shuffle.index(len));
        let headers = headers.iter().map(|(name, value)| (name.as_str(), &value[..]));
        let request = WireRequest::parse(headers, b"cmd=known", b"").unwrap();
        prop_assert_eq!(request.command, "known");
        prop_assert_eq!(request.args, args);
    }

    #[test]
    fn arguments_are_split_between_query_headers_and_body(args in arguments(), cuts in any::<[prop::sample::Index; 2]>()) {
        let mut cuts = cuts.map(|cut| cut.index(args.len() + 1));
        cuts.sort_unstable();
        let query = format!("cmd=batch&{}", encoded(&args[..cuts[0]]));
        let header = encoded(&args[cuts[0]..cuts[1]]);
        let posted = encoded(&args[cuts[1]..]);
        let len = posted.len().to_string();
        let headers = [("X-HgArg-1", header.as_bytes()), ("X-HgArgs-Post", len.as_bytes())];
        let body = format!("{posted}a bundle=may follow");
        let request = WireRequest::parse(headers, query.as_bytes(), body.as_bytes()).unwrap();
        prop_assert_eq!(request.args, args);
        let short = &body.as_bytes()[..posted.len().saturating_sub(1)];
        let cut = WireRequest::parse(headers, query.as_bytes(), short);
        prop_assert_eq!(cut.is_err(), !posted.is_empty());
    }

    #[test]
    fn commands_of_a_batch_come_apart(
        commands in vec(("[a-z]{1,8}", vec((vec(any::<u8>(), 0..6), vec(any::<u8>(), 0..12)), 0..4)), 1..6),
    ) {
        let mut text = Vec::new();
        for (number, (name, args)) in commands.iter().enumerate() {
            if number > 0 {
                text.push(b';');
            }
            text.extend(name.as_bytes());
            text.push(b' ');
            for (at, (key, value)) in args.iter().enumerate() {
                if at > 0 {
                    text.push(b',');
                }
                batch::escape(key, &mut text);
                text.push(b'=');
                batch::escape(value, &mut text);
            }
        }
        let found = batch::parse(&text).unwrap();
        let found: Vec<_> = found.into_iter().map(|command| (command.name, command.args)).collect();
        prop_assert_eq!(found, commands);
    }

    #[test]
    fn lists_of_nodes_are_exact(nodes in vec(any::<[u8; 20]>(), 0..6), blanks in 1_usize..3, upper: bool) {
        let words: Vec<String> = nodes.iter().map(|node| Node(*node).to_string()).collect();
        let mut list = words.join(&" ".repeat(blanks));
        if upper {
            list.make_ascii_uppercase();
        }
        let parsed = |list: &str| request("known", &[("nodes", list.as_bytes())]).nodes("nodes");
        prop_assert_eq!(parsed(&list).unwrap(), Some(nodes.clone()));
        for wrong in [format!("{list}0"), format!("{list} 0"), list.replacen('a', "g", 1), list.replacen(' ', "-", 1)] {
            let changed = wrong != list;
            prop_assert_eq!(parsed(&wrong).is_err(), changed, "{}", wrong);
        }
    }
}

/// A command of one argument at most, by number.
fn command(history: &History, number: usize) -> (&'static str, Option<(&'static str, String)>) {
    let node = history.node(number % history.len());
    match number % 7 {
        0 => ("heads", None),
        1 => ("branchmap", None),
        2 => ("lookup", Some(("key", "tip".to_owned()))),
        3 => ("lookup", Some(("key", format!("a:b,c;d=e{number}")))),
        4 => ("listkeys", Some(("namespace", "phases".to_owned()))),
        5 => ("known", Some(("nodes", hex(&[node, Node([9; 20])])))),
        _ => ("branches", Some(("nodes", hex(&[node])))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A batch is answered as its commands alone are, and so is a conversation over a pair of streams.
    #[test]
    fn every_way_to_ask_has_the_same_answers(
        history in histories(20), heads in some_heads(), numbers in vec(0_usize..1000, 1..6),
    ) {
        let mut there = history.closure(&heads);
        there.extend(history.closure(&[numbers[0]]));
        let repository = history.repository(&there);
        let visible = |number: &usize| there.contains(&(number % history.len()));
        let commands: Vec<_> = numbers.iter().filter(|n| visible(n)).map(|n| command(&history, *n)).collect();
        let alone: Vec<String> = commands.iter().map(|(name, arg)| {
            let args: Vec<(&str, &str)> = arg.iter().map(|(key, value)| (*key, value.as_str())).collect();
            text(&repository, name, &args)
        }).collect();
        let (mut cmds, mut spoken) = (Vec::new(), Vec::new());
        for (number, (name, arg)) in commands.iter().enumerate() {
            if number > 0 {
                cmds.push(b';');
            }
            cmds.extend(format!("{name} ").into_bytes());
            spoken.extend(format!("{name}\n").into_bytes());
            if *name == "known" {
                spoken.extend(b"* 0\n");
            }
            if let Some((key, value)) = arg {
                cmds.extend(format!("{key}=").into_bytes());
                batch::escape(value.as_bytes(), &mut cmds);
                spoken.extend(format!("{key} {}\n{value}", value.len()).into_bytes());
            }
        }
        let (_, batched) = ask(&repository, "batch", &[("cmds", std::str::from_utf8(&cmds).unwrap())]);
        let batched: Vec<Vec<u8>> = batched.split(|byte| *byte == b';').map(batch::unescape).collect();
        let expected: Vec<Vec<u8>> = alone.iter().map(|answer| answer.clone().into_bytes()).collect();
        prop_assert_eq!(batched, expected);
        let mut said = Vec::new();
        with_handler(&repository, |handler| {
            let server = StdioServer {
                handler: *handler,
                settings: &WireSettings::default(),
                read_hooks: &ReadHooks::default(),
            };
            server.serve(&spoken[..], &mut said)
        }).unwrap();
        let framed: String = alone.iter().map(|answer| format!("{}\n{answer}", answer.len())).collect();
        prop_assert_eq!(String::from_utf8(said).unwrap(), framed);
    }
}

/// As many arguments and bytes as allowed are read; one more of either is refused.
#[test]
fn limits_are_exact() {
    let parse = |query: &[u8]| WireRequest::parse([], query, b"");
    let many = b"a&".repeat(MAX_ARGUMENTS);
    assert_eq!(parse(&many).unwrap().args.len(), MAX_ARGUMENTS);
    assert!(parse(&[&many[..], b"a"].concat()).is_err());
    let long = [&b"a="[..], &vec![b'x'; MAX_ARGUMENT_BYTES - 2]].concat();
    assert_eq!(
        parse(&long).unwrap().args[0].1.len(),
        MAX_ARGUMENT_BYTES - 2
    );
    assert!(parse(&[&long[..], b"x"].concat()).is_err());
    // The limit of headers counts all of them together.
    let half = vec![b'x'; MAX_ARGUMENT_BYTES / 2 + 1];
    let headers = [("X-HgArg-1", &half[..]), ("X-HgProto-1", &half[..])];
    assert!(WireRequest::parse(headers, b"cmd=x", b"").is_err());
    assert!(WireRequest::parse([headers[0]], b"cmd=x", b"").is_ok());
}

/// The first command counts, and the others stay arguments; a flag is 0, 1 or nothing.
#[test]
fn commands_and_flags_are_read_strictly() {
    let parse = |query: &str| WireRequest::parse([], query.as_bytes(), b"").unwrap();
    let twice = parse("a=1&cmd=heads&cmd=known");
    assert_eq!(twice.command, "heads");
    assert_eq!(twice.get("cmd"), Some(&b"known"[..]));
    assert_eq!(parse("a=1").command, "");
    assert_eq!(parse("cmd=a+b%2Bc&k=%zz%2").command, "a b+c");
    assert_eq!(parse("k=%zz%2").get("k"), Some(&b"%zz%2"[..]), "no escapes");
    assert_eq!(parse("k=a=b").get("k"), Some(&b"a=b"[..]));
    for (value, expected) in [
        ("", Some(false)),
        ("0", Some(false)),
        ("1", Some(true)),
        ("2", None),
        ("True", None),
        ("01", None),
    ] {
        let flag = parse(&format!("cmd=getbundle&cg={value}")).flag("cg");
        assert_eq!(flag.ok(), expected, "{value}");
    }
}

#[test]
fn a_conversation_stops_at_what_is_not_understood() {
    let history = History::line(2);
    let repository = history.repository(&history.closure(&[1]));
    let talk = |spoken: &[u8]| {
        let mut said = Vec::new();
        let done = with_handler(&repository, |handler| {
            let settings = WireSettings::default();
            let server = StdioServer {
                handler: *handler,
                settings: &settings,
                read_hooks: &ReadHooks::default(),
            };
            server.serve(spoken, &mut said)
        });
        (done.is_ok(), String::from_utf8(said).unwrap())
    };
    let heads = format!("41\n{}\n", history.node(1));
    assert_eq!(talk(b"heads\n"), (true, heads.clone()));
    assert_eq!(
        talk(b"heads\n\nheads\n"),
        (true, heads.clone()),
        "an empty line is the end"
    );
    assert_eq!(talk(b"unheard\nheads\n"), (true, format!("0\n{heads}")));
    assert_eq!(talk(b"heads\nlookup\nkey 9\ntip"), (false, heads.clone()));
    assert_eq!(talk(b"heads\nlookup\nkex 3\ntip"), (false, heads.clone()));
    assert_eq!(talk(b"heads\nhea"), (false, heads.clone()));
    assert_eq!(
        talk(b"protocaps\ncaps 3\nabcheads\n"),
        (true, format!("2\nOK{heads}"))
    );
    let objection = "repository changed while preparing changes - please try again";
    let push = format!("unbundle\nheads 40\n{}", history.node(0));
    assert_eq!(
        talk(push.as_bytes()),
        (true, format!("{}\n{objection}", objection.len()))
    );
}
