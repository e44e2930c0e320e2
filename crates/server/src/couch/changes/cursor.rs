//! Reading changes piece by piece, from one snapshot or from several one after the other.

use prometheus_client::metrics::counter::Counter;
use varve_btree::Direction;
use varve_docdb::{Change, Snapshot};

use crate::Failure;
use crate::couch::changes::candidates::{
    CandidateError, Candidates, NamedUpdates, Position, Verdict,
};
use crate::couch::changes::filter::{Filter, Passed};
use crate::couch::changes::filter_index::FilterIndex;
use crate::couch::changes::options::{ChangesOptions, Feed};
use crate::couch::changes::sequence::{write_number, write_sequence};
use crate::couch::document::read::row_extras;
use crate::couch::document::render::{Shown, Sink, write_error};
use crate::http::FailureKind;

/// [`Cursor::read`] returns after that many changes even if none passed the filter.
const PIECE_CHANGES: usize = 10_000;

/// How many changes a snapshot has from this one on.
fn count_from(snapshot: &Snapshot, seq: u64) -> Result<usize, Failure> {
    let count = snapshot.count_changes(seq.saturating_sub(1))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// A position in the changes of a database, and how they are shown.
pub struct Cursor {
    /// Where the feed began.
    start: u64,
    /// All changes up to here were seen.
    since: u64,
    /// Changes that may still be shown.
    remaining: u64,
    /// How many were shown.
    shown: u64,
    /// Every how many changes one tells its sequence.
    seq_interval: u64,
    filter: Filter,
    /// Counts the changes that were looked at.
    looked_at: Counter,
    /// Whether changes may be left out that the filter cannot let through.
    may_select: bool,
    named: NamedUpdates,
    /// Where the filter can have an index.
    index: Option<FilterIndex>,
    show: Show,
    /// In descending order: how many were seen, and the last of them.
    seen: usize,
    below: Option<u64>,
}

struct Show {
    direction: Direction,
    include_docs: bool,
    all_leaves: bool,
    conflicts: bool,
    attachments: bool,
    att_encoding_info: bool,
    incarnation: String,
}

/// How changes are put one after the other.
pub trait Framing {
    /// Appends the text in front of a change.
    fn before(&mut self, out: &mut Vec<u8>);
    /// Appends the text behind a change.
    fn after(&mut self, update: u64, incarnation: &str, out: &mut Vec<u8>);
}

/// Items of a JSON array.
pub struct Rows {
    any: bool,
}

impl Rows {
    /// Items that follow others, or begin the array.
    pub fn after(any: bool) -> Rows {
        Rows { any }
    }
}

impl Framing for Rows {
    fn before(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.any, true) {
            out.extend_from_slice(b",\n");
        }
    }

    fn after(&mut self, _update: u64, _incarnation: &str, _out: &mut Vec<u8>) {}
}

impl Cursor {
    /// A cursor behind `since`.
    pub fn new(
        since: u64,
        (filter, index): (Filter, Option<FilterIndex>),
        options: &ChangesOptions,
        incarnation: &str,
        looked_at: Counter,
    ) -> Cursor {
        // A waiting feed in descending order counts what it has seen in one snapshot and goes on in another.
        let may_select = options.feed == Feed::Normal || !options.descending;
        Cursor {
            start: since,
            since,
            remaining: options.limit,
            shown: 0,
            seq_interval: options.seq_interval,
            filter,
            looked_at,
            may_select,
            named: NamedUpdates::default(),
            index,
            show: Show {
                direction: match options.descending {
                    true => Direction::Backward,
                    false => Direction::Forward,
                },
                include_docs: options.include_docs,
                all_leaves: options.all_leaves,
                conflicts: options.conflicts,
                attachments: options.attachments,
                att_encoding_info: options.att_encoding_info,
                incarnation: incarnation.to_owned(),
            },
            seen: 0,
            below: None,
        }
    }

    /// [`FilterIndex::look_up`].
    pub fn look_up_index(&mut self) {
        if let Some(index) = &mut self.index {
            index.look_up();
        }
    }

