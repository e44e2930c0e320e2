//! Git's form: modes, copies, renames and binary contents.

use super::drawn::unified;
use super::laws::{numbered, texts};
use super::store::Store;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;
use std::io::Write;
use varve_base::base85;
use varve_patch::{LineEnds, PatchError, PatchMode};

/// Bytes of one line of a binary hunk.
const LINE: usize = 52;

/// A binary hunk, `literal` or `delta`.
fn binary(form: &str, data: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    let packed = encoder.finish().unwrap();
    let mut out = format!("GIT binary patch\n{form} {}\n", data.len());
    for line in packed.chunks(LINE) {
        let letter = match line.len() {
            len @ 1..=26 => b'A' + len as u8 - 1,
            len => b'a' + len as u8 - 27,
        };
        // The last digits stand for bytes that are none of the line.
        let mut filled = line.to_vec();
        filled.resize(line.len().next_multiple_of(4), 0);
        out.push(char::from(letter));
        out += str::from_utf8(&base85::encode(&filled)).unwrap();
        out.push('\n');
    }
    out + "\n"
}

/// The checksum at the end of a zlib stream.
fn adler32(bytes: &[u8]) -> (u32, u32) {
    let add = |(low, high): (u32, u32), byte: &u8| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    };
    bytes.iter().fold((1, 0), add)
}

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..most)
}

/// A command of a delta: bytes of the old content from a place on, or new ones.
#[derive(Clone, Debug)]
enum DeltaCommand {
    Copied(prop::sample::Index, prop::sample::Index),
    New(Vec<u8>),
}

