//! Reduce functions: many values in, one out.

use crate::sandbox::{Argument, Driver, Sandbox};
use crate::{JsError, Limits};

/// The reduce functions of one view group, for one thread.
#[derive(Debug)]
pub struct ReduceEngine {
    sandbox: Sandbox,
}

impl ReduceEngine {
    /// Compiles `function (keys, values, rereduce)` sources.
    ///
    /// # Errors
    /// [`JsError::Compile`] names the first source that is not a function.
    pub fn compile(sources: &[&str], limits: Limits) -> Result<Self, JsError> {
        Sandbox::compile(sources, None, limits).map(|sandbox| ReduceEngine { sandbox })
    }

    /// Reduces rows: `keys` is a JSON array of `[key, document id]`, `values` one of the values.
    /// Appends the result's JSON text to `result`.
    ///
    /// # Errors
    /// [`JsError::Thrown`] if the function throws; a limit that was reached.
    pub fn reduce(
        &mut self,
        function: usize,
        keys: &[u8],
        values: &[u8],
        result: &mut String,
    ) -> Result<(), JsError> {
        let keys = Argument::Json("the keys", keys);
        self.run(function, keys, values, false, result)
    }

    /// Reduces results of the same function: `values` is a JSON array of them.
    ///
    /// # Errors
    /// As [`ReduceEngine::reduce`].
    pub fn rereduce(
        &mut self,
        function: usize,
        values: &[u8],
        result: &mut String,
    ) -> Result<(), JsError> {
        self.run(function, Argument::Null, values, true, result)
    }

    fn run(
        &mut self,
        function: usize,
        keys: Argument<'_>,
        values: &[u8],
        rereduce: bool,
        result: &mut String,
    ) -> Result<(), JsError> {
        let arguments = [
            Argument::Index(function),
            keys,
            Argument::Json("the values", values),
            Argument::Bool(rereduce),
        ];
        let start = result.len();
        self.sandbox.call(Driver::Reduce, &arguments, result)?;
        let failed = result[start..].starts_with('!');
        result.remove(start);
        if failed {
            let message = result.split_off(start);
            return Err(JsError::Thrown { message });
        }
        Ok(())
    }
}
