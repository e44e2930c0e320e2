//! Fates of obsolete changesets, and the instabilities of those around them.

use super::{Printer, Subject};
use crate::ui::Abort;
use varve_lang::date::Date;
use varve_repo::ObsFate;

impl Printer {
    /// Whether a changeset is obsolete.
    pub(super) fn is_obsolete(&self, subject: &Subject<'_>) -> bool {
        let rev = subject.rev;
        rev.is_some_and(|rev| self.unstable.obsolete.contains(&rev))
    }

    /// Instabilities of a changeset.
    pub(super) fn instabilities(&self, subject: &Subject<'_>) -> Vec<&'static str> {
        let names = subject.rev.map(|rev| self.unstable.names(rev).collect());
        names.unwrap_or_default()
    }

    /// Fates of an obsolete changeset, one line each.
    pub(super) fn fates(&self, subject: &Subject<'_>) -> Result<Vec<Vec<u8>>, Abort> {
        match subject.rev {
            Some(rev) if self.is_obsolete(subject) => {
                let fates = self.view.obsfates(rev)?;
                Ok(fates.iter().map(|fate| self.words_of(fate)).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    fn words_of(&self, fate: &ObsFate) -> Vec<u8> {
        let mut words = match fate.successors.len() {
            0 => b"pruned".to_vec(),
            1 => b"rewritten".to_vec(),
            _ => b"split".to_vec(),
        };
        let mut add = |label: &[u8], parts: Vec<Vec<u8>>| {
            if !parts.is_empty() {
                words.extend_from_slice(label);
                words.extend(parts.join(&b", "[..]));
            }
        };
        add(b" using ", fate.operations.iter().cloned().collect());
        let successors = fate.successors.iter().map(|node| {
            let rev = self.view.changelog().rev(node);
            let number = rev.map_or(-1, |rev| i64::from(rev.0));
            let mut shown = Vec::new();
            super::push_rev(number, node, self.digits(), &mut shown);
            shown
        });
        add(b" as ", successors.collect());
        let verbose = self.verbosity.verbose;
        let told = |user: &&Vec<u8>| verbose || self.user.as_ref() != Some(*user);
        add(b" by ", fate.users.iter().filter(told).cloned().collect());
        if verbose {
            let [first, last] = fate.dates.map(minute);
            let when = match first == last {
                true => format!(" (at {first})"),
                false => format!(" (between {first} and {last})"),
            };
            words.extend_from_slice(when.as_bytes());
        }
        words
    }
}

fn minute(date: Date) -> String {
    date.format("%Y-%m-%d %H:%M %1%2")
}
