//! Running a program over a document: statements.

use super::document::{Members, Text};
use super::heap::{Made, Members as MadeMembers};
use super::matching::Matcher;
use super::program::{Block, Expression, Program, Slot, Statement};
use super::stringify::Writer;
use super::value::{MAX_TEXT, Result, Stop, Value};
use varve_json::scan::Span;

/// Work that a function may do for one document before the engine takes over, with its limit on time:
/// statements and expressions, and the document's bytes that are read.
const MAX_STEPS: usize = 10_000_000;
/// Bytes of rows that a function may write before the engine takes over, with its limit on memory.
const MAX_SAID: usize = 16 << 20;
/// Bytes of values that a function may make, counted as if none were given back.
const MAX_MADE: usize = 64 << 20;

/// How a function ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its rows are written.
    Done,
    /// The function threw, and has no rows.
    Failed {
        /// Reason that the engine would give.
        reason: String,
    },
    /// Only the engine knows.
    Unsure,
}

/// Where a statement leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
    Return,
}

/// A running function.
pub(super) struct Machine<'r, 'd, 'p> {
    pub(super) program: &'p Program,
    pub(super) document: &'r mut Text<'d>,
    pub(super) slots: Vec<Value<'p>>,
    pub(super) heap: Vec<Made<'p>>,
    /// Regular expressions that were evaluated.
    pub(super) matchers: Vec<Matcher<'p>>,
    /// How many dates were made.
    pub(super) dates: u32,
    /// Result of the function that ended last.
    pub(super) returned: Value<'p>,
    /// The functions inside that run.
    pub(super) running: Vec<bool>,
    /// How deep statements and expressions may be nested at the most, over all calls.
    pub(super) depth: usize,
    pub(super) said: &'r mut String,
    steps: usize,
    /// Bytes of values that it made.
    made: usize,
    /// Where its rows begin.
    begin: usize,
}

/// Runs a function over a document.
pub(super) fn run(program: &Program, document: &mut Text<'_>, said: &mut String) -> Outcome {
    let begin = said.len();
    let mut machine = Machine {
        program,
        document,
        slots: vec![Value::Undefined; program.slots],
        heap: Vec::new(),
        matchers: Vec::new(),
        dates: 0,
        returned: Value::Undefined,
        running: vec![false; program.functions.len()],
        depth: 0,
        said,
        steps: 0,
        made: 0,
        begin,
    };
    let outcome = machine.start(program);
    if outcome.is_err() {
        said.truncate(begin);
    }
    match outcome {
        Ok(()) => Outcome::Done,
        Err(Stop::Thrown(reason)) => Outcome::Failed { reason },
        Err(Stop::Unsure | Stop::Chain) => Outcome::Unsure,
    }
}

impl<'d: 'p, 'p> Machine<'_, 'd, 'p> {
    fn start(&mut self, program: &'p Program) -> Result<()> {
        for slot in &program.undeclared {
            self.slots[*slot] = Value::Unset;
        }
        self.slots[0] = self.document.root()?;
        self.block(&program.body)?;
        Ok(())
    }

    /// Counts work.
    pub(super) fn work(&mut self, steps: usize) -> Result<()> {
        self.steps += steps;
        match self.steps > MAX_STEPS || self.said.len() - self.begin > MAX_SAID {
            true => Err(Stop::Unsure),
            false => Ok(()),
        }
    }

    /// Counts memory.
    pub(super) fn fill(&mut self, bytes: usize) -> Result<()> {
        self.made += bytes;
        match self.made > MAX_MADE {
            true => Err(Stop::Unsure),
            false => Ok(()),
        }
    }

