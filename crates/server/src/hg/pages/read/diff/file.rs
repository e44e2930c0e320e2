//! The difference of one file, in Mercurial's own form or git's.

use super::{DiffOptions, DifferingFile, Entry, FileDiff, short};
use crate::hg::pages::read::{LONGEST_FILE, Text, file};
use varve_lang::date::Date;
use varve_patch::{blob_id, push_hunks, push_literal};
use varve_repo::{FileKind, Node};

/// Both sides of a difference.
pub(super) struct DiffSides {
    pub(super) nodes: (Node, Node),
    pub(super) dates: (Date, Date),
}

/// Both texts of a file.
pub(super) struct FileTexts {
    pub(super) old: Text,
    pub(super) new: Text,
}

impl FileTexts {
    fn is_long(&self) -> bool {
        self.old.len().max(self.new.len()) > LONGEST_FILE
    }

    fn is_text(&self) -> bool {
        !self.is_long() && !file::is_binary(&self.old) && !file::is_binary(&self.new)
    }
}

/// The difference of a file; all but its header may be empty.
pub(super) fn difference(
    file: &DifferingFile,
    texts: &FileTexts,
    (sides, options): (&DiffSides, &DiffOptions),
) -> FileDiff {
    let mut diff = FileDiff {
        path: file.path.clone(),
        header: header(file, sides, options),
        is_removed: file.new.is_none(),
        ..FileDiff::default()
    };
    if options.git {
        push_changed_mode(file, &mut diff.body);
    }
    let (differs, is_text) = (texts.old != texts.new, texts.is_text());
    let may_be_literal = !is_text && options.git && options.binary && !texts.is_long();
    let is_literal = differs && may_be_literal;
    let is_indexed = options.git && options.index_digits > 0 && (is_text || !options.binary);
    if is_literal || is_indexed {
        push_index(file, texts, (options, is_literal), &mut diff.body);
    }
    if may_be_literal {
        let literal = diff.literal.insert(Text::new());
        if differs {
            push_literal(&texts.new, literal);
        }
    } else if differs && !is_text {
        let line = [b"Binary file ", &file.before().0[..], b" has changed\n"];
        diff.body.extend_from_slice(&line.concat());
    } else if differs {
        let mut hunks = Vec::new();
        push_hunks(&texts.old, &texts.new, &options.hunks, &mut hunks);
        if !hunks.is_empty() {
            push_names(file, (sides, options), &mut diff.body);
            diff.body.append(&mut hunks);
        }
    }
    diff
}

/// The first line.
fn header(file: &DifferingFile, sides: &DiffSides, options: &DiffOptions) -> Text {
    match options.git {
        true => {
            let (old, new) = names(file, options);
            [b"diff --git ", &old[..], b" ", &new, b"\n"].concat()
        }
        false => {
            let [old, new] = [sides.nodes.0, sides.nodes.1].map(|node| short(&node));
            let words = format!("diff -r {old} -r {new} ");
            [words.as_bytes(), &file.path, b"\n"].concat()
        }
    }
}

/// The names before and after, with their prefixes.
fn names(file: &DifferingFile, options: &DiffOptions) -> (Text, Text) {
    let (a, b): (&[u8], &[u8]) = match options.no_prefix {
        true => (b"", b""),
        false => (b"a/", b"b/"),
    };
    ([a, file.before().0].concat(), [b, &file.path].concat())
}

fn push_changed_mode(file: &DifferingFile, out: &mut Text) {
    let mut line = |words: &[u8], value: &[u8]| {
        out.extend_from_slice(&[words, value, b"\n"].concat());
    };
    match (file.before().1, file.new) {
        (None, Some((_, kind))) => line(b"new file mode ", mode(kind)),
        (Some((_, kind)), None) => line(b"deleted file mode ", mode(kind)),
        (Some((_, old)), Some((_, new))) if old != new => {
            line(b"old mode ", mode(old));
            line(b"new mode ", mode(new));
        }
        _ => {}
    }
    if let Some((source, _)) = &file.source {
        let words: [&[u8]; 2] = match file.is_renamed {
            true => [b"rename from ", b"rename to "],
            false => [b"copy from ", b"copy to "],
        };
        line(words[0], source);
        line(words[1], &file.path);
    }
}

/// The names of both contents, or zeros for a file that is not there.
fn push_index(
    file: &DifferingFile,
    texts: &FileTexts,
    (options, is_literal): (&DiffOptions, bool),
    out: &mut Text,
) {
    let digits = match is_literal {
        true => 2 * Node::LEN,
        false => options.index_digits,
    };
    let id = |entry: Option<Entry>, text: &[u8]| match entry {
        Some(_) => blob_id(text)[..digits].to_owned(),
        None => "0".repeat(digits),
    };
    let before = file.before().1;
    let (old, new) = (id(before, &texts.old), id(file.new, &texts.new));
    out.extend_from_slice(format!("index {old}..{new}").as_bytes());
    if let (false, Some((_, kind))) = (is_literal, before.or(file.new)) {
        out.push(b' ');
        out.extend_from_slice(mode(kind));
    }
    out.push(b'\n');
}

fn push_names(file: &DifferingFile, (sides, options): (&DiffSides, &DiffOptions), out: &mut Text) {
    let (old, new) = names(file, options);
    let shown = |is_there: bool, name: Text, date: Date| match is_there {
        true => (name, date),
        false => (b"/dev/null".to_vec(), Date::default()),
    };
    let old = shown(file.before().1.is_some(), old, sides.dates.0);
    let new = shown(file.new.is_some(), new, sides.dates.1);
    for (mark, (name, date)) in [(&b"--- "[..], old), (b"+++ ", new)] {
        out.extend_from_slice(&[mark, &name].concat());
        if !options.git && !options.no_dates {
            out.push(b'\t');
            out.extend_from_slice(date.default_format().as_bytes());
        } else if name.contains(&b' ') {
            // So that a program sees where the name ends.
            out.push(b'\t');
        }
        out.push(b'\n');
    }
}

/// Permissions as git writes them.
fn mode(kind: FileKind) -> &'static [u8] {
    match kind {
        FileKind::Plain => b"100644",
        FileKind::Executable => b"100755",
        FileKind::Symlink => b"120000",
    }
}
