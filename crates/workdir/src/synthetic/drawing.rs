//! Drawings of history: names of changesets with lines between them.
//!
//! ```text
//!   c d     # A/file = content of `file` in A
//!   |/      # replace: c -> d
//!   b
//!   |
//!   a
//! ```
//! A line leads from a name down to its parents, or sideways. In the place of a name may stand the letter `o` with the
//! name to its right, as `log -G` draws.

use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Bytes that draw lines.
const LINES: &[u8] = b"\\/+-|";
/// Stands for the name to its right.
const NODE: &[u8] = b"o";

/// Changesets that a drawing names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// Parents by name; none for a name at the bottom.
    pub parents: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// Remarks behind `#`, in the order of the lines.
    pub remarks: Vec<Remark>,
}

/// Effects of a remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// `NAME/PATH = CONTENT`: the file in this changeset; `None` for `<deleted>`.
    File {
        /// The changeset.
        name: Vec<u8>,
        /// The file.
        path: Vec<u8>,
        /// Its content there.
        content: Option<Vec<u8>>,
    },
    /// `COMMAND: A -> B`: changesets that others replace.
    Rewrite {
        /// The command that the markers name.
        operation: Vec<u8>,
        /// The replaced changeset.
        old: Vec<u8>,
        /// Its successors; none if it was pruned.
        new: Vec<Vec<u8>>,
    },
}

impl Drawing {
    /// Reads a drawing.
    pub fn parse(text: &[u8]) -> Drawing {
        let mut rows = Vec::new();
        let mut drawing = Drawing::default();
        for line in text.split(|byte| *byte == b'\n') {
            let (row, remark) = without_remark(line);
            rows.push(row.to_vec());
            drawing
                .remarks
                .extend(remark.map(remarks).into_iter().flatten());
        }
        let canvas = Canvas::new(rows);
        for (at, name) in canvas.names() {
            let parents = canvas.parents(&at);
            drawing.parents.entry(name).or_default().extend(parents);
        }
        drawing
    }

    /// The names in an order in which parents come first, those of equal height by name; `None` if
    /// something is its own ancestor.
    pub fn order(&self) -> Option<Vec<Vec<u8>>> {
        let mut ordered = Vec::new();
        let mut done: HashSet<&[u8]> = HashSet::new();
        while ordered.len() < self.parents.len() {
            let is_ready = |parents: &BTreeSet<Vec<u8>>| {
                parents.iter().all(|parent| done.contains(&parent[..]))
            };
            let waiting = self.parents.iter();
            let waiting = waiting.filter(|(name, _)| !done.contains(&name[..]));
            let layer: Vec<&Vec<u8>> = waiting
                .filter(|(_, parents)| is_ready(parents))
                .map(|(name, _)| name)
                .collect();
            if layer.is_empty() {
                return None;
            }
            done.extend(layer.iter().map(|name| &name[..]));
            ordered.extend(layer.into_iter().cloned());
        }
        Some(ordered)
    }
}

/// A line of the drawing, and the remark behind it.
fn without_remark(line: &[u8]) -> (&[u8], Option<&[u8]>) {
    let begins = |at: usize| line[at] == b'#' && (at == 0 || line[at - 1] == b' ');
    match (0..line.len()).find(|at| begins(*at)) {
        Some(at) => (&line[..at], Some(&line[at + 1..])),
        None => (line, None),
    }
}

fn remarks(text: &[u8]) -> Vec<Remark> {
    let file = file_remark(text).map(|file| vec![file]);
    file.or_else(|| rewrites(text)).unwrap_or_default()
}

fn file_remark(text: &[u8]) -> Option<Remark> {
    let equals = text.iter().position(|byte| *byte == b'=')?;
    let (place, content) = (text[..equals].trim_ascii(), text[equals + 1..].trim_ascii());
    let slash = place.iter().position(|byte| *byte == b'/')?;
    let (name, path) = (&place[..slash], &place[slash + 1..]);
    if name.is_empty() || path.is_empty() || place.contains(&b' ') {
        return None;
    }
    Some(Remark::File {
        name: name.to_vec(),
        path: path.to_vec(),
        content: (content != b"<deleted>").then(|| with_line_ends(content)),
    })
}

