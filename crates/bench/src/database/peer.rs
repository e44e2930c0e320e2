//! A server with CouchDB's HTTP interface that does the same work over HTTP, as it is configured.

use super::Documents;
use super::trial::{BATCH, QUANTITIES, READS, STEP, TrialSizes};
use crate::BenchError;
use crate::couch::{Endpoint, agent};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use ureq::Agent;
use varve_base::Interrupt;
use varve_json::{Object, Value, parse_object, write_string};

/// A view is built or a database compacted within this.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Time between two questions about a compaction.
const PAUSE: Duration = Duration::from_millis(2);
/// Documents in one page of a scan.
const PAGE: usize = 1000;

/// A server that is measured.
pub(super) struct PeerServer {
    name: String,
    server: Endpoint,
    agent: Agent,
}

/// One page of all documents.
pub(super) struct Page {
    pub documents: Vec<(String, Object)>,
    /// Seconds from the request to the end of the answer.
    seconds: f64,
}

/// A database that is deleted with this value.
struct TemporaryDatabase<'p> {
    database: Endpoint,
    agent: &'p Agent,
}

impl Drop for TemporaryDatabase<'_> {
    fn drop(&mut self) {
        // A measurement does not fail because a temporary database stays.
        let _ = self.database.send(self.agent, ("DELETE", ""), b"");
    }
}

