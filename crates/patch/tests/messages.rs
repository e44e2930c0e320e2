//! Messages that carry patches: exported changesets, mailboxes and mails, printed and read again.

use super::drawn::unified;
use super::laws::texts;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use varve_patch::{FilePatches, PatchMessage, split};

/// An exported changeset.
#[derive(Clone, Debug)]
struct Export {
    user: String,
    date: (u32, i16),
    branch: Option<String>,
    node: String,
    parents: Vec<String>,
    description: String,
    differences: String,
}

impl Export {
    fn text(&self) -> String {
        let (time, zone) = self.date;
        let mut out = format!(
            "# HG changeset patch\n# User {}\n# Date {time} {zone}\n#      Thu Jan 01\n",
            self.user
        );
        if let Some(branch) = &self.branch {
            out += &format!("# Branch {branch}\n");
        }
        out += &format!("# Node ID {}\n", self.node);
        for parent in &self.parents {
            out += &format!("# Parent  {parent}\n");
        }
        format!("{out}{}\n\n{}", self.description, self.differences)
    }
}

fn differences() -> impl Strategy<Value = String> {
    let pair = (texts(), texts()).prop_filter("a change", |(old, new)| old != new);
    pair.prop_map(|(old, new)| format!("diff -r 12 -r 34 f\n{}", unified(&old, &new, 3)))
}

fn exports() -> impl Strategy<Value = Export> {
    let line = "[a-z][a-z #:-]{0,20}[a-z]";
    let description = proptest::collection::vec(line, 1..4).prop_map(|lines| lines.join("\n"));
    let heading = (
        "[A-Z][a-z é]{0,9}[a-z] <[a-z]{1,5}@[a-z]{1,5}>",
        any::<(u32, i16)>(),
    );
    let nodes = (
        "[0-9a-f]{40}",
        proptest::collection::vec("[0-9a-f]{40}", 0..3),
    );
    (
        heading,
        prop::option::of("[a-z]{1,9}"),
        nodes,
        description,
        differences(),
    )
        .prop_map(
            |((user, date), branch, (node, parents), description, differences)| Export {
                user,
                date,
                branch,
                node,
                parents,
                description,
                differences,
            },
        )
}

/// Both read to the same steps.
fn same_steps(found: &[u8], expected: &str) -> bool {
    let steps = |text: &[u8]| {
        FilePatches::new(text)
            .map(|step| format!("{step:?}"))
            .collect::<Vec<_>>()
    };
    steps(found) == steps(expected.as_bytes())
}

fn check(message: &PatchMessage, export: &Export) -> Result<(), TestCaseError> {
    let text =
        |value: &Option<Vec<u8>>| value.clone().map(|value| String::from_utf8(value).unwrap());
    prop_assert_eq!(text(&message.user), Some(export.user.clone()));
    let (time, zone) = export.date;
    prop_assert_eq!(text(&message.date), Some(format!("{time} {zone}")));
    prop_assert_eq!(text(&message.branch), export.branch.clone());
    prop_assert_eq!(text(&message.node), Some(export.node.clone()));
    let parents: Vec<Vec<u8>> = export
        .parents
        .iter()
        .map(|parent| parent.clone().into_bytes())
        .collect();
    prop_assert_eq!(&message.parents, &parents);
    prop_assert_eq!(
        message.description.trim_ascii(),
        export.description.as_bytes()
    );
    prop_assert!(same_steps(
        message.differences.as_deref().unwrap_or_default(),
        &export.differences
    ));
    Ok(())
}

