//! Watching over a call: its time, and a break from outside.

use crate::{JsError, Limits};
use rquickjs::{Ctx, Error, Value};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Called every few thousand steps of a running function. It may sleep, so that other work goes first, which does not count
/// as time of the call; [`ControlFlow::Break`] ends the call with [`JsError::Interrupted`].
pub type Checkpoint = Arc<dyn Fn() -> ControlFlow<()> + Send + Sync>;

/// The running call, shared with the handler that the engine calls between steps.
#[derive(Debug, Default)]
pub(crate) struct CallState {
    /// In processor time of the thread.
    deadline: Cell<Duration>,
    is_interrupted: Cell<bool>,
}

impl CallState {
    /// A call begins: its time runs from now.
    pub(crate) fn begin(&self, time: Duration) {
        self.deadline.set(cpu_time() + time);
        self.is_interrupted.set(false);
    }

    /// Whether the call is to end now.
    pub(crate) fn must_end(&self, checkpoint: Option<&Checkpoint>) -> bool {
        if checkpoint.is_some_and(|checkpoint| checkpoint().is_break()) {
            self.is_interrupted.set(true);
        }
        self.failure(Duration::ZERO).is_some()
    }

    /// Why the call has to end, if it has.
    pub(crate) fn failure(&self, limit: Duration) -> Option<JsError> {
        match (self.is_interrupted.get(), cpu_time() >= self.deadline.get()) {
            (true, _) => Some(JsError::Interrupted),
            (false, true) => Some(JsError::Time { limit }),
            (false, false) => None,
        }
    }
}

/// The processor time that this thread has used. An engine belongs to one thread, so the time limit of a call counts what
/// its function used, however many other threads wait for the same cores.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanoseconds)
}

/// The limits of the running call.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    call: &'a CallState,
    limits: Limits,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(call: &'a CallState, limits: Limits) -> Self {
        Watch { call, limits }
    }

    /// A call begins: its time runs from now.
    pub(crate) fn begin(self) {
        self.call.begin(self.limits.time);
    }

    /// Converts `error`; takes the pending exception.
    pub(crate) fn failure(self, ctx: &Ctx<'_>, error: Error) -> JsError {
        self.meaning(match error {
            Error::Exception => describe(&ctx.catch()),
            other => other.to_string(),
        })
    }

    /// The same for one while a source was compiled, of which it says the line.
    pub(crate) fn failure_in(self, ctx: &Ctx<'_>, error: Error, source: &str) -> JsError {
        self.meaning(match error {
            Error::Exception => {
                let thrown = ctx.catch();
                let mut message = describe(&thrown);
                // CouchDB's words, which name no line, are kept where there is one only.
                if message.starts_with("SyntaxError") && source.contains('\n') {
                    let lines = source.lines().count();
                    let line = line_of(&thrown).map(|line| line.min(lines));
                    let line = line.map(|line| format!(" at line {line}"));
                    message.extend(line);
                }
                message
            }
            other => other.to_string(),
        })
    }

    fn meaning(self, message: String) -> JsError {
        let limits = self.limits;
        // A script can throw these words as well.
        if message.contains("interrupted")
            && let Some(failure) = self.call.failure(limits.time)
        {
            return failure;
        }
        match message.as_str() {
            "InternalError: out of memory" | "null" => JsError::Memory {
                limit: limits.memory,
            },
            "RangeError: Maximum call stack size exceeded" | "InternalError: stack overflow" => {
                JsError::Stack {
                    limit: limits.stack,
                }
            }
            _ => JsError::Thrown { message },
        }
    }
}

/// The line of the text in which the engine found an error: the first of its stack, which ends with line
/// and column.
fn line_of(thrown: &Value<'_>) -> Option<usize> {
    let stack: String = thrown.as_object()?.get("stack").ok()?;
    let place = stack.lines().find(|line| line.contains(':'))?;
    let mut numbers = place.trim_end_matches(')').rsplit(':');
    numbers.next()?;
    numbers.next()?.parse().ok()
}

/// A thrown value as text: `Name: message` for errors.
fn describe(thrown: &Value<'_>) -> String {
    let Some(object) = thrown.as_object() else {
        return match thrown.get::<rquickjs::convert::Coerced<String>>() {
            Ok(text) => text.0,
            Err(_) => "an error that cannot be shown".to_owned(),
        };
    };
    let member = |name: &str| object.get::<_, String>(name).unwrap_or_default();
    let (name, message) = (member("name"), member("message"));
    if message.is_empty() {
        name
    } else {
        format!("{name}: {message}")
    }
}
