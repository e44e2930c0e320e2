//! Search for changesets: by a name, a query for changesets, or words.

use super::PageReader;
use super::changesets::ChangesetEntry;
use crate::hg::pages::error::PageError;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use varve_lang::date::{Clock, Zone};
use varve_repo::{Phase, RepoView, Rev};
use varve_revset::{Engine, QueryContext, Syntax, WORKING_COPY, parse_syntax};

/// Functions that read the content of all files, other repositories, or what clients do not see. Mercurial does not let
/// its pages call them either.
const REFUSED: &[&str] = &[
    "bundle",
    "contains",
    "converted",
    "diffcontains",
    "grep",
    "hidden",
    "nodefromfile",
    "outgoing",
    "remote",
    "subrepo",
];

/// The way in which a search understood its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hg::pages) enum SearchMode {
    Name,
    Revset,
    Words,
}

impl PageReader<'_> {
    /// So many changesets that a search finds, newest first. Text that is neither a name nor a query is words, all of which
    /// stand in the author, the description or the paths of files.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn search(
        &self,
        text: &str,
        limit: usize,
    ) -> Result<(SearchMode, Vec<ChangesetEntry>), PageError> {
        if let Ok(node) = self.view.lookup(text.as_bytes()) {
            let rev = self.view.changelog().rev(&node);
            return Ok((SearchMode::Name, vec![self.entry(rev)?]));
        }
        match found(self.view, text, limit) {
            Some(revs) => Ok((SearchMode::Revset, self.entries(revs)?)),
            None => Ok((SearchMode::Words, self.by_words(text, limit)?)),
        }
    }

    fn by_words(&self, text: &str, limit: usize) -> Result<Vec<ChangesetEntry>, PageError> {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let has = |place: &[u8], word: &String| {
            let place = String::from_utf8_lossy(place).to_lowercase();
            place.contains(word.as_str())
        };
        let mut found = Vec::new();
        for rev in self.downward(self.view.tip()) {
            if found.len() == limit {
                break;
            }
            self.check_stop()?;
            let matches = self.view.with_changeset(rev, |changeset| {
                let files = changeset.files().collect::<Vec<_>>().join(&b' ');
                let places = [changeset.user, changeset.description, &files];
                let mut words = words.iter();
                words.all(|word| places.iter().any(|place| has(place, word)))
            })?;
            if matches {
                found.push(self.entry(Some(rev))?);
            }
        }
        Ok(found)
    }
}

/// The changesets of a query, the last first; `None` for a text that is no query of more than one word.
fn found(view: &RepoView, text: &str, limit: usize) -> Option<Vec<Rev>> {
    permitted(view, text).filter(is_query)?;
    let engine = Engine::new(context(view));
    let set = engine.query(text.as_bytes()).ok()?;
    let set = set.reversed(&engine).ok()?;
    let members: Result<Vec<_>, _> = set.members(&engine).take(limit).collect();
    let shown = |rev: &Rev| *rev != WORKING_COPY && view.is_visible(*rev);
    Some(members.ok()?.into_iter().flatten().filter(shown).collect())
}

/// A text that is a single word is not a query.
fn is_query(syntax: &Syntax) -> bool {
    !matches!(syntax, Syntax::Symbol(_) | Syntax::Text(_))
}

/// Returns whether a query calls a refused function.
fn refuses(query: &Syntax) -> bool {
    match query {
        Syntax::Node("func", operands) if is_refused(operands.first()) => true,
        Syntax::Node(_, operands) => operands.iter().any(refuses),
        Syntax::Symbol(_) | Syntax::Text(_) | Syntax::Absent => false,
    }
}

fn is_refused(function: Option<&Syntax>) -> bool {
    let refused = |name: &[u8]| REFUSED.iter().any(|refused| refused.as_bytes() == name);
    matches!(function, Some(Syntax::Symbol(name)) if refused(name))
}

/// A query that may be answered: it calls no refused function, and has no regular expression.
fn permitted(view: &RepoView, text: &str) -> Option<Syntax> {
    let syntax = parse_syntax(text.as_bytes(), &|name| view.lookup(name).is_ok()).ok()?;
    (!text.contains("re:") && !refuses(&syntax)).then_some(syntax)
}

/// The last changeset of a query that a URL has in the place of a revision; `Some(None)` is the null revision.
pub(super) fn last_of(view: &RepoView, text: &str) -> Option<Option<Rev>> {
    permitted(view, text)?;
    let engine = Engine::new(context(view));
    let found = engine.single(text.as_bytes()).ok()?;
    let is_shown = found.is_none_or(|rev| view.is_visible(rev));
    is_shown.then_some(found)
}

fn context(view: &RepoView) -> QueryContext<'_> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    // Patterns of queries begin at an absolute directory, of which nothing is read.
    let root = Path::new("/").join(view.root());
    QueryContext {
        bundled_from: None,
        preferred: None,
        new_commit_phase: Phase::Draft,
        view,
        parents: Vec::new(),
        root: root.clone(),
        cwd: root,
        clock: Clock {
            now: i64::try_from(now).unwrap_or_default(),
            zone: Zone::fixed_east(0),
        },
        working: None,
        aliases: Arc::default(),
        files: None,
        peers: None,
    }
}