impl PeerServer {
    /// Asks a server for its name.
    pub fn find(url: &str) -> Result<PeerServer, BenchError> {
        let (server, agent) = (Endpoint::server(url)?, agent(PATIENCE));
        let named = server.server_name(&agent)?;
        let name = named.split(' ').next().unwrap_or_default().to_owned();
        Ok(PeerServer {
            name,
            server,
            agent,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Does the work of a trial in a new database, compares all documents, and deletes it.
    pub fn run(
        &self,
        documents: &Documents,
        map: &str,
        interrupt: &Interrupt,
    ) -> Result<([f64; QUANTITIES], TrialSizes), BenchError> {
        let name = format!("varve-bench-{}", std::process::id());
        let made = TemporaryDatabase {
            database: self.server.child(&name),
            agent: &self.agent,
        };
        let database = &made.database;
        database.expect(&self.agent, ("PUT", ""), b"")?;
        let load = self.load(database, documents, interrupt)?;
        let compact = self.compact(database, interrupt)?;
        let view = self.index(database, map)?;
        let (p50, p99) = self.read(database, documents, interrupt)?;
        let scan = self.scan(database, documents, interrupt)?;
        self.compact_view(database, interrupt)?;
        let sizes = TrialSizes {
            file: number(&self.info(database, "")?, &["sizes", "file"]),
            view: number(
                &self.info(database, "/_design/bench/_info")?,
                &["view_index", "sizes", "file"],
            ),
            texts: 0,
        };
        Ok(([load, compact, view, p50, p99, scan], sizes))
    }

    fn load(
        &self,
        database: &Endpoint,
        documents: &Documents,
        interrupt: &Interrupt,
    ) -> Result<f64, BenchError> {
        let mut seconds = 0.0;
        for batch in documents.texts.chunks(BATCH) {
            interrupt.check()?;
            let body = bulk(batch);
            let start = Instant::now();
            let answer = database.expect(&self.agent, ("POST", "/_bulk_docs"), &body)?;
            seconds += start.elapsed().as_secs_f64();
            let refusal = b"\"error\"";
            if answer.windows(refusal.len()).any(|part| part == refusal) {
                let text = String::from_utf8_lossy(&answer[..answer.len().min(200)]).into_owned();
                return Err(database.failed(format!("_bulk_docs refuses documents: {text}")));
            }
        }
        Ok(seconds)
    }

    fn compact(&self, database: &Endpoint, interrupt: &Interrupt) -> Result<f64, BenchError> {
        let start = Instant::now();
        database.expect(&self.agent, ("POST", "/_compact"), b"{}")?;
        while flag(&self.info(database, "")?, &["compact_running"]) {
            interrupt.check()?;
            std::thread::sleep(PAUSE);
        }
        Ok(start.elapsed().as_secs_f64())
    }

    fn compact_view(&self, database: &Endpoint, interrupt: &Interrupt) -> Result<(), BenchError> {
        database.expect(&self.agent, ("POST", "/_compact/bench"), b"{}")?;
        let is_running = ["view_index", "compact_running"];
        while flag(&self.info(database, "/_design/bench/_info")?, &is_running) {
            interrupt.check()?;
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn index(&self, database: &Endpoint, map: &str) -> Result<f64, BenchError> {
        let mut design = b"{\"views\":{\"bench\":{\"map\":".to_vec();
        write_string(map, &mut design);
        design.extend_from_slice(b"}}}");
        database.expect(&self.agent, ("PUT", "/_design/bench"), &design)?;
        let start = Instant::now();
        let view = "/_design/bench/_view/bench?limit=1";
        database.expect(&self.agent, ("GET", view), b"")?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Reads documents one after the other; returns two percentiles in microseconds.
    fn read(
        &self,
        database: &Endpoint,
        documents: &Documents,
        interrupt: &Interrupt,
    ) -> Result<(f64, f64), BenchError> {
        let ids: Vec<&String> = usual(documents).map(|(id, _)| id).collect();
        let count = ids.len().min(READS);
        let mut times = Vec::with_capacity(count);
        for number in 0..count {
            interrupt.check()?;
            let path = format!("/{}", percent_encoded(ids[number * STEP % ids.len()]));
            let start = Instant::now();
            database.expect(&self.agent, ("GET", &path), b"")?;
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        super::trial::percentiles(times).ok_or(BenchError::Nothing)
    }

    /// Reads all documents in pages, compares them with those that were sent, and returns the seconds of the requests.
    fn scan(
        &self,
        database: &Endpoint,
        documents: &Documents,
        interrupt: &Interrupt,
    ) -> Result<f64, BenchError> {
        let mut sent: HashMap<&str, &[u8]> = usual(documents)
            .map(|(id, text)| (id.as_str(), text.as_slice()))
            .collect();
        let mut seconds = 0.0;
        for page in pages(database, interrupt) {
            let page = page?;
            seconds += page.seconds;
            for (id, mut document) in page.documents {
                let Some(text) = sent.remove(id.as_str()) else {
                    continue;
                };
                document.retain(|name, _| !name.starts_with('_'));
                let before = parse_object(text).map(Value::Object);
                if !before.is_ok_and(|before| is_equal(&before, &Value::Object(document))) {
                    return Err(BenchError::OtherDocument {
                        server: self.server.shown().to_owned(),
                        id,
                    });
                }
            }
        }
        match sent.into_keys().next() {
            Some(id) => Err(BenchError::Missing { id: id.to_owned() }),
            None => Ok(seconds),
        }
    }

    fn info(&self, database: &Endpoint, path: &str) -> Result<Object, BenchError> {
        let body = database.expect(&self.agent, ("GET", path), b"")?;
        parse_object(&body).map_err(|error| database.failed(error.to_string()))
    }
}

/// Design documents of a source are not sent: a server would act by them.
fn usual(documents: &Documents) -> impl Iterator<Item = &(String, Vec<u8>)> {
    let all = documents.texts.iter();
    all.filter(|(id, _)| !id.starts_with("_design/"))
}

/// All documents of a database by id, page after page.
pub(super) fn pages<'d>(
    database: &'d Endpoint,
    interrupt: &'d Interrupt,
) -> impl Iterator<Item = Result<Page, BenchError>> + 'd {
    let (agent, mut after, mut is_over) = (agent(PATIENCE), None::<String>, false);
    std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let page = interrupt
            .check()
            .map_err(BenchError::from)
            .and_then(|()| page(database, &agent, after.as_deref()));
        match &page {
            Ok(page) => {
                is_over = page.documents.len() < PAGE;
                after = page.documents.last().map(|(id, _)| id.clone());
            }
            Err(_) => is_over = true,
        }
        Some(page)
    })
}

fn page(database: &Endpoint, agent: &Agent, after: Option<&str>) -> Result<Page, BenchError> {
    let mut path = format!("/_all_docs?include_docs=true&limit={PAGE}");
    if let Some(after) = after {
        let mut key = Vec::new();
        write_string(after, &mut key);
        let key = percent_encoded(&String::from_utf8_lossy(&key));
        path.push_str(&format!("&start_key={key}&skip=1"));
    }
    let start = Instant::now();
    let body = database.expect(agent, ("GET", &path), b"")?;
    let seconds = start.elapsed().as_secs_f64();
    let mut object = parse_object(&body).map_err(|error| database.failed(error.to_string()))?;
    let Some(Value::Array(rows)) = object.remove("rows") else {
        return Err(database.failed("_all_docs has no rows".to_owned()));
    };
    let mut documents = Vec::with_capacity(rows.len());
    for row in rows {
        let Value::Object(mut row) = row else {
            continue;
        };
        let id = row.get("id").and_then(Value::as_str).map(str::to_owned);
        if let (Some(id), Some(Value::Object(document))) = (id, row.remove("doc")) {
            documents.push((id, document));
        }
    }
    Ok(Page { documents, seconds })
}

/// The body of a request that stores these documents.
fn bulk(batch: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut body = b"{\"docs\":[".to_vec();
    let mut is_first = true;
    for (id, text) in batch.iter().filter(|(id, _)| !id.starts_with("_design/")) {
        if !std::mem::take(&mut is_first) {
            body.push(b',');
        }
        body.extend_from_slice(b"{\"_id\":");
        write_string(id, &mut body);
        let inside = text.trim_ascii();
        let inside = inside.strip_prefix(b"{").unwrap_or(inside);
        if inside.trim_ascii() != b"}" {
            body.push(b',');
        }
        body.extend_from_slice(inside);
    }
    body.extend_from_slice(b"]}");
    body
}

/// Numbers are equal if they are the same double: servers write them in forms of their own.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.to_f64() == other.to_f64(),
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let mut members = one.iter();
            one.len() == other.len()
                && members.all(|(name, value)| {
                    other.get(name).is_some_and(|other| is_equal(value, other))
                })
        }
        (one, other) => one == other,
    }
}

