//! Data beside changesets: which `.hgtags` they have, and URLs where more of them lie.

use super::raw::{answered, arg, command, output};
use super::{Side, Talk, write_rc};
use crate::hgcli::our_hg;
use crate::hgcli::remote_changegroups::{BundleHost, bundle, part};
use varve_testkit::peers::Outcome;

/// Two equal repositories with tags on two branches; `a` is stock hg's, `b` this program's.
fn tagged() -> Talk {
    let talk = Talk::new((Side::Hg, Side::Hg));
    talk.stock("", "init a");
    talk.commit("a", "one");
    talk.stock("a", "tag -u me first");
    talk.commit("a", "two");
    talk.stock("a", "update -q 0");
    talk.stock("a", "branch -q side");
    talk.commit("a", "three");
    talk.stock("a", "update -q 0");
    talk.commit("a", "four");
    talk.stock("", "clone -q -U --pull a b");
    talk
}

fn node(talk: &Talk, rev: &str) -> String {
    talk.stock("a", &format!("log -r {rev} -T {{node}}"))
}

#[test]
fn which_tags_heads_have_goes_along_once_it_is_known() {
    let talk = tagged();
    let ask = |heads: &str, common: &str, more: &[(&str, &str)]| {
        let caps = "HG20,bundle2=HG20%0Achangegroup%3D01%2C02%0Ahgtagsfnodes%0Aphases%3Dheads";
        let all = [("heads", heads), ("common", common), ("phases", "1")];
        let mut args = vec![("bundlecaps", caps)];
        args.extend(all.into_iter().filter(|(_, value)| !value.is_empty()));
        args.extend_from_slice(more);
        let mut sent = vec![format!("* {}\n", args.len()).into_bytes()];
        sent.extend(args.iter().map(|(name, value)| arg(name, value.as_bytes())));
        command("getbundle", &sent)
    };
    let tip = node(&talk, "4");
    let heads = format!("{} {} {}", node(&talk, "3"), node(&talk, "2"), tip);
    let null = "0".repeat(40);
    for known in [false, true] {
        for name in ["a", "b"] {
            match known {
                true => drop(talk.stock(name, "tags")),
                false => std::fs::remove_dir_all(talk.path(name).join(".hg/cache")).unwrap(),
            }
        }
        let mut found = Vec::new();
        for sent in [
            ask(&heads, &null, &[]),
            ask("", "", &[("cg", "1")]),
            ask(&heads, &node(&talk, "1"), &[]),
            ask(&tip, &node(&talk, "1"), &[]),
            ask(&heads, &heads, &[]),
            ask(&heads, &null, &[("cg", "0")]),
        ] {
            let theirs = output(&talk, Side::Hg, "a", &sent).stdout;
            let ours = output(&talk, Side::Varve, "b", &sent).stdout;
            assert!(
                ours == theirs,
                "{}\n{}\n{}",
                sent.escape_ascii(),
                ours.escape_ascii(),
                theirs.escape_ascii()
            );
            found.push(ours.windows(12).any(|name| name == b"hgtagsfnodes"));
        }
        assert_eq!(found, [known, known, known, known, known, false]);
    }
}

/// A bundle as ssh brings it, applied to an empty repository; returns the output, and the cache.
fn pushed(talk: &Talk, side: Side, bundle: &[u8]) -> (String, String, Option<Vec<u8>>) {
    let name = if side == Side::Hg { "c" } else { "d" };
    let _ = std::fs::remove_dir_all(talk.path(name));
    talk.stock("", &format!("init {name}"));
    pushed_to(talk, (side, name), bundle)
}

