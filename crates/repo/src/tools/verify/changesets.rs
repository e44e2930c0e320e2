//! The first part: every changeset can be read and matches its node.

use super::entries::{about, check_link, duplicates, report_duplicate};
use super::findings::{Findings, reason};
use super::{Check, data_off_by};
use crate::format::{Changeset, RepoError};
use std::collections::HashMap;
use std::ops::Range;
use varve_revlog::{Node, Rev, Revlog};

/// Manifests and files that the changesets name.
#[derive(Debug, Default)]
pub(super) struct Changesets {
    pub found: Findings,
    /// Changesets by the manifest that they name.
    pub by_manifest: HashMap<Node, Vec<u32>>,
    /// The names of files, one behind the other.
    names: Vec<u8>,
    /// Each mention of a file: changeset and name.
    mentions: Vec<(u32, Range<usize>)>,
}

const LABEL: &[u8] = b"changelog";
const NAME: &[u8] = b"00changelog";

impl Changesets {
    pub fn read(check: Check<'_>, changelog: &Revlog) -> Result<Changesets, RepoError> {
        let mut this = Changesets::default();
        let off = data_off_by(check.context, changelog)?;
        if off != 0 {
            let message = format!("data length off by {off} bytes");
            this.found.error(None, message.as_bytes(), Some(LABEL));
        }
        let twice = duplicates(changelog);
        let mut reader = changelog.reader();
        for rev in changelog.revs() {
            check.stop.check()?;
            let (count, found) = (changelog.len(), &mut this.found);
            let link = check_link(changelog, rev, &[rev.0], count, LABEL, found);
            report_duplicate(rev, &twice, link, LABEL, found);
            let problem = match reader.text(rev) {
                Ok(text) => this.note(rev, text).err().map(<[u8]>::to_vec),
                Err(error) => Some(reason(&error, changelog, NAME)),
            };
            if let Some(problem) = problem {
                let message = about("unpacking changeset", changelog, rev, &problem);
                let link = Some(i64::from(rev.0));
                this.found.error(link, &message, None);
            }
            check.progress.advance(1);
        }
        Ok(this)
    }

    fn note(&mut self, rev: Rev, text: &[u8]) -> Result<(), &'static [u8]> {
        let changeset = Changeset::parse(text).map_err(str::as_bytes)?;
        if !changeset.manifest.is_null() {
            let same = self.by_manifest.entry(changeset.manifest).or_default();
            same.push(rev.0);
        }
        for file in changeset.files() {
            let from = self.names.len();
            self.names.extend_from_slice(file);
            self.mentions.push((rev.0, from..self.names.len()));
        }
        Ok(())
    }

    /// Every mention of a file: changeset and name, oldest first.
    pub fn mentions(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let name = |range: &Range<usize>| &self.names[range.clone()];
        self.mentions
            .iter()
            .map(move |(rev, range)| (*rev, name(range)))
    }
}
