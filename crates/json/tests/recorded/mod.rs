//! The recordings in `testkit/recorded`: revision ids, texts that come back, order of view keys.

use varve_json::term::{AttachmentTerm, revision_digest};
use varve_json::{Body, Document, Object, Value, collate, parse, parse_object, to_string, write};

const REVISIONS: &[u8] = include_bytes!("../../../testkit/recorded/couchdb-revisions.json");
const COLLATION: &[u8] = include_bytes!("../../../testkit/recorded/couchdb-collation.json");

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("{name} in {value:?}"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn split_rev(rev: &str) -> (u64, Vec<u8>) {
    let (generation, digest) = rev.split_once('-').unwrap();
    (generation.parse().unwrap(), unhex(digest))
}

/// The revision id that an edit gets.
fn next_rev(parent: Option<&str>, body: &Object, attachments: &[AttachmentTerm<'_>]) -> String {
    let parent = parent.map(split_rev);
    let parent = parent
        .as_ref()
        .map(|(generation, digest)| (*generation, &digest[..]));
    let deleted = body.get("_deleted") == Some(&Value::Bool(true));
    let made = Body::from(body);
    let text = to_string(&Value::Object(body.clone()));
    let read = Document::parse(text.as_bytes(), |_| false).unwrap();
    let is_same = !text.contains("0.0") && read.body == made;
    assert!(is_same || text.contains("0.0"), "{text}");
    let digest = revision_digest(deleted, parent, &made.term().unwrap(), attachments);
    format!(
        "{}-{}",
        parent.map_or(0, |(generation, _)| generation) + 1,
        hex(&digest)
    )
}

#[test]
fn every_recorded_body_has_its_revision_and_comes_back() {
    let recorded = parse(REVISIONS).unwrap();
    let bodies = recorded.get("bodies").unwrap().as_array().unwrap();
    assert_eq!(bodies.len(), 56);
    for (index, case) in bodies.iter().enumerate() {
        let sent = text(case, "body");
        let body = parse_object(sent.as_bytes()).unwrap();
        let rev = next_rev(None, &body, &[]);
        assert_eq!(rev, text(case, "rev"), "{sent:.100}");
        let mut shown = Object::new();
        shown.insert("_id", format!("d{index}"));
        shown.insert("_rev", rev);
        for (name, value) in body {
            shown.insert(name, value);
        }
        assert_eq!(
            to_string(&Value::Object(shown)) + "\n",
            text(case, "get"),
            "{sent:.100}"
        );
    }
}

#[test]
fn every_recorded_chain_has_its_revisions() {
    let recorded = parse(REVISIONS).unwrap();
    let (mut parent, mut checked) = (None, 0);
    for case in recorded.get("chains").unwrap().as_array().unwrap() {
        if case.get("sent").is_some() {
            let body = parse_object(text(case, "sent").as_bytes()).unwrap();
            let Some(rev) = case
                .get("answer")
                .unwrap()
                .get("rev")
                .and_then(Value::as_str)
            else {
                continue;
            };
            assert_eq!(next_rev(parent, &body, &[]), rev, "{case:?}");
            parent = Some(rev);
        } else {
            let mut tombstone = Object::new();
            tombstone.insert("_deleted", true);
            let rev = text(case.get("delete").unwrap(), "rev");
            assert_eq!(next_rev(Some(text(case, "rev")), &tombstone, &[]), rev);
        }
        checked += 1;
    }
    assert!(checked >= 4, "only {checked} revisions");
}

#[test]
fn every_recorded_attachment_counts_in_its_revision() {
    let recorded = parse(REVISIONS).unwrap();
    let cases = recorded.get("attachments").unwrap().as_array().unwrap();
    assert_eq!(cases.len(), 5);
    for case in cases {
        let shown = case.get("get").unwrap();
        let listed = shown.get("_attachments").unwrap().as_object().unwrap();
        let digests: Vec<[u8; 16]> = listed
            .iter()
            .map(|(_, stub)| md5_of(text(stub, "digest")))
            .collect();
        let terms: Vec<_> = listed
            .iter()
            .zip(&digests)
            .map(|((name, stub), md5)| AttachmentTerm {
                name,
                content_type: text(stub, "content_type"),
                md5,
            })
            .collect();
        let rev = next_rev(None, shown.as_object().unwrap(), &terms);
        assert_eq!(rev, text(case, "rev"), "{case:?}");
    }
}

/// The digest of a stub: `md5-` and base64.
fn md5_of(digest: &str) -> [u8; 16] {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = digest
        .strip_prefix("md5-")
        .unwrap()
        .trim_end_matches('=')
        .bytes();
    let value = |digit| ALPHABET.iter().position(|d| *d == digit).unwrap() as u128;
    // 22 digits are 132 bits; the last four are padding.
    let padded = digits.map(value).collect::<Vec<_>>();
    let bits = padded[..21].iter().fold(0, |bits, value| bits << 6 | value);
    (bits << 2 | padded[21] >> 4).to_be_bytes()
}

#[test]
fn sort_keys_have_the_recorded_order_and_equal_groups() {
    let recorded = parse(COLLATION).unwrap();
    let keys = |list: &str| -> Vec<(Vec<u8>, String)> {
        let rows = recorded.get(list).unwrap().as_array().unwrap();
        let key = |row: &Value| {
            let mut key = Vec::new();
            collate::sort_key(row.get("key").unwrap(), &mut key);
            (key, to_string(row))
        };
        rows.iter().map(key).collect()
    };
    let ascending = keys("ascending");
    let mut rest = &ascending[..];
    let groups = recorded.get("group_counts").unwrap().as_array().unwrap();
    assert!(groups.len() > 140, "only {} groups", groups.len());
    for group in groups {
        let (equal, behind) = rest.split_at(group.as_u64().unwrap() as usize);
        for (key, row) in equal {
            assert_eq!(*key, equal[0].0, "{row} equals {}", equal[0].1);
        }
        if let Some((next, row)) = behind.first() {
            assert!(equal[0].0 < *next, "{} is before {row}", equal[0].1);
        }
        rest = behind;
    }
    assert!(rest.is_empty());
    assert!(
        keys("raw").is_sorted_by(|a, b| a.0 <= b.0),
        "raw order is the same"
    );
}

#[test]
fn mutated_texts_never_panic_and_stay_what_they_parse_to() {
    let mut seed = 1u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed as usize
    };
    let samples: [&[u8]; 3] = [
        br#"{"a":[1,-2.5e3,{"b":null,"b":"\u00e9\ud83d\ude00\n"}],"c":123456789012345678901}"#,
        b"[[],{},\"\",0.1,true,false]",
        &COLLATION[..2000],
    ];
    for round in 0..6000 {
        let mut bytes = samples[round % samples.len()].to_vec();
        for _ in 0..=next() % 3 {
            let at = next() % bytes.len();
            bytes[at] = b"{}[]\",:\\eE+-.019 \xff\xc3x"[next() % 20];
        }
        varve_json::fuzzing::json(&bytes);
    }
    let mut whole = Vec::new();
    write(&parse(REVISIONS).unwrap(), &mut whole);
    varve_json::fuzzing::json(&whole);
}
