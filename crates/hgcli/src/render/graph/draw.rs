//! The lines of one row.

use super::Graph;
use super::columns::Row;

/// A piece of a line: a mark or the text between two marks. `None` is a column that ends.
type Cell<'a> = Option<&'a [u8]>;
type Line<'a> = Vec<Cell<'a>>;

const GAP: Cell<'static> = Some(b" ");
const BAR: Cell<'static> = Some(b"|");
const FALLING: Cell<'static> = Some(b"/");
const RISING: Cell<'static> = Some(b"\\");
/// Second and third line of a column that ends.
const ENDING: [&[u8]; 2] = [b"|", b"~"];

impl<K: Clone + PartialEq> Graph<K> {
    /// Appends the lines of one row beside a text.
    pub(super) fn draw_row(&mut self, row: &Row, symbol: &[u8], text: &[&[u8]], out: &mut Vec<u8>) {
        let marks = self.marks(row.columns_below());
        let mut links = row.links.clone();
        if row.growth == -1 {
            // Columns on the right come nearer while the line is drawn.
            for (_, to) in links.iter_mut().filter(|(from, to)| to > from) {
                *to += 1;
            }
        }
        let needs_room = row.growth == -1 && links.iter().any(|(from, to)| from + 1 < *to);
        let roomy = text.len() > 2 && needs_room;
        let slides = text.len() <= 2 && !roomy;
        let mut first: Line<'_> = marks[..2 * row.at].to_vec();
        first.extend([Some(symbol), GAP]);
        first.extend(self.beside(row, &marks, slides));
        let mut moving = shifted(row, &marks);
        for (from, to) in &links {
            link(*from, *to, &marks, &mut first, &mut moving);
        }
        let mut lines = vec![first];
        if roomy {
            lines.push(padding(row, &links, &marks));
        }
        let moves = |cell: &Cell<'_>| matches!(*cell, FALLING | RISING);
        if !self.short || moving.iter().any(moves) {
            lines.push(moving);
        }
        // Columns that rows to come will open are not there yet.
        let below = marks[..2 * row.columns_below()].to_vec();
        lines.resize(lines.len().max(text.len()), below.clone());
        self.end_columns(&mut lines, &below);
        let width = row.width();
        for (number, line) in lines.iter().enumerate() {
            push_line(line, width, text.get(number), out);
        }
        self.columns.retain(|column| column.mark.is_some());
        self.before = (row.at, row.growth);
    }

    /// Marks of the next row's columns, each with a gap behind it.
    fn marks(&self, columns: usize) -> Line<'_> {
        let marks = self.columns.iter().map(|column| column.mark.as_deref());
        let all = marks.chain(std::iter::repeat(BAR));
        let wanted = self.columns.len().max(columns);
        all.take(wanted).flat_map(|mark| [mark, GAP]).collect()
    }

    /// Cells right of the symbol.
    fn beside<'m>(&self, row: &Row, marks: &[Cell<'m>], slides: bool) -> Line<'m> {
        let rest = row.columns - row.at - 1;
        if !slides || row.growth == 0 || self.before.1 != row.growth {
            return marks[marks.len().saturating_sub(2 * rest)..].to_vec();
        }
        if row.growth == 1 {
            return [RISING, GAP].repeat(rest);
        }
        // Columns that the row before moved already go on moving.
        let start = self.before.0.clamp(row.at + 1, row.columns);
        let mut cells = marks[2 * row.at..2 * (start - 1)].to_vec();
        cells.extend([FALLING, GAP].repeat(row.columns - start));
        cells
    }

    /// Draws how columns end, and moves the columns right of them.
    fn end_columns<'m>(&self, lines: &mut Vec<Line<'m>>, marks: &Line<'m>) {
        // Even those that this row does not show yet.
        if self.columns.iter().all(|column| column.mark.is_some()) {
            return;
        }
        let first = marks.iter().position(Option::is_none);
        let first = first.unwrap_or(marks.len());
        let last = marks.iter().step_by(2).rposition(Option::is_some);
        let end = last.map_or(first, |last| (2 * last + 1).max(first));
        let columns = (first..end).step_by(2);
        let (staying, gone): (Vec<usize>, Vec<usize>) =
            columns.partition(|column| marks[*column].is_some());
        let steps = (2 * gone.len()).saturating_sub(1);
        let endings: &[&[u8]] = if self.short { &ENDING[1..] } else { &ENDING };
        let least = endings.len() + 1 + steps;
        lines.resize(lines.len().max(least), marks.clone());
        if steps > 0 {
            let start = lines.len() - steps;
            let mut columns = staying.clone();
            for line in &mut lines[start..] {
                line[first..].fill(GAP);
                for (number, column) in columns.iter_mut().enumerate() {
                    let target = first + 2 * number;
                    *column = target.max(*column - 1);
                    line[*column] = if *column > target {
                        FALLING
                    } else {
                        marks[staying[number]]
                    };
                }
            }
        }
        for (number, line) in lines.iter_mut().enumerate() {
            let ending = number.checked_sub(1).and_then(|number| endings.get(number));
            for cell in line.iter_mut() {
                *cell = cell.or(Some(ending.copied().unwrap_or(b" ")));
            }
        }
    }
}

