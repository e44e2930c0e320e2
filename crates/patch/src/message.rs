//! One message: the description of a changeset, and the differences.

use crate::encoded_words;
use crate::lines::{Lines, trim_end};
use crate::mime::{self, MailMessage};
use crate::split::CHANGESET;

/// The description of a changeset with its differences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchMessage {
    /// The parts of the text that hold differences; `None` without any.
    pub differences: Option<Vec<u8>>,
    /// The commit message, with blanks around it.
    pub description: Vec<u8>,
    /// The author.
    pub user: Option<Vec<u8>>,
    /// The date as it stands there.
    pub date: Option<Vec<u8>>,
    /// The named branch.
    pub branch: Option<Vec<u8>>,
    /// The changeset that was exported, as hexadecimal digits.
    pub node: Option<Vec<u8>>,
    /// Its parents.
    pub parents: Vec<Vec<u8>>,
}

impl PatchMessage {
    /// Reads one of the messages of a file that was [`crate::split`].
    pub fn read(text: &[u8]) -> PatchMessage {
        let mail = MailMessage::parse(text);
        let value = |name: &[u8]| mail.header(name).map(encoded_words::decode);
        let mut out = PatchMessage {
            user: value(b"from").filter(|user| !user.is_empty()),
            node: mail.header(b"x-mercurial-node").map(<[u8]>::to_vec),
            ..PatchMessage::default()
        };
        let mut subject = value(b"subject").filter(|subject| !subject.is_empty());
        if subject.is_none() && out.user.is_none() {
            subject = Some(all_headers(&mail));
        }
        let mut subject = subject.map(|subject| unfolded(without_mark(&subject)));
        mail.walk(&mut |part| {
            if mime::is_text(&part.content_type()) && !part.is_multipart() {
                out.read_part(part, &mut subject);
            }
        });
        if let Some(subject) = subject.filter(|subject| !subject.is_empty())
            && !out.description.starts_with(&subject)
        {
            out.description = [&subject[..], b"\n", &out.description].concat();
        }
        out
    }

    fn read_part(&mut self, part: &MailMessage<'_>, subject: &mut Option<Vec<u8>>) {
        let body = part.decoded_body();
        let Some(begin) = find_differences(&body) else {
            let is_plain = part.content_type() == b"text/plain";
            if self.differences.is_none() && !self.description.is_empty() && is_plain {
                self.description.push(b'\n');
                self.description.extend_from_slice(&body);
            }
            return;
        };
        let header = DescriptionReader::read(&body[..begin], self);
        if header.is_changeset {
            *subject = None;
        }
        self.description = header.text;
        let differences = self.differences.get_or_insert_default();
        differences.extend_from_slice(&body);
        if !body.ends_with(b"\n") {
            differences.push(b'\n');
        }
    }

    /// A line of a changeset's header behind `# `.
    fn read_field(&mut self, field: &[u8]) {
        let value = |name: &[u8]| field.strip_prefix(name).map(<[u8]>::to_vec);
        if let Some(user) = value(b"User ") {
            self.user = Some(user);
        } else if let Some(parent) = value(b"Parent ") {
            self.parents.push(parent.trim_ascii_start().to_vec());
        } else if let Some(date) = value(b"Date ") {
            self.date = Some(date);
        } else if let Some(branch) = value(b"Branch ") {
            self.branch = Some(branch);
        } else if let Some(node) = value(b"Node ID ") {
            self.node = Some(node);
        }
    }
}

/// Reads the text before the differences.
#[derive(Default)]
struct DescriptionReader {
    text: Vec<u8>,
    /// Whether it has the header of a changeset.
    is_changeset: bool,
    in_header: bool,
    /// Whether the rest, behind a line of three dashes, is no description.
    is_over: bool,
}

impl DescriptionReader {
    fn read(text: &[u8], message: &mut PatchMessage) -> DescriptionReader {
        let mut reader = DescriptionReader::default();
        for line in Lines::new(text) {
            reader.read_line(trim_end(line), message);
        }
        reader
    }

    fn read_line(&mut self, line: &[u8], message: &mut PatchMessage) {
        if line.starts_with(CHANGESET) && !self.is_changeset {
            (self.is_changeset, self.in_header) = (true, true);
            self.text.clear();
        } else if self.in_header {
            match line.strip_prefix(b"# ") {
                Some(field) => message.read_field(field),
                None => self.in_header = false,
            }
        } else if line == b"---" {
            self.is_over = true;
        }
        if !self.in_header && !self.is_over {
            self.text.extend_from_slice(line);
            self.text.push(b'\n');
        }
    }
}

