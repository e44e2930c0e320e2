//! Functions of design documents, run where a request needs them.
//!
//! An engine belongs to one thread and costs more to make than to run, so each blocking thread
//! keeps the few that it ran last.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use varve_js::{
    Compilation, Emission, FilterEngine, JsError, Limits, ListHost, Listed, MapFunctions,
    RenderEngine, Rendered, Rewritten, UpdateEngine, Updated, ValidateEngine, Verdict,
};
use varve_json::Object;
use varve_views::ViewGroup;

use crate::Failure;
use crate::couch::call::Call;
use crate::couch::functions::refusal;
use crate::http::FailureKind;

/// Engines that one thread keeps.
const KEPT: usize = 8;

/// A function of a design document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its text.
    source: String,
    /// JSON text of the modules that it may require: the design document, or `views.lib` alone for views.
    root: Arc<[u8]>,
    /// Limits of one call.
    limits: Limits,
}

impl Script {
    /// A function that is given the whole design document.
    pub fn new(source: &str, design: &[u8], limits: Limits) -> Script {
        Script {
            source: source.to_owned(),
            root: design.into(),
            limits,
        }
    }

    /// The changes of documents for which a map function emits something.
    pub fn map_filter(&self) -> ViewGroup {
        let library = String::from_utf8_lossy(&self.root).into_owned();
        ViewGroup::of_map_filter(&self.source, Some(library))
    }

    /// A map function.
    pub fn of_view(source: &str, design: &Object, limits: Limits) -> Script {
        let library = varve_views::library(design);
        let library = library.as_deref().unwrap_or("{}");
        Script::new(source, library.as_bytes(), limits)
    }
}

/// Engines by their function, the one that ran last at the end.
struct Engines<E>(Vec<(Script, E)>);

impl<E> Engines<E> {
    const fn new() -> Engines<E> {
        Engines(Vec::new())
    }

    /// The engine for a function, made if this thread has none.
    fn get(
        &mut self,
        script: &Script,
        compile: impl FnOnce(&Script) -> Result<E, JsError>,
    ) -> Result<&mut E, JsError> {
        let found = self.0.iter().position(|(known, _)| known == script);
        let entry = match found {
            Some(at) => self.0.remove(at),
            None => (script.clone(), compile(script)?),
        };
        if self.0.len() >= KEPT {
            self.0.remove(0);
        }
        self.0.push(entry);
        let last = self.0.len() - 1;
        Ok(&mut self.0[last].1)
    }
}

thread_local! {
    static FILTERS: RefCell<Engines<FilterEngine>> = const { RefCell::new(Engines::new()) };
    static RENDERERS: RefCell<Engines<RenderEngine>> = const { RefCell::new(Engines::new()) };
    static MAPS: RefCell<Engines<MapFunctions>> = const { RefCell::new(Engines::new()) };
    static UPDATERS: RefCell<Engines<UpdateEngine>> = const { RefCell::new(Engines::new()) };
    static VALIDATORS: RefCell<Engines<ValidateEngine>> = const { RefCell::new(Engines::new()) };
}

/// Compiles a filter function, so that one that cannot be is refused before an answer begins.
///
/// # Errors
/// 400.
pub fn check_filter(script: &Script) -> Result<(), Failure> {
    FILTERS.with_borrow_mut(|engines| {
        engines.get(script, compile_filter).map_err(failed)?;
        Ok(())
    })
}

fn compile_filter(script: &Script) -> Result<FilterEngine, JsError> {
    FilterEngine::compile(&script.source, &script.root, script.limits)
}

/// The same for a map function whose emitting decides.
///
/// # Errors
/// 400.
pub fn check_map(script: &Script, how: Compilation) -> Result<(), Failure> {
    MAPS.with_borrow_mut(|engines| {
        let compile = |script: &Script| compile_map(script, how);
        engines.get(script, compile).map_err(failed)?;
        Ok(())
    })
}

fn compile_map(script: &Script, how: Compilation) -> Result<MapFunctions, JsError> {
    MapFunctions::compile(&[&script.source], Some(&script.root), script.limits, how)
}

/// Whether a filter function lets a document pass; both arguments are JSON text.
///
/// # Errors
/// 400 if the function does not compile, or fails.
pub fn filter(script: &Script, document: &[u8], request: &[u8]) -> Result<bool, Failure> {
    FILTERS.with_borrow_mut(|engines| {
        let engine = engines.get(script, compile_filter).map_err(failed)?;
        engine.passes(document, request).map_err(failed)
    })
}

/// Whether a map function emits anything for a document, the JSON text of an object as this program
/// writes it. Simple functions need no engine if `how` lets them.
///
/// # Errors
/// As [`filter`].
pub fn emits(script: &Script, document: &[u8], how: Compilation) -> Result<bool, Failure> {
    MAPS.with_borrow_mut(|engines| {
        let compile = |script: &Script| compile_map(script, how);
        let engine = engines.get(script, compile).map_err(failed)?;
        let mut emissions = engine.map(document).map_err(failed)?;
        Ok(emissions.any(|emission| matches!(emission, Emission::Row { .. })))
    })
}

/// In processor time: how long a function may take on a thread that other requests wait for.
const BRIEF: Duration = Duration::from_millis(50);

/// How long functions of a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBudget {
    /// So long that others do not wait for it; beyond that, [`FailureKind::NeedsTime`].
    Brief,
    /// As long as the settings say.
    Full,
}

