//! One engine with its limits, and the driver functions that every kind of script goes through.

use crate::port::{HostEnded, ListHost, Port};
use crate::watch::{CallState, Checkpoint, Watch};
use crate::{JsError, Limits};
use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::function::Args;
use rquickjs::{Context, Ctx, Error, Function, Object, Persistent, Runtime, Value};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Built-in objects of scripts. The engine's own async functions need `Promise`; `prelude.js` hides it.
type Language = (
    intrinsic::Eval,
    intrinsic::Promise,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Date,
    intrinsic::Proxy,
);

/// Garbage with cycles is rare (a parsed document has none), so a collection waits for this much.
const COLLECT_ABOVE: usize = 8 << 20;

/// Has dates know no time zone.
const DATES: &str = include_str!("dates.js");

/// Source of the driver.
const PRELUDE: &str = include_str!("prelude.js");

/// Source of what functions have that answer requests.
const RENDER: &str = include_str!("render.js");

/// The functions of the driver, in `prelude.js` and, the last three, in `render.js`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Driver {
    Map,
    Reduce,
    Filter,
    Validate,
    Update,
    Show,
    List,
    Rewrite,
}

/// Names of the driver's functions, in the order of [`Driver`].
const DRIVERS: [&str; 8] = [
    "map", "reduce", "filter", "validate", "update", "show", "list", "rewrite",
];
/// How many of them an engine has that answers no requests.
const OF_ALL_ENGINES: usize = 5;

/// One argument of a driver function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument<'a> {
    /// JSON text, and its kind for messages.
    Json(&'static str, &'a [u8]),
    /// The position of a compiled function.
    Index(usize),
    Bool(bool),
    Null,
}

/// An engine with compiled functions.
pub(crate) struct Sandbox {
    // Before `context`: values must go before the engine they live in.
    drivers: Vec<Persistent<Function<'static>>>,
    context: Context,
    running: Rc<CallState>,
    limits: Limits,
    /// To the host of a running list, in engines that answer requests.
    port: Option<Rc<Port>>,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sandbox({:?})", self.limits)
    }
}

impl Sandbox {
    /// Makes an engine and compiles `sources` in it. `root` is the JSON text of the object in which
    /// they find modules.
    pub(crate) fn compile(
        sources: &[&str],
        root: Option<&[u8]>,
        limits: Limits,
    ) -> Result<Self, JsError> {
        Self::new(limits, false)?.started(sources, root)
    }

    /// The same for one function of a design document that answers requests.
    pub(crate) fn for_rendering(
        source: &str,
        design: &[u8],
        limits: Limits,
    ) -> Result<Self, JsError> {
        Self::new(limits, true)?.started(&[source], Some(design))
    }

    fn new(limits: Limits, renders: bool) -> Result<Self, JsError> {
        let start = |error: Error| JsError::Start {
            reason: error.to_string(),
        };
        let runtime = Runtime::new().map_err(start)?;
        runtime.set_memory_limit(limits.memory);
        runtime.set_max_stack_size(limits.stack);
        runtime.set_gc_threshold(COLLECT_ABOVE.min(limits.memory / 2));
        let running = Rc::new(CallState::default());
        running.begin(limits.time);
        let watched = Rc::clone(&running);
        runtime.set_interrupt_handler(Some(Box::new(move || watched.must_end(None))));
        let context = Context::custom::<Language>(&runtime).map_err(start)?;
        let port = renders.then(|| Rc::new(Port::new(Rc::clone(&running))));
        Ok(Sandbox {
            drivers: Vec::new(),
            context,
            running,
            limits,
            port,
        })
    }

    /// Runs the prelude and hands it the modules and the functions.
    fn started(mut self, sources: &[&str], root: Option<&[u8]>) -> Result<Self, JsError> {
        let limits = Watch::new(&self.running, self.limits);
        self.drivers = self.context.with(|ctx| {
            let start = |error: Error| JsError::Start {
                reason: limits.failure(&ctx, error).to_string(),
            };
            ctx.eval::<(), _>(DATES).map_err(start)?;
            let driver = driver(&ctx, self.port.as_ref()).map_err(start)?;
            if let Some(root) = root {
                set_root(&ctx, &driver, root, limits)?;
            }
            let add: Function = driver.get("add").map_err(start)?;
            for (index, source) in sources.iter().enumerate() {
                limits.begin();
                let function = evaluate(&ctx, source).map_err(|error| {
                    in_source(limits.failure_in(&ctx, error, source), index, source)
                })?;
                let added: bool = add
                    .call((function, throws_null(source)))
                    .map_err(|error| limits.failure(&ctx, error))?;
                if !added {
                    let message = "Expression does not eval to a function.".to_owned();
                    return Err(in_source(JsError::Thrown { message }, index, source));
                }
            }
            let count = match self.port {
                Some(_) => DRIVERS.len(),
                None => OF_ALL_ENGINES,
            };
            DRIVERS
                .iter()
                .take(count)
                .map(|name| driver.get(*name))
                .map(|found| found.map(|f: Function| Persistent::save(&ctx, f)))
                .collect::<Result<Vec<_>, _>>()
                .map_err(start)
        })?;
        Ok(self)
    }

    /// Has later calls stop at `checkpoint`.
    pub(crate) fn set_checkpoint(&mut self, checkpoint: Checkpoint) {
        let watched = Rc::clone(&self.running);
        let must_end = move || watched.must_end(Some(&checkpoint));
        let runtime = self.context.runtime();
        runtime.set_interrupt_handler(Some(Box::new(must_end)));
    }