fn pushed_to(
    talk: &Talk,
    (side, name): (Side, &str),
    bundle: &[u8],
) -> (String, String, Option<Vec<u8>>) {
    write_rc(
        &talk.path(name),
        "[experimental]\nevolution = all\n[hooks]\nchangegroup = env | grep -v TXNID | grep ^HG_ | sort\n",
    );
    let length = format!("{}\n", bundle.len());
    let sent = [length.as_bytes(), bundle, b"0\n"].concat();
    let sent = [command("unbundle", &[arg("heads", b"666f726365")]), sent].concat();
    let (stdout, stderr, code) = answered(talk, side, name, &sent);
    assert_eq!(code, Some(0), "{stderr}");
    talk.stock(name, "verify -q");
    let cache = std::fs::read(talk.path(name).join(".hg/cache/hgtagsfnodes1"));
    // Mercurial fills up with records that say nothing.
    let cut = |mut cache: Vec<u8>| {
        while cache.ends_with(&[0xff; 24]) {
            cache.truncate(cache.len() - 24);
        }
        cache
    };
    (stdout, stderr, cache.ok().map(cut))
}

#[track_caller]
fn same_pushed(talk: &Talk, parts: &[Vec<u8>]) -> (String, String, Option<Vec<u8>>) {
    let bytes = bundle(&[&[part("REPLYCAPS", 0, &[], b"HG20")], parts].concat());
    let (theirs, ours) = (
        pushed(talk, Side::Hg, &bytes),
        pushed(talk, Side::Varve, &bytes),
    );
    assert_eq!(ours, theirs);
    ours
}

#[test]
fn which_tags_heads_have_is_kept_when_it_comes() {
    let talk = tagged();
    talk.stock("a", "bundle -q -a -t none-v1 ../all.hg");
    let all = std::fs::read(talk.path("all.hg")).unwrap();
    let changes = || part("CHANGEGROUP", 1, &[("version", "01")], &all[6..]);
    let bytes = |hex: &str| -> Vec<u8> {
        let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digits).collect()
    };
    let files = talk.stock("a", "manifest --debug -r 1");
    let tags = files.lines().find(|line| line.ends_with(".hgtags"));
    let (head, file) = (bytes(&node(&talk, "2")), bytes(&tags.unwrap()[..40]));
    let record = [&head[..], &file].concat();
    for (name, rest) in [("hgtagsfnodes", &b""[..]), ("HGTAGSFNODES", b"cut")] {
        let payload = [&record[..], rest].concat();
        let (_, _, cache) = same_pushed(&talk, &[changes(), part(name, 2, &[], &payload)]);
        let cache = cache.unwrap();
        assert_eq!(cache[2 * 24..], [&head[..4], &file].concat());
    }
    // Of a head without tags; false entries are not believed.
    let lie = [&bytes(&node(&talk, "4"))[..], &file].concat();
    let parts = [
        part("REPLYCAPS", 0, &[], b"HG20"),
        changes(),
        part("hgtagsfnodes", 2, &[], &[record, lie].concat()),
    ];
    pushed(&talk, Side::Varve, &bundle(&parts));
    let said = Outcome::of(&mut talk.command(Side::Varve, "d", &["tags"]), &our_hg()).stdout;
    assert!(said.contains("first"), "{said}");
    assert_eq!(said, talk.stock("a", "tags"));
    let cache = std::fs::read(talk.path("d/.hg/cache/hgtagsfnodes1")).unwrap();
    assert_eq!(cache[4 * 24 + 4..5 * 24], [0; 20]);
}

#[test]
fn changesets_behind_a_url_are_pushed() {
    let (talk, host) = (tagged(), BundleHost::new());
    let [url, size, digest] = &host.facts("gzip");
    let params = [
        ("url", &url[..]),
        ("size", size),
        ("digests", "sha1"),
        ("digest:sha1", digest),
    ];
    let remote = |params: &[(&str, &str)]| part("REMOTE-CHANGEGROUP", 7, params, b"");
    let (answer, said, _) = same_pushed(&talk, &[remote(&params)]);
    assert!(answer.contains("REPLY:CHANGEGROUP"), "{answer}");
    assert!(said.contains("added 3 changesets"), "{said}");
    let (answer, said, _) = same_pushed(&talk, &[remote(&[params[0], ("size", "3")])]);
    assert!(answer.contains("size mismatch: expected 3"), "{answer}");
    assert!(said.contains("rollback completed"), "{said}");
    same_pushed(&talk, &[remote(&[("url", "ftp://host/x")])]);
    same_pushed(&talk, &[remote(&params[1..])]);
}

