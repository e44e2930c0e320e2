//! Filter functions of the changes feed: a document and a request in, yes or no out.

use crate::sandbox::{Argument, Driver, Sandbox};
use crate::{JsError, Limits};

/// One `function (doc, req)`, for one thread.
#[derive(Debug)]
pub struct FilterEngine {
    sandbox: Sandbox,
    answer: String,
}

impl FilterEngine {
    /// Compiles the function of a design document, which is given as JSON text. The function finds
    /// modules in it, and it is the function's `this`.
    ///
    /// # Errors
    /// [`JsError::Compile`] if the source is not a function.
    pub fn compile(source: &str, design: &[u8], limits: Limits) -> Result<Self, JsError> {
        Ok(FilterEngine {
            sandbox: Sandbox::compile(&[source], Some(design), limits)?,
            answer: String::new(),
        })
    }

    /// Whether the function lets this document pass. Both arguments are JSON text; the request is parsed anew for each
    /// document, so that no document sees a change that another made to it.
    ///
    /// # Errors
    /// [`JsError::Thrown`] if the function throws; a limit that was reached.
    pub fn passes(&mut self, document: &[u8], request: &[u8]) -> Result<bool, JsError> {
        self.answer.clear();
        let arguments = [
            Argument::Json("the document", document),
            Argument::Json("the request", request),
        ];
        self.sandbox
            .call(Driver::Filter, &arguments, &mut self.answer)?;
        match self.answer.strip_prefix('!') {
            Some(message) => Err(JsError::Thrown {
                message: message.to_owned(),
            }),
            None => Ok(self.answer == "=true"),
        }
    }
}
