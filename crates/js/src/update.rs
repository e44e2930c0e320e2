//! Update functions: a document and a request in, a document and a response out.

use crate::sandbox::{Argument, Driver, Sandbox};
use crate::{JsError, Limits};
use std::time::Duration;

/// One `function (doc, req)`, for one thread.
#[derive(Debug)]
pub struct UpdateEngine {
    sandbox: Sandbox,
    answer: String,
}

/// Outcome of an update function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Updated {
    /// The function returned: JSON text of an array of the new document, if any, and the response, which is an object.
    Returned(String),
    /// The function returned no response.
    NoResponse,
    /// The function threw an error of its own making: JSON text of an array of a word and a reason.
    Refused(String),
}

impl UpdateEngine {
    /// Compiles the function of a design document, which is given as JSON text. The function finds
    /// modules in it, and it is the function's `this`.
    ///
    /// # Errors
    /// [`JsError::Compile`] if the source is not a function.
    pub fn compile(source: &str, design: &[u8], limits: Limits) -> Result<Self, JsError> {
        Ok(UpdateEngine {
            sandbox: Sandbox::compile(&[source], Some(design), limits)?,
            answer: String::new(),
        })
    }

    /// How long each later call may take, in processor time.
    pub fn set_time(&mut self, time: Duration) {
        self.sandbox.set_time(time);
    }

    /// Asks the function. Both arguments are JSON text; `document` is `None` if there is none.
    ///
    /// # Errors
    /// [`JsError::Thrown`] if the function throws anything else; a limit that was reached.
    pub fn update(&mut self, document: Option<&[u8]>, request: &[u8]) -> Result<Updated, JsError> {
        self.answer.clear();
        let document = document.map_or(Argument::Null, |text| Argument::Json("the document", text));
        let arguments = [document, Argument::Json("the request", request)];
        self.sandbox
            .call(Driver::Update, &arguments, &mut self.answer)?;
        let mut answer = self.answer.chars();
        let kind = answer.next();
        let text = answer.as_str().to_owned();
        match kind {
            Some('=') => Ok(Updated::Returned(text)),
            Some('?') => Ok(Updated::NoResponse),
            Some('E') => Ok(Updated::Refused(text)),
            _ => Err(JsError::Thrown { message: text }),
        }
    }
}