    /// Appends some changes, about a piece of the sink. Returns whether there may be more in this snapshot.
    ///
    /// # Errors
    /// 500 if the file cannot be read; 400 if the filter function fails.
    pub async fn read(
        &mut self,
        snapshot: &Snapshot,
        mut framing: impl Framing + Send,
        out: &mut impl Sink,
    ) -> Result<bool, Failure> {
        if self.remaining == 0 {
            return Ok(false);
        }
        let read = self.read_candidates(snapshot, &mut framing, out).await;
        if let Some(index) = &mut self.index {
            index.request_if_worth();
        }
        match (read, &mut self.index) {
            (Err(CandidateError::Index(failure)), Some(index)) => {
                index.discard(&failure);
                Ok(true)
            }
            (Err(CandidateError::Database(failure) | CandidateError::Index(failure)), _) => {
                Err(failure)
            }
            (Ok(more), _) => Ok(more),
        }
    }

    async fn read_candidates(
        &mut self,
        snapshot: &Snapshot,
        framing: &mut (impl Framing + Send),
        out: &mut impl Sink,
    ) -> Result<bool, CandidateError> {
        let position = self.position();
        let mut candidates = match self.may_select {
            true => {
                let sources = (&mut self.named, self.index.as_ref());
                Candidates::of(snapshot, position, &self.filter, sources)?
            }
            false => Candidates::all(snapshot, position)?,
        };
        let are_selected = candidates.are_selected();
        let mut appended = 0;
        for _ in 0..PIECE_CHANGES {
            let Some((change, verdict)) = candidates.next()? else {
                self.end_of(snapshot, are_selected)?;
                return Ok(false);
            };
            self.looked_at.inc();
            self.advance_to(snapshot, change.seq, are_selected)?;
            let (passed, failure) = self.judge(snapshot, &change, verdict)?;
            if let Some(passed) = passed {
                let before = out.text().len();
                self.remaining -= 1;
                let tells = self.shown.is_multiple_of(self.seq_interval);
                self.shown += 1;
                framing.before(out.text());
                let show = &self.show;
                match failure {
                    Some(failure) => show.write_failed(&change, &failure, tells, out.text()),
                    None => {
                        show.write(snapshot, &change, (&passed, tells), out).await?;
                    }
                }
                framing.after(change.seq, &self.show.incarnation, out.text());
                appended += out.text().len().saturating_sub(before);
            }
            if self.remaining == 0 || appended >= out.piece() {
                break;
            }
        }
        Ok(self.remaining > 0)
    }

    fn descends(&self) -> bool {
        self.show.direction == Direction::Backward
    }

    fn position(&self) -> Position {
        Position {
            direction: self.show.direction,
            since: self.since,
            seen: self.seen,
            below: self.below,
        }
    }

    /// Moves behind a change; others may stand between it and the one before where they `are_selected`.
    fn advance_to(
        &mut self,
        snapshot: &Snapshot,
        seq: u64,
        are_selected: bool,
    ) -> Result<(), Failure> {
        self.since = seq;
        if !self.descends() {
            return Ok(());
        }
        self.below = Some(seq);
        self.seen = match are_selected {
            true => count_from(snapshot, seq)?,
            false => self.seen + 1,
        };
        Ok(())
    }

    /// Moves behind the last change of a snapshot.
    fn end_of(&mut self, snapshot: &Snapshot, are_selected: bool) -> Result<(), Failure> {
        if !self.descends() {
            self.since = self.since.max(snapshot.last_seq()?);
        } else if are_selected && let Some(first) = snapshot.changes(0, Direction::Forward)?.next()
        {
            self.advance_to(snapshot, first?.seq, true)?;
        }
        Ok(())
    }

    /// Which leaves of a change pass, and why they cannot be told if all are shown for that.
    fn judge(
        &mut self,
        snapshot: &Snapshot,
        change: &Change,
        verdict: Verdict,
    ) -> Result<(Option<Passed>, Option<Failure>), Failure> {
        let all_leaves = self.show.all_leaves;
        if let Verdict::Passed(passed) = verdict {
            let is_shown = all_leaves || passed.includes(&change.rev);
            return Ok((is_shown.then_some(passed), None));
        }
        let passed = self.filter.passes(snapshot, change, all_leaves);
        if let Some(index) = &mut self.index {
            index.count(matches!(passed, Ok(Some(_))));
        }
        match passed {
            // A follower of the feed must not take it for a document that does not pass.
            Err(failure) if failure.kind == FailureKind::Internal => {
                Ok((Some(Passed::All), Some(failure)))
            }
            passed => Ok((passed?, None)),
        }
    }