impl Script {
    /// Bytes that a call of it may take.
    pub fn memory(&self) -> usize {
        self.limits.memory
    }
}

impl TimeBudget {
    fn time(self, script: &Script) -> Duration {
        match self {
            TimeBudget::Brief => script.limits.time.min(BRIEF),
            TimeBudget::Full => script.limits.time,
        }
    }

    /// A failure that says whether more time may help.
    fn judge(
        self,
        script: &Script,
        error: JsError,
        failed: impl Fn(JsError) -> Failure,
    ) -> Failure {
        match error {
            JsError::Time { limit } if limit < script.limits.time => Failure::new(
                FailureKind::NeedsTime,
                "needs_time",
                "a function takes long",
            ),
            other => failed(other),
        }
    }
}

/// Asks a validation function; all arguments are JSON text.
///
/// # Errors
/// As [`filter`]; [`FailureKind::NeedsTime`].
pub fn validate(
    (script, budget): (&Script, TimeBudget),
    document: &[u8],
    previous: Option<&[u8]>,
    user: &[u8],
    security: &[u8],
) -> Result<Verdict, Failure> {
    VALIDATORS.with_borrow_mut(|engines| {
        let compile = |it: &Script| ValidateEngine::compile(&it.source, &it.root, it.limits);
        let engine = engines.get(script, compile).map_err(failed)?;
        engine.set_time(budget.time(script));
        engine
            .validate(document, previous, user, security)
            .map_err(|error| budget.judge(script, error, failed))
    })
}

/// Asks an update function; both arguments are JSON text.
///
/// # Errors
/// 500 if the function does not compile, or fails.
pub fn update(
    (script, budget): (&Script, TimeBudget),
    document: Option<&[u8]>,
    request: &[u8],
) -> Result<Updated, Failure> {
    let failed = |error| match error {
        JsError::Compile { .. } => Failure::new(
            FailureKind::FunctionFailed,
            "compilation_error",
            error.to_string(),
        ),
        JsError::Start { .. } => failed(error),
        other => {
            let reason = format!("function raised error: {other}");
            Failure::new(FailureKind::FunctionFailed, "render_error", reason)
        }
    };
    UPDATERS.with_borrow_mut(|engines| {
        let compile = |it: &Script| UpdateEngine::compile(&it.source, &it.root, it.limits);
        let engine = engines.get(script, compile).map_err(failed)?;
        engine.set_time(budget.time(script));
        let updated = engine.update(document, request);
        updated.map_err(|error| budget.judge(script, error, failed))
    })
}

/// Runs a function that answers requests.
fn rendered<T>(
    (script, budget): (&Script, TimeBudget),
    run: impl FnOnce(&mut RenderEngine) -> Result<T, JsError>,
) -> Result<T, Failure> {
    RENDERERS.with_borrow_mut(|engines| {
        let compile = |it: &Script| RenderEngine::compile(&it.source, &it.root, it.limits);
        let engine = engines.get(script, compile).map_err(refusal::of_engine)?;
        engine.set_time(budget.time(script));
        run(engine).map_err(|error| budget.judge(script, error, refusal::of_engine))
    })
}

/// Asks a show function; both arguments are JSON text.
///
/// # Errors
/// 500 if the function does not compile, or fails; [`FailureKind::NeedsTime`].
pub fn show(
    how: (&Script, TimeBudget),
    document: Option<&[u8]>,
    request: &[u8],
) -> Result<Rendered, Failure> {
    rendered(how, |engine| engine.show(document, request))
}

/// Runs a list function; both arguments are JSON text. `None` if its host ended it. Its time is that of one row, or of
/// all for [`TimeBudget::Brief`].
///
/// # Errors
/// As [`show`].
pub fn list(
    how: (&Script, TimeBudget),
    host: Rc<RefCell<dyn ListHost>>,
    head: &[u8],
    request: &[u8],
) -> Result<Option<Listed>, Failure> {
    let renews = how.1 == TimeBudget::Full;
    rendered(how, |engine| {
        match engine.list((host, renews), head, request) {
            Ok(listed) => Ok(Some(listed)),
            Err(JsError::Interrupted) => Ok(None),
            Err(other) => Err(other),
        }
    })
}

/// Asks a rewrite function; the request is JSON text.
///
/// # Errors
/// As [`show`].
pub fn rewrite(how: (&Script, TimeBudget), request: &[u8]) -> Result<Rewritten, Failure> {
    rendered(how, |engine| engine.rewrite(request))
}

fn failed(error: JsError) -> Failure {
    let (kind, word) = match error {
        JsError::Compile { .. } => (FailureKind::BadRequest, "compilation_error"),
        JsError::Start { .. } => (FailureKind::Internal, "internal_server_error"),
        // The client that asks has not written the function.
        JsError::Time { .. } | JsError::Memory { .. } | JsError::Stack { .. } => {
            (FailureKind::FunctionFailed, "os_process_error")
        }
        _ => (FailureKind::BadRequest, "script_error"),
    };
    Failure::new(kind, word, error.to_string())
}

/// `{"db":…,"name":…,"roles":[…]}`.
pub fn write_user(call: &Call, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"db\":");
    varve_json::write_string(&call.database.name, out);
    out.extend_from_slice(b",\"name\":");
    match &call.user.name {
        Some(name) => varve_json::write_string(name, out),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"roles\":[");
    for (index, role) in call.user.roles.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        varve_json::write_string(role, out);
    }
    out.extend_from_slice(b"]}");
}