proptest! {
    /// A series of exported changesets is cut into its changesets, each of which is read as it was.
    #[test]
    fn exported_changesets_are_read_as_they_were(exports in proptest::collection::vec(exports(), 1..4)) {
        // Each ends with an empty line, as several exported to one file do not run into each other.
        let series: String = exports.iter().map(|export| export.text() + "\n\n").collect();
        let messages = split(series.as_bytes());
        prop_assert_eq!(messages.len(), exports.len());
        prop_assert_eq!(messages.concat(), series.clone().into_bytes());
        for (message, export) in messages.iter().zip(&exports) {
            check(&PatchMessage::read(message), export)?;
        }
    }

    #[test]
    fn mailboxes_hold_one_message_each(exports in proptest::collection::vec(exports(), 1..4)) {
        let mail = |export: &Export| {
            let subject = export.description.lines().next().unwrap();
            format!("From x Thu Jan 01 00:00:00 1970\nFrom: someone else <x@y>\nSubject: [PATCH 1 of 2] {subject}\n\n{}\n", export.text())
        };
        let mailbox: String = exports.iter().map(mail).collect();
        let messages = split(mailbox.as_bytes());
        prop_assert_eq!(messages.len(), exports.len());
        for (message, export) in messages.iter().zip(&exports) {
            // What the changeset says of itself counts more than the mail.
            check(&PatchMessage::read(message), export)?;
        }
    }

    /// The encoding of a mail for the transfer changes nothing, nor does a part beside the patch that is no text.
    #[test]
    fn encoded_mails_are_decoded(export in exports(), form in 0..3_usize, multipart: bool, width in 20..77_usize) {
        let body = export.text();
        let (encoding, encoded) = match form {
            0 => ("8bit", body),
            1 => ("Base64", {
                let digits = STANDARD.encode(&body);
                let lines = digits.as_bytes().chunks(width).map(|line| str::from_utf8(line).unwrap());
                lines.collect::<Vec<_>>().join("\n")
            }),
            _ => ("quoted-printable", quoted_printable(&body, width)),
        };
        let headers = format!("Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: {encoding}\n\n");
        let text = match multipart {
            false => format!("Subject: s\n{headers}{encoded}"),
            true => format!(
                "Subject: s\nContent-Type: multipart/mixed; boundary=\"= B =\"\n\nno part\n--= B =\n\
                 Content-Type: image/png\n\n--- a/f\n+++ b/f\n--= B =\n{headers}{encoded}\n--= B =--\nbehind\n"
            ),
        };
        let messages = split(text.as_bytes());
        prop_assert_eq!(messages.len(), 1);
        check(&PatchMessage::read(&messages[0]), &export)?;
    }
}

/// Signs beyond ASCII, `=` and blanks at line ends are written as numbers; long lines are broken softly.
fn quoted_printable(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (content, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |content| (content, "\n"));
        let mut column = 0;
        for (at, byte) in content.bytes().enumerate() {
            let is_last = at + 1 == content.len();
            let piece = match byte {
                b'=' => "=3D".to_owned(),
                b' ' | b'\t' if is_last => format!("={byte:02X}"),
                b' '..=b'~' => char::from(byte).to_string(),
                other => format!("={other:02X}"),
            };
            if column + piece.len() > width {
                out += "=\n";
                column = 0;
            }
            column += piece.len();
            out += &piece;
        }
        out += end;
    }
    out
}

/// Hostile messages: deep, long, and cut anywhere. They are read to something, and splitting loses no line of a plain one.
#[test]
fn hostile_messages_are_survived() {
    let nested = "Content-Type: multipart/mixed; boundary=B\n\n--B\n".repeat(2000);
    let headers = "Subject: =?utf-8?q?=?= \n".repeat(5000);
    let words = format!("Subject: {}\n\n--- a\n+++ b\n", "=?utf-8?q?".repeat(3000));
    let mailbox = "From x\nFrom y\n\n".repeat(3000);
    let parameters = format!(
        "Content-Type: multipart/mixed{}\n\n",
        "; a=\"\\".repeat(3000)
    );
    let boundaries = format!(
        "Content-Type: multipart/mixed; boundary=-\n\n{}",
        "---\n".repeat(3000)
    );
    for text in [nested, headers, words, mailbox, parameters, boundaries] {
        for len in (0..text.len()).step_by(text.len() / 7).chain([text.len()]) {
            for message in split(&text.as_bytes()[..len]) {
                let read = PatchMessage::read(&message);
                assert!(read.description.len() <= 2 * text.len());
                let differences = read.differences.unwrap_or_default();
                assert!(differences.len() <= text.len() + 1);
                let steps = FilePatches::new(&differences).count();
                assert!(steps <= differences.len());
            }
        }
    }
}
