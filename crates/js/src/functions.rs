//! The map functions of a view group, each run in the cheapest way that gives its rows.

use crate::map::MapEngine;
use crate::native::{NativeMap, Outcome, Reads, Text};
use crate::{Checkpoint, Emitted, JsError, Limits};
use std::fmt;
use std::sync::Arc;

/// A function that left this share of its documents to the engine, one of so many, is the engine's.
const LEFT_ONE_OF: usize = 4;
/// Documents before that is decided.
const TRIED: usize = 64;

/// Which functions run without an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compilation {
    /// The simple ones.
    #[default]
    Simple,
    /// None.
    Off,
}

/// Whether a function of that text runs without an engine.
pub fn is_compiled(source: &str) -> bool {
    NativeMap::compile(source).is_some()
}

/// The map functions of one view group, for one thread. Simple ones run natively, the others in an
/// engine, which is made when it is needed first.
pub struct MapFunctions {
    sources: Vec<String>,
    /// Where functions in the engine find modules.
    root: Option<Vec<u8>>,
    limits: Limits,
    checkpoint: Option<Checkpoint>,
    natives: Vec<Option<Native>>,
    /// Members of its document that each function can read.
    reads: Vec<Reads>,
    /// Functions that ran in the engine last, and what they can read together.
    read: (Vec<usize>, Reads),
    /// The part of the document that they can read.
    part: String,
    engine: Option<MapEngine>,
    said: String,
    /// Functions whose output `said` has, in order.
    order: Vec<usize>,
}

#[derive(Debug)]
struct Native {
    function: NativeMap,
    documents: usize,
    /// Of these, how many it left to the engine.
    left: usize,
}

impl fmt::Debug for MapFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MapFunctions({:?})", self.sources)
    }
}

impl MapFunctions {
    /// Compiles the functions of a group. A source is the text of one function, with or without
    /// a name, with comments and semicolons around it; `root` is the JSON text of the object in which
    /// they find modules.
    ///
    /// # Errors
    /// [`JsError::Compile`] names the first source that is not a function.
    pub fn compile(
        sources: &[&str],
        root: Option<&[u8]>,
        limits: Limits,
        how: Compilation,
    ) -> Result<Self, JsError> {
        let native = |source: &&str| {
            let function = NativeMap::compile(source).filter(|_| how == Compilation::Simple)?;
            Some(Native {
                function,
                documents: 0,
                left: 0,
            })
        };
        let mut functions = MapFunctions {
            sources: sources.iter().map(|source| (*source).to_owned()).collect(),
            root: root.map(<[u8]>::to_vec),
            limits,
            checkpoint: None,
            natives: sources.iter().map(native).collect(),
            reads: sources.iter().map(|source| Reads::of(source)).collect(),
            read: (Vec::new(), Reads::All),
            part: String::new(),
            engine: None,
            said: String::new(),
            order: Vec::new(),
        };
        functions.keep_globals_together();
        if functions.natives.iter().any(Option::is_none) {
            functions.start_engine()?;
        }
        Ok(functions)
    }

    /// A function in the engine sees the globals that those before it have left there. So where one of a group is the
    /// engine's, those that leave globals are, too.
    fn keep_globals_together(&mut self) {
        if self.natives.iter().any(Option::is_none) {
            for native in &mut self.natives {
                native.take_if(|native| native.function.assigns_globals());
            }
        }
    }

    fn start_engine(&mut self) -> Result<&mut MapEngine, JsError> {
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => {
                let sources: Vec<&str> = self.sources.iter().map(String::as_str).collect();
                let mut engine =
                    MapEngine::with_modules(&sources, self.root.as_deref(), self.limits)?;
                if let Some(checkpoint) = &self.checkpoint {
                    engine.set_checkpoint(Arc::clone(checkpoint));
                }
                engine
            }
        };
        Ok(self.engine.insert(engine))
    }

    /// Has later calls of functions in the engine stop at `checkpoint`.
    pub fn set_checkpoint(&mut self, checkpoint: Checkpoint) {
        if let Some(engine) = &mut self.engine {
            engine.set_checkpoint(Arc::clone(&checkpoint));
        }
        self.checkpoint = Some(checkpoint);
    }

    /// Runs every function over one document, the JSON text of an object as this program writes it.
    ///
    /// A function that throws has no rows for this document and is reported as
    /// [`Emission::Failed`](crate::Emission::Failed); the others go on. Functions later in the engine see the changes
    /// that a function makes to its document.
    ///
    /// # Errors
    /// A limit that was reached, or a document that is not JSON: then nothing is known about the
    /// document's rows. The functions stay usable.
    pub fn map(&mut self, document: &[u8]) -> Result<Emitted<'_>, JsError> {
        self.said.clear();
        self.order.clear();
        let left = self.run_natives(document);
        if !left.is_empty() {
            self.start_engine()?;
            if self.read.0 != left {
                let reads = left.iter().map(|function| &self.reads[*function]);
                self.read = (left.clone(), Reads::of_all(reads));
            }
            let text = std::str::from_utf8(document).unwrap_or_default();
            let document = match self.read.1.cut(text, &mut self.part) {
                true => self.part.as_bytes(),
                false => document,
            };
            if let Some(engine) = &mut self.engine {
                let chosen = (left.len() < self.sources.len()).then_some(&left[..]);
                engine.run(document, chosen, &mut self.said)?;
            }
            self.order.extend(left);
        }
        Ok(Emitted::new(&self.said, &self.order))
    }

    /// Runs the native functions and returns those left to the engine.
    fn run_natives(&mut self, document: &[u8]) -> Vec<usize> {
        let mut left = Vec::new();
        let mut natives = self.natives.iter().flatten();
        let has_globals = natives.any(|native| native.function.assigns_globals());
        let text = std::str::from_utf8(document);
        let mut text = text.ok().map(Text::new);
        for (index, native) in self.natives.iter_mut().enumerate() {
            let outcome = match (&native, &mut text) {
                (Some(native), Some(text)) => native.function.run(text, &mut self.said),
                _ => Outcome::Unsure,
            };
            match &outcome {
                Outcome::Done => self.said.push_str(".\n"),
                Outcome::Failed { reason } => {
                    self.said.push('!');
                    self.said
                        .push_str(&varve_json::to_string(&reason.as_str().into()));
                    self.said.push('\n');
                }
                Outcome::Unsure => left.push(index),
            }
            match outcome {
                Outcome::Unsure => {}
                _ => self.order.push(index),
            }
            retire(native, outcome == Outcome::Unsure);
        }
        if has_globals && !left.is_empty() {
            self.said.clear();
            self.order.clear();
            left = (0..self.sources.len()).collect();
            self.keep_globals_together();
        }
        left
    }
}

/// Counts a document, and gives up a function that leaves too many of them.
fn retire(native: &mut Option<Native>, is_left: bool) {
    if let Some(known) = native {
        known.documents += 1;
        known.left += usize::from(is_left);
        if known.documents >= TRIED && known.left > known.documents / LEFT_ONE_OF {
            *native = None;
        }
    }
}