/// Content with line ends where `\n` is written.
fn with_line_ends(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len());
    let mut rest = content;
    while let [byte, behind @ ..] = rest {
        match behind {
            [b'n', behind @ ..] if *byte == b'\\' => {
                out.push(b'\n');
                rest = behind;
            }
            _ => {
                out.push(*byte);
                rest = behind;
            }
        }
    }
    out
}

fn rewrites(text: &[u8]) -> Option<Vec<Remark>> {
    let colon = text.iter().position(|byte| *byte == b':')?;
    let (operation, rest) = (text[..colon].trim_ascii(), &text[colon + 1..]);
    let names = |text: &[u8]| -> Vec<Vec<u8>> {
        let names = text.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        names.map(<[u8]>::to_vec).collect()
    };
    let one = |old: &[u8], new| Remark::Rewrite {
        operation: operation.to_vec(),
        old: old.trim_ascii().to_vec(),
        new,
    };
    Some(match operation {
        b"replace" | b"rebase" | b"amend" => {
            let chain = split_at_arrows(rest);
            let pairs = chain.windows(2);
            pairs
                .map(|pair| one(pair[0], vec![pair[1].trim_ascii().to_vec()]))
                .collect()
        }
        b"split" => match split_at_arrows(rest)[..] {
            [old, new] => vec![one(old, names(new))],
            _ => Vec::new(),
        },
        b"prune" => {
            let pruned = names(rest).into_iter();
            pruned.map(|old| one(&old, Vec::new())).collect()
        }
        _ => return None,
    })
}

fn split_at_arrows(text: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(2).position(|pair| pair == b"->") {
        parts.push(&rest[..at]);
        rest = &rest[at + 2..];
    }
    parts.push(rest);
    parts
}

/// A name in the drawing: its row, its first column and the column behind its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WordSpan {
    row: usize,
    from: usize,
    to: usize,
}

/// Where a line may go on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Heading {
    /// To what is below.
    Down,
    /// Along a line of `-` to the left or to the right.
    Left,
    Right,
}

/// The lines of a drawing.
struct Canvas {
    rows: Vec<Vec<u8>>,
}

impl Canvas {
    fn new(rows: Vec<Vec<u8>>) -> Canvas {
        Canvas { rows }
    }

    /// The byte in a cell; a blank outside of the drawing.
    fn at(&self, row: usize, column: Option<usize>) -> u8 {
        let cell = || self.rows.get(row)?.get(column?).copied();
        cell().unwrap_or(b' ')
    }

    fn is_name(byte: u8) -> bool {
        byte.is_ascii_graphic() && !LINES.contains(&byte)
    }

    /// The word that covers a cell.
    fn word(&self, row: usize, column: usize) -> Option<WordSpan> {
        let line = self.rows.get(row)?;
        if !Canvas::is_name(*line.get(column)?) {
            return None;
        }
        let before = line[..column]
            .iter()
            .rposition(|byte| !Canvas::is_name(*byte));
        let behind = line[column..]
            .iter()
            .position(|byte| !Canvas::is_name(*byte));
        Some(WordSpan {
            row,
            from: before.map_or(0, |at| at + 1),
            to: behind.map_or(line.len(), |at| column + at),
        })
    }

    /// The name at a place: the word itself, or the one to the right of an `o`.
    fn name(&self, place: &WordSpan) -> Vec<u8> {
        let line = &self.rows[place.row];
        let own = &line[place.from..place.to];
        if own == NODE {
            let next = (place.to..line.len()).find_map(|at| self.word(place.row, at));
            if let Some(next) = next {
                return line[next.from..next.to].to_vec();
            }
        }
        own.to_vec()
    }