    /// How long each later call may take.
    pub(crate) fn set_time(&mut self, time: Duration) {
        self.limits.time = time;
    }

    /// Calls a driver function and appends the text that it returns to `answer`.
    pub(crate) fn call(
        &self,
        driver: Driver,
        arguments: &[Argument<'_>],
        answer: &mut String,
    ) -> Result<(), JsError> {
        let limits = Watch::new(&self.running, self.limits);
        limits.begin();
        let outcome = self.context.with(|ctx| {
            let mut passed = Args::new(ctx.clone(), arguments.len());
            for argument in arguments {
                push(&ctx, &mut passed, argument, limits)?;
            }
            let function = self.drivers[driver as usize].clone();
            function
                .restore(&ctx)
                .and_then(|function| passed.apply::<rquickjs::String>(&function))
                .and_then(rquickjs::String::to_cstring)
                .map(|text| answer.push_str(text.as_str()))
                .map_err(|error| limits.failure(&ctx, error))
        });
        if outcome.is_err() {
            self.context.runtime().run_gc();
        }
        outcome.and_then(|()| self.settle())
    }

    /// The same for a list function, whose rows come from a host, which also takes its output. With `renews`, the time
    /// runs anew with each row.
    pub(crate) fn call_with(
        &self,
        (host, renews): (Rc<RefCell<dyn ListHost>>, bool),
        arguments: &[Argument<'_>],
        answer: &mut String,
    ) -> Result<(), JsError> {
        let Some(port) = &self.port else {
            return self.call(Driver::List, arguments, answer);
        };
        port.connect(host, renews.then_some(self.limits.time));
        let called = self.call(Driver::List, arguments, answer);
        match port.disconnect() {
            Err(HostEnded) => Err(JsError::Interrupted),
            Ok(()) => called,
        }
    }

    /// Runs the jobs that async functions left, within the time of the same call. They come too late for any output,
    /// but waiting jobs would fill the heap.
    fn settle(&self) -> Result<(), JsError> {
        let runtime = self.context.runtime();
        while runtime.is_job_pending() {
            // An exception in a job has no caller.
            let _ = runtime.execute_pending_job();
            if let Some(failure) = self.running.failure(self.limits.time) {
                return Err(failure);
            }
        }
        Ok(())
    }
}

/// Runs the prelude, and what is to go with it for functions that answer requests.
fn driver<'js>(ctx: &Ctx<'js>, port: Option<&Rc<Port>>) -> Result<Object<'js>, Error> {
    let prelude: Function = ctx.eval(PRELUDE)?;
    let Some(port) = port else {
        return prelude.call((ctx.globals(), false));
    };
    let maker: Function = ctx.eval(RENDER)?;
    let [next_row, open, write] = port.functions(ctx)?;
    let bind: Function = ctx.eval("(make, ...port) => (prelude) => make(prelude, ...port)")?;
    let bound: Function = bind.call((maker, next_row, open, write))?;
    prelude.call((ctx.globals(), bound))
}

/// Hands the driver the object in which `require` finds modules.
fn set_root<'js>(
    ctx: &Ctx<'js>,
    driver: &Object<'js>,
    root: &[u8],
    limits: Watch<'_>,
) -> Result<(), JsError> {
    limits.begin();
    let mut passed = Args::new(ctx.clone(), 1);
    let root = Argument::Json("the design document", root);
    push(ctx, &mut passed, &root, limits)?;
    let set: Result<Function, Error> = driver.get("setRoot");
    set.and_then(|set| passed.apply::<()>(&set))
        .map_err(|error| limits.failure(ctx, error))
}

/// Evaluates the text of a function. In an assignment, a function without a name is an expression
/// whatever comments stand before it and whatever semicolons and comments follow.
fn evaluate<'js>(ctx: &Ctx<'js>, source: &str) -> Result<Value<'js>, Error> {
    let mut options = EvalOptions::default();
    options.strict = false;
    ctx.eval_with_options(as_script(source), options)
}

/// The script that evaluates to the function.
pub(crate) fn as_script(source: &str) -> String {
    format!("Object().f = {source}\n")
}

/// Whether a source has a `throw null`, also where it is in a comment or a string.
fn throws_null(source: &str) -> bool {
    source.split("throw").skip(1).any(|rest| {
        let value = rest.trim_start_matches(|mark: char| mark.is_whitespace() || mark == '(');
        value.starts_with("null")
    })
}

/// An error while compiling, with its source. Limits stay as they are.
fn in_source(error: JsError, index: usize, source: &str) -> JsError {
    match error {
        JsError::Thrown { message } => JsError::Compile {
            index,
            reason: message,
            source_text: source.to_owned(),
        },
        other => other,
    }
}

fn push<'js>(
    ctx: &Ctx<'js>,
    passed: &mut Args<'js>,
    argument: &Argument<'_>,
    limits: Watch<'_>,
) -> Result<(), JsError> {
    let value = match *argument {
        Argument::Json(what, text) => {
            ctx.json_parse(text)
                .map_err(|error| match limits.failure(ctx, error) {
                    JsError::Thrown { message } => JsError::Argument {
                        what,
                        reason: message,
                    },
                    limit => limit,
                })?
        }
        Argument::Index(index) => Value::new_number(ctx.clone(), index as f64),
        Argument::Bool(flag) => Value::new_bool(ctx.clone(), flag),
        Argument::Null => Value::new_null(ctx.clone()),
    };
    passed
        .push_arg(value)
        .map_err(|error| limits.failure(ctx, error))
}