/// The value at a path of names.
fn at<'o>(object: &'o Object, path: &[&str]) -> Option<&'o Value> {
    let (first, rest) = path.split_first()?;
    let value = object.get(first)?;
    match (rest, value) {
        ([], value) => Some(value),
        (rest, Value::Object(inner)) => at(inner, rest),
        _ => None,
    }
}

fn flag(object: &Object, path: &[&str]) -> bool {
    matches!(at(object, path), Some(Value::Bool(true)))
}

/// A number of bytes; 0 where the server does not tell it.
fn number(object: &Object, path: &[&str]) -> u64 {
    match at(object, path) {
        Some(Value::Number(number)) => number.to_f64() as u64,
        _ => 0,
    }
}

/// Text as a part of a path or of a query.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        Value::Object(parse_object(text.as_bytes()).unwrap())
    }

    #[test]
    fn documents_are_equal_by_contents_and_not_by_their_form() {
        let one = value(r#"{"a":1.0,"b":[1e2,"x"],"c":{"d":null}}"#);
        assert!(is_equal(
            &one,
            &value(r#"{"b":[100,"x"],"a":1,"c":{"d":null}}"#)
        ));
        for other in [
            r#"{"a":1.1,"b":[1e2,"x"],"c":{"d":null}}"#,
            r#"{"a":1,"b":[1e2],"c":{"d":null}}"#,
            r#"{"a":1,"b":[1e2,"x"],"c":{}}"#,
            r#"{"a":1,"b":[1e2,"x"],"c":{"d":null},"e":1}"#,
        ] {
            assert!(!is_equal(&one, &value(other)), "{other}");
        }
    }

    #[test]
    fn a_batch_has_ids_in_front_and_no_design_documents() {
        let text = |id: &str, text: &str| (id.to_owned(), text.as_bytes().to_vec());
        let batch = [
            text("a\"b", "{}"),
            text("_design/x", "{}"),
            text("c", "{\"n\":1}"),
        ];
        let expected = r#"{"docs":[{"_id":"a\"b"},{"_id":"c","n":1}]}"#;
        assert_eq!(String::from_utf8(bulk(&batch)).unwrap(), expected);
        assert_eq!(percent_encoded("a/b ö"), "a%2Fb%20%C3%B6");
    }
}