    /// All changesets, with the places where lines meet them.
    fn names(&self) -> Vec<(WordSpan, Vec<u8>)> {
        let mut names = Vec::new();
        for (row, line) in self.rows.iter().enumerate() {
            let (mut column, mut is_label) = (0, false);
            while column < line.len() {
                let Some(place) = self.word(row, column) else {
                    column += 1;
                    continue;
                };
                // The word behind an `o` is its label.
                if !std::mem::take(&mut is_label) {
                    is_label = line[place.from..place.to] == *NODE;
                    names.push((place, self.name(&place)));
                }
                column = place.to;
            }
        }
        names
    }

    /// The names that lines from `from` lead to.
    fn parents(&self, from: &WordSpan) -> BTreeSet<Vec<u8>> {
        let mut found = BTreeSet::new();
        let (mut wanted, mut seen) = (Vec::new(), HashSet::new());
        for column in from.from..from.to {
            self.below(from.row, column, &mut wanted);
        }
        if let Some(left) = from.from.checked_sub(1)
            && matches!(self.at(from.row, Some(left)), b'-' | b'+')
        {
            wanted.push((from.row, left, Heading::Left));
        }
        if matches!(self.at(from.row, Some(from.to)), b'-' | b'+') {
            wanted.push((from.row, from.to, Heading::Right));
        }
        while let Some(cell) = wanted.pop() {
            if !seen.insert(cell) {
                continue;
            }
            let (row, column, heading) = cell;
            if let Some(place) = self.word(row, column) {
                found.insert(self.name(&place));
                continue;
            }
            self.follow(row, column, heading, &mut wanted);
        }
        found
    }

    /// Cells below that a line, or a name, at this cell leads to.
    fn below(&self, row: usize, column: usize, wanted: &mut Vec<(usize, usize, Heading)>) {
        if matches!(self.at(row + 1, Some(column)), b'|' | b'+') {
            wanted.push((row + 1, column, Heading::Down));
        }
        if let Some(left) = column.checked_sub(1)
            && self.at(row + 1, Some(left)) == b'/'
        {
            wanted.push((row + 1, left, Heading::Down));
        }
        if self.at(row + 1, Some(column + 1)) == b'\\' {
            wanted.push((row + 1, column + 1, Heading::Down));
        }
    }

    /// Where the line at a cell goes on.
    fn follow(
        &self,
        row: usize,
        column: usize,
        heading: Heading,
        wanted: &mut Vec<(usize, usize, Heading)>,
    ) {
        let byte = self.at(row, Some(column));
        if heading != Heading::Down {
            let next = match heading {
                Heading::Left => column.checked_sub(1),
                _ => Some(column + 1),
            };
            let goes_on =
                matches!(byte, b'-' | b'|') || byte == b'+' && matches!(self.at(row, next), b'-');
            if let Some(next) = next.filter(|_| goes_on) {
                let ahead = self.at(row, Some(next));
                if matches!(ahead, b'-' | b'|' | b'+') || Canvas::is_name(ahead) {
                    wanted.push((row, next, heading));
                }
            }
            if byte != b'+' {
                return;
            }
        }
        let straight = match byte {
            b'/' => column.checked_sub(1),
            b'\\' => Some(column + 1),
            _ => Some(column),
        };
        let Some(next) = straight else { return };
        let below = self.at(row + 1, Some(next));
        let is_line = match byte {
            b'/' => matches!(below, b'/' | b'|' | b'+' | b'-'),
            b'\\' => matches!(below, b'\\' | b'|' | b'+' | b'-'),
            // An upright line turns to the left only below itself.
            b'|' => matches!(below, b'|' | b'+' | b'-' | b'/'),
            // Below a line that goes sideways an upright one goes on.
            _ => matches!(below, b'|' | b'+' | b'-'),
        };
        if is_line || Canvas::is_name(below) {
            wanted.push((row + 1, next, Heading::Down));
        }
        if matches!(byte, b'|' | b'+') {
            self.slants(row, column, wanted);
        }
    }

