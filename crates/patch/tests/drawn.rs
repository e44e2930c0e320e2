//! A naive differ, whose patches are known to be right, in the unified and in the context form.

/// A line of both sides, of the old or of the new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Both(String),
    Old(String),
    New(String),
}

/// Lines of a hunk with the numbers of lines before it on each side.
#[derive(Clone, Debug)]
pub struct Hunk {
    before: [usize; 2],
    pub lines: Vec<Line>,
}

/// Lines with their ends; the last one may have none.
pub fn lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// A longest common subsequence; where both sides change, what goes stands first.
pub fn difference(old: &[String], new: &[String]) -> Vec<Line> {
    let mut len = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            len[i][j] = match old[i] == new[j] {
                true => len[i + 1][j + 1] + 1,
                false => len[i + 1][j].max(len[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            out.push(Line::Both(old[i].clone()));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && len[i + 1][j] >= len[i][j + 1] {
            out.push(Line::Old(old[i].clone()));
            i += 1;
        } else {
            out.push(Line::New(new[j].clone()));
            j += 1;
        }
    }
    out
}

/// Cuts a difference into hunks with so many lines of context around each change.
pub fn hunks(all: &[Line], context: usize) -> Vec<Hunk> {
    let is_near = |at: usize| {
        let near = at.saturating_sub(context)..(at + context + 1).min(all.len());
        all[near].iter().any(|line| !matches!(line, Line::Both(_)))
    };
    let (mut out, mut before, mut was_near) = (Vec::<Hunk>::new(), [0, 0], false);
    for (at, line) in all.iter().enumerate() {
        let near = is_near(at);
        if near && !was_near {
            out.push(Hunk {
                before,
                lines: Vec::new(),
            });
        }
        if let Some(hunk) = out.last_mut().filter(|_| near) {
            hunk.lines.push(line.clone());
        }
        was_near = near;
        before[0] += usize::from(!matches!(line, Line::New(_)));
        before[1] += usize::from(!matches!(line, Line::Old(_)));
    }
    out
}

/// A line of a patch, with the mark of one that has no end.
fn marked(sign: &str, line: &str) -> String {
    match line.ends_with('\n') {
        true => format!("{sign}{line}"),
        false => format!("{sign}{line}\n\\ No newline at end of file\n"),
    }
}

impl Hunk {
    fn len(&self, side: usize) -> usize {
        let is_here = |line: &&Line| match line {
            Line::Both(_) => true,
            Line::Old(_) => side == 0,
            Line::New(_) => side == 1,
        };
        self.lines.iter().filter(is_here).count()
    }

    pub fn unified(&self) -> String {
        let range = |side: usize| match (self.before[side], self.len(side)) {
            (before, 0) => format!("{before},0"),
            (before, 1) => format!("{}", before + 1),
            (before, len) => format!("{},{len}", before + 1),
        };
        let mut out = format!("@@ -{} +{} @@\n", range(0), range(1));
        for line in &self.lines {
            out += &match line {
                Line::Both(text) => marked(" ", text),
                Line::Old(text) => marked("-", text),
                Line::New(text) => marked("+", text),
            };
        }
        out
    }

    /// The context form; only of an empty text may a side have no lines.
    pub fn context(&self) -> String {
        let range = |side: usize| match (self.before[side], self.len(side)) {
            (before, 0) => format!("{before}"),
            (before, 1) => format!("{}", before + 1),
            (before, len) => format!("{},{}", before + 1, before + len),
        };
        let groups = || {
            self.lines
                .chunk_by(|a, b| matches!(a, Line::Both(_)) == matches!(b, Line::Both(_)))
        };
        let side = |side: usize, alone: &str| {
            let (mut text, mut changes) = (String::new(), false);
            for group in groups() {
                let has = |wanted: usize| {
                    group.iter().any(|line| match line {
                        Line::Both(_) => false,
                        Line::Old(_) => wanted == 0,
                        Line::New(_) => wanted == 1,
                    })
                };
                let sign = if has(0) && has(1) { "! " } else { alone };
                for line in group {
                    match (line, side) {
                        (Line::Both(line), _) => text += &marked("  ", line),
                        (Line::Old(line), 0) | (Line::New(line), 1) => {
                            (text, changes) = (text + &marked(sign, line), true);
                        }
                        _ => {}
                    }
                }
            }
            // A side without changes is left out.
            if changes { text } else { String::new() }
        };
        let (old, new) = (side(0, "- "), side(1, "+ "));
        format!(
            "***************\n*** {} ****\n{old}--- {} ----\n{new}",
            range(0),
            range(1)
        )
    }
}

/// A unified patch of the file `f`.
pub fn unified(old: &str, new: &str, context: usize) -> String {
    let hunks = hunks(&difference(&lines(old), &lines(new)), context);
    let hunks: String = hunks.iter().map(Hunk::unified).collect();
    format!(
        "--- a/f\tThu Jan 01 00:00:00 1970 +0000\n+++ b/f\tThu Jan 01 00:00:00 1970 +0000\n{hunks}"
    )
}

/// The same in the context form.
pub fn in_context(old: &str, new: &str, context: usize) -> String {
    let hunks = hunks(&difference(&lines(old), &lines(new)), context);
    let hunks: String = hunks.iter().map(Hunk::context).collect();
    format!("*** a/f\tThu Jan 01 00:00:00 1970\n--- b/f\tThu Jan 01 00:00:00 1970\n{hunks}")
}
