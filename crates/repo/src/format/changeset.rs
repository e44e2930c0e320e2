//! The text of a changeset.
//!
//! ```text
//! forty hexadecimal digits: the manifest's node
//! user
//! seconds zone[ extras]          extras: key:value joined by \0, with \\ \n \r \0 escaped
//! file                           one per line, sorted; none for a changeset without files
//! (empty line)
//! description, to the end of the text
//! ```
//! `zone` is in seconds west of UTC. The branch is the extra `branch`, absent for `default`.

use std::borrow::Cow;
use varve_revlog::Node;

/// Name of the branch that is not written down.
pub const DEFAULT_BRANCH: &[u8] = b"default";

/// A changeset's text, taken apart without copying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changeset<'a> {
    /// The manifest; [`Node::NULL`] if the changeset has no files at all.
    pub manifest: Node,
    /// The author, usually `Name <address>`; UTF-8 by convention.
    pub user: &'a [u8],
    /// Seconds since 1970 (negative before), rounded towards the past.
    pub time: i64,
    /// Seconds west of UTC.
    pub zone: i32,
    extras: &'a [u8],
    files: &'a [u8],
    /// Commit message; without a newline at the end by convention.
    pub description: &'a [u8],
}

impl<'a> Changeset<'a> {
    /// Takes a text apart.
    ///
    /// # Errors
    /// The missing line or field.
    pub fn parse(text: &'a [u8]) -> Result<Changeset<'a>, &'static str> {
        let (manifest, rest) = line(text).ok_or("no manifest line")?;
        let (user, rest) = line(rest).ok_or("no user line")?;
        let (date, rest) = line(rest).ok_or("no date line")?;
        let manifest = Node::from_hex(manifest).ok_or("manifest is not forty digits")?;
        let mut date = date.splitn(3, |byte| *byte == b' ');
        let time = number(date.next()).ok_or("time is not a number")?;
        let zone = number(date.next()).ok_or("time zone is not a number")?;
        let extras = date.next().unwrap_or_default();
        let (files, description) = match rest {
            [b'\n', description @ ..] => (&rest[..0], description),
            _ => {
                let end = rest.windows(2).position(|pair| pair == b"\n\n");
                let end = end.ok_or("no empty line behind the files")?;
                (&rest[..end], &rest[end + 2..])
            }
        };
        Ok(Changeset {
            manifest,
            user,
            time: time.floor() as i64,
            zone: zone as i32,
            extras,
            files,
            description,
        })
    }

    /// Files that the changeset touches, sorted bytewise.
    pub fn files(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let lines = self.files.split(|byte| *byte == b'\n');
        lines.filter(|file| !file.is_empty())
    }

    /// Extra facts, key and value, in the order of the text.
    pub fn extras(&self) -> impl Iterator<Item = (Cow<'a, [u8]>, Cow<'a, [u8]>)> + use<'a> {
        self.extras.split(|byte| *byte == 0).filter_map(|pair| {
            let colon = pair.iter().position(|byte| *byte == b':')?;
            Some((unescape(&pair[..colon]), unescape(&pair[colon + 1..])))
        })
    }

    /// The named branch.
    pub fn branch(&self) -> Cow<'a, [u8]> {
        let mut extras = self.extras();
        let branch = extras.find(|(key, _)| key.as_ref() == b"branch");
        branch.map_or(Cow::Borrowed(DEFAULT_BRANCH), |(_, value)| value)
    }

    /// Whether the branch was closed with this changeset.
    pub fn closes_branch(&self) -> bool {
        self.extras().any(|(key, _)| key.as_ref() == b"close")
    }
}

fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    Some((&text[..end], &text[end + 1..]))
}

/// Old versions wrote fractions of seconds.
fn number(word: Option<&[u8]>) -> Option<f64> {
    std::str::from_utf8(word?).ok()?.parse().ok()
}

fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'\\') {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b'0') => 0,
                Some(other) => *other,
                None => b'\\',
            },
            _ => *byte,
        });
    }
    Cow::Owned(out)
}

fn push_escaped(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.push(*byte),
        }
    }
}

/// Makes the text that [`Changeset::parse`] reads. `extras` and `files` are sorted by the caller.
pub(crate) fn encode(
    manifest: &Node,
    user: &[u8],
    (time, zone): (i64, i32),
    extras: &[(&[u8], &[u8])],
    files: &[&[u8]],
    description: &[u8],
) -> Vec<u8> {
    let mut out = manifest.to_hex().to_vec();
    out.push(b'\n');
    out.extend_from_slice(user);
    out.extend_from_slice(format!("\n{time} {zone}").as_bytes());
    for (number, (key, value)) in extras.iter().enumerate() {
        out.push(if number == 0 { b' ' } else { 0 });
        push_escaped(key, &mut out);
        out.push(b':');
        push_escaped(value, &mut out);
    }
    out.push(b'\n');
    for file in files {
        out.extend_from_slice(file);
        out.push(b'\n');
    }
    out.push(b'\n');
    out.extend_from_slice(description);
    out
}

/// The text of a changeset that is not committed, whose manifest has the node ff…ff.
pub fn uncommitted_changeset(
    user: &[u8],
    date: (i64, i32),
    branch: &[u8],
    files: &[&[u8]],
) -> Vec<u8> {
    let branch: &[(&[u8], &[u8])] = match branch == DEFAULT_BRANCH {
        true => &[],
        false => &[(b"branch", branch)],
    };
    encode(&WORKING_NODE, user, date, branch, files, b"")
}

/// The node that stands for the working copy.
pub const WORKING_NODE: Node = Node([0xff; Node::LEN]);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_text_is_taken_apart() {
        let text = b"6e73304f01e642d841e7ff07571d3af18717ccf6\ntest\n5 -7200 branch:a\\\\b\0close:1\na\nb c\n\nline\n\nline";
        let changeset = Changeset::parse(text).unwrap();
        assert_eq!(changeset.user, b"test");
        assert_eq!((changeset.time, changeset.zone), (5, -7200));
        assert_eq!(changeset.branch().as_ref(), b"a\\b");
        assert!(changeset.closes_branch());
        assert_eq!(changeset.files().collect::<Vec<_>>(), [&b"a"[..], b"b c"]);
        assert_eq!(changeset.description, b"line\n\nline");
    }

    #[test]
    fn a_changeset_without_files_is_read() {
        let text = [&[b'0'; 40][..], b"\nu\n0 0\n\nempty"].concat();
        let changeset = Changeset::parse(&text).unwrap();
        assert!(changeset.manifest.is_null());
        assert_eq!(changeset.files().count(), 0);
        assert_eq!(changeset.branch().as_ref(), DEFAULT_BRANCH);
        assert_eq!(changeset.description, b"empty");
        assert!(Changeset::parse(&text[..45]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_read(
            value in proptest::collection::vec(prop_oneof![Just(b'\\'), Just(b'\n'), Just(0_u8), any::<u8>()], 0..12),
            time in -1_000_000_i64..1_000_000, description in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let extras: [(&[u8], &[u8]); 2] = [(b"branch", &value), (b"x", b"y")];
            let text = encode(&Node::NULL, b"me", (time, 60), &extras, &[b"f"], &description);
            let changeset = Changeset::parse(&text).unwrap();
            prop_assert_eq!(changeset.branch().into_owned(), value);
            prop_assert_eq!(changeset.time, time);
            prop_assert_eq!(changeset.description, &description[..]);
            prop_assert_eq!(changeset.files().collect::<Vec<_>>(), vec![b"f"]);
        }
    }
}
