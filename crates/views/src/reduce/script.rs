//! Reduce functions in JavaScript.
//!
//! An engine stays on one thread, but any thread may need a summary. So the engine has a thread
//! of its own, started when it is first needed, which ends with the reducer.

use super::{Reduced, StoredRow};
use crate::IndexOptions;
use crate::row::id_of_tail;
use parking_lot::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use varve_js::{JsError, Limits, ReduceEngine};

/// Longer results must be shorter than half of their input, as in CouchDB, which measures the lines that it exchanges with
/// its processes, without the text of the function.
const MAY_GROW: usize = 4096;
/// Bytes of `["reduce",[""],]` around rows, and of `["rereduce",[""],]` around results.
const AROUND_ROWS: usize = 16;
const AROUND_RESULTS: usize = 18;
/// Bytes of the brackets of a list around a result.
const AROUND_RESULT: usize = 2;

/// A function that passed its limit of time so often, one time after the other, is not called any more
/// until the index is opened anew: an index has many nodes, and each would wait for it.
const MAX_TIMEOUTS: u32 = 5;

/// The functions over one map function.
pub(super) struct ScriptReducer {
    sources: Vec<String>,
    limits: Limits,
    /// Whether results that grow are refused.
    must_shrink: bool,
    thread: Mutex<Option<Sender<Job>>>,
}

/// One call of a function.
struct Job {
    function: usize,
    /// `None` for a rereduce.
    keys: Option<Vec<u8>>,
    values: Vec<u8>,
    answer: Sender<Result<String, JsError>>,
}

impl ScriptReducer {
    pub(super) fn new(sources: Vec<String>, options: &IndexOptions) -> Self {
        ScriptReducer {
            sources,
            limits: options.limits,
            must_shrink: options.reduce_limit,
            thread: Mutex::new(None),
        }
    }

    /// Reduces rows.
    pub(super) fn reduce(&self, function: usize, rows: &[StoredRow<'_, '_>]) -> Reduced {
        if rows.is_empty() {
            return Reduced::Nothing;
        }
        let mut keys = Vec::new();
        for row in rows {
            keys.push(if keys.is_empty() { b'[' } else { b',' });
            keys.push(b'[');
            keys.extend_from_slice(row.key);
            keys.push(b',');
            varve_json::write_string(&id_of_tail(row.tail), &mut keys);
            keys.push(b']');
        }
        keys.push(b']');
        let values = array(&mut rows.iter().map(|row| row.value));
        // The rows are one list, each with both.
        let rows = keys.len() + values.len() + 2 * rows.len() - 1;
        self.run(function, Some(keys), values, rows + AROUND_ROWS)
    }

    /// Reduces results of the same function.
    pub(super) fn rereduce(
        &self,
        function: usize,
        values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Reduced {
        let values = array(values);
        let given = values.len() + AROUND_RESULTS;
        self.run(function, None, values, given)
    }

    fn run(
        &self,
        function: usize,
        keys: Option<Vec<u8>>,
        values: Vec<u8>,
        given: usize,
    ) -> Reduced {
        let (answer, result) = channel();
        let job = Job {
            function,
            keys,
            values,
            answer,
        };
        // A failed send or a closed answer is a thread that could not be started.
        let sent = self.sender().send(job);
        match sent.ok().and_then(|()| result.recv().ok()) {
            Some(Ok(json)) if self.must_shrink && grows(given, json.len() + AROUND_RESULT) => {
                Reduced::Overflow(super::must_shrink(given, json.len() + AROUND_RESULT))
            }
            Some(Ok(json)) => Reduced::Value(json.into_bytes()),
            // As in CouchDB, which goes on with the other groups.
            Some(Err(JsError::Thrown { .. })) => Reduced::Value(b"null".to_vec()),
            Some(Err(error)) => Reduced::Failed(error.to_string()),
            None => Reduced::Failed("the engine for reduce functions did not start".to_owned()),
        }
    }

    fn sender(&self) -> Sender<Job> {
        let mut thread = self.thread.lock();
        if let Some(sender) = &*thread {
            return sender.clone();
        }
        let (sender, jobs) = channel();
        let (sources, limits) = (self.sources.clone(), self.limits);
        let started = std::thread::Builder::new()
            .name("reduce".to_owned())
            .spawn(move || serve(&sources, limits, jobs));
        if started.is_ok() {
            *thread = Some(sender.clone());
        }
        sender
    }
}

fn grows(given: usize, made: usize) -> bool {
    made > MAY_GROW && made * 2 > given
}

/// Answers jobs until the reducer is gone.
fn serve(sources: &[String], limits: Limits, jobs: Receiver<Job>) {
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let mut engine = ReduceEngine::compile(&sources, limits);
    let mut failures = vec![0u32; sources.len()];
    for job in jobs {
        let limit = limits.time;
        let of_function = failures.get_mut(job.function);
        let result = match (&mut engine, of_function) {
            (_, Some(&mut MAX_TIMEOUTS)) => Err(JsError::Time { limit }),
            (Ok(engine), Some(failures)) => {
                let result = run(engine, &job);
                *failures = match result {
                    Err(JsError::Time { .. }) => *failures + 1,
                    _ => 0,
                };
                result
            }
            (Ok(engine), None) => run(engine, &job),
            (Err(error), _) => Err(error.clone()),
        };
        // Without a waiting query the answer is not missed.
        let _ = job.answer.send(result);
    }
}

fn run(engine: &mut ReduceEngine, job: &Job) -> Result<String, JsError> {
    let mut json = String::new();
    match &job.keys {
        Some(keys) => engine.reduce(job.function, keys, &job.values, &mut json)?,
        None => engine.rereduce(job.function, &job.values, &mut json)?,
    }
    Ok(json)
}

/// A JSON array of JSON texts.
fn array(values: &mut dyn Iterator<Item = &[u8]>) -> Vec<u8> {
    let mut out = vec![b'['];
    for value in values {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(value);
    }
    out.push(b']');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemtableBudget;
    use std::time::Duration;
    use varve_btree::NodeCache;
    use varve_codec::EngineSetting;

    /// This takes minutes where the endless function is called each time.
    #[test]
    fn a_function_that_never_ends_is_not_waited_for_each_time() {
        let limits = Limits {
            time: Duration::from_millis(300),
            ..Limits::default()
        };
        let options = IndexOptions {
            setting: EngineSetting::SNAPPY,
            cache: NodeCache::new(1 << 10),
            memtable_budget: MemtableBudget::new(0),
            limits,
            reduce_limit: true,
        };
        let sources = [
            "function () { while (true) {} }",
            "function (k, v) { return sum(v) }",
        ];
        let reducer = ScriptReducer::new(sources.map(str::to_owned).to_vec(), &options);
        let reduced = |function| reducer.rereduce(function, &mut [&b"1"[..], b"2"].into_iter());
        let failed = Reduced::Failed(JsError::Time { limit: limits.time }.to_string());
        for _ in 0..400 {
            assert_eq!(reduced(0), failed);
            assert_eq!(reduced(1), Reduced::Value(b"3".to_vec()));
        }
    }
}
