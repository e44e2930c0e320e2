//! Results as values, and their renderings: for a terminal, as JSON, CSV and Markdown, and as a page with plots.

mod chart;
mod csv;
mod html;
mod json;
mod markdown;
mod plot;
mod side_by_side;
mod terminal;

use crate::measuring::{Interleaved, Machine, Samples, indistinct};
pub use chart::{
    Axis, Bar, BarChart, Chart, Histogram, Line, LineChart, Point, RatioChart, RatioMark, RatioRow,
    ScatterChart,
};
pub use csv::csv;
pub use html::html;
pub(crate) use html::{END, escaped, head, push_chart};
pub use json::json;
pub use markdown::markdown;
pub(crate) use plot::sparkline;
pub(crate) use side_by_side::{ComparedProgram, ComparedWork, Comparisons};
pub use terminal::terminal;

/// Unit of a column's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnUnit {
    /// Words or names.
    Text,
    /// How many.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// Microseconds.
    Microseconds,
    /// How many a second.
    PerSecond,
    /// 10^6 bytes a second.
    MegabytesPerSecond,
    /// One number divided by another.
    Ratio,
    /// Hundredths.
    Percent,
}

impl ColumnUnit {
    /// Its abbreviation in headings, if it has one.
    pub fn abbreviation(self) -> Option<&'static str> {
        match self {
            ColumnUnit::Text | ColumnUnit::Count | ColumnUnit::Ratio => None,
            ColumnUnit::Bytes => Some("B"),
            ColumnUnit::Seconds => Some("s"),
            ColumnUnit::Microseconds => Some("µs"),
            ColumnUnit::PerSecond => Some("/s"),
            ColumnUnit::MegabytesPerSecond => Some("MB/s"),
            ColumnUnit::Percent => Some("%"),
        }
    }

    /// A number of this unit with as many digits as are worth reading.
    pub(crate) fn format(self, number: f64) -> String {
        match self {
            ColumnUnit::Text | ColumnUnit::Count | ColumnUnit::Bytes | ColumnUnit::PerSecond => {
                format!("{number:.0}")
            }
            ColumnUnit::Seconds => format!("{number:.3}"),
            ColumnUnit::Microseconds | ColumnUnit::MegabytesPerSecond if number >= 100.0 => {
                format!("{number:.0}")
            }
            ColumnUnit::Microseconds | ColumnUnit::MegabytesPerSecond | ColumnUnit::Percent => {
                format!("{number:.1}")
            }
            ColumnUnit::Ratio => format!("{number:.2}"),
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name for programs.
    pub name: &'static str,
    /// Heading for people.
    pub heading: &'static str,
    /// Unit of its numbers.
    pub unit: ColumnUnit,
}

impl Column {
    /// A column whose heading is its name.
    pub const fn new(name: &'static str, heading: &'static str, unit: ColumnUnit) -> Column {
        Column {
            name,
            heading,
            unit,
        }
    }

    /// Heading with the unit.
    pub(crate) fn title(&self) -> String {
        match self.unit.abbreviation() {
            None => self.heading.to_owned(),
            Some(unit) => format!("{} ({unit})", self.heading),
        }
    }
}

/// Text of a cell for a property that the row does not have.
pub const NONE: &str = "-";

/// One entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Not known, or there is none.
    Empty,
    /// Words or a name.
    Text(String),
    /// One number.
    Number(f64),
    /// The runs of a measurement.
    Measured(Samples),
}

impl Cell {
    /// Words or a name.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    /// A number of things or bytes.
    pub fn count(count: u64) -> Cell {
        Cell::Number(count as f64)
    }

    /// A number, if it is known.
    pub fn optional(count: Option<u64>) -> Cell {
        count.map_or(Cell::Empty, Cell::count)
    }

    /// Runs, unless there are none.
    pub fn measured(samples: Samples) -> Cell {
        match samples.is_empty() {
            true => Cell::Empty,
            false => Cell::Measured(samples),
        }
    }

    /// For people: the median with the range behind it.
    pub(crate) fn for_people(&self, unit: ColumnUnit) -> String {
        match self {
            Cell::Empty => String::new(),
            Cell::Text(text) => text.clone(),
            Cell::Number(number) => unit.format(*number),
            Cell::Measured(samples) => {
                let (low, high) = samples.range();
                let [median, low, high] = [samples.median(), low, high].map(|n| unit.format(n));
                format!("{median} ({low}-{high})")
            }
        }
    }
}

/// Rows under named columns.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultTable {
    /// Name for programs.
    pub name: &'static str,
    /// Sentence above it.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows; each has a cell for every column.
    pub rows: Vec<Vec<Cell>>,
}