/// Headers that are none of a mail: they belong to the description.
fn all_headers(mail: &MailMessage<'_>) -> Vec<u8> {
    let lines = mail.headers().iter();
    let lines: Vec<Vec<u8>> = lines
        .map(|(name, value)| [name, &b": "[..], value].concat())
        .collect();
    [&lines.join(&b'\n')[..], b"\n"].concat()
}

/// The subject without `[PATCH 1 of 2]`.
fn without_mark(subject: &[u8]) -> &[u8] {
    match (
        subject.starts_with(b"[PATCH"),
        memchr::memchr(b']', subject),
    ) {
        (true, Some(end)) => subject[end + 1..].trim_ascii_start(),
        _ => subject,
    }
}

/// A value in one line.
fn unfolded(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = memchr::memchr(b'\n', rest) {
        let behind = &rest[at + 1..];
        let blanks = behind
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'));
        let blanks = blanks.count();
        out.extend_from_slice(&rest[..at]);
        out.push(if blanks > 0 { b' ' } else { b'\n' });
        rest = &behind[blanks..];
    }
    out.extend_from_slice(rest);
    out
}

/// Where the differences begin: the first line that is of a patch.
fn find_differences(text: &[u8]) -> Option<usize> {
    let lines = || {
        Lines::new(text).scan(0, |at, line| {
            let begin = *at;
            *at += line.len();
            Some((begin, line))
        })
    };
    let begins = |line: &[u8], name: &[u8]| {
        let behind = line.strip_prefix(name).and_then(<[u8]>::first);
        matches!(behind, Some(b' ' | b'\t'))
    };
    let last = |name: &[u8]| {
        let found = lines().filter(|(_, line)| begins(line, name)).last();
        found.map_or(0, |(at, _)| at)
    };
    let (last_new, last_old) = (last(b"+++"), last(b"---"));
    let is_first = |(at, line): &(usize, &[u8])| {
        begins(line, b"Index:")
            || [&b"diff -"[..], b"diff\t-", b"RCS file: "]
                .iter()
                .any(|start| line.starts_with(start))
            || is_revision(line)
            || begins(line, b"---") && *at < last_new
            || begins(line, b"***") && *at < last_old
    };
    lines().find(is_first).map(|(at, _)| at)
}

/// `retrieving revision 1/2`, as RCS prints it.
fn is_revision(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let numbers = line.strip_prefix(b"retrieving revision ");
    numbers.is_some_and(|numbers| numbers.split(|byte| *byte == b'/').all(is_number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::shown;

    const DIFFERENCES: &str = "diff -r 1 f\n--- a/f\n+++ b/f\n";

    fn read(before: &str) -> PatchMessage {
        PatchMessage::read(format!("{before}{DIFFERENCES}").as_bytes())
    }

    #[test]
    fn exported_changesets_are_read() {
        let message = read(
            "words\n\n# HG changeset patch\n# User u\n# Date 1 2\n#      Thu\n# Branch b\n\
             # Node ID 12\n# Parent  34\ndesc\n# no field\n---\nskipped\n",
        );
        assert_eq!(shown(&message.description), "desc\n# no field\n");
        let fields = [message.user, message.date, message.branch, message.node];
        let fields = fields.map(|field| shown(&field.unwrap()));
        assert_eq!(fields, ["u", "1 2", "b", "12"]);
        assert_eq!(message.parents, [b"34"]);
        assert!(
            message
                .differences
                .unwrap()
                .ends_with(DIFFERENCES.as_bytes())
        );
    }

    #[test]
    fn mails_are_read() {
        let message = read("From: joe\nSubject: [PATCH 1 of 2] long\n  line\n\nbody\n");
        assert_eq!(shown(&message.description), "long line\nbody\n");
        assert_eq!(message.user.as_deref(), Some(&b"joe"[..]));
        let repeated = read("Subject: long\n\nlong\nbody\n");
        assert_eq!(shown(&repeated.description), "long\nbody\n");
        let other = read("fix: it\nno header\n");
        assert_eq!(shown(&other.description).trim(), "fix: it\n\nno header");
    }

    #[test]
    fn differences_are_found() {
        for (text, at) in [
            ("a\nIndex: f\n", Some(2)),
            ("retrieving revision 1/22\n", Some(0)),
            ("retrieving revision 1/x\n", None),
            ("--- a\n", None),
            ("x\n--- a\ny\n+++ b\n", Some(2)),
            ("+++ b\n--- a\n", None),
            ("*** a\n--- b\n", Some(0)),
            ("diff x\n", None),
        ] {
            assert_eq!(find_differences(text.as_bytes()), at, "{text}");
        }
    }
}
