//! Phases: public, draft and secret.
//!
//! `store/phaseroots` has lines `<phase> <node>`: the changeset and all its descendants have at
//! least this phase. Without a line, or without the file, a changeset is public.

use crate::format::context::RepoContext;
use crate::format::{RepoError, pending};
use varve_revlog::{Node, Rev, Revlog};

/// How far a changeset has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Seen by others; never changed again.
    #[default]
    Public,
    /// May be pulled and may still change.
    Draft,
    /// Not shown to others.
    Secret,
}

impl Phase {
    /// The number on disk and wire.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// As users know it.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Public => "public",
            Phase::Draft => "draft",
            Phase::Secret => "secret",
        }
    }
}

/// The phases of a repository's changesets at one moment.
#[derive(Clone, Debug, Default)]
pub struct Phases {
    /// Changesets where a phase begins, as they stand in the file; unknown ones left out.
    roots: Vec<(Phase, Rev)>,
    /// One per changeset from `first` on; before it all are public.
    phases: Vec<Phase>,
    first: usize,
}

impl Phases {
    pub(crate) fn read(context: &RepoContext, changelog: &Revlog) -> Result<Phases, RepoError> {
        let path = context.store().join("phaseroots");
        let bytes =
            pending::read_with_pending(context.storage.as_ref(), &path, context.opening.pending)?;
        let named = parse(&bytes).map_err(|line| RepoError::DamagedLine {
            path,
            line,
            reason: "neither a phase nor a node",
        })?;
        // Mercurial, too, passes over roots that are not in the changelog (any more).
        let known = named
            .into_iter()
            .filter_map(|(phase, node)| Some((phase, changelog.rev(&node)?)));
        Ok(Phases::from_roots(known.collect(), changelog))
    }

    fn from_roots(mut roots: Vec<(Phase, Rev)>, changelog: &Revlog) -> Phases {
        roots.retain(|(phase, _)| *phase != Phase::Public);
        roots.sort_by_key(|(phase, rev)| (*rev, *phase));
        let Some((_, first)) = roots.first().copied() else {
            return Phases::default();
        };
        let first = first.index();
        let mut phases = vec![Phase::Public; changelog.len() - first];
        for (phase, rev) in &roots {
            phases[rev.index() - first] = *phase;
        }
        for rev in first..changelog.len() {
            for parent in changelog.parents(Rev(rev as u32)).into_iter().flatten() {
                if parent.index() >= first {
                    let above = phases[parent.index() - first];
                    phases[rev - first] = phases[rev - first].max(above);
                }
            }
        }
        Phases {
            roots,
            phases,
            first,
        }
    }

    /// Phase of a changeset.
    pub fn of(&self, rev: Rev) -> Phase {
        let above = rev.index().checked_sub(self.first);
        above
            .and_then(|at| self.phases.get(at))
            .copied()
            .unwrap_or_default()
    }

    /// Changesets where draft or secret history begins, oldest first.
    pub fn roots(&self) -> &[(Phase, Rev)] {
        &self.roots
    }

    /// Whether any changeset is secret.
    pub fn any_secret(&self) -> bool {
        self.roots.iter().any(|(phase, _)| *phase == Phase::Secret)
    }
}

/// Phase roots of the file; the error is the number of the first malformed line, from 1.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<(Phase, Node)>, usize> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(number, line)| parse_line(line).ok_or(number + 1))
        .collect()
}

fn parse_line(line: &[u8]) -> Option<(Phase, Node)> {
    let space = line.iter().position(|byte| *byte == b' ')?;
    let number: u32 = std::str::from_utf8(&line[..space]).ok()?.parse().ok()?;
    // Phases above secret (archived, internal) are hidden just as well.
    let phase = match number {
        0 => Phase::Public,
        1 => Phase::Draft,
        _ => Phase::Secret,
    };
    Some((phase, Node::from_hex(line[space + 1..].trim_ascii_end())?))
}