impl ResultTable {
    /// For each measured column a sentence that names the rows which the runs cannot tell apart.
    pub fn indistinct_rows(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let none = Samples::default();
            let samples: Vec<&Samples> = self
                .rows
                .iter()
                .map(|row| match &row[index] {
                    Cell::Measured(samples) => samples,
                    _ => &none,
                })
                .collect();
            let groups = indistinct(&samples);
            if groups.is_empty() {
                continue;
            }
            let named = groups.iter().map(|group| {
                let names: Vec<String> = group.iter().map(|row| self.row_name(*row)).collect();
                names.join(" ~ ")
            });
            let named: Vec<String> = named.collect();
            sentences.push(format!(
                "{}: not told apart from the next by a paired t-test (95 %): {}.",
                column.heading,
                named.join("; ")
            ));
        }
        sentences
    }

    /// The words in front of the first number.
    fn row_name(&self, row: usize) -> String {
        let words = self.rows[row].iter().map_while(|cell| match cell {
            Cell::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let words = words.filter(|word| *word != NONE);
        words.collect::<Vec<_>>().join(" ")
    }

    /// The widest relative range of any measured cell, with the row's name.
    fn noisiest(&self) -> Option<(String, f64)> {
        let mut noisiest: Option<(String, f64)> = None;
        for (index, row) in self.rows.iter().enumerate() {
            for cell in row {
                let Cell::Measured(samples) = cell else {
                    continue;
                };
                let range = samples.relative_range();
                if noisiest.as_ref().is_none_or(|(_, most)| range > *most) {
                    noisiest = Some((self.row_name(index), range));
                }
            }
        }
        noisiest
    }
}

/// Lines to paste.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// Purpose of the lines.
    pub title: String,
    /// The lines.
    pub lines: Vec<String>,
}

/// Everything that a bench has to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The command and its subject.
    pub title: String,
    /// The machine.
    pub machine: Machine,
    /// Rounds that count.
    pub runs: usize,
    /// Properties of the subject: name and value.
    pub properties: Vec<(&'static str, String)>,
    /// The tables, the main one first.
    pub tables: Vec<ResultTable>,
    /// The plots of a page.
    pub charts: Vec<Chart>,
    /// Lines to paste, below the tables: each with what they are for.
    pub snippets: Vec<Snippet>,
    /// Sentences below the tables: results first.
    pub notes: Vec<String>,
    /// An interrupt ended the measurement early.
    pub is_cut_short: bool,
}

/// A range of more than this part of the median is called noise.
const NOISY: f64 = 0.25;

impl Report {
    /// A report without tables.
    pub fn new(title: String, machine: Machine, runs: usize) -> Report {
        Report {
            title,
            machine,
            runs,
            properties: Vec::new(),
            tables: Vec::new(),
            charts: Vec::new(),
            snippets: Vec::new(),
            notes: Vec::new(),
            is_cut_short: false,
        }
    }

    /// One report of several about the same subject. Notes say which part they belong to.
    pub fn joined(title: String, parts: Vec<Report>) -> Option<Report> {
        let first = parts.first()?;
        let mut whole = Report::new(title, first.machine.clone(), first.runs);
        for part in parts {
            // `varve bench repo PATH` is the part `repo`.
            let name = part.title.split(' ').nth(2).unwrap_or_default();
            let notes = part.notes.iter().map(|note| format!("{name}: {note}"));
            whole.notes.extend(notes);
            whole.properties.extend(part.properties);
            whole.tables.extend(part.tables);
            whole.charts.extend(part.charts);
            whole.snippets.extend(part.snippets);
            whole.is_cut_short |= part.is_cut_short;
        }
        Some(whole)
    }

    /// Adds the sentences about what the runs can and cannot tell: rows that are not told apart, noise, a busy
    /// machine, and an early end. Rows of the tables `not_compared` are no choices, or stand in another table too.
    pub fn judge(&mut self, done: &Interleaved, not_compared: &[&str]) {
        self.is_cut_short |= done.is_cut_short;
        let tables = self.tables.iter();
        for table in tables.filter(|table| !not_compared.contains(&table.name)) {
            self.notes.extend(table.indistinct_rows());
        }
        let noisiest = self.tables.iter().filter_map(ResultTable::noisiest);
        let noisiest = noisiest.max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((row, range)) = noisiest.filter(|(_, range)| *range > NOISY) {
            self.notes.push(format!(
                "Noisy: the runs of {row} lie up to {:.0} % of the median apart; more runs, or a quieter machine, tell more.",
                range * 100.0
            ));
        }
        if self.machine.was_busy() {
            self.notes.push(format!(
                "The machine was busy before the runs (load {:.2} on {} cores): times are longer than on an idle one.",
                self.machine.load_before, self.machine.cores
            ));
        }
        if self.is_cut_short {
            self.notes.push(
                "Interrupted: medians are of the rounds before that; empty cells were not measured.".to_owned(),
            );
        }
    }
}

#[cfg(test)]
mod tests;
