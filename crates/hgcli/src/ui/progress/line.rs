//! The line of a terminal that progress is drawn on, below all other output.

use parking_lot::Mutex;
use std::io::{self, Write};

/// The last line of standard error. Other output takes it away first.
#[derive(Debug, Default)]
pub(crate) struct ProgressLine(Mutex<Shown>);

#[derive(Debug, Default)]
struct Shown {
    /// Columns that may be covered; `None` while nothing is drawn.
    columns: Option<usize>,
}

impl ProgressLine {
    /// Draws over what was drawn before.
    pub fn draw(&self, text: &[u8], columns: usize) {
        let mut shown = self.0.lock();
        shown.columns = Some(columns);
        write(&[b"\r", text].concat());
    }

    /// Leaves an empty line.
    pub fn clear(&self) {
        if let Some(columns) = self.0.lock().columns.take() {
            write(format!("\r{}\r", " ".repeat(columns)).as_bytes());
        }
    }

    /// Leaves the line as it is, and goes below it.
    pub fn keep(&self) {
        if self.0.lock().columns.take().is_some() {
            write(b"\n");
        }
    }

    /// True while something is drawn.
    pub fn is_shown(&self) -> bool {
        self.0.lock().columns.is_some()
    }
}

/// A picture that cannot be shown is left out.
fn write(bytes: &[u8]) {
    let mut terminal = io::stderr();
    let _ = terminal.write_all(bytes).and_then(|()| terminal.flush());
}

/// Output that takes the line away before it writes.
pub(crate) struct AboveLine<W> {
    pub line: std::sync::Arc<ProgressLine>,
    pub output: W,
}

impl<W: Write> Write for AboveLine<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.clear();
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
