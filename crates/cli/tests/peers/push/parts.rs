//! Bundles that no client of ours makes: both servers answer them byte for byte alike.

use super::{OPEN, Pair};
use varve_testkit::http::Client;

const CAPABILITIES: &[u8] = b"HG20\nbookmarks\nchangegroup=01,02,03\n\
    error=abort,unsupportedcontent,pushraced,pushkey\nphases=heads\npushkey";
const FORCE: &str = "666f726365";

/// A part of a bundle2 with mandatory parameters.
fn part(name: &str, id: u32, params: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut header = vec![name.len() as u8];
    header.extend_from_slice(name.as_bytes());
    header.extend_from_slice(&id.to_be_bytes());
    header.extend([params.len() as u8, 0]);
    for (key, value) in params {
        header.extend([key.len() as u8, value.len() as u8]);
    }
    for (key, value) in params {
        header.extend_from_slice(&[key.as_bytes(), value.as_bytes()].concat());
    }
    let mut part = (header.len() as u32).to_be_bytes().to_vec();
    part.extend(header);
    if !payload.is_empty() {
        part.extend((payload.len() as u32).to_be_bytes());
        part.extend_from_slice(payload);
    }
    part.extend([0; 4]);
    part
}

fn bundle(parts: &[Vec<u8>]) -> Vec<u8> {
    let parts = parts.concat();
    [b"HG20\0\0\0\0", &parts[..], b"\0\0\0\0"].concat()
}

fn with_replies(part: Vec<u8>) -> Vec<u8> {
    bundle(&[self::part("REPLYCAPS", 0, &[], CAPABILITIES), part])
}

impl Pair {
    /// Posts a push to both servers; both must answer the same.
    #[track_caller]
    fn post(&self, what: &str, heads: &str, body: &[u8]) -> Vec<u8> {
        let answers = self.urls().map(|url| {
            let address = url.strip_prefix("http://").unwrap();
            let (address, path) = address.split_once('/').unwrap_or((address, ""));
            let arguments = format!("heads={heads}");
            let headers = [
                ("X-HgArg-1", &arguments[..]),
                ("X-HgProto-1", "0.1 0.2 comp=zstd,zlib,none"),
                ("Content-Type", "application/mercurial-0.1"),
            ];
            let path = format!("/{path}?cmd=unbundle");
            let answer = Client::new(address).request("POST", &path, &headers, body);
            let answer = answer.unwrap();
            let kind = answer.header("content-type").map(str::to_owned);
            (answer.status, kind, answer.body)
        });
        let [ours, theirs] = &answers;
        let shown = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
        assert_eq!(shown(&ours.2), shown(&theirs.2), "{what}");
        assert_eq!(ours, theirs, "{what}");
        answers[0].2.clone()
    }
}

/// Nodes that parts speak of.
struct Nodes {
    tip: Vec<u8>,
    root: Vec<u8>,
    unknown: Vec<u8>,
    none: Vec<u8>,
}

impl Nodes {
    fn of(pair: &Pair) -> Nodes {
        let node = |rev: &str| {
            let hex = pair
                .hg
                .ok(&pair.servers()[0], &["log", "-r", rev, "-T", "{node}"]);
            let digits = hex
                .as_bytes()
                .chunks(2)
                .map(|two| std::str::from_utf8(two).unwrap());
            digits
                .map(|two| u8::from_str_radix(two, 16).unwrap())
                .collect()
        };
        Nodes {
            tip: node("tip"),
            root: node("0"),
            unknown: vec![0xaa; 20],
            none: vec![0xff; 20],
        }
    }
}

