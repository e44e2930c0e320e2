//! Running a program over a document: calls of functions inside, and of those handed to methods.

use super::known::Iteration;
use super::program::{Callback, Expression, FunctionId, Operand, Slot};
use super::run::Machine;
use super::value::{Result, Stop, Value};

/// Statements and expressions that may be nested over all calls: each takes some 1,000 bytes of stack.
const MAX_DEPTH: usize = 512;
/// Depth that a call adds to that of its function's body.
const DEPTH_OF_CALL: usize = 4;

/// A method's call of a function for its items.
pub(super) struct Iterating<'p> {
    pub(super) array: Value<'p>,
    pub(super) method: Iteration,
    pub(super) callback: Callback,
    /// Initial value of `reduce`.
    pub(super) first: Option<Value<'p>>,
}

impl<'d: 'p, 'p> Machine<'_, 'd, 'p> {
    /// Calls a function by its name, or where it is written.
    pub(super) fn invoke(
        &mut self,
        name: Option<Slot>,
        function: FunctionId,
        arguments: &'p [Expression],
    ) -> Result<Value<'p>> {
        self.check_declared(name, function)?;
        let arguments = self.all(arguments)?;
        self.run_inner(function, &arguments)
    }

    /// A variable that is called must hold its function by now.
    fn check_declared(&self, name: Option<Slot>, function: FunctionId) -> Result<()> {
        match name.map(|slot| &self.slots[slot]) {
            None => Ok(()),
            Some(Value::Function(held)) if *held == function => Ok(()),
            Some(_) => Err(Stop::Unsure),
        }
    }

    fn run_inner(&mut self, id: FunctionId, arguments: &[Value<'p>]) -> Result<Value<'p>> {
        let function = &self.program.functions[id];
        self.work(1 + function.variables.len())?;
        let depth = self.depth;
        self.depth += function.depth + DEPTH_OF_CALL;
        if self.depth > MAX_DEPTH {
            return Err(Stop::Unsure);
        }
        let is_again = std::mem::replace(&mut self.running[id], true);
        let mut kept = Vec::new();
        for slot in &function.variables {
            let old = std::mem::replace(&mut self.slots[*slot], Value::Undefined);
            if is_again {
                kept.push(old);
            }
        }
        for (slot, argument) in function.parameters.iter().zip(arguments) {
            self.slots[*slot] = argument.clone();
        }
        self.returned = Value::Undefined;
        let outcome = self.block(&function.body);
        let returned = std::mem::replace(&mut self.returned, Value::Undefined);
        for (slot, old) in function.variables.iter().zip(kept) {
            self.slots[*slot] = old;
        }
        self.running[id] = is_again;
        self.depth = depth;
        outcome.map(|_| returned)
    }

    /// Calls a function that was handed to a method.
    pub(super) fn call_back(
        &mut self,
        callback: Callback,
        arguments: &[Value<'p>],
    ) -> Result<Value<'p>> {
        match callback {
            Callback::Written(function) => self.run_inner(function, arguments),
            Callback::Named(slot, function) => {
                self.check_declared(Some(slot), function)?;
                self.run_inner(function, arguments)
            }
            Callback::Known(function) => self.call_with(function, arguments),
        }
    }

    /// `object.method(callback)`
    pub(super) fn iterate(
        &mut self,
        object: Value<'p>,
        (method, callback): (Iteration, Callback),
        argument: Option<&'p Operand>,
    ) -> Result<Value<'p>> {
        let argument = argument.map(|argument| self.evaluate(argument));
        let argument = argument.transpose()?;
        if method == Iteration::Replace {
            let pattern = argument.ok_or(Stop::Unsure)?;
            return self.replace_by(&object, &pattern, callback);
        }
        if !self.is_array(&object) {
            return Err(Stop::Unsure);
        }
        self.over_items(Iterating {
            array: object,
            method,
            callback,
            first: argument,
        })
    }

    /// Items that are added meanwhile are not visited; for an array that gets shorter, only the engine knows.
    fn over_items(&mut self, iterating: Iterating<'p>) -> Result<Value<'p>> {
        let Iterating {
            array,
            method,
            callback,
            first,
        } = iterating;
        let items = self.items(&array)?;
        let mut made = Vec::new();
        let mut held = first;
        for (at, item) in items.iter().enumerate() {
            let item = match &array {
                Value::Made(handle) => self.item_at(*handle, at)?.ok_or(Stop::Unsure)?,
                _ => item.clone(),
            };
            let position = Value::Number(at as f64);
            if method == Iteration::Reduce {
                held = Some(match held {
                    None => item,
                    Some(held) => {
                        self.call_back(callback, &[held, item, position, array.clone()])?
                    }
                });
                continue;
            }
            let arguments = [item.clone(), position.clone(), array.clone()];
            let outcome = self.call_back(callback, &arguments)?;
            match (method, outcome.is_true()) {
                (Iteration::Map, _) => made.push(outcome),
                (Iteration::Filter, true) => made.push(item),
                (Iteration::Some, true) => return Ok(Value::Bool(true)),
                (Iteration::Every, false) => return Ok(Value::Bool(false)),
                (Iteration::Find, true) => return Ok(item),
                (Iteration::FindIndex, true) => return Ok(position),
                _ => {}
            }
        }
        Ok(match method {
            Iteration::Map | Iteration::Filter => self.new_array(made)?,
            Iteration::Some => Value::Bool(false),
            Iteration::Every => Value::Bool(true),
            Iteration::FindIndex => Value::Number(-1.0),
            // Of nothing, without a value to begin with, it throws.
            Iteration::Reduce => held.ok_or(Stop::Unsure)?,
            Iteration::ForEach | Iteration::Find | Iteration::Replace => Value::Undefined,
        })
    }
}
