//! Functions that answer requests: shows, lists and rewrites.

use crate::port::ListHost;
use crate::sandbox::{Argument, Driver, Sandbox};
use crate::{JsError, Limits};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// One function of a design document that answers requests, for one thread.
#[derive(Debug)]
pub struct RenderEngine {
    sandbox: Sandbox,
    answer: String,
}

/// Outcome of a show function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rendered {
    /// JSON text of the response, an object.
    Returned(String),
    /// The function threw an error of its own making: JSON text of an array of a word and a reason.
    Refused(String),
}

/// Outcome of a list function; its output is with its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The output is whole.
    Whole,
    /// As [`Rendered::Refused`].
    Refused(String),
}

/// Outcome of a rewrite function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rewritten {
    /// JSON text of the request that takes the place of the other.
    To(String),
    /// There is none.
    Nowhere,
    /// The user may not do this, for this reason.
    Forbidden(String),
    /// A login is needed, for this reason.
    Unauthorized(String),
    /// As [`Rendered::Refused`].
    Refused(String),
}

impl RenderEngine {
    /// Compiles the function of a design document, which is given as JSON text. The function finds
    /// modules in it, and it is the function's `this`.
    ///
    /// # Errors
    /// [`JsError::Compile`] if the source is not a function.
    pub fn compile(source: &str, design: &[u8], limits: Limits) -> Result<Self, JsError> {
        Ok(RenderEngine {
            sandbox: Sandbox::for_rendering(source, design, limits)?,
            answer: String::new(),
        })
    }

    /// How long each later call may take, in processor time.
    pub fn set_time(&mut self, time: Duration) {
        self.sandbox.set_time(time);
    }

    /// Asks a show function. Both arguments are JSON text; `document` is `None` if there is none.
    ///
    /// # Errors
    /// [`JsError::Thrown`] if the function throws anything else than an error of its own making; a limit that was
    /// reached.
    pub fn show(&mut self, document: Option<&[u8]>, request: &[u8]) -> Result<Rendered, JsError> {
        let document = document.map_or(Argument::Null, |text| Argument::Json("the document", text));
        let arguments = [document, Argument::Json("the request", request)];
        match self.ask(Driver::Show, &arguments)? {
            ('=', text) => Ok(Rendered::Returned(text)),
            ('E', text) => Ok(Rendered::Refused(text)),
            (_, message) => Err(JsError::Thrown { message }),
        }
    }

    /// Runs a list function. Both arguments are JSON text. With `renews`, its time runs anew with each row.
    ///
    /// # Errors
    /// As [`RenderEngine::show`]; [`JsError::Interrupted`] if the host ends the call.
    pub fn list(
        &mut self,
        (host, renews): (Rc<RefCell<dyn ListHost>>, bool),
        head: &[u8],
        request: &[u8],
    ) -> Result<Listed, JsError> {
        self.answer.clear();
        let arguments = [
            Argument::Json("the head", head),
            Argument::Json("the request", request),
        ];
        self.sandbox
            .call_with((host, renews), &arguments, &mut self.answer)?;
        match self.answered() {
            ('=', _) => Ok(Listed::Whole),
            ('E', text) => Ok(Listed::Refused(text)),
            (_, message) => Err(JsError::Thrown { message }),
        }
    }

    /// Asks a rewrite function. The request is JSON text.
    ///
    /// # Errors
    /// As [`RenderEngine::show`].
    pub fn rewrite(&mut self, request: &[u8]) -> Result<Rewritten, JsError> {
        let arguments = [Argument::Json("the request", request)];
        match self.ask(Driver::Rewrite, &arguments)? {
            ('=', text) => Ok(Rewritten::To(text)),
            ('?', _) => Ok(Rewritten::Nowhere),
            ('F', reason) => Ok(Rewritten::Forbidden(reason)),
            ('U', reason) => Ok(Rewritten::Unauthorized(reason)),
            ('E', text) => Ok(Rewritten::Refused(text)),
            (_, message) => Err(JsError::Thrown { message }),
        }
    }

    fn ask(
        &mut self,
        driver: Driver,
        arguments: &[Argument<'_>],
    ) -> Result<(char, String), JsError> {
        self.answer.clear();
        self.sandbox.call(driver, arguments, &mut self.answer)?;
        Ok(self.answered())
    }

    /// The letter of an answer, and the text behind it.
    fn answered(&mut self) -> (char, String) {
        let answer = std::mem::take(&mut self.answer);
        let mut rest = answer.chars();
        let letter = rest.next().unwrap_or('!');
        (letter, rest.as_str().to_owned())
    }
}
