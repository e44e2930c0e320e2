//! Map functions that run without an engine.
//!
//! Most map functions test and read fields, take strings apart and emit what they find. Such a function is recognised
//! from its syntax tree ([`syntax`]) and becomes a small [`program`] that runs over the document's JSON text and opens
//! only the containers that it names. It must emit to the byte what the engine emits. Two things keep that simple:
//!
//! - a function outside of the grammar is not compiled: it runs in the engine;
//! - an operation in a compiled function whose result is not certain (a conversion of an object to text, a date in
//!   another form than ISO 8601, a loop without end) ends it: the engine then runs the function for that document
//!   ([`Outcome::Unsure`]).
//!
//! `tests/native.rs` runs random functions over random documents both ways, `tests/corpus.rs` those that people write.

mod access;
mod assign;
mod builtins;
mod calls;
mod containers;
mod dates;
mod document;
mod evaluate;
mod expressions;
mod functions;
mod heap;
mod invoke;
mod known;
mod matching;
mod methods;
mod number;
mod operators;
mod pattern;
mod program;
mod reads;
mod run;
mod scopes;
mod statements;
mod stringify;
mod syntax;
mod texts;
mod value;

pub(crate) use document::Text;
use program::Program;
pub(crate) use reads::Reads;
pub(crate) use run::Outcome;

/// A function that needs no engine.
#[derive(Debug)]
pub(crate) struct NativeMap {
    program: Program,
}

impl NativeMap {
    /// The function of that text, if it is simple enough.
    pub(crate) fn compile(source: &str) -> Option<NativeMap> {
        let program = syntax::compile(source)?;
        Some(NativeMap { program })
    }

    /// Whether the function assigns to variables that it does not declare: later functions of the same group see them.
    pub(crate) fn assigns_globals(&self) -> bool {
        !self.program.undeclared.is_empty()
    }

    /// Runs the function and appends its rows to `said`: for each a line with the key and one with
    /// the value, as the engine writes them; and its lines of the log. Where the function has no rows, `said` stays as it was.
    pub(crate) fn run(&self, document: &mut Text<'_>, said: &mut String) -> Outcome {
        run::run(&self.program, document, said)
    }
}
