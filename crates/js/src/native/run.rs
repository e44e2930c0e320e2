//! Running a program over a document: statements.

use super::document::{Container, Members, Text};
use super::program::{Block, Callback, Expression, Program, Slot, Statement};
use super::stringify::Writer;
use super::value::{Result, Stop, Value};
use std::rc::Rc;
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
    /// It threw and has no rows.
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
    pub(super) document: &'r mut Text<'d>,
    pub(super) slots: Vec<Value<'p>>,
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
        document,
        slots: vec![Value::Undefined; program.slots],
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
    fn fill(&mut self, bytes: usize) -> Result<()> {
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

    /// Appends a value to the rows.
    pub(super) fn stringify(&mut self, value: &Value<'p>) -> Result<()> {
        let mut writer = Writer {
            document: self.document,
            limit: self.begin + MAX_SAID,
            out: self.said,
        };
        writer.push(value)
    }

    fn block(&mut self, block: &'p Block) -> Result<Flow> {
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
                let items = self.items(&array)?;
                self.fill(size_of_val(&*items))?;
                self.for_each(*item, items.to_vec(), body)
            }
            Statement::Switch {
                value,
                cases,
                otherwise,
                body,
            } => self.switch(value, cases, *otherwise, body),
            Statement::Break => Ok(Flow::Break),
            Statement::Continue => Ok(Flow::Continue),
            Statement::Return(value) => {
                if let Some(value) = value {
                    self.evaluate(value)?;
                }
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

    /// Calls a function for every item of an array.
    pub(super) fn call_for_each(
        &mut self,
        array: &Value<'p>,
        callback: &'p Callback,
    ) -> Result<()> {
        for (index, item) in self.items(array)?.iter().enumerate() {
            let arguments = [item.clone(), Value::Number(index as f64)];
            for (slot, argument) in callback.parameters.iter().zip(arguments) {
                self.slots[*slot] = argument;
            }
            for slot in callback.variables.clone() {
                self.slots[slot] = Value::Undefined;
            }
            self.block(&callback.body)?;
        }
        Ok(())
    }

    /// Opens an array or object of the document.
    pub(super) fn open(&mut self, value: &Value<'p>) -> Result<Container> {
        let Value::Stored(span) = value else {
            return Err(Stop::Unsure);
        };
        let (container, read) = self.document.open(*span)?;
        self.work(read / 8)?;
        if read > 0 {
            let parts = match &container {
                Container::Array(items) => size_of_val(&**items),
                Container::Object(members) => size_of_val(members.list()),
            };
            self.fill(parts)?;
        }
        Ok(container)
    }

    /// The items of an array.
    pub(super) fn items(&mut self, array: &Value<'p>) -> Result<Rc<[Value<'p>]>> {
        if let Value::Array(_, items) = array {
            self.work(items.len())?;
            return Ok(Rc::clone(items));
        }
        let Container::Array(items) = self.open(array)? else {
            return Err(Stop::Unsure);
        };
        self.work(items.len())?;
        self.fill(items.len() * size_of::<Value<'_>>())?;
        let values = items.iter().map(|item| self.value(*item));
        values.collect()
    }

    /// The names that `for (… in …)` goes through.
    pub(super) fn names(&mut self, object: &Value<'p>) -> Result<Vec<Value<'p>>> {
        if object.is_nothing() {
            return Ok(Vec::new());
        }
        if let Value::Array(_, items) = object {
            return self.positions(items.len());
        }
        match self.open(object)? {
            Container::Array(items) => self.positions(items.len()),
            Container::Object(members) => {
                self.work(members.cost())?;
                self.fill(members.list().len() * size_of::<Value<'_>>())?;
                let names = members.list().iter();
                let names = names.map(|member| self.document.name(member).map(Value::Text));
                let names = names.collect::<Result<Vec<_>>>()?;
                names.iter().try_for_each(|name| self.fill(name.size()))?;
                // Positions come first; the engine knows their order.
                let is_position = |name: &Value<'_>| match name {
                    Value::Text(name) => super::stringify::position(name).is_some(),
                    _ => false,
                };
                match names.iter().any(is_position) {
                    true => Err(Stop::Unsure),
                    false => Ok(names),
                }
            }
        }
    }

    /// The names of an array's items.
    fn positions(&mut self, count: usize) -> Result<Vec<Value<'p>>> {
        self.work(count)?;
        self.fill(count * (size_of::<Value<'_>>() + 16))?;
        (0..count).map(|at| Value::text(at.to_string())).collect()
    }
}