/// The line on which columns move from one row to the next.
fn shifted<'m>(row: &Row, marks: &[Cell<'m>]) -> Line<'m> {
    let rest = row.columns - row.at - 1;
    let mut line = marks[..2 * row.at].to_vec();
    match row.growth {
        0 => {
            line.extend([GAP; 2]);
            line.extend(&marks[marks.len().saturating_sub(2 * rest)..]);
        }
        -1 => {
            line.push(GAP);
            line.extend([FALLING, GAP].repeat(rest));
        }
        _ => {
            line.extend([GAP; 3]);
            line.extend([RISING, GAP].repeat(rest));
        }
    }
    line
}

/// A line between that of the symbol and that of the moves, so that a text does not hide them.
fn padding<'m>(row: &Row, links: &[(usize, usize)], marks: &[Cell<'m>]) -> Line<'m> {
    let mut line = marks[..2 * row.at].to_vec();
    let goes_on = |(from, to): &(usize, usize)| *from == row.at && (*to + 1 == *from || to == from);
    if links.iter().any(goes_on) {
        line.extend([marks[2 * row.at], GAP]);
    } else {
        line.extend([GAP; 2]);
    }
    let rest = row.columns - row.at - 1;
    line.extend(&marks[marks.len().saturating_sub(2 * rest)..]);
    line
}

/// Joins a column of this row with one of the next.
fn link<'m>(
    from: usize,
    to: usize,
    marks: &[Cell<'m>],
    first: &mut Line<'m>,
    moving: &mut Line<'m>,
) {
    let put = |line: &mut Line<'m>, column: usize, cell: Cell<'m>| {
        if let Some(place) = line.get_mut(column) {
            *place = cell;
        }
    };
    if from == to + 1 {
        put(moving, 2 * to + 1, FALLING);
    } else if from + 1 == to {
        put(moving, 2 * from + 1, RISING);
    } else if from == to {
        put(
            moving,
            2 * from,
            marks.get(2 * from).copied().unwrap_or(BAR),
        );
    } else if 2 * to < first.len() {
        first[2 * to] = Some(b"+");
        let between = &mut first[2 * from.min(to) + 1..2 * from.max(to)];
        for cell in between.iter_mut().filter(|cell| **cell != Some(b"+")) {
            *cell = Some(b"-");
        }
    }
}

/// Appends a line with its text, without blanks at the end.
fn push_line(line: &Line<'_>, width: usize, text: Option<&&[u8]>, out: &mut Vec<u8>) {
    let start = out.len();
    for cell in line {
        out.extend_from_slice(cell.unwrap_or_default());
    }
    let drawn = out.len() - start;
    out.resize(out.len() + width.saturating_sub(drawn), b' ');
    out.push(b' ');
    out.extend_from_slice(text.copied().unwrap_or_default());
    let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
    let end = out.iter().rposition(|byte| !blank(byte));
    out.truncate(end.map_or(start, |end| end + 1).max(start));
    out.push(b'\n');
}
