//! `_rewrite`: rules or a function of a design document say which request takes the place of this one.
//!
//! The other request is answered as if the same client had sent it: with the rights of the login that it came with, and
//! none that a function brings.

mod returned;
pub mod rules;
mod target;

use std::sync::Arc;

use varve_base::ReadMode;
use varve_js::Rewritten;
use varve_json::Value;

use crate::couch::call::Call;
use crate::couch::document::text::design_text;
use crate::couch::functions::design::rev_of;
use crate::couch::functions::refusal::refusal;
use crate::couch::functions::request_object::request_of_rewrite;
use crate::couch::functions::scripts::{self, Script, TimeBudget};
use crate::couch::target::Target;
use crate::http::{FailureKind, blocking};
use crate::{Answer, CouchContext, Failure, Request, UserContext};
use returned::Returned;
use rules::{RuleError, Rules};
use target::{Elsewhere, insecure};

/// Outcome of a rewrite.
pub enum Rewriting {
    /// Answer this one.
    To(Box<Request>),
    /// A function has answered it.
    Answered(Answer),
}

/// Finds the request that takes the place of one below `_rewrite` of `design`.
///
/// # Errors
/// 404 if no rule fits; what the function throws; 500 for rules that cannot be used.
pub async fn rewrite(
    app: Arc<CouchContext>,
    request: Request,
    user: UserContext,
    (name, design): (&str, &str),
) -> Result<Rewriting, Failure> {
    let request = Arc::new(request);
    let work = |budget| {
        let (app, request, user) = (Arc::clone(&app), Arc::clone(&request), user.clone());
        let (name, design) = (name.to_owned(), design.to_owned());
        move || {
            let target = Target::Rewrite(design.clone());
            let call = Call::open(app, request, user, (&name, &target), ReadMode::Blocking)?;
            answer(&call.with_budget(budget), &design)
        }
    };
    let executor = app.executor();
    match blocking(&executor.reads, work(TimeBudget::Brief)).await {
        Err(failure) if failure.kind == FailureKind::NeedsTime => {
            blocking(&executor.functions, work(TimeBudget::Full)).await
        }
        done => done,
    }
}

fn answer(call: &Call, design: &str) -> Result<Rewriting, Failure> {
    let text = design_text(&call.designs(), design)?;
    let document = varve_json::parse(&text)?;
    let is_secure = call.app.settings().functions.secure_rewrites;
    match document.get("rewrites") {
        Some(Value::Array(rules)) => {
            let elsewhere = by_rules(call, rules, is_secure)?;
            go(call, design, elsewhere, |is_outside, _| {
                is_outside && is_secure
            })
        }
        Some(Value::String(source)) => {
            let script = Script::new(source, &text, call.app.limits());
            match by_function(call, &script)? {
                Returned::Response(answer) => Ok(Rewriting::Answered(answer)),
                // A function of one database must not have its reader change another one.
                Returned::Elsewhere(elsewhere) => {
                    go(call, design, elsewhere, |is_outside, reads| {
                        is_outside && is_secure && !reads
                    })
                }
            }
        }
        Some(_) => Err(unusable(format!(
            "rewrites of {} are no list",
            rev_of(&document)
        ))),
        None => Err(no_path()),
    }
}

fn by_rules(call: &Call, rules: &[Value], is_secure: bool) -> Result<Elsewhere, Failure> {
    let request = &call.request;
    let method = match request.is_read() {
        true => "GET",
        false => request.method.as_str(),
    };
    let path = request.path();
    // Behind database, `_design`, its name and `_rewrite`.
    let path = path.get(4..).unwrap_or_default();
    let rules = Rules::read(rules, is_secure).map_err(of_rule)?;
    let found = rules.apply(method, path, &request.query).map_err(of_rule)?;
    let (path, query) = found.ok_or_else(|| Failure::not_found("missing"))?;
    Ok(Elsewhere {
        path,
        query,
        ..Elsewhere::default()
    })
}

fn of_rule(error: RuleError) -> Failure {
    match error {
        RuleError::Insecure => insecure(),
        RuleError::NoTarget => Failure::new(
            FailureKind::FunctionFailed,
            "error",
            "invalid_rewrite_target",
        ),
        RuleError::Malformed => unusable("a rule has a member of the wrong type"),
        RuleError::Key => Failure::bad_request("invalid UTF-8 JSON"),
    }
}

fn by_function(call: &Call, script: &Script) -> Result<Returned, Failure> {
    let request = request_of_rewrite(call)?;
    match scripts::rewrite((script, call.budget), &request)? {
        Rewritten::To(text) => returned::read(call, &text),
        Rewritten::Nowhere => Err(no_path()),
        Rewritten::Forbidden(reason) => Err(Failure::forbidden(reason)),
        Rewritten::Unauthorized(reason) => Err(Failure::unauthorized(reason)),
        Rewritten::Refused(text) => Err(refusal(&text)),
    }
}

/// The other request, unless `is_refused` says so, which gets whether it leads out of the database, and whether it only
/// reads.
fn go(
    call: &Call,
    design: &str,
    elsewhere: Elsewhere,
    is_refused: impl FnOnce(bool, bool) -> bool,
) -> Result<Rewriting, Failure> {
    let segments = elsewhere.absolute(&call.database.name, design);
    let request = elsewhere.request(&call.app, &call.request, &segments)?;
    let database = request.path().first().copied();
    let is_outside = database != Some(call.database.name.as_str());
    if is_refused(is_outside, request.is_read()) {
        return Err(insecure());
    }
    Ok(Rewriting::To(Box::new(request)))
}

fn no_path() -> Failure {
    Failure::new(FailureKind::NotFound, "rewrite_error", "Invalid path.")
}

/// Rules or a function that cannot be followed.
fn unusable(reason: impl Into<String>) -> Failure {
    Failure::new(FailureKind::FunctionFailed, "rewrite_error", reason)
}