    /// Slanted lines that an upright one at this cell goes on as.
    fn slants(&self, row: usize, column: usize, wanted: &mut Vec<(usize, usize, Heading)>) {
        if matches!(self.at(row + 1, Some(column)), b'|' | b'+') {
            return;
        }
        if let Some(left) = column.checked_sub(1)
            && self.at(row + 1, Some(left)) == b'/'
        {
            wanted.push((row + 1, left, Heading::Down));
        }
        if self.at(row + 1, Some(column + 1)) == b'\\' {
            wanted.push((row + 1, column + 1, Heading::Down));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(text: &str) -> String {
        let drawing = Drawing::parse(text.as_bytes());
        let shown = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
        let Some(order) = drawing.order() else {
            return "circle".to_owned();
        };
        let one = |name: &Vec<u8>| {
            let parents: Vec<String> = drawing.parents[name].iter().map(shown).collect();
            format!("{}({})", shown(name), parents.join(","))
        };
        order.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lines_lead_down_to_the_parents() {
        for (text, expected) in [
            ("c d\n|/\nb\n|\na", "a() b(a) c(b) d(b)"),
            (
                "E Z\n|\\|\nD Y\n| |\nC X\n|/\nB\n|\nA",
                "A() B(A) C(B) X(B) D(C) Y(X) E(D,Y) Z(Y)",
            ),
            (
                "o    foo\n|\\\n+---o  bar\n| | |\n| o |  baz\n|  /\n+---o  d\n| |\n+---o  c\n| |\no |  b\n|/\no  a",
                "a() baz() b(a) bar(a,b) c(b) d(b) foo(b,baz)",
            ),
            (
                "o    foo\n|\\\n| | o  d\n| |/\n| | o  c\n| |/\n| | o  bar\n| |/|\n| o |  b\n| |/\no /  baz\n /\no  a",
                "a() baz() b(a) bar(a,b) c(b) d(b) foo(b,baz)",
            ),
            (" A B\n  \\|\\\n   C D", "C() D() A(C) B(C,D)"),
            (
                "H I   J\n| |   |\nF G1 G2\n| |  /\nC D E\n \\|/\n  B",
                "B() C(B) D(B) E(B) F(C) G1(D) G2(E) H(F) I(G1) J(G2)",
            ),
            (" X\n |\n /\nA", "A() X(A)"),
            ("X\n|\n\\\n A", "A() X()"),
            ("D-+\n  \\\n   A", "A() D()"),
            ("A\n|\nA", "circle"),
            ("A-B", "circle"),
            (
                "G  H\n|  |\nF  B\n|  |\nE  | C\n \\ |/\n   A",
                "A() E() B(A) C(A) F(E) G(F) H(B)",
            ),
        ] {
            assert_eq!(edges(text), expected, "{text}");
        }
    }

    #[test]
    fn remarks_are_read() {
        let text = b"A # A/x/y = a\\nb \n|# replace: A -> B -> C\n | # split: B -> C, D\n# prune: A, B\nB#x\n # A/z=<deleted>\n # note: x";
        let drawing = Drawing::parse(text);
        let file = |path: &[u8], content: Option<&[u8]>| Remark::File {
            name: b"A".to_vec(),
            path: path.to_vec(),
            content: content.map(<[u8]>::to_vec),
        };
        let rewrite = |operation: &[u8], old: &[u8], new: &[&[u8]]| Remark::Rewrite {
            operation: operation.to_vec(),
            old: old.to_vec(),
            new: new.iter().map(|name| name.to_vec()).collect(),
        };
        let expected = [
            file(b"x/y", Some(b"a\nb")),
            rewrite(b"split", b"B", &[b"C", b"D"]),
            rewrite(b"prune", b"A", &[]),
            rewrite(b"prune", b"B", &[]),
            file(b"z", None),
        ];
        assert_eq!(drawing.remarks, expected);
        assert!(drawing.parents.contains_key(&b"B#x"[..]));
    }
}
