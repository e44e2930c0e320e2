//! Short answers, compared with those of `hg serve` 7.2.4 about the same repository.

use crate::client::{NULL, Served};

/// Three changesets, two branches, one bookmark; hashes are the same on every machine.
fn small() -> Served {
    let served = Served::empty();
    let commit = |files: &[(&str, &str)], message: &str, date: &str| {
        for (name, text) in files {
            let path = served.source().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        served.hg(&["commit", "-A", "-u", "test", "-d", date, "-m", message]);
    };
    commit(&[("a", "a\n")], "one", "0 0");
    commit(&[("a", "a\naa\n"), ("b", "b\n")], "two", "1 0");
    served.hg(&["bookmark", "-i", "feature"]);
    served.hg(&["phase", "-p", "0"]);
    served.hg(&["update", "0"]);
    served.hg(&["branch", "br \u{e9}"]);
    commit(&[("sp ace/C.txt", "c\n")], "three", "2 0");
    served
}

/// Command, arguments, answer.
type Golden<'a> = (&'a str, &'a [(&'a str, &'a str)], String);

#[test]
fn golden_answers_of_hg_serve() {
    let served = small();
    let one = "d1ac084ee6413cd4e8451631c6606d4d4e1e5c3b";
    let two = "4d8952bb5c782b8243b80625ad7dbcf74153c6e7";
    let three = "14874b438bb4d9981db1b52ab48ab7661be3c07d";
    let known = format!("{one} {NULL} {two}");
    let golden: &[Golden] = &[
        ("heads", &[], format!("{three} {two}\n")),
        (
            "batch",
            &[("cmds", "heads ;known nodes=")],
            format!("{three} {two}\n;"),
        ),
        ("known", &[("nodes", &known)], "101".into()),
        (
            "listkeys",
            &[("namespace", "namespaces")],
            "bookmarks\t\nnamespaces\t\nphases\t".into(),
        ),
        (
            "listkeys",
            &[("namespace", "phases")],
            format!("{three}\t1\n{two}\t1\npublishing\tTrue"),
        ),
        (
            "listkeys",
            &[("namespace", "bookmarks")],
            format!("feature\t{two}"),
        ),
        ("listkeys", &[("namespace", "obsolete")], String::new()),
        (
            "branchmap",
            &[],
            format!("br%20%C3%A9 {three}\ndefault {two}"),
        ),
        ("lookup", &[("key", "tip")], format!("1 {three}\n")),
        ("lookup", &[("key", "feature")], format!("1 {two}\n")),
        (
            "lookup",
            &[("key", "zzz")],
            "0 unknown revision 'zzz'\n".into(),
        ),
    ];
    for (command, args, expected) in golden {
        let answer = served.text(command, args);
        assert_eq!(
            answer,
            ("application/mercurial-0.1", expected.clone()),
            "{command} {args:?}"
        );
    }
}

/// The whole bundle, byte for byte.
#[test]
fn golden_bundle_of_hg_serve() {
    let served = small();
    let heads = "14874b438bb4d9981db1b52ab48ab7661be3c07d 4d8952bb5c782b8243b80625ad7dbcf74153c6e7";
    let args = [
        ("bookmarks", "1"),
        ("cg", "1"),
        ("common", NULL),
        ("heads", heads),
        ("listkeys", "bookmarks"),
        ("phases", "1"),
    ];
    let golden = include_bytes!("golden/clone.hg20");
    assert_eq!(served.bundle("01,02,03", &args), golden);
}

#[test]
fn an_empty_repository_has_the_null_head() {
    let served = Served::empty();
    assert_eq!(served.text("heads", &[]).1, format!("{NULL}\n"));
    assert_eq!(served.text("branchmap", &[]).1, "");
    let bundle = served.bundle("03", &[("heads", NULL), ("common", NULL)]);
    assert_eq!(bundle, b"HG20\0\0\0\0\0\0\0\0");
}

#[test]
fn what_cannot_be_done_is_said() {
    let served = small();
    let refused = |command: &str, args: &[(&str, &str)]| {
        let (content_type, text) = served.text(command, args);
        assert_eq!(content_type, "application/hg-error", "{command}");
        text
    };
    for command in ["unbundle", "pushkey"] {
        let read_only = format!("{command} needs a repository that may be written to\n");
        assert_eq!(refused(command, &[]), read_only);
    }
    assert_eq!(
        refused("lookup", &[]),
        "command lookup needs the argument key\n"
    );
    assert_eq!(
        refused("batch", &[("cmds", "getbundle ")]),
        "unknown command \"getbundle\"\n"
    );
    assert_eq!(
        refused("getbundle", &[("common", "xyz")]),
        "argument common of command getbundle must be a list of nodes of 40 hex digits each\n"
    );
    let nobody = "1".repeat(40);
    assert_eq!(
        refused("getbundle", &[("heads", &nobody)]),
        format!("unknown revision '{nobody}'\n")
    );
}
