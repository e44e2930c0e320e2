//! `validate_doc_update`: may this user make this change?

use crate::sandbox::{Argument, Driver, Sandbox};
use crate::{JsError, Limits};
use std::time::Duration;

/// One `function (newDoc, oldDoc, userCtx, secObj)`, for one thread.
#[derive(Debug)]
pub struct ValidateEngine {
    sandbox: Sandbox,
    answer: String,
}

/// Outcome of a validation function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The function returned.
    Allowed,
    /// The function threw a refusal.
    Refused(Refusal),
}

/// How a change was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `throw({forbidden: reason})`; a reason that is not a string is its JSON text.
    Forbidden(String),
    /// `throw({unauthorized: reason})`; likewise.
    Unauthorized(String),
}

impl ValidateEngine {
    /// Compiles the function of a design document, which is given as JSON text. The function finds
    /// modules in it, and it is the function's `this`.
    ///
    /// # Errors
    /// [`JsError::Compile`] if the source is not a function.
    pub fn compile(source: &str, design: &[u8], limits: Limits) -> Result<Self, JsError> {
        Ok(ValidateEngine {
            sandbox: Sandbox::compile(&[source], Some(design), limits)?,
            answer: String::new(),
        })
    }

    /// How long each later call may take, in processor time.
    pub fn set_time(&mut self, time: Duration) {
        self.sandbox.set_time(time);
    }

    /// Asks the function. All arguments are JSON text; `previous` is `None` for a new document.
    ///
    /// # Errors
    /// [`JsError::Thrown`] if the function throws anything but a refusal; a limit that was
    /// reached. The change must not be made then.
    pub fn validate(
        &mut self,
        document: &[u8],
        previous: Option<&[u8]>,
        user: &[u8],
        security: &[u8],
    ) -> Result<Verdict, JsError> {
        self.answer.clear();
        let previous = previous.map_or(Argument::Null, |text| {
            Argument::Json("the previous document", text)
        });
        let arguments = [
            Argument::Json("the document", document),
            previous,
            Argument::Json("the user context", user),
            Argument::Json("the security object", security),
        ];
        self.sandbox
            .call(Driver::Validate, &arguments, &mut self.answer)?;
        let mut answer = self.answer.chars();
        let kind = answer.next();
        let text = answer.as_str().to_owned();
        match kind {
            Some('=') => Ok(Verdict::Allowed),
            Some('F') => Ok(Verdict::Refused(Refusal::Forbidden(text))),
            Some('U') => Ok(Verdict::Refused(Refusal::Unauthorized(text))),
            _ => Err(JsError::Thrown { message: text }),
        }
    }
}
