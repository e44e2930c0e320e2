//! Cutting a file with several patches into messages with one each.
//!
//! The first lines decide how: a mailbox is cut at lines `From `, a series of exported changesets at their headers, a
//! mail with a type of content into the parts of it that are texts, and other mails at the headers that follow a patch.

use crate::lines::Lines;
use crate::mime::{self, MailMessage};
use std::borrow::Cow;

/// The first line of an exported changeset.
pub(crate) const CHANGESET: &[u8] = b"# HG changeset patch";
/// Begins a message in a mailbox.
const MAILBOX: &[u8] = b"From ";
/// Mailboxes in mailboxes are not cut deeper than this.
const MAX_DEPTH: usize = 16;

/// The messages in `text`, in their order.
pub fn split(text: &[u8]) -> Vec<Cow<'_, [u8]>> {
    let mut out = Vec::new();
    split_into(text, 0, &mut out);
    out
}

fn split_into<'a>(text: &'a [u8], depth: usize, out: &mut Vec<Cow<'a, [u8]>>) {
    let mut in_header = false;
    for line in Lines::new(text) {
        if line.starts_with(CHANGESET) {
            let at = offset(text, line);
            return split_changesets(text, at, out);
        }
        if line.starts_with(MAILBOX) && depth < MAX_DEPTH {
            return split_mailbox(text, offset(text, line), depth, out);
        }
        if is_header(line, in_header) {
            in_header = true;
            let name = line.split(|byte| *byte == b':').next();
            if name.is_some_and(|name| name.eq_ignore_ascii_case(b"content-type")) {
                return split_mail(text, out);
            }
        } else if in_header && line.starts_with(b"--- ") {
            return split_at_headers(text, offset(text, line), out);
        }
    }
    out.push(Cow::Borrowed(text));
}

/// Position of a line in the text that it is of.
fn offset(text: &[u8], line: &[u8]) -> usize {
    line.as_ptr().addr() - text.as_ptr().addr()
}

/// Whether a line belongs to the header of a mail; a line that begins with a blank goes on with the one before.
fn is_header(line: &[u8], in_header: bool) -> bool {
    if line.starts_with(b" ") || line.starts_with(b"\t") {
        return in_header;
    }
    if line.starts_with(b"diff -") || line.starts_with(b"---") {
        return false;
    }
    let colon = memchr::memmem::find(line, b": ");
    colon.is_some_and(|at| !line[..at].contains(&b' '))
}

/// Cuts before each header of a changeset that follows an empty line; the lines up to `read` hold the first one.
fn split_changesets<'a>(text: &'a [u8], read: usize, out: &mut Vec<Cow<'a, [u8]>>) {
    let (mut begin, mut in_header) = (0, true);
    let mut lines = Lines::new(&text[read..]);
    lines.next();
    for line in lines {
        in_header &= !line.trim_ascii().is_empty();
        if !in_header && line.starts_with(CHANGESET) {
            let at = offset(text, line);
            out.push(Cow::Borrowed(&text[begin..at]));
            (begin, in_header) = (at, true);
        }
    }
    out.push(Cow::Borrowed(&text[begin..]));
}

/// Cuts at the lines of a mailbox, the first of which begins at `read`. Each message is split in turn.
fn split_mailbox<'a>(text: &'a [u8], read: usize, depth: usize, out: &mut Vec<Cow<'a, [u8]>>) {
    let mut begin = 0;
    let mut lines = Lines::new(&text[read..]);
    lines.next();
    let without_first = |message: &'a [u8]| {
        let first = Lines::new(message).peek().map_or(0, <[u8]>::len);
        &message[first..]
    };
    for line in lines.filter(|line| line.starts_with(MAILBOX)) {
        let at = offset(text, line);
        split_into(without_first(&text[begin..at]), depth + 1, out);
        begin = at;
    }
    split_into(without_first(&text[begin..]), depth + 1, out);
}

/// The texts of a mail, each with its own header.
fn split_mail<'a>(text: &'a [u8], out: &mut Vec<Cow<'a, [u8]>>) {
    let mail = MailMessage::parse(text);
    if !mail.is_multipart() {
        out.push(Cow::Owned(mail.to_bytes()));
        return;
    }
    let mut parts = Vec::new();
    mail.walk(&mut |part| {
        if mime::is_text(&part.content_type()) {
            parts.push(Cow::Owned(part.to_bytes()));
        }
    });
    out.append(&mut parts);
}

/// Cuts before each header that follows; no more can follow in the lines up to `read`.
fn split_at_headers<'a>(text: &'a [u8], read: usize, out: &mut Vec<Cow<'a, [u8]>>) {
    let (mut begin, mut in_header) = (0, false);
    let mut lines = Lines::new(&text[read..]);
    lines.next();
    for line in lines {
        if !in_header && is_header(line, in_header) {
            let at = offset(text, line);
            out.push(Cow::Borrowed(&text[begin..at]));
            (begin, in_header) = (at, true);
        }
        in_header &= is_header(line, in_header);
    }
    out.push(Cow::Borrowed(&text[begin..]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::shown;

    fn parts(text: &str) -> Vec<String> {
        let parts = split(text.as_bytes());
        parts.iter().map(|part| shown(part)).collect()
    }

    #[test]
    fn series_of_changesets_are_cut() {
        let text = "# HG changeset patch\na\n\n--- x\n\n# HG changeset patch\nb\n";
        assert_eq!(
            parts(text),
            [
                "# HG changeset patch\na\n\n--- x\n\n",
                "# HG changeset patch\nb\n"
            ]
        );
    }

    #[test]
    fn mailboxes_are_cut() {
        let text = "From a\nSubject: b\n\n--- x\nFrom c\nd\n";
        assert_eq!(parts(text), ["Subject: b\n\n--- x\n", "d\n"]);
        let deep = "From a\n".repeat(100_000);
        assert!(parts(&deep).len() > 1000);
    }

    #[test]
    fn mails_that_follow_each_other_are_cut() {
        let text = "Subject: b\n\n--- x\n+++ x\nSubject: c\nFrom: d\n\nwords: e\n";
        assert_eq!(
            parts(text),
            [
                "Subject: b\n\n--- x\n+++ x\n",
                "Subject: c\nFrom: d\n\n",
                "words: e\n"
            ]
        );
    }

    #[test]
    fn parts_of_mails_are_texts() {
        let text = "Subject: m\nContent-Type: multipart/mixed; boundary=\"B\"\n\nx\n--B\n\none\n--B\n\
            Content-Type: text/html\n\ntwo\n--B\nContent-Type: text/x-diff\n\nthree\n--B--\nend\n";
        assert_eq!(parts(text), ["\none", "Content-Type: text/x-diff\n\nthree"]);
        assert_eq!(parts("words\n"), ["words\n"]);
        assert_eq!(parts(""), [""]);
    }
}