fn hex(node: &[u8]) -> String {
    node.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn checks(nodes: &Nodes) -> Vec<(&'static str, Vec<u8>)> {
    let Nodes {
        tip,
        root,
        unknown,
        none,
    } = nodes;
    let check = |what: &str, payload: &[u8]| part(&format!("CHECK:{what}"), 1, &[], payload);
    let phase = |number: u8, node: &[u8]| [&[0, 0, 0, number][..], node].concat();
    let named = |node: &[u8], name: &str| [node, &[0, name.len() as u8], name.as_bytes()].concat();
    vec![
        ("other heads", check("HEADS", unknown)),
        ("the heads", check("HEADS", tip)),
        ("no head", check("UPDATED-HEADS", root)),
        ("nothing", check("UPDATED-HEADS", unknown)),
        ("a head", check("UPDATED-HEADS", tip)),
        ("another phase", check("PHASES", &phase(1, root))),
        ("a third phase", check("PHASES", &phase(2, root))),
        ("the phase", check("PHASES", &phase(0, root))),
        ("no bookmark", check("BOOKMARKS", &named(unknown, "other"))),
        ("moved", check("BOOKMARKS", &named(tip, "mark"))),
        ("set", check("BOOKMARKS", &named(none, "mark"))),
        ("as it is", check("BOOKMARKS", &named(root, "mark"))),
        ("still none", check("BOOKMARKS", &named(none, "other"))),
    ]
}

fn others(nodes: &Nodes) -> Vec<(&'static str, Vec<u8>)> {
    let (tip, root) = (&hex(&nodes.tip)[..], &hex(&nodes.root)[..]);
    let key = |namespace, old, new| {
        let params = [
            ("namespace", namespace),
            ("key", "mark"),
            ("old", old),
            ("new", new),
        ];
        part("PUSHKEY", 1, &params, b"")
    };
    vec![
        ("unknown", part("NOSUCH", 1, &[], b"")),
        ("unknown, advisory", part("nosuch", 1, &[], b"")),
        (
            "a parameter",
            part("CHECK:HEADS", 1, &[("foo", "bar")], b""),
        ),
        ("no namespace", key("foo", "", "x")),
        ("another value", key("bookmarks", tip, "")),
        ("set again", key("bookmarks", tip, root)),
        ("set at last", key("bookmarks", root, tip)),
        ("words", part("OUTPUT", 1, &[], b"hello\nworld\n")),
        (
            "a failure",
            part("ERROR:ABORT", 1, &[("message", "boo")], b""),
        ),
    ]
}

/// Three changesets and a bookmark on the first.
fn marked() -> Pair {
    let pair = Pair::new(OPEN);
    for server in pair.servers() {
        pair.hg.ok(&server, &["bookmark", "-r", "0", "mark"]);
    }
    pair
}

#[test]
fn odd_parts_are_answered_alike() {
    let pair = marked();
    let nodes = Nodes::of(&pair);
    for (what, part) in checks(&nodes).into_iter().chain(others(&nodes)) {
        pair.post(what, FORCE, &with_replies(part));
    }
    pair.same();
}

#[test]
fn keys_that_a_hook_refuses_are_answered_alike() {
    let mut pair = marked();
    let hooks = "[hooks]\nprepushkey = echo no; exit 3\ntxnabort = echo undone\n";
    pair.configure(&format!("{OPEN}{hooks}"));
    let nodes = Nodes::of(&pair);
    let params = [
        ("namespace", "bookmarks"),
        ("key", "mark"),
        ("old", &hex(&nodes.root)),
        ("new", &hex(&nodes.tip)),
    ];
    let answer = pair.post(
        "key",
        FORCE,
        &with_replies(part("PUSHKEY", 1, &params, b"")),
    );
    let has = |words: &[u8]| answer.windows(words.len()).any(|some| some == words);
    assert!(has(b"ERROR:PUSHKEY"));
    assert!(has(b"pushkey-abort: prepushkey hook exited with status 3"));
    let moved = [&nodes.tip[..], b"\0\x04mark"].concat();
    let answer = pair.post(
        "bookmarks",
        FORCE,
        &with_replies(part("BOOKMARKS", 1, &[], &moved)),
    );
    assert!(!answer.windows(13).any(|some| some == b"pushkey-abort"));
    pair.same();
}

#[test]
fn odd_bundles_are_answered_alike() {
    let pair = marked();
    let check = part("CHECK:HEADS", 1, &[], &[0xaa; 20]);
    pair.post("no replies", FORCE, &bundle(&[check]));
    let unknown = part("NOSUCH", 1, &[], b"");
    pair.post("no replies, unknown", FORCE, &bundle(&[unknown]));
    let caps = part("REPLYCAPS", 0, &[], CAPABILITIES);
    for behind in [&b"\0\0\0\x44abc"[..], b"\0\0\0\x14\x0bCHANGEGROUP"] {
        let cut = [b"HG20\0\0\0\0", &caps[..], behind].concat();
        pair.post("cut", FORCE, &cut);
    }
    for body in [&b""[..], b"hello world", b"HG2Y\0\0\0\0", b"HG10XX"] {
        pair.post("no bundle", FORCE, body);
    }
    pair.post("engine", FORCE, b"HG20\0\0\0\x0eCompression=XXaaaa");
    pair.post("cut bundle1", FORCE, b"HG10UN\0\0\x01\0aaaa");
    let zeros = "0".repeat(40);
    for heads in [
        format!("686173686564+{zeros}"),
        hex(&Nodes::of(&pair).root),
        zeros,
    ] {
        let told = pair.post("other heads", &heads, b"HG10UN");
        let words = b"0\nrepository changed while preparing changes - please try again\n";
        assert_eq!(told, words);
    }
    pair.same();
}

#[test]
fn markers_of_either_version_are_answered_alike() {
    let marker = |version: u8, old: u8, new: u8| {
        let nodes = [[old; 20], [new; 20]].concat();
        let (head, facts): (&[u8], &[u8]) = match version {
            0 => (b"\0\x01\0\0\0\x11\0", b"date:7.0 0\0user:b"),
            _ => (
                b"\x01\0\0\0\x42\x40\x1c\0\0\0\0\0\0\0\0\0\0\x01\x03\x01",
                b"\x04\x01userb",
            ),
        };
        [head, &nodes, facts].concat()
    };
    let mut pair = Pair::new(OPEN);
    for evolution in ["", "all", "exchange", "createmarkers"] {
        pair.configure(&format!("{OPEN}[experimental]\nevolution = {evolution}\n"));
        for (what, payload) in [
            ("version 0", marker(0, 1, 2)),
            ("the same in version 1", marker(1, 1, 2)),
            ("version 1", marker(1, 3, 4)),
        ] {
            let part = part("OBSMARKERS", 1, &[], &payload);
            pair.post(what, FORCE, &with_replies(part));
        }
        let [ours, theirs] = pair
            .servers()
            .map(|server| std::fs::read(server.join(".hg/store/obsstore")).unwrap_or_default());
        assert_eq!(ours, theirs, "{evolution}");
        let may = ["all", "createmarkers"].contains(&evolution);
        assert!(!may || !ours.is_empty(), "{evolution}");
    }
}

#[test]
fn how_many_heads_there_are_more_is_answered_alike() {
    let pair = Pair::new(OPEN);
    let client = &pair.clients()[0];
    let bundled = |name: &str, kind: &str, on: &str| {
        pair.hg.ok(client, &["update", "-q", on]);
        super::commit(&pair.hg, client, name);
        let file = pair.site.path().join(name);
        let file = file.to_str().unwrap();
        let options = ["--base", "tip^", "-r", "tip", "-q", "-t", kind];
        pair.hg
            .ok(client, &[&["bundle"], &options[..], &[file]].concat());
        std::fs::read(file).unwrap()
    };
    let old = bundled("x", "none-v1", "0");
    let answer = pair.post("a head more", FORCE, &old);
    assert!(answer.starts_with(b"2\n"), "{}", answer.escape_ascii());
    pair.post("nothing new", FORCE, &old);
    let new = bundled("y", "none-v2", "0");
    // Behind the beginning of the bundle.
    let caps = part("REPLYCAPS", 9, &[], CAPABILITIES);
    pair.post("one more", FORCE, &[&new[..8], &caps, &new[8..]].concat());
    let on_top = bundled("z", "none-v1", "tip");
    let answer = pair.post("no head more", FORCE, &on_top);
    assert!(answer.starts_with(b"1\n"), "{}", answer.escape_ascii());
}
