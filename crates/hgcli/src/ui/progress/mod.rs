//! Progress of long steps as Mercurial shows it: a line below all other output, set by `[progress]`.

mod line;
mod picture;
mod settings;

pub(crate) use line::{AboveLine, ProgressLine};
pub(crate) use settings::ProgressSettings;

use parking_lot::Mutex;
use picture::StepState;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use varve_base::{Progress, Unit};

/// Shows the running step.
#[derive(Debug, Default)]
pub(crate) struct TerminalProgress {
    /// `None` where nothing is drawn.
    settings: Option<ProgressSettings>,
    /// Receives a line for each count; `None` unless `progress.debug` asks for them.
    trace: Option<Arc<Mutex<Vec<u8>>>>,
    line: Arc<ProgressLine>,
    step: Mutex<Option<Step>>,
}

/// A step that runs.
#[derive(Debug)]
struct Step {
    topic: String,
    unit: &'static str,
    total: Option<u64>,
    position: u64,
    item: Vec<u8>,
    began: Instant,
    /// Time from the beginning to the first picture.
    delay: Duration,
    drawn: Option<Instant>,
    endless_pictures: usize,
    /// From when, and from which position on, the speed is taken.
    window: (Instant, u64),
}

impl TerminalProgress {
    pub(crate) fn new(
        settings: Option<ProgressSettings>,
        trace: Option<Arc<Mutex<Vec<u8>>>>,
        line: Arc<ProgressLine>,
    ) -> TerminalProgress {
        TerminalProgress {
            settings,
            trace,
            line,
            step: Mutex::default(),
        }
    }
}

impl Progress for TerminalProgress {
    fn begin(&self, step: &str, unit: Unit, total: Option<u64>) {
        let now = Instant::now();
        let mut running = self.step.lock();
        let takes_over = running.as_ref().is_some_and(|step| step.drawn.is_some());
        let delay = self.settings.as_ref().map(|settings| match takes_over {
            true => settings.change_delay,
            false => settings.delay,
        });
        let (topic, unit) = names(step, unit);
        *running = Some(Step {
            topic: topic.to_owned(),
            unit,
            total,
            position: 0,
            item: Vec::new(),
            began: now,
            delay: delay.unwrap_or_default(),
            drawn: None,
            endless_pictures: 0,
            window: (now, 0),
        });
    }

    fn item(&self, name: &[u8]) {
        if let Some(step) = &mut *self.step.lock() {
            step.item = name.to_vec();
        }
    }

    fn advance(&self, amount: u64) {
        let mut running = self.step.lock();
        let Some(step) = &mut *running else {
            return;
        };
        let is_first = step.position == 0;
        step.position = step.position.saturating_add(amount);
        let now = Instant::now();
        if is_first {
            step.window = (now, step.position);
        }
        if let Some(trace) = &self.trace {
            // A trace in memory takes every line.
            let _ = step.describe(&mut trace.lock());
        }
        if let Some(settings) = &self.settings {
            step.shift_window(now, settings.speed_window);
            if step.is_due(now, settings) {
                let state = step.state(now);
                let picture = state.picture(&settings.format, settings.width);
                step.endless_pictures += usize::from(state.is_endless());
                self.line.draw(&picture, settings.width);
                step.drawn = Some(now);
            }
        }
    }

    fn end(&self) {
        *self.step.lock() = None;
        if !self.line.is_shown() {
            return;
        }
        match self
            .settings
            .as_ref()
            .is_none_or(|settings| settings.clears)
        {
            true => self.line.clear(),
            false => self.line.keep(),
        }
    }
}

impl Step {
    /// Pictures come after a while, and then not too often.
    fn is_due(&self, now: Instant, settings: &ProgressSettings) -> bool {
        let age = now.duration_since(self.began);
        let since_drawn = self.drawn.map(|drawn| now.duration_since(drawn));
        age >= self.delay && since_drawn.is_none_or(|since| since >= settings.refresh)
    }

    fn state(&self, now: Instant) -> StepState<'_> {
        let (since, position) = self.window;
        StepState {
            topic: &self.topic,
            unit: self.unit,
            item: &self.item,
            position: self.position,
            total: self.total,
            endless_pictures: self.endless_pictures,
            recent: (self.position - position, now.duration_since(since)),
        }
    }

    /// Lets the window begin `longest` ago at most, at the position that the mean speed gives for then.
    fn shift_window(&mut self, now: Instant, longest: Duration) {
        let (since, position) = self.window;
        let age = now.duration_since(since);
        if age > longest && !longest.is_zero() {
            let share = longest.as_secs_f64() / age.as_secs_f64();
            let kept = ((self.position - position) as f64 * share).ceil() as u64;
            self.window = (now - longest, self.position - kept);
        }
    }

    fn describe(&self, to: &mut Vec<u8>) -> std::io::Result<()> {
        write!(to, "{}: ", self.topic)?;
        to.extend_from_slice(&self.item);
        if !self.item.is_empty() {
            to.push(b' ');
        }
        match self.total.filter(|total| *total > 0) {
            Some(total) => {
                let percent = 100.0 * self.position as f64 / total as f64;
                writeln!(
                    to,
                    "{}/{total} {} ({percent:.2}%)",
                    self.position, self.unit
                )
            }
            None => writeln!(to, "{} {}", self.position, self.unit),
        }
    }
}

/// Mercurial's topic for a step of a library, and its noun for what that counts.
fn names(step: &str, unit: Unit) -> (&str, &'static str) {
    let counted = if unit == Unit::Bytes {
        "bytes"
    } else {
        "files"
    };
    match step {
        "adding changesets" => ("changesets", "chunks"),
        "adding manifests" => ("manifests", "chunks"),
        "adding file changes" => ("files", counted),
        "checking changesets and manifests" => ("checking", "changesets"),
        "checking files" => ("checking", counted),
        "cloning" => ("linking", counted),
        "fixing" => ("fixing", "revisions"),
        _ => (step, counted),
    }
}