fn length(mut len: usize, out: &mut Vec<u8>) {
    while len > 0x7f {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
}

/// The delta of these pieces, and the content that it leads to.
fn delta(old: &[u8], pieces: &[DeltaCommand]) -> (Vec<u8>, Vec<u8>) {
    let (mut commands, mut new) = (Vec::new(), Vec::new());
    for piece in pieces {
        match piece {
            DeltaCommand::New(bytes) => {
                for bytes in bytes.chunks(127) {
                    commands.push(bytes.len() as u8);
                    commands.extend_from_slice(bytes);
                }
                new.extend_from_slice(bytes);
            }
            DeltaCommand::Copied(from, to) => {
                let (from, to) = (from.index(old.len() + 1), to.index(old.len() + 1));
                let (from, len) = (from.min(to), from.abs_diff(to));
                if len == 0 {
                    continue;
                }
                // Bytes that are zero are left out, each with its bit.
                let fields = [
                    from,
                    from >> 8,
                    from >> 16,
                    from >> 24,
                    len,
                    len >> 8,
                    len >> 16,
                ];
                let fields = fields.map(|field| field as u8);
                let mut command = 0x80;
                let is_whole = len == 0x1_0000;
                for (bit, field) in fields.iter().enumerate() {
                    command |= u8::from(*field != 0 && !(is_whole && bit > 3)) << bit;
                }
                commands.push(command);
                let there = fields
                    .iter()
                    .enumerate()
                    .filter(|(bit, _)| command >> bit & 1 == 1);
                commands.extend(there.map(|(_, field)| field));
                new.extend_from_slice(&old[from..from + len]);
            }
        }
    }
    let mut out = Vec::new();
    length(old.len(), &mut out);
    length(new.len(), &mut out);
    out.extend(commands);
    (out, new)
}

fn pieces() -> impl Strategy<Value = Vec<DeltaCommand>> {
    let copied = any::<(prop::sample::Index, prop::sample::Index)>()
        .prop_map(|(from, to)| DeltaCommand::Copied(from, to));
    proptest::collection::vec(
        prop_oneof![copied, bytes(300).prop_map(DeltaCommand::New)],
        0..8,
    )
}

proptest! {
    #[test]
    fn binary_contents_are_written_whole(old in bytes(200), new in bytes(700)) {
        let text = format!("diff --git a/f b/f\nindex 1..2\n{}", binary("literal", &new));
        let mut store = Store::of(old);
        prop_assert_eq!(store.patch(&text, 0, LineEnds::Strict), Ok(false));
        prop_assert_eq!(store, Store::of(new));
    }

    /// Copies of large contents need all bytes of places and lengths.
    #[test]
    fn deltas_copy_and_insert(seed in bytes(90), times in 1..1500_usize, pieces in pieces()) {
        let old = seed.repeat(times);
        let (delta, new) = delta(&old, &pieces);
        let text = format!("diff --git a/f b/f\n{}", binary("delta", &delta));
        let mut store = Store::of(old.clone());
        prop_assert_eq!(store.patch(&text, 0, LineEnds::Strict), Ok(false));
        prop_assert_eq!(store.content("f"), Some(&new[..]));
        // A shorter old content lacks what is copied, or nothing was.
        let mut store = Store::of(&old[..old.len() / 2]);
        match store.patch(&text, 0, LineEnds::Strict) {
            Ok(_) => prop_assert_eq!(store.content("f"), Some(&new[..])),
            Err(error) => {
                prop_assert!(matches!(error, PatchError::BadDelta(_)), "{}", error);
                prop_assert_eq!(store.content("f"), Some(&old[..old.len() / 2]));
            }
        }
    }

    /// A damaged binary patch is a fault, or still says the same: the file is never another one.
    #[test]
    fn damage_of_a_binary_patch_is_found(new in bytes(300), at in any::<prop::sample::Index>(), byte in 33..127_u8) {
        let text = format!("diff --git a/f b/f\n{}", binary("literal", &new));
        let begin = text.find("literal ").unwrap();
        let mut damaged = text.clone().into_bytes();
        let at = begin + at.index(damaged.len() - begin);
        prop_assume!(damaged[at] != b'\n');
        damaged[at] = byte;
        let mut store = Store::of("old");
        match store.patch(&damaged, 0, LineEnds::Strict) {
            // The checksum of a stream does not tell all changes of four neighbouring bytes apart.
            Ok(_) => {
                let found = store.content("f").unwrap();
                let is_alike = found.len() == new.len() && adler32(found) == adler32(&new);
                prop_assert!(is_alike || found == b"old", "{:?}", found);
            }
            Err(error) => {
                prop_assert!(error.is_malformed(), "{}", error);
                prop_assert_eq!(store.content("f"), Some(&b"old"[..]));
            }
        }
    }

    /// Sources of copies and renames are as they were before the patch, whatever it does to them.
    #[test]
    fn copies_are_made_of_what_was_there(old in texts(), changed in texts(), copied in texts(), renamed in texts()) {
        let part = |heading: &str, new: &str| match old == new {
            true => heading.to_owned(),
            false => format!("{heading}{}", unified(&old, new, 3)),
        };
        let names = |from: &str, to: &str| format!("diff --git a/{from} b/{to}\n");
        let text = [
            part(&names("f", "f"), &changed),
            part(&(names("f", "copy") + "copy from f\ncopy to copy\n"), &copied).replace("+++ b/f", "+++ b/copy"),
            part(&(names("f", "renamed") + "rename from f\nrename to renamed\n"), &renamed).replace("+++ b/f", "+++ b/renamed"),
        ].concat();
        let mut store = Store::of(old.as_str());
        prop_assert_eq!(store.patch(&text, 0, LineEnds::Strict), Ok(false));
        prop_assert_eq!(store.content("f"), None);
        prop_assert_eq!(store.content("copy"), Some(copied.as_bytes()));
        prop_assert_eq!(store.content("renamed"), Some(renamed.as_bytes()));
        let pair = |to: &str| ("f".to_owned(), to.to_owned());
        prop_assert_eq!(store.copies, vec![pair("copy"), pair("renamed")]);
    }

    #[test]
    fn modes_go_along_with_contents(is_link: bool, is_executable: bool, new in texts(), rewrites: bool) {
        let digits = match (is_link, is_executable) {
            (true, true) => "120755",
            (true, false) => "120644",
            (false, true) => "100755",
            (false, false) => "100644",
        };
        let (old, mode) = ("old\n", PatchMode { is_link, is_executable });
        let content = if rewrites && new != old { new.as_str() } else { old };
        let hunks = if content == old { String::new() } else { unified(old, content, 3) };
        let text = format!("diff --git a/f b/f\nold mode 100644\nnew mode {digits}\n{hunks}");
        let mut store = Store::of(old);
        prop_assert_eq!(store.patch(&text, 0, LineEnds::Strict), Ok(false));
        prop_assert_eq!(store.files["f"].mode, mode);
        prop_assert_eq!(store.content("f"), Some(content.as_bytes()));
        // A patch that names no mode leaves it.
        if content != old {
            prop_assert_eq!(store.patch(unified(content, old, 3), 0, LineEnds::Strict), Ok(false));
            prop_assert_eq!(store.files["f"].mode, mode);
        }
    }
}

#[test]
fn files_in_the_way_and_missing_ones_are_told() {
    let content = numbered(3).concat();
    let patch = |heading: &str, old: &str, new: &str| {
        let hunks = unified(old, new, 3).replace("+++ b/f", "+++ b/new");
        match old.is_empty() {
            true => format!(
                "diff --git a/new b/new\n{heading}{}",
                hunks.replace("--- a/f", "--- /dev/null")
            ),
            false => format!("diff --git a/f b/new\n{heading}{hunks}"),
        }
    };
    let exists = |is_copy: bool| {
        format!(
            "{:?}",
            varve_patch::PatchNotice::Exists {
                path: b"new",
                is_copy
            }
        )
    };
    for (heading, is_copy) in [
        ("copy from f\ncopy to new\n", true),
        ("new file mode 100644\n", false),
    ] {
        let old = if is_copy { &content } else { "" };
        let mut store = Store::of(content.as_str());
        store.put("new", "in the way\n");
        let outcome = store.patch(patch(heading, old, "other\n"), 0, LineEnds::Strict);
        assert_eq!(outcome, Ok(true), "{heading}");
        assert_eq!(store.content("new"), Some(&b"in the way\n"[..]));
        assert_eq!(
            store.notices,
            [exists(is_copy), "1 of 1 rejected".to_owned()]
        );
    }
    // Without hunks it is an error, and so is a source that is missing.
    let mut store = Store::of("x");
    store.put("new", "in the way\n");
    let text = "diff --git a/f b/new\ncopy from f\ncopy to new\n";
    assert_eq!(
        store.patch(text, 0, LineEnds::Strict),
        Err(PatchError::Exists("new".to_owned()))
    );
    let mut store = Store::default();
    assert_eq!(
        store.patch(text, 0, LineEnds::Strict),
        Err(PatchError::NoSource("f".to_owned()))
    );
    assert!(store.files.is_empty());
    // A file that is not there rejects all hunks.
    assert_eq!(
        store.patch(unified("a\n", "b\n", 3), 0, LineEnds::Strict),
        Ok(true)
    );
    assert!(store.notices[0].starts_with("Missing"));
    assert!(store.files.is_empty() && store.rejects.contains_key("f"));
}
