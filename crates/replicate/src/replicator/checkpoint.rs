//! Checkpoints: local documents of the same content in both databases, which say how far a replication has come.
//!
//! ```text
//! session_id              of the last run
//! source_last_seq         up to which sequence of the source everything is in the target
//! replication_id_version  4
//! history                 [{session_id, recorded_seq, start_last_seq, end_last_seq, counts…}, …], newest first
//! ```
//! A run goes on from the newest session that both sides remember: a checkpoint in one of them may be older, after a
//! failure or when a database was brought back from a backup.

use varve_json::{Object, Value};

/// The version of identities, in `replication_id_version`.
pub const ID_VERSION: u64 = 4;
/// Sessions that a checkpoint remembers.
pub const LONGEST_HISTORY: usize = 50;

/// The sequence from which a replication goes on, which both sides confirm. `None` if they have no session in common.
pub fn common_sequence(source: &Object, target: &Object) -> Option<Value> {
    let last = |log: &Object| log.get("source_last_seq").cloned();
    let session = |log: &Object| log.get("session_id").cloned();
    if session(source).is_some() && session(source) == session(target) {
        return last(source).filter(is_sequence);
    }
    let (here, there) = (sessions(source), sessions(target));
    let common = here.iter().find_map(|(id, _)| {
        there
            .iter()
            .find(|(other, _)| other == id)
            .map(|(_, recorded)| recorded.clone())
    });
    common.filter(is_sequence)
}

/// Session and recorded sequence of each entry, newest first.
fn sessions(log: &Object) -> Vec<(&str, Value)> {
    let history = log.get("history").and_then(Value::as_array);
    let entries = history.unwrap_or_default().iter();
    entries
        .filter_map(|entry| {
            let id = entry.get("session_id")?.as_str()?;
            Some((id, entry.get("recorded_seq")?.clone()))
        })
        .collect()
}

/// Sequences are numbers (CouchDB 1), texts (CouchDB from 2 on), or lists of a number and texts (BigCouch, old Cloudants).
fn is_sequence(value: &Value) -> bool {
    let is_plain = |value: &Value| matches!(value, Value::String(_) | Value::Number(_));
    match value {
        Value::Array(parts) => !parts.is_empty() && parts.iter().all(is_plain),
        value => is_plain(value),
    }
}

/// One run of a replication, as its checkpoint remembers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// 32 hexadecimal digits, other ones for each run.
    pub id: String,
    /// When the run began, in the words of HTTP dates.
    pub start_time: String,
    /// When the checkpoint was written, likewise.
    pub end_time: String,
    /// Sequence of the source at which the run began.
    pub start_seq: Value,
    /// Up to where everything is replicated.
    pub end_seq: Value,
    /// Counts of the run.
    pub counts: Counts,
}

/// Revisions that a run has handled so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Revisions that the target was asked for.
    pub revisions_checked: u64,
    /// Revisions that it lacked.
    pub missing_found: u64,
    /// Revisions that were read from the source.
    pub docs_read: u64,
    /// Revisions that the target took.
    pub docs_written: u64,
    /// Revisions that it refused.
    pub doc_write_failures: u64,
    /// Revisions that came by `_bulk_get`.
    pub bulk_get_docs: u64,
    /// Revisions that `_bulk_get` was asked for.
    pub bulk_get_attempts: u64,
}

impl Counts {
    /// Adds what a batch has done.
    pub fn add(&mut self, other: &Counts) {
        self.revisions_checked += other.revisions_checked;
        self.missing_found += other.missing_found;
        self.docs_read += other.docs_read;
        self.docs_written += other.docs_written;
        self.doc_write_failures += other.doc_write_failures;
        self.bulk_get_docs += other.bulk_get_docs;
        self.bulk_get_attempts += other.bulk_get_attempts;
    }
}

/// The checkpoint of a session, which remembers those of the one before.
pub fn next(before: &Object, session: &Session) -> Object {
    let mut history: Vec<Value> = vec![entry(session).into()];
    let older = before.get("history").and_then(Value::as_array);
    let is_other = |entry: &&Value| {
        entry.get("session_id").and_then(Value::as_str) != Some(session.id.as_str())
    };
    let older = older.unwrap_or_default().iter().filter(is_other).cloned();
    history.extend(older.take(LONGEST_HISTORY - 1));
    let mut log = Object::new();
    log.insert("session_id", session.id.as_str());
    log.insert("source_last_seq", session.end_seq.clone());
    log.insert("replication_id_version", ID_VERSION);
    log.insert("history", Value::from_iter(history));
    log
}