#[test]
fn every_manifest_of_a_push_is_compared_with_its_name() {
    let talk = Talk::new((Side::Hg, Side::Hg));
    talk.stock("", "init a");
    // So many that manifests are stored as deltas.
    for number in 0..60 {
        std::fs::write(talk.path(&format!("a/other{number}")), format!("{number}")).unwrap();
    }
    for text in ["one", "two", "three"] {
        std::fs::write(talk.path("a/file"), text).unwrap();
        talk.stock("a", &format!("commit -q -A -u me -m {text}"));
    }
    talk.stock("a", "bundle -q -a -t none-v1 ../all.hg");
    let mut all = std::fs::read(talk.path("all.hg")).unwrap();
    // Only the second manifest has this; the third one, the only head, has its own line.
    let lines = talk.stock("a", "manifest --debug -r 1");
    let line = lines.lines().find(|line| line.ends_with(" file"));
    let node = &line.unwrap().as_bytes()[..40];
    let at = all.windows(40).position(|bytes| bytes == node).unwrap();
    all[at] = if all[at] == b'0' { b'1' } else { b'0' };
    let changes = part("CHANGEGROUP", 1, &[("version", "01")], &all[6..]);
    let bytes = bundle(&[part("REPLYCAPS", 0, &[], b"HG20"), changes]);
    // Stock hg takes it, and `verify` complains then.
    let (answer, said, _) = pushed(&talk, Side::Varve, &bytes);
    assert!(answer.contains("ERROR:ABORT"), "{answer}");
    assert!(said.contains("rollback completed"), "{said}");
    assert_eq!(talk.stock("d", "log"), "");
}

#[test]
fn what_was_there_as_a_draft_is_published_when_it_comes_again() {
    let talk = tagged();
    talk.stock("a", "bundle -q -a -t none-v1 ../all.hg");
    let all = std::fs::read(talk.path("all.hg")).unwrap();
    for name in ["c", "d"] {
        talk.stock("", &format!("clone -q -U --pull a {name}"));
        talk.stock(name, "phase -f -d 0");
    }
    let changes = part("CHANGEGROUP", 1, &[("version", "01")], &all[6..]);
    let bytes = bundle(&[part("REPLYCAPS", 0, &[], b"HG20"), changes]);
    let (theirs, ours) = (
        pushed_to(&talk, (Side::Hg, "c"), &bytes),
        pushed_to(&talk, (Side::Varve, "d"), &bytes),
    );
    assert_eq!((ours.0, ours.1), (theirs.0, theirs.1));
    for name in ["c", "d"] {
        assert_eq!(talk.stock(name, "log -r not(public())"), "", "{name}");
    }
}

#[test]
fn markers_that_lead_nowhere_undo_the_push() {
    let talk = tagged();
    let marker = |successor: [u8; 20]| {
        let fixed = [
            &[0; 8][..],
            &[0, 0, 0, 0],
            &[1, 3, 0],
            &[0x11; 20],
            &successor,
        ]
        .concat();
        [&(fixed.len() as u32 + 4).to_be_bytes()[..], &fixed].concat()
    };
    let markers = |all: &[Vec<u8>]| part("OBSMARKERS", 1, &[], &[&[1], &all.concat()[..]].concat());
    let (answer, _, _) = same_pushed(&talk, &[markers(&[marker([0x22; 20])])]);
    assert!(answer.contains("REPLY:OBSMARKERS"), "{answer}");
    for all in [
        vec![marker([0; 20])],
        vec![marker([0x22; 20]), marker([0; 20])],
    ] {
        let (answer, said, _) = same_pushed(&talk, &[markers(&all)]);
        assert!(answer.contains("invalid successors nullid"), "{answer}");
        assert_eq!(said, "transaction abort!\\nrollback completed\\n");
    }
}

#[test]
fn servers_say_that_they_can_do_the_same() {
    let talk = tagged();
    let words = |said: String| said.split_once(": ").unwrap().1.to_owned();
    let ask = |side, name| words(answered(&talk, side, name, b"hello\n").0);
    assert_eq!(ask(Side::Varve, "b"), ask(Side::Hg, "a"));
}
