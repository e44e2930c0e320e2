//! The server's log. Where lines go and which are written is a value, [`Log`], that the parts of a server are
//! handed: two servers in one process write to logs of their own.
//!
//! ```text
//! standard error   varve: MESSAGE
//! file, plain      TIME LEVEL MESSAGE request{id=… user=…}: FIELD=VALUE …
//! json             {"timestamp":…,"level":…,"fields":{…},"target":…,"spans":[…]}
//! ```

use crate::ServerError;
use crate::runtime::LogFile;
use crate::runtime::repeats::{Repeats, WINDOW};
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::dispatcher::{self, Dispatch};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry, reload};
use varve_config::{LogFormat, LogLevel};

/// The root of the names of targets: those of this crate's modules.
const CRATE: &str = env!("CARGO_CRATE_NAME");

/// Where lines go unless the settings name a file.
#[derive(Debug)]
pub enum LogOutput {
    /// The standard error, each line as a message of the program.
    Stderr,
    /// An open file.
    File(LogFile),
    /// Any other writer; lines look as on the standard error.
    Writer(Box<dyn DebugWrite>),
}

/// A writer that a log can own.
pub trait DebugWrite: Write + fmt::Debug + Send {}

impl<W: Write + fmt::Debug + Send> DebugWrite for W {}

/// The log of one server.
#[derive(Clone, Debug)]
pub struct Log {
    lines: Dispatch,
    repeats: Repeats,
    /// Where the lines go, if that is a file.
    file: Option<LogFile>,
    levels: reload::Handle<Targets, Registry>,
    /// Whether a level is set at which requests have lines.
    has_requests: Arc<AtomicBool>,
}

impl Log {
    /// Opens the log; a `file` of the settings is relative to `directory`, and goes
    /// before any `output` but a file.
    ///
    /// # Errors
    /// [`ServerError::Log`] if the file cannot be opened.
    pub fn open(
        settings: &varve_config::Log,
        directory: &Path,
        output: LogOutput,
    ) -> Result<Log, ServerError> {
        let output = match (output, &settings.file) {
            (LogOutput::File(file), _) => LogOutput::File(file),
            (_, Some(file)) => LogOutput::File(append_to(&directory.join(file))?),
            (given, None) => given,
        };
        let is_message_only = !matches!(output, LogOutput::File(_));
        let mut reopened = None;
        let writer = match output {
            LogOutput::Stderr => BoxMakeWriter::new(io::stderr),
            LogOutput::File(file) => {
                reopened = Some(file.clone());
                BoxMakeWriter::new(move || file.clone())
            }
            LogOutput::Writer(writer) => BoxMakeWriter::new(Mutex::new(writer)),
        };
        let lines = tracing_subscriber::fmt::layer().with_writer(writer);
        let lines: Box<dyn Layer<Registry> + Send + Sync> = match settings.format {
            LogFormat::Json => lines.json().boxed(),
            LogFormat::Plain if is_message_only => lines.event_format(MessageOnly).boxed(),
            LogFormat::Plain => lines.with_ansi(false).boxed(),
        };
        let repeats = Repeats::default();
        let (filter, levels) = reload::Layer::new(filter(settings));
        let subscriber = Registry::default()
            .with(lines.with_filter(filter))
            .with(repeats.clone().with_filter(LevelFilter::WARN));
        let lines = Dispatch::new(subscriber);
        Ok(Log {
            lines,
            repeats,
            file: reopened,
            levels,
            has_requests: Arc::new(AtomicBool::new(has_requests(settings))),
        })
    }

    /// From now on lines are written as these levels say.
    pub(crate) fn set_levels(&self, settings: &varve_config::Log) {
        // It fails only if the log is gone.
        let _ = self.levels.reload(filter(settings));
        let has_requests = has_requests(settings);
        self.has_requests.store(has_requests, Ordering::Relaxed);
    }

    /// Whether requests, or what happens within them, may have lines of level `info` or below. Without them no request
    /// needs a span.
    pub(crate) fn has_requests(&self) -> bool {
        self.has_requests.load(Ordering::Relaxed)
    }

    /// Opens the log's file again by its name, as it may have been renamed.
    pub(crate) fn reopen(&self) {
        if let Some(file) = &self.file {
            self.reopen_file(file);
        }
    }

    /// Opens a file of lines again by its name; a failure is logged.
    pub(crate) fn reopen_file(&self, file: &LogFile) {
        if let Err(error) = file.reopen() {
            let path = file.path().display();
            self.scope(|| tracing::error!("{path} cannot be opened again: {error}"));
        }
    }

    /// Runs `work`, whose events go into this log.
    pub(crate) fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        dispatcher::with_default(&self.lines, work)
    }

    /// For futures whose events go into this log; see [`tracing::instrument::WithSubscriber`].
    pub(crate) fn dispatch(&self) -> Dispatch {
        self.lines.clone()
    }

    /// Writes how often faults came again that were written at least `age` ago.
    pub(crate) fn write_repeats(&self, age: Duration) {
        for line in self.repeats.take_summaries(age) {
            self.scope(|| tracing::error!("{line}"));
        }
    }

    /// Writes, each minute, how often faults came again in it.
    pub(crate) async fn count_repeats(self) {
        loop {
            tokio::time::sleep(WINDOW).await;
            self.write_repeats(WINDOW);
        }
    }
}

fn append_to(file: &Path) -> Result<LogFile, ServerError> {
    let opened = LogFile::open(file);
    opened.map_err(|source| ServerError::Log {
        file: file.to_owned(),
        source,
    })
}

fn has_requests(settings: &varve_config::Log) -> bool {
    let parts = settings.parts.iter().map(|(_, level)| *level);
    let mut levels = parts.chain([settings.level]);
    levels.any(|level| level_filter(level) >= LevelFilter::INFO)
}

fn filter(settings: &varve_config::Log) -> Targets {
    let parts = settings.parts.iter();
    let parts = parts.map(|(part, level)| (format!("{CRATE}::{part}"), level_filter(*level)));
    Targets::new()
        .with_target(CRATE, level_filter(settings.level))
        .with_targets(parts)
}

fn level_filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// A line for the terminal: the message of a warning or fault as it stands; fields follow less severe ones,
/// which the user has asked for.
#[derive(Debug)]
struct MessageOnly;

impl<S, N> FormatEvent<S, N> for MessageOnly
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut message = Message(String::new());
        event.record(&mut message);
        write!(writer, "varve: {}", message.0)?;
        if *event.metadata().level() > Level::WARN {
            write!(writer, " ")?;
            context
                .field_format()
                .format_fields(writer.by_ref(), event)?;
        }
        writeln!(writer)
    }
}

/// The field `message` of an event.
#[derive(Default)]
pub(super) struct Message(pub(super) String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}
