//! The way of a running list function to its host: rows in, output out.

use crate::watch::CallState;
use rquickjs::{Ctx, Exception, Function, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// The host wants the call to end; it knows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostEnded;

/// The host of a list function: gives it rows, and takes its output.
pub trait ListHost {
    /// Appends the JSON text of the next row; `false` if there is none.
    ///
    /// # Errors
    /// [`HostEnded`].
    fn next_row(&mut self, row: &mut Vec<u8>) -> Result<bool, HostEnded>;

    /// Takes the response without its body, as JSON text: once, and before the first output.
    ///
    /// # Errors
    /// [`HostEnded`].
    fn open(&mut self, response: &str) -> Result<(), HostEnded>;

    /// Takes the next piece of the body.
    ///
    /// # Errors
    /// [`HostEnded`].
    fn write(&mut self, text: &str) -> Result<(), HostEnded>;
}

type Connected = Rc<RefCell<dyn ListHost>>;

/// Connects functions of the engine to the host of the running call, if it has one.
pub(crate) struct Port {
    running: Rc<CallState>,
    host: RefCell<Option<Connected>>,
    /// The time that a call has from each row on; without it, rows give none.
    renewal: Cell<Option<Duration>>,
    has_ended: Cell<bool>,
}

impl Port {
    pub(crate) fn new(running: Rc<CallState>) -> Port {
        Port {
            running,
            host: RefCell::default(),
            renewal: Cell::default(),
            has_ended: Cell::default(),
        }
    }

    pub(crate) fn connect(&self, host: Connected, renewal: Option<Duration>) {
        self.host.replace(Some(host));
        self.renewal.set(renewal);
        self.has_ended.set(false);
    }

    /// Says whether the host has ended the call.
    pub(crate) fn disconnect(&self) -> Result<(), HostEnded> {
        self.host.replace(None);
        match self.has_ended.get() {
            true => Err(HostEnded),
            false => Ok(()),
        }
    }

    /// Functions for the engine: the next row, opening, and writing.
    pub(crate) fn functions<'js>(
        self: &Rc<Port>,
        ctx: &Ctx<'js>,
    ) -> rquickjs::Result<[Function<'js>; 3]> {
        let (rows, opens, writes) = (Rc::clone(self), Rc::clone(self), Rc::clone(self));
        let next_row = move |ctx: Ctx<'js>| rows.next_row(&ctx);
        let open = move |ctx: Ctx<'js>, response: String| {
            opens.ask(&ctx, |host| host.open(&response)).map(drop)
        };
        let write =
            move |ctx: Ctx<'js>, text: String| writes.ask(&ctx, |host| host.write(&text)).map(drop);
        Ok([
            Function::new(ctx.clone(), next_row)?,
            Function::new(ctx.clone(), open)?,
            Function::new(ctx.clone(), write)?,
        ])
    }

    fn next_row<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let mut row = Vec::new();
        let found = self.ask(ctx, |host| host.next_row(&mut row))?;
        if found != Some(true) {
            return Ok(Value::new_null(ctx.clone()));
        }
        if let Some(time) = self.renewal.get() {
            self.running.begin(time);
        }
        ctx.json_parse(row)
    }

    /// Asks the host, if there is one. A function that goes on after its host has ended the call gets no more from it,
    /// and no more time.
    fn ask<T>(
        &self,
        ctx: &Ctx<'_>,
        question: impl FnOnce(&mut dyn ListHost) -> Result<T, HostEnded>,
    ) -> rquickjs::Result<Option<T>> {
        let host = self.host.borrow().clone();
        let answer = match host {
            Some(_) if self.has_ended.get() => Err(HostEnded),
            Some(host) => question(&mut *host.borrow_mut()).map(Some),
            None => Ok(None),
        };
        answer.map_err(|HostEnded| {
            self.has_ended.set(true);
            Exception::throw_message(ctx, "the list has ended")
        })
    }
}
