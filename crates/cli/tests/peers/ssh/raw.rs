//! The bytes of the protocol, for clients of any age: both servers answer them alike.

use super::{Side, Talk, write_rc};
use std::io::Write;
use std::process::{Output, Stdio};

pub(super) fn arg(key: &str, value: &[u8]) -> Vec<u8> {
    [format!("{key} {}\n", value.len()).as_bytes(), value].concat()
}

pub(super) fn command(name: &str, args: &[Vec<u8>]) -> Vec<u8> {
    [format!("{name}\n").into_bytes(), args.concat()].concat()
}

/// Answer and exit code of a server.
pub(super) fn answered(
    talk: &Talk,
    side: Side,
    repository: &str,
    sent: &[u8],
) -> (String, String, Option<i32>) {
    let output = output(talk, side, repository, sent);
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    (
        text(&output.stdout),
        text(&output.stderr),
        output.status.code(),
    )
}

/// The same in bytes.
pub(super) fn output(talk: &Talk, side: Side, repository: &str, sent: &[u8]) -> Output {
    let mut server = talk.command(side, "", &["-R", repository, "serve", "--stdio"]);
    server.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = server.stderr(Stdio::piped()).spawn().unwrap();
    // It may end before it has read all.
    let _ = server.stdin.take().unwrap().write_all(sent);
    server.wait_with_output().unwrap()
}

/// Two equal repositories of two changesets, `a` for stock hg and `b` for this program.
fn two() -> Talk {
    let talk = Talk::new((Side::Hg, Side::Hg));
    talk.stock("", "init a");
    talk.commit("a", "one");
    talk.commit("a", "two");
    talk.stock("a", "bookmark -r 0 mark");
    talk.stock("", "clone -q a b");
    talk.stock("", "init empty");
    talk.stock("a", "bundle -q -a -t none-v1 ../one.hg");
    talk
}

#[track_caller]
pub(super) fn same(talk: &Talk, sent: &[u8]) -> String {
    let theirs = answered(talk, Side::Hg, "a", sent);
    let ours = answered(talk, Side::Varve, "b", sent);
    assert_eq!(ours, theirs, "{}", sent.escape_ascii());
    ours.0
}

#[test]
fn reading_commands() {
    let talk = two();
    let nodes = talk.stock("a", "log -r all() -T {node}\\n");
    let nodes: Vec<&str> = nodes.lines().collect();
    let null = "0".repeat(40);
    let pairs = |pairs: &[(&str, &str)]| {
        let pairs: Vec<String> = pairs.iter().map(|(a, b)| format!("{a}-{b}")).collect();
        command("between", &[arg("pairs", pairs.join(" ").as_bytes())])
    };
    let both = format!("{} {}", nodes[1], "1".repeat(40)).into_bytes();
    let all = [
        command("unheard", &[]),
        command("upgrade 2e82ab3f proto=exp-ssh-v2-0003", &[]),
        pairs(&[(&null, &null)]),
        pairs(&[(nodes[1], &null), (nodes[1], nodes[0])]),
        command("heads", &[]),
        command("branchmap", &[]),
        command("known", &[b"* 0\n".to_vec(), arg("nodes", &both)]),
        command("known", &[arg("nodes", &both), b"* 0\n".to_vec()]),
        command("lookup", &[arg("key", b"mark")]),
        command("lookup", &[arg("key", b"nothing")]),
        command("listkeys", &[arg("namespace", b"bookmarks")]),
        command("listkeys", &[arg("namespace", b"nothing")]),
        command("protocaps", &[arg("caps", b"comp=zstd partial-pull")]),
        command(
            "batch",
            &[b"* 0\n".to_vec(), arg("cmds", b"heads ;lookup key=mark")],
        ),
        command(
            "batch",
            &[b"* 1\n".to_vec(), arg("x", b"y"), arg("cmds", b"heads ")],
        ),
    ];
    for sent in &all {
        same(&talk, sent);
    }
    let said = same(&talk, &all.concat());
    assert!(said.starts_with("0\\n0\\n1\\n\\n"), "{said}");
    same(&talk, b"heads\n\nheads\n");
    same(&talk, b"");
}

#[test]
fn bundles_and_keys_of_old_clients() {
    let bundle = std::fs::read(two().path("one.hg")).unwrap();
    let chunked = [format!("{}\n", bundle.len()).as_bytes(), &bundle, b"0\n"].concat();
    let unbundle = |heads: &str| {
        [
            command("unbundle", &[arg("heads", heads.as_bytes())]),
            chunked.clone(),
        ]
        .concat()
    };
    let forced = "666f726365";
    let key = |old: &str, new: &str| {
        let values = [
            ("namespace", "bookmarks"),
            ("key", "new"),
            ("old", old),
            ("new", new),
        ];
        let args = values.map(|(name, value)| arg(name, value.as_bytes()));
        command("pushkey", &args)
    };
    let node = {
        let talk = two();
        talk.stock("a", "log -r 0 -T {node}")
    };
    for rc in [
        "",
        "[hooks]\nprechangegroup = echo no; exit 1\nprepushkey = echo no; exit 1\n",
    ] {
        let talk = two();
        for name in ["a", "b"] {
            std::fs::remove_dir_all(talk.path(name)).unwrap();
            talk.stock("", &format!("clone -q empty {name}"));
            write_rc(&talk.path(name), rc);
        }
        // A client that hears of other heads sends no bundle.
        let heads = arg("heads", &[b'1'; 40]);
        same(
            &talk,
            &[command("unbundle", &[heads]), b"heads\n".to_vec()].concat(),
        );
        same(&talk, &[unbundle(forced), b"heads\n".to_vec()].concat());
        same(
            &talk,
            &[key("", &node), key("", &node), key(&node, "")].concat(),
        );
    }
}

#[test]
fn what_makes_no_sense_ends_the_conversation() {
    let talk = two();
    for sent in [
        &b"lookup\n"[..],
        b"lookup\nkey x\n",
        b"lookup\nkey -3\n",
        b"lookup\nkey 99999999999\nabc",
        b"lookup\nkex 3\nabcheads\n",
        b"getbundle\n* 99999999999\nheads 3\nabc",
        b"unbundle\nheads 10\n6666726365400\nHG10",
        b"unbundle\nheads 10\n666f726365400\nHG10",
        b"unbundle\nheads 10\n666f7263654x\nHG10",
        &[b'x'; 100_000],
    ] {
        let (_, stderr, code) = answered(&talk, Side::Varve, "b", sent);
        assert!(stderr.contains("abort: "), "{stderr}");
        assert_eq!(code, Some(255), "{stderr}");
    }
    talk.stock("b", "verify -q");
    assert!(!talk.path("b/.hg/store/journal").exists());
}