    /// Counts a value that the function made, with the work of making it.
    pub(super) fn made(&mut self, value: Value<'p>) -> Result<Value<'p>> {
        let bytes = value.size();
        self.work(bytes / 16)?;
        self.fill(bytes)?;
        Ok(value)
    }

    /// An array that the function makes.
    pub(super) fn new_array(&mut self, items: Vec<Value<'p>>) -> Result<Value<'p>> {
        self.new_container(items.len(), Made::Array(items))
    }

    /// An object that the function makes.
    pub(super) fn new_object(&mut self, members: MadeMembers<'p>) -> Result<Value<'p>> {
        self.new_container(2 * members.list().len(), Made::Object(members))
    }

    /// Puts a container into the heap; `values` is how many values it holds.
    pub(super) fn new_container(&mut self, values: usize, made: Made<'p>) -> Result<Value<'p>> {
        self.work(values)?;
        self.fill(size_of::<Made<'_>>() + values * size_of::<Value<'_>>())?;
        self.heap.push(made);
        Ok(Value::Made(self.heap.len() - 1))
    }

    /// The value at a place in the document; a string or number is read once more each time.
    pub(super) fn value(&mut self, span: Span) -> Result<Value<'p>> {
        let value = self.document.value(span)?;
        if !matches!(value, Value::Stored(_)) {
            let bytes = (span.end - span.start) as usize;
            self.work(bytes / 16)?;
            self.fill(value.size())?;
        }
        Ok(value)
    }

    /// The member of that name.
    pub(super) fn find(&mut self, members: &Members, name: &str) -> Result<Option<Value<'p>>> {
        self.work(members.cost())?;
        let found = self.document.find(members, name)?;
        found.map(|span| self.value(span)).transpose()
    }

    /// Counts the work of reading strings to their end.
    pub(super) fn read_all<'v>(
        &mut self,
        values: impl IntoIterator<Item = &'v Value<'p>>,
    ) -> Result<()>
    where
        'p: 'v,
    {
        let lengths = values.into_iter().map(|value| match value {
            Value::Text(text) => text.len() / 16,
            _ => 0,
        });
        self.work(lengths.sum())
    }

    /// Appends the JSON text of a value to the rows.
    pub(super) fn stringify(&mut self, value: &Value<'p>) -> Result<()> {
        let mut writer = Writer {
            document: self.document,
            heap: &self.heap,
            limit: self.begin + MAX_SAID,
            out: self.said,
        };
        writer.push(value)
    }

    /// The JSON text of a value.
    pub(super) fn json(&mut self, value: &Value<'p>) -> Result<String> {
        let mut text = String::new();
        let mut writer = Writer {
            document: self.document,
            heap: &self.heap,
            limit: MAX_TEXT,
            out: &mut text,
        };
        writer.push(value)?;
        self.work(text.len())?;
        Ok(text)
    }

    pub(super) fn block(&mut self, block: &'p Block) -> Result<Flow> {
        self.statements(block)
    }

    fn statements(&mut self, statements: &'p [Statement]) -> Result<Flow> {
        for statement in statements {
            let flow = self.statement(statement)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &'p Statement) -> Result<Flow> {
        self.work(1)?;
        match statement {
            Statement::Evaluate(expression) => {
                self.evaluate(expression)?;
                Ok(Flow::Next)
            }
            Statement::If {
                test,
                then,
                otherwise,
            } => match self.evaluate(test)?.is_true() {
                true => self.block(then),
                false => self.block(otherwise),
            },
            Statement::Scope { fresh, body } => {
                fresh
                    .iter()
                    .for_each(|slot| self.slots[*slot] = Value::Unset);
                self.block(body)
            }
            Statement::For {
                start,
                test,
                step,
                body,
            } => {
                self.block(start)?;
                self.repeat(test.as_ref(), step.as_ref(), body)
            }
            Statement::ForIn { name, object, body } => {
                let object = self.evaluate(object)?;
                let names = self.names(&object)?;
                self.for_each(*name, names, body)
            }
            Statement::ForOf { item, array, body } => {
                let array = self.evaluate(array)?;
                self.for_of(*item, &array, body)
            }
            Statement::Switch {
                value,
                cases,
                otherwise,
                body,
            } => self.switch(value, cases, *otherwise, body),
            Statement::Try {
                body,
                thrown,
                handler,
            } => match self.block(body) {
                Err(Stop::Thrown(_)) => {
                    if let Some(slot) = thrown {
                        self.slots[*slot] = Value::Unset;
                    }
                    self.block(handler)
                }
                outcome => outcome,
            },
            Statement::Break => Ok(Flow::Break),
            Statement::Continue => Ok(Flow::Continue),
            Statement::Return(value) => {
                self.returned = match value {
                    Some(value) => self.evaluate(value)?,
                    None => Value::Undefined,
                };
                Ok(Flow::Return)
            }
        }
    }

    fn repeat(
        &mut self,
        test: Option<&'p Expression>,
        step: Option<&'p Expression>,
        body: &'p Block,
    ) -> Result<Flow> {
        loop {
            self.work(1)?;
            if let Some(test) = test
                && !self.evaluate(test)?.is_true()
            {
                return Ok(Flow::Next);
            }
            match self.block(body)? {
                Flow::Break => return Ok(Flow::Next),
                Flow::Return => return Ok(Flow::Return),
                Flow::Next | Flow::Continue => {}
            }
            if let Some(step) = step {
                self.evaluate(step)?;
            }
        }
    }

    fn for_each(&mut self, slot: Slot, values: Vec<Value<'p>>, body: &'p Block) -> Result<Flow> {
        for value in values {
            self.slots[slot] = value;
            match self.block(body)? {
                Flow::Break => break,
                Flow::Return => return Ok(Flow::Return),
                Flow::Next | Flow::Continue => {}
            }
        }
        Ok(Flow::Next)
    }

    /// Items that the body adds to an array are visited too.
    fn for_of(&mut self, slot: Slot, array: &Value<'p>, body: &'p Block) -> Result<Flow> {
        let Value::Made(handle) = array else {
            let items = self.items(array)?;
            return self.for_each(slot, items, body);
        };
        let mut at = 0;
        while let Some(item) = self.item_at(*handle, at)? {
            self.slots[slot] = item;
            match self.block(body)? {
                Flow::Break => break,
                Flow::Return => return Ok(Flow::Return),
                Flow::Next | Flow::Continue => at += 1,
            }
        }
        Ok(Flow::Next)
    }

    fn switch(
        &mut self,
        value: &'p Expression,
        cases: &'p [(Expression, usize)],
        otherwise: usize,
        body: &'p Block,
    ) -> Result<Flow> {
        let value = self.evaluate(value)?;
        let mut at = otherwise;
        for (test, target) in cases {
            let test = self.evaluate(test)?;
            if super::operators::same(&value, &test) {
                at = *target;
                break;
            }
        }
        match self.statements(&body[at..])? {
            Flow::Break => Ok(Flow::Next),
            flow => Ok(flow),
        }
    }
}
