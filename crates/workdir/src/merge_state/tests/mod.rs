//! The state of a merge: written records are counted, and damage never hides a conflict.

mod random;

use super::*;

#[test]
fn only_files_that_wait_for_the_user_count() {
    let record = |kind: u8, content: &[u8]| {
        let mut bytes = Vec::new();
        record::push(kind, content, &mut bytes);
        bytes
    };
    let local = record(b'L', &[b'u'; 40]);
    let resolved = record(b'F', b"a\0r\0hash\0a\0a\0base\0a\0other\0");
    let open = record(b'F', b"b\0u\0hash\0b\0b\0base\0b\0other\0");
    let deleted = record(b'C', b"c\0u\0hash\0c\0c\0base\0c\0other\0");
    assert_eq!(count_unresolved(b""), 0);
    assert_eq!(count_unresolved(&[&local[..], &resolved].concat()), 0);
    let all = [&local[..], &resolved, &open, &deleted].concat();
    assert_eq!(count_unresolved(&all), 2);
    assert_eq!(count_unresolved(&open[..20]), 1);
}

#[test]
fn an_older_list_is_taken_apart_or_refused() {
    let hex = "ab".repeat(20);
    let file = "p\0u\0hash\0ours\0base\0node\0theirs\0x";
    let parsed = OldMergeState::parse(format!("{hex}\n{file}\n").as_bytes()).unwrap();
    assert_eq!(parsed.local.to_string(), hex);
    let [only] = &parsed.files[..] else {
        panic!("{parsed:?}");
    };
    assert_eq!(
        (&only.theirs[..], &only.flags[..]),
        (&b"theirs"[..], &b"x"[..])
    );
    for damaged in [
        "",
        "ab\n",
        &format!("{hex}\np\0u\n"),
        &format!("{hex}\n{file}\0more\n"),
    ] {
        let refused = OldMergeState::parse(damaged.as_bytes());
        assert!(
            matches!(refused, Err(WorkdirError::DamagedMergeState)),
            "{damaged:?}"
        );
    }
}
