//! The host of a running list function.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::watch;
use varve_js::{HostEnded, ListHost};

use crate::couch::functions::list::rows::PulledRows;
use crate::couch::functions::response::Response;
use crate::http::{Body, FailureKind, Maker, quote};
use crate::{Answer, CouchContext, Failure};

/// Bytes of a list that is made whole before it is sent.
const SHORT: usize = 128 << 10;

/// Takes the output of a list.
pub trait Output {
    /// Takes status and headers, before the first bytes.
    fn open(&self, head: Answer);

    /// Takes bytes.
    ///
    /// # Errors
    /// They are not wanted, or too many.
    fn write(&self, bytes: &[u8]) -> Result<(), Failure>;
}

impl Output for Maker<Answer> {
    fn open(&self, head: Answer) {
        Maker::open(self, head);
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        Maker::write(self, bytes)
    }
}

/// The whole output in memory.
#[derive(Default)]
pub struct ShortOutput(RefCell<(Option<Answer>, Vec<u8>)>);

impl Output for ShortOutput {
    fn open(&self, head: Answer) {
        self.0.borrow_mut().0 = Some(head);
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let (_, body) = &mut *self.0.borrow_mut();
        if body.len() + bytes.len() > SHORT {
            let words = "a list is long";
            return Err(Failure::new(FailureKind::NeedsTime, "needs_time", words));
        }
        body.extend_from_slice(bytes);
        Ok(())
    }
}

impl ShortOutput {
    /// The answer that the output makes.
    ///
    /// # Errors
    /// 500 if the function never opened it.
    pub fn take(&self) -> Result<Answer, Failure> {
        let (head, body) = self.0.take();
        let mut answer = head.ok_or_else(|| Failure::internal("the list has no head"))?;
        answer.body = Body::Whole(body);
        Ok(answer)
    }
}

/// Gives the function rows, and passes its output on.
pub struct Host {
    rows: PulledRows,
    output: Rc<dyn Output>,
    stopping: watch::Receiver<bool>,
    app: Arc<CouchContext>,
    is_open: bool,
    /// Why the call was ended.
    failure: Option<Failure>,
}

impl Host {
    pub fn new(rows: PulledRows, output: Rc<dyn Output>, app: Arc<CouchContext>) -> Host {
        Host {
            rows,
            output,
            stopping: app.stopping(),
            app,
            is_open: false,
            failure: None,
        }
    }

    /// Why the call was ended.
    pub fn take_failure(&mut self) -> Failure {
        let failure = self.failure.take();
        failure.unwrap_or_else(|| Failure::internal("the list was interrupted"))
    }

    /// Says at the end of the output why it is not whole, as CouchDB does.
    ///
    /// # Errors
    /// The failure itself, if its status can still be sent.
    pub fn append_failure(&self, failure: Failure) -> Result<(), Failure> {
        if !self.is_open {
            return Err(failure);
        }
        let mut text =
            format!("\n{{\"code\":{},\"error\":", failure.status().as_u16()).into_bytes();
        quote(&failure.error, &mut text);
        text.extend_from_slice(b",\"reason\":");
        quote(&failure.reason, &mut text);
        text.extend_from_slice(b"}\n");
        self.output.write(&text)
    }

    fn keep<T>(&mut self, outcome: Result<T, Failure>) -> Result<T, HostEnded> {
        outcome.map_err(|failure| {
            self.failure = Some(failure);
            HostEnded
        })
    }

    fn row(&mut self, row: &mut Vec<u8>) -> Result<bool, Failure> {
        if *self.stopping.borrow() {
            let words = "the server stops";
            return Err(Failure::new(
                FailureKind::Unavailable,
                "service_unavailable",
                words,
            ));
        }
        // A client that has gone is noticed by a list without output as well.
        self.output.write(b"")?;
        self.rows.next(row)
    }
}

impl ListHost for Host {
    fn next_row(&mut self, row: &mut Vec<u8>) -> Result<bool, HostEnded> {
        let found = self.row(row);
        self.keep(found)
    }

    fn open(&mut self, response: &str) -> Result<(), HostEnded> {
        let settings = self.app.settings();
        let head = Response::parse(response).map(|head| head.into_head(&settings.csp));
        let head = self.keep(head)?;
        self.is_open = true;
        self.output.open(head);
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<(), HostEnded> {
        let written = self.output.write(text.as_bytes());
        self.keep(written)
    }
}