fn entry(session: &Session) -> Object {
    let counts = &session.counts;
    let mut entry = Object::new();
    entry.insert("session_id", session.id.as_str());
    entry.insert("start_time", session.start_time.as_str());
    entry.insert("end_time", session.end_time.as_str());
    entry.insert("start_last_seq", session.start_seq.clone());
    entry.insert("end_last_seq", session.end_seq.clone());
    entry.insert("recorded_seq", session.end_seq.clone());
    entry.insert("missing_checked", counts.revisions_checked);
    entry.insert("missing_found", counts.missing_found);
    entry.insert("docs_read", counts.docs_read);
    entry.insert("docs_written", counts.docs_written);
    entry.insert("doc_write_failures", counts.doc_write_failures);
    entry.insert("bulk_get_docs", counts.bulk_get_docs);
    entry.insert("bulk_get_attempts", counts.bulk_get_attempts);
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: &str, end: u64) -> Session {
        Session {
            id: id.to_owned(),
            start_time: String::new(),
            end_time: String::new(),
            start_seq: Value::from(0u64),
            end_seq: Value::from(end),
            counts: Counts::default(),
        }
    }

    fn log(sessions: &[(&str, u64)]) -> Object {
        let first = Object::new();
        let steps = sessions.iter();
        steps.fold(first, |log, (id, end)| next(&log, &session(id, *end)))
    }

    #[test]
    fn a_run_goes_on_from_the_newest_session_that_both_sides_know() {
        let full = log(&[("a", 3), ("b", 7), ("c", 9)]);
        assert_eq!(common_sequence(&full, &full), Some(Value::from(9u64)));
        let older = log(&[("a", 3), ("b", 7)]);
        assert_eq!(common_sequence(&full, &older), Some(Value::from(7u64)));
        assert_eq!(common_sequence(&older, &full), Some(Value::from(7u64)));
        let forked = log(&[("a", 3), ("x", 8)]);
        assert_eq!(common_sequence(&full, &forked), Some(Value::from(3u64)));
        assert_eq!(common_sequence(&full, &log(&[("z", 1)])), None);
        assert_eq!(common_sequence(&full, &Object::new()), None);
        assert_eq!(common_sequence(&Object::new(), &Object::new()), None);
    }

    #[test]
    fn a_session_has_one_entry_and_old_ones_are_forgotten() {
        let mut log = log(&[("a", 3), ("a", 5)]);
        let count = |log: &Object| log.get("history").and_then(Value::as_array).unwrap().len();
        assert_eq!(count(&log), 1);
        for number in 0..2 * LONGEST_HISTORY {
            log = next(&log, &session(&number.to_string(), number as u64));
        }
        assert_eq!(count(&log), LONGEST_HISTORY);
        assert_eq!(log.get("source_last_seq"), Some(&Value::from(99u64)));
    }

    #[test]
    fn sequences_of_all_makes_are_kept() {
        for seq in ["7", r#""7-g1AAA""#, r#"[7,"g1AAA"]"#] {
            let text = format!(r#"{{"session_id":"a","source_last_seq":{seq}}}"#);
            let log = varve_json::parse_object(text.as_bytes()).unwrap();
            let found = common_sequence(&log, &log).map(|seq| varve_json::to_string(&seq));
            assert_eq!(found.as_deref(), Some(seq));
        }
    }

    #[test]
    fn logs_of_a_liar_are_no_checkpoints() {
        for text in [
            r#"{"session_id":"a","source_last_seq":{"x":1}}"#,
            r#"{"session_id":"a","source_last_seq":null,"history":7}"#,
            r#"{"history":[{"session_id":"a","recorded_seq":[]}]}"#,
            r#"{"session_id":"a","source_last_seq":[7,{"x":1}]}"#,
        ] {
            let log = varve_json::parse_object(text.as_bytes()).unwrap();
            assert_eq!(common_sequence(&log, &log), None, "{text}");
        }
    }
}
