//! `_list`: a function of a design document makes an answer of the rows of a view.
//!
//! A list that takes little is made whole at once. Another runs on a thread for long functions, at full speed; its output
//! goes into memory or a file without a name, so that it never waits for its client.

mod host;
mod rows;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use varve_js::{ListHost, Listed};

use crate::couch::call::Call;
use crate::couch::document::all_docs;
use crate::couch::etag;
use crate::couch::functions::design::DesignFunction;
use crate::couch::functions::refusal::refusal;
use crate::couch::functions::request_object::request_object;
use crate::couch::functions::response::not_modified;
use crate::couch::functions::scripts::{self, Script, TimeBudget};
use crate::couch::functions::show::{marked, tag};
use crate::couch::rows::RowSource;
use crate::couch::views::{self, Ready};
use crate::http::{FailureKind, Maker, one_pass};
use crate::{Answer, CouchContext, Failure};
use host::{Host, Output, ShortOutput};
use rows::PulledRows;

/// The view whose rows are those of all documents.
const ALL_DOCS: &str = "_all_docs";

/// A list, or what it waits for.
pub struct Begun(Ready<Step>);

/// How far a list came at once.
enum Step {
    Answered(Answer),
    /// The list takes longer than the brief budget, and goes on in the pool for functions.
    Runs(Box<List>),
}

/// A list function and all that it is given.
struct List {
    app: Arc<CouchContext>,
    script: Script,
    request: Vec<u8>,
    rows: RowSource,
    /// Entity tag of its answer, if it has one.
    tag: Option<String>,
}

/// Begins the answer to `/{db}/_design/{ddoc}/_list/{function}/{view}` and the same with another design document's view.
///
/// # Errors
/// 404 without such a function or view; 400 for options that cannot be used; what the function throws.
pub fn begin(
    call: &Call,
    (design, function): (&str, &str),
    (other, view): (&str, &str),
) -> Result<Begun, Failure> {
    let found = DesignFunction::find(call, design, ("lists", function))?;
    let request = request_object(call, None)?;
    let of_function = tag(call, &found, &[]);
    let (app, asked) = (Arc::clone(&call.app), Arc::clone(&call.request));
    let first = move |rows: RowSource| {
        let of_rows = rows.tag.as_ref().filter(|_| asked.is_read());
        let tag = of_rows.map(|tag| etag::opaque(&[of_function.as_bytes(), tag.as_bytes()]));
        if let Some(tag) = &tag
            && etag::matches(&asked, tag)
        {
            let answer = not_modified(tag, &app.settings().csp);
            return Ok(Step::Answered(marked(answer, tag)));
        }
        let list = List {
            app,
            script: found.script,
            request,
            rows,
            tag,
        };
        list.attempt()
    };
    let step = match view {
        ALL_DOCS => first(all_docs::for_list(call)?).map(Ready::Now),
        _ => views::for_list(call, (other, view), first),
    };
    step.map(Begun)
}

impl Begun {
    /// The answer. Whatever it waits for holds no thread.
    ///
    /// # Errors
    /// As [`begin`].
    pub async fn answer(self) -> Result<Answer, Failure> {
        let step = match self.0 {
            Ready::Now(step) => step,
            Ready::Wait(wait) => wait.outcome().await?,
        };
        match step {
            Step::Answered(answer) => Ok(answer),
            Step::Runs(list) => list.answer().await,
        }
    }
}

impl List {
    /// Runs the function where others wait for the thread.
    fn attempt(self) -> Result<Step, Failure> {
        let output = Rc::new(ShortOutput::default());
        let shared: Rc<dyn Output> = Rc::<ShortOutput>::clone(&output);
        match self.run(shared, TimeBudget::Brief) {
            Ok(()) => Ok(Step::Answered(self.mark(output.take()?))),
            Err(failure) if failure.kind == FailureKind::NeedsTime => {
                Ok(Step::Runs(Box::new(self)))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Runs the function once more, on a thread for such, and answers while it runs.
    async fn answer(self) -> Result<Answer, Failure> {
        let longest = self.app.settings().limits.list_output;
        let (maker, body) = one_pass::<Answer>(&self.app.directory.path, longest);
        let executor = self.app.executor().clone();
        let tag = self.tag.clone();
        executor.functions.spawn(async move {
            let maker = Rc::new(maker);
            let output: Rc<dyn Output> = Rc::<Maker<Answer>>::clone(&maker);
            maker.end(self.run(output, TimeBudget::Full));
        });
        let head = body.head().await?;
        let mut answer = Answer::stream("", &executor.reads, move |writer| body.send(writer));
        (answer.status, answer.headers) = (head.status, head.headers);
        Ok(match tag {
            Some(tag) => marked(answer, &tag),
            None => answer,
        })
    }

    fn mark(&self, answer: Answer) -> Answer {
        match &self.tag {
            Some(tag) => marked(answer, tag),
            None => answer,
        }
    }

    /// Runs the function to its end.
    fn run(&self, output: Rc<dyn Output>, budget: TimeBudget) -> Result<(), Failure> {
        let mut rows = PulledRows::new(&self.rows, self.script.memory());
        let head = rows.head()?;
        let host = Rc::new(RefCell::new(Host::new(rows, output, Arc::clone(&self.app))));
        let shared: Rc<RefCell<dyn ListHost>> = Rc::<RefCell<Host>>::clone(&host);
        let listed = scripts::list((&self.script, budget), shared, &head, &self.request);
        let mut host = host.borrow_mut();
        match listed {
            Ok(Some(Listed::Whole)) => Ok(()),
            Ok(Some(Listed::Refused(text))) => host.append_failure(refusal(&text)),
            Ok(None) => Err(host.take_failure()),
            Err(failure) if failure.kind == FailureKind::FunctionFailed => {
                host.append_failure(failure)
            }
            Err(failure) => Err(failure),
        }
    }
}
