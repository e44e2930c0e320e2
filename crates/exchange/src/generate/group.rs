//! One group of a changegroup: some revisions of one revlog as deltas.

use crate::ExchangeError;
use crate::format::changegroup::{ChangegroupVersion, DeltaHeader, full_text_hunk, write_end};
use std::io::Write;
use varve_delta::diff_in_single_hunks;
use varve_revlog::{Node, Reader, ReaderState, Rev, Revlog, flag};

/// A revision to send, and the changeset that the client shall link it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) rev: Rev,
    pub(super) changeset: Node,
}

/// Writes groups; keeps its buffers from group to group.
pub(super) struct GroupWriter {
    version: ChangegroupVersion,
    delta: Vec<u8>,
    base_text: Vec<u8>,
    in_group: Vec<bool>,
    reader: ReaderState,
}

/// How one revision is sent. `None` as a base is the null revision: the full text.
enum DeltaChoice {
    /// As it is stored, against this base.
    Stored(Option<Rev>),
    /// As a new delta against this base.
    Made(Option<Rev>),
}

impl GroupWriter {
    pub(super) fn new(version: ChangegroupVersion) -> Self {
        GroupWriter {
            version,
            delta: Vec::new(),
            base_text: Vec::new(),
            in_group: Vec::new(),
            reader: ReaderState::default(),
        }
    }

    /// Writes revisions, oldest first. A stored delta goes out as it is if the client can have
    /// its base: from this group or, as `client_has` tells, from before.
    pub(super) fn write(
        &mut self,
        revlog: &Revlog,
        sent: &[Sent],
        client_has: impl Fn(Rev) -> bool,
        out: &mut impl Write,
    ) -> Result<(), ExchangeError> {
        self.in_group.clear();
        self.in_group.resize(revlog.len(), false);
        let mut reader = revlog.reader_with(std::mem::take(&mut self.reader));
        let mut previous = None;
        for &Sent { rev, changeset } in sent {
            let has = |base: Rev| self.in_group[base.index()] || client_has(base);
            let form = choose_form(revlog, rev, self.version, previous, has);
            let base = match form {
                DeltaChoice::Stored(base) => {
                    reader.stored_delta(rev, &mut self.delta)?;
                    base
                }
                DeltaChoice::Made(base) => {
                    self.make_delta(&mut reader, rev, base)?;
                    base
                }
            };
            self.write_revision(revlog, Sent { rev, changeset }, base, out)?;
            self.in_group[rev.index()] = true;
            previous = Some(rev);
        }
        self.reader = reader.into_state();
        Ok(write_end(out)?)
    }

    /// Fills `delta` with the patch from `base` to `rev`, or the text of `rev`.
    fn make_delta(
        &mut self,
        reader: &mut Reader<'_>,
        rev: Rev,
        base: Option<Rev>,
    ) -> Result<(), ExchangeError> {
        self.delta.clear();
        let Some(base) = base else {
            self.delta.extend_from_slice(reader.text(rev)?);
            return Ok(());
        };
        self.base_text.clear();
        self.base_text.extend_from_slice(reader.text(base)?);
        let text = reader.text(rev)?;
        diff_in_single_hunks(&self.base_text, text, &mut self.delta);
        Ok(())
    }

    fn write_revision(
        &self,
        revlog: &Revlog,
        sent: Sent,
        base: Option<Rev>,
        out: &mut impl Write,
    ) -> Result<(), ExchangeError> {
        // An empty text differs from the null revision in nothing, so that its patch has no hunk.
        let hunk = match base {
            None if !self.delta.is_empty() => Some(full_text_hunk(self.delta.len())?),
            _ => None,
        };
        let entry = revlog.entry(sent.rev);
        let header = DeltaHeader {
            node: entry.node.0,
            p1: revlog.node_or_null(entry.p1).0,
            p2: revlog.node_or_null(entry.p2).0,
            base: revlog.node_or_null(base).0,
            changeset: sent.changeset.0,
            flags: entry.flags & !flag::HINTS,
        };
        let hunk = hunk.as_ref().map_or(&[][..], |hunk| &hunk[..]);
        header.write(self.version, hunk.len() + self.delta.len(), out)?;
        out.write_all(hunk)?;
        out.write_all(&self.delta)?;
        Ok(())
    }
}

fn choose_form(
    revlog: &Revlog,
    rev: Rev,
    version: ChangegroupVersion,
    previous: Option<Rev>,
    has: impl Fn(Rev) -> bool,
) -> DeltaChoice {
    let stored = revlog.delta_parent(rev);
    let [p1, _] = revlog.parents(rev);
    if version == ChangegroupVersion::V1 {
        let base = previous.or(p1);
        return match stored == base {
            true => DeltaChoice::Stored(base),
            false => DeltaChoice::Made(base),
        };
    }
    match stored {
        None => DeltaChoice::Stored(None),
        Some(base) if has(base) => DeltaChoice::Stored(Some(base)),
        Some(_) => DeltaChoice::Made(p1.filter(|p1| has(*p1)).or(previous)),
    }
}
