//! One document for people to read: its revision trees, and each leaf with its attachments and its text.

use crate::ReplicateError;
use std::collections::HashSet;
use std::io::{self, Write};
use varve_docdb::{Attachment, Document, Rev, RevTree, Snapshot, write_digest};

/// Blanks of a level of JSON.
const INDENT: usize = 2;

/// Writes a document with all of its leaves, the winner first; `false` if nothing is known of it.
///
/// # Errors
/// Damage; errors of the output.
pub fn dump_document(
    snapshot: &Snapshot,
    (database, id): (&str, &str),
    out: &mut dyn Write,
) -> Result<bool, ReplicateError> {
    let Some(document) = snapshot.document(id)? else {
        return Ok(false);
    };
    let mut text = Vec::new();
    head(&document, database, &mut text);
    tree(document.tree(), &mut text);
    for (index, leaf) in document.tree().ranked_leaves().into_iter().enumerate() {
        let Some(stored) = &leaf.stored else { continue };
        let kind = kind_of(index, stored.deleted);
        text.extend_from_slice(format!("\n{} {kind}\n", leaf.rev).as_bytes());
        for attachment in snapshot.attachments(stored)? {
            attachment_line(&attachment, &mut text);
        }
        let mut body = Vec::new();
        snapshot.body(stored, &mut body)?;
        indent(&body, &mut text);
        text.push(b'\n');
        out.write_all(&text).map_err(ReplicateError::Output)?;
        text.clear();
    }
    out.write_all(&text).map_err(ReplicateError::Output)?;
    Ok(true)
}

fn kind_of(rank: usize, deleted: bool) -> &'static str {
    match (rank, deleted) {
        (0, false) => "winner",
        (0, true) => "winner, deleted",
        (_, false) => "conflict",
        (_, true) => "deleted conflict",
    }
}

fn head(document: &Document, database: &str, out: &mut Vec<u8>) {
    let tree = document.tree();
    out.extend_from_slice(b"document   ");
    varve_json::write_string(document.id(), out);
    let lines = [
        format!("database   {database}"),
        format!("update     {}", document.seq()),
        format!("leaves     {}", tree.leaves().count()),
        format!("revisions  {}", tree.len()),
    ];
    out.extend_from_slice(format!("\n{}\n\n", lines.join("\n")).as_bytes());
}

/// Each leaf with its ancestors, newest first, up to one that was shown before.
fn tree(tree: &RevTree, out: &mut Vec<u8>) {
    let mut shown: HashSet<&Rev> = HashSet::new();
    for (index, leaf) in tree.ranked_leaves().into_iter().enumerate() {
        let deleted = leaf.stored.as_ref().is_some_and(|stored| stored.deleted);
        for node in tree.path(&leaf.rev) {
            let is_known = !shown.insert(&node.rev);
            let line = match (node.rev == leaf.rev, is_known) {
                (true, _) => format!("* {}  {}\n", node.rev, kind_of(index, deleted)),
                (_, true) => format!("  branches off {}\n", node.rev),
                (_, false) => format!("  {}\n", node.rev),
            };
            out.extend_from_slice(line.as_bytes());
            if is_known {
                break;
            }
        }
    }
}

fn attachment_line(attachment: &Attachment, out: &mut Vec<u8>) {
    out.extend_from_slice(b"attachment ");
    varve_json::write_string(&attachment.name, out);
    out.push(b' ');
    varve_json::write_string(&attachment.content_type, out);
    let stored = match attachment.is_gzip {
        true => format!(", {} as gzip", attachment.stored_length),
        false => String::new(),
    };
    let (length, revpos) = (attachment.length, attachment.revpos);
    let line = format!(" {length} bytes{stored}, since generation {revpos}, ");
    out.extend_from_slice(line.as_bytes());
    write_digest(&attachment.md5, out);
    out.push(b'\n');
}

/// Writes a JSON text with a line for each member and item.
fn indent(json: &[u8], out: &mut Vec<u8>) {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    let mut bytes = json.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if in_string {
            in_string = byte != b'"' || is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            out.push(byte);
            continue;
        }
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                match bytes.next_if(|next| matches!(next, b'}' | b']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        new_line(depth, out);
                    }
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                new_line(depth, out);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                new_line(depth, out);
            }
            b':' => out.extend_from_slice(b": "),
            _ => {
                in_string = byte == b'"';
                out.push(byte);
            }
        }
    }
}

/// Blanks are bounded, so that a text that is nested deeply grows by a factor only.
fn new_line(depth: usize, out: &mut Vec<u8>) {
    const DEEPEST: usize = 40;
    out.push(b'\n');
    out.resize(out.len() + INDENT * depth.min(DEEPEST), b' ');
}

/// Writes a local document; `false` if it is not there.
///
/// # Errors
/// As [`dump_document`].
pub fn dump_local(
    snapshot: &Snapshot,
    (database, id): (&str, &str),
    out: &mut dyn Write,
) -> Result<bool, ReplicateError> {
    let Some(local) = snapshot.local(id)? else {
        return Ok(false);
    };
    let mut text = b"document   ".to_vec();
    varve_json::write_string(&local.id, &mut text);
    text.extend_from_slice(format!("\ndatabase   {database}\n\n{}\n", local.rev).as_bytes());
    indent(&local.body, &mut text);
    text.push(b'\n');
    let written: io::Result<()> = out.write_all(&text);
    written.map_err(ReplicateError::Output)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_outside_of_strings_only() {
        let mut out = Vec::new();
        indent(br#"{"a":{},"b":[1,{"c":"x,{\":}"}],"d":[]}"#, &mut out);
        let expected = "{\n  \"a\": {},\n  \"b\": [\n    1,\n    {\n      \"c\": \"x,{\\\":}\"\n    }\n  ],\n  \"d\": []\n}";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let deep = "[".repeat(10_000) + "1" + &"]".repeat(10_000);
        let mut out = Vec::new();
        indent(deep.as_bytes(), &mut out);
        assert!(out.len() < 100 * deep.len());
    }
}
