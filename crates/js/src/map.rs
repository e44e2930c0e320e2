//! Map functions: a document in, rows out.

use crate::sandbox::{Argument, Driver, Sandbox};
use crate::{Checkpoint, JsError, Limits};

/// The map functions of one view group, for one thread.
#[derive(Debug)]
pub struct MapEngine {
    sandbox: Sandbox,
    said: String,
    /// The positions of all functions.
    every: Vec<usize>,
}

impl MapEngine {
    /// Compiles the functions of a group. A source is the text of one function, with or without
    /// a name, with comments and semicolons around it.
    ///
    /// # Errors
    /// [`JsError::Compile`] names the first source that is not a function.
    pub fn compile(sources: &[&str], limits: Limits) -> Result<Self, JsError> {
        MapEngine::with_modules(sources, None, limits)
    }

    /// The same for functions that may require modules: `root` is the JSON text of the object in which
    /// their paths begin.
    ///
    /// # Errors
    /// As [`MapEngine::compile`].
    pub fn with_modules(
        sources: &[&str],
        root: Option<&[u8]>,
        limits: Limits,
    ) -> Result<Self, JsError> {
        Ok(MapEngine {
            sandbox: Sandbox::compile(sources, root, limits)?,
            said: String::new(),
            every: (0..sources.len()).collect(),
        })
    }

    /// Runs every function over one document, which is given as JSON text.
    ///
    /// A function that throws has no rows for this document and is reported as
    /// [`Emission::Failed`]; the others go on.
    ///
    /// # Errors
    /// A limit that was reached, or a document that is not JSON: then nothing is known about the
    /// document's rows. The engine stays usable.
    pub fn map(&mut self, document: &[u8]) -> Result<Emitted<'_>, JsError> {
        let mut said = std::mem::take(&mut self.said);
        said.clear();
        let outcome = self.run(document, None, &mut said);
        self.said = said;
        outcome?;
        Ok(Emitted::new(&self.said, &self.every))
    }

    /// Has later calls stop at `checkpoint`.
    pub(crate) fn set_checkpoint(&mut self, checkpoint: Checkpoint) {
        self.sandbox.set_checkpoint(checkpoint);
    }

    /// Runs the chosen functions, or all, and appends their output.
    pub(crate) fn run(
        &mut self,
        document: &[u8],
        chosen: Option<&[usize]>,
        said: &mut String,
    ) -> Result<(), JsError> {
        let chosen = chosen.map(|chosen| format!("{chosen:?}"));
        let chosen = chosen.as_deref().map_or(Argument::Null, |chosen| {
            Argument::Json("the chosen functions", chosen.as_bytes())
        });
        let arguments = [Argument::Json("the document", document), chosen];
        self.sandbox.call(Driver::Map, &arguments, said)
    }
}

/// One thing that happened while a document was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emission<'a> {
    /// A row of the function at position `function`.
    Row {
        /// Position of the function among those compiled.
        function: usize,
        /// JSON text.
        key: &'a str,
        /// JSON text.
        value: &'a str,
    },
    /// The function threw and has no rows; `reason` is a JSON string.
    Failed {
        /// Position of the function among those compiled.
        function: usize,
        /// JSON text of a string.
        reason: &'a str,
    },
    /// The script called `log`; JSON text of a string.
    Logged(&'a str),
}

/// Output of a document's functions: rows by function, each in the order of `emit`.
#[derive(Clone, Debug)]
pub struct Emitted<'a> {
    lines: std::str::SplitTerminator<'a, char>,
    /// The functions that the lines are from, in order.
    functions: std::slice::Iter<'a, usize>,
}

impl<'a> Emitted<'a> {
    /// Reads the output of some functions.
    pub(crate) fn new(said: &'a str, functions: &'a [usize]) -> Self {
        Emitted {
            lines: said.split_terminator('\n'),
            functions: functions.iter(),
        }
    }
}

impl<'a> Iterator for Emitted<'a> {
    type Item = Emission<'a>;

    fn next(&mut self) -> Option<Emission<'a>> {
        loop {
            let line = self.lines.next()?;
            let function = self.functions.as_slice().first().copied()?;
            match line.as_bytes().first() {
                Some(b'.') => drop(self.functions.next()),
                Some(b'!') => {
                    self.functions.next();
                    let reason = &line[1..];
                    return Some(Emission::Failed { function, reason });
                }
                Some(b'#') => return Some(Emission::Logged(&line[1..])),
                _ => {
                    let (key, value) = (line, self.lines.next()?);
                    return Some(Emission::Row {
                        function,
                        key,
                        value,
                    });
                }
            }
        }
    }
}
