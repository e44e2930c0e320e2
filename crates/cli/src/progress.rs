//! Progress of the commands that are Varve's own, as a bar on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use varve_base::{Progress, Unit};

/// Frames per second at most.
const FRAMES: u8 = 30;

/// Draws the running step; `indicatif` draws nothing where there is no terminal.
#[derive(Debug, Default)]
pub(crate) struct TerminalProgress(Mutex<Option<ProgressBar>>);

impl Progress for TerminalProgress {
    fn begin(&self, step: &str, unit: Unit, total: Option<u64>) {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(FRAMES));
        let template = match (unit, total) {
            (Unit::Bytes, Some(_)) => "{msg} {wide_bar} {bytes}/{total_bytes} {eta}",
            (Unit::Bytes, None) => "{msg} {spinner} {bytes}",
            (Unit::Items, Some(_)) => "{msg} {wide_bar} {human_pos}/{human_len} {eta}",
            (Unit::Items, None) => "{msg} {spinner} {human_pos}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(step.to_owned());
        let mut current = self.0.lock();
        *current = Some(bar);
    }

    fn advance(&self, amount: u64) {
        let current = self.0.lock();
        if let Some(bar) = &*current {
            bar.inc(amount);
        }
    }

    fn end(&self) {
        let mut current = self.0.lock();
        if let Some(bar) = current.take() {
            bar.finish_and_clear();
        }
    }
}
