//! Fates of obsolete changesets, and the instabilities of those around them.

use super::{Printer, SHORT, Subject, phase_name};
use crate::render::formatter::{Row, Value};
use crate::ui::Abort;
use varve_lang::date::Date;
use varve_repo::{InstabilityCause, Node, ObsFate, Rev};

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

    /// The reasons why a changeset is unstable, one a line.
    pub(super) fn why_unstable(&self, subject: &Subject<'_>) -> Result<Value, Abort> {
        let causes = match subject.rev {
            Some(rev) => self.view.instability_causes(rev, &self.unstable)?,
            None => Vec::new(),
        };
        let rows = causes.iter().map(|cause| self.row_of(cause)).collect();
        Ok(Value::Table(rows, "\n"))
    }

    fn row_of(&self, cause: &InstabilityCause) -> Row {
        let hex = cause.node.to_hex();
        let divergent: Vec<(Option<Rev>, Vec<u8>)> = cause
            .divergent
            .iter()
            .map(|node| self.in_phase(node))
            .collect();
        let mut shown = format!("{}:", cause.instability).into_bytes();
        for (_, text) in &divergent {
            shown.push(b' ');
            shown.extend_from_slice(text);
        }
        shown.extend(format!(" {} ", cause.reason).into_bytes());
        shown.extend_from_slice(&hex[..SHORT]);
        let divergent = divergent.into_iter();
        let divergent = divergent.map(|(rev, text)| Value::Changeset(rev, text));
        let part = |name: &str, value: Value| (name.as_bytes().to_vec(), value);
        Row {
            name: hex.to_vec(),
            shown,
            value: Value::from(cause.reason),
            parts: vec![
                part("instability", Value::from(cause.instability)),
                part("divergentnodes", Value::List(divergent.collect())),
                part("reason", Value::from(cause.reason)),
                part("node", Value::from(&hex[..])),
            ],
        }
    }

    /// A changeset with its phase, as in `3:8d75cdaf2a87 (draft)`.
    fn in_phase(&self, node: &Node) -> (Option<Rev>, Vec<u8>) {
        let rev = self.view.changelog().rev(node);
        let number = rev.map_or(-1, |rev| i64::from(rev.0));
        let mut shown = Vec::new();
        super::push_rev(number, node, self.digits(), &mut shown);
        shown.extend([b" (", phase_name(self.phase_of(rev)), b")"].concat());
        (rev, shown)
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