    /// Whether the filter is a JavaScript function.
    pub fn runs_script(&self) -> bool {
        self.filter.is_script()
    }

    /// Whether any change was shown.
    pub fn has_shown(&self) -> bool {
        self.shown > 0
    }

    /// Whether the limit was reached.
    pub fn is_spent(&self) -> bool {
        self.remaining == 0
    }

    /// Appends the end of a normal feed.
    ///
    /// # Errors
    /// 500 if the file cannot be read.
    pub fn write_end(&self, snapshot: &Snapshot, out: &mut Vec<u8>) -> Result<(), Failure> {
        out.extend_from_slice(if self.has_shown() {
            b"\n],\n\"last_seq\":"
        } else {
            b"],\n\"last_seq\":"
        });
        write_sequence(self.since, &self.show.incarnation, out);
        out.extend_from_slice(b",\"pending\":");
        write_number(self.pending(snapshot)?, out);
        out.extend_from_slice(b"}\n");
        Ok(())
    }

    /// Appends the last line of a continuous feed.
    ///
    /// # Errors
    /// 500 if the file cannot be read.
    pub fn write_last_line(&self, snapshot: &Snapshot, out: &mut Vec<u8>) -> Result<(), Failure> {
        out.extend_from_slice(b"{\"last_seq\":");
        write_sequence(self.since, &self.show.incarnation, out);
        out.extend_from_slice(b",\"pending\":");
        write_number(self.pending(snapshot)?, out);
        out.extend_from_slice(b"}\n");
        Ok(())
    }

    /// Changes that the client has not seen. Where the client named the documents, CouchDB counts
    /// those that were left out too.
    fn pending(&self, snapshot: &Snapshot) -> Result<u64, Failure> {
        let pending = if self.show.direction == Direction::Backward {
            snapshot.count_changes(0)?.saturating_sub(self.seen as u64)
        } else if self.filter.is_by_id() && self.remaining > 0 {
            snapshot
                .count_changes(self.start)?
                .saturating_sub(self.shown)
        } else {
            snapshot.count_changes(self.since)?
        };
        Ok(pending)
    }
}

impl Show {
    async fn write(
        &self,
        snapshot: &Snapshot,
        change: &Change,
        (passed, tells_seq): (&Passed, bool),
        sink: &mut impl Sink,
    ) -> Result<(), Failure> {
        self.write_revs(change, (passed, tells_seq), sink.text());
        if self.include_docs {
            let shown = Shown {
                snapshot,
                id: &change.id,
                rev: &change.rev,
                stored: &change.stored,
                document: None,
                extras: row_extras(self.conflicts, self.attachments, self.att_encoding_info),
                whole_after: 0,
            };
            shown.write_doc(sink).await?;
        }
        sink.text().push(b'}');
        Ok(())
    }

    /// A change of which it cannot be told whether it passes the filter.
    fn write_failed(&self, change: &Change, failure: &Failure, tells_seq: bool, out: &mut Vec<u8>) {
        self.write_revs(change, (&Passed::All, tells_seq), out);
        write_error(failure, out);
        out.push(b'}');
    }

    /// Writes the members that do not depend on the document's text, without the closing brace.
    fn write_revs(&self, change: &Change, (passed, tells_seq): (&Passed, bool), out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"seq\":");
        match tells_seq {
            true => write_sequence(change.seq, &self.incarnation, out),
            false => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"id\":");
        varve_json::write_string(&change.id, out);
        out.extend_from_slice(b",\"changes\":[");
        let others = change.others.iter().map(|leaf| &leaf.rev);
        let others = others.take(if self.all_leaves { usize::MAX } else { 0 });
        let leaves = std::iter::once(&change.rev).chain(others);
        for (index, rev) in leaves.filter(|rev| passed.includes(rev)).enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(b"{\"rev\":\"");
            rev.write(out);
            out.extend_from_slice(b"\"}");
        }
        out.push(b']');
        if change.is_deleted() {
            out.extend_from_slice(b",\"deleted\":true");
        }
    }
}
