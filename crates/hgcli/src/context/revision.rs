//! From the value of `-r` to revisions.

use crate::context::Repo;
use crate::context::working::new_commit_phase;
use crate::ui::clock::clock;
use crate::ui::{Abort, FailureKind, Ui, short_hex};
use std::collections::BTreeSet;
use std::sync::Arc;
use varve_config::hgrc::Hgrc;
use varve_lang::date::DateRange;
use varve_repo::{LookupError, Phase, RepoView, Rev};
use varve_revset::{Aliases, Engine, PeerError, QueryContext, RevsetError, Set};
use varve_workdir::filesets::FilesetTarget;

/// The revision that an argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypedRevision {
    /// A changeset; `None` is the null revision.
    Stored(Option<Rev>),
    /// The working copy, as it would be committed now.
    Working,
}

impl Repo {
    /// Engine for queries about `view`, in this directory and at this time.
    pub fn engine<'v>(&mut self, view: &'v RepoView) -> Result<Engine<'v>, Abort> {
        let preferred = self.preferred(view)?;
        self.engine_preferring(view, preferred)
    }

    /// The changesets of `experimental.revisions.disambiguatewithin`, for ambiguous beginnings of nodes.
    pub(crate) fn preferred(
        &mut self,
        view: &RepoView,
    ) -> Result<Option<Arc<BTreeSet<Rev>>>, Abort> {
        let config = Arc::clone(&self.config);
        let query = config.get("experimental", "revisions.disambiguatewithin");
        let Some(query) = query.filter(|query| !query.is_empty()) else {
            return Ok(None);
        };
        let engine = self.engine_preferring(view, None)?;
        let set = engine.query(query).map_err(|error| abort(error, query))?;
        let members = set.members(&engine);
        let stored = members.filter_map(|member| match member {
            Err(RevsetError::WorkingCopy) | Ok(None) => None,
            Ok(Some(rev)) => Some(Ok(rev)),
            Err(error) => Some(Err(abort(error, query))),
        });
        Ok(Some(Arc::new(stored.collect::<Result<_, Abort>>()?)))
    }

    fn engine_preferring<'v>(
        &mut self,
        view: &'v RepoView,
        preferred: Option<Arc<BTreeSet<Rev>>>,
    ) -> Result<Engine<'v>, Abort> {
        Ok(Engine::new(QueryContext {
            preferred,
            bundled_from: self.bundled_from,
            new_commit_phase: new_commit_phase(&self.config).unwrap_or(Phase::Draft),
            view,
            parents: self.working_parents()?,
            root: self.root()?.to_owned(),
            cwd: self.cwd.clone(),
            clock: clock(),
            aliases: Arc::new(aliases(&self.config)),
            files: Some(self.files_of(FilesetTarget::Working)?),
            peers: self.peers.clone(),
            working: self.working_source.clone(),
        }))
    }

    /// The revision that `-r` names; `.` if it says nothing. `None` is the null revision.
    pub fn revision(&mut self, ui: &mut Ui, spec: Option<&[u8]>) -> Result<Option<Rev>, Abort> {
        let spec = spec.filter(|spec| !spec.is_empty()).unwrap_or(b".");
        self.warn_of_disabled_markers_for(ui, &[spec])?;
        let view = self.view()?;
        let engine = self.engine(&view)?;
        engine.single(spec).map_err(|error| abort(error, spec))
    }

    /// As [`Repo::revision`], where the working copy may be named too.
    pub(crate) fn revision_or_working(
        &mut self,
        ui: &mut Ui,
        spec: &[u8],
    ) -> Result<TypedRevision, Abort> {
        self.warn_of_disabled_markers_for(ui, &[spec])?;
        let view = self.view()?;
        let engine = self.engine(&view)?;
        match engine.single(spec) {
            Ok(rev) => Ok(TypedRevision::Stored(rev)),
            Err(RevsetError::WorkingCopy) => Ok(TypedRevision::Working),
            Err(error) => Err(abort(error, spec)),
        }
    }

    /// The warning about something done to a changeset that only `--hidden` shows; else empty.
    pub(crate) fn words_about_hidden(
        &mut self,
        done: &str,
        rev: Option<Rev>,
    ) -> Result<String, Abort> {
        let Some(rev) = rev.filter(|_| self.hidden) else {
            return Ok(String::new());
        };
        let view = self.view()?;
        if !view.hidden_changesets()?.contains(&rev) {
            return Ok(String::new());
        }
        let hex = short_hex(&view.changelog().node(rev));
        let fate = view.obsfate_text(rev)?;
        Ok(format!(
            "{done} hidden changeset {hex}\n(hidden revision '{hex}'{fate})\n"
        ))
    }

    /// The newest revision of a `--date`, which is also printed.
    pub fn tipmost_of_date(&mut self, ui: &mut Ui, date: &[u8]) -> Result<Rev, Abort> {
        let text = String::from_utf8_lossy(date);
        let range = DateRange::parse(&text, &clock()).map_err(RevsetError::Date)?;
        let Some((rev, date)) = self.view()?.newest_dated(&range)? else {
            return Err(Abort::input("revision matching date not found"));
        };
        let date = date.default_format();
        ui.status(format!("found revision {} from {date}\n", rev.0))?;
        Ok(rev)
    }

    /// The revisions that several `-r` name, in their order, each once, without the null revision.
    pub fn revisions(&mut self, ui: &mut Ui, specs: &[&[u8]]) -> Result<Vec<Rev>, Abort> {
        let all = self.revisions_and_null(ui, specs)?;
        Ok(all.into_iter().flatten().collect())
    }

    /// The same; `None` is the null revision.
    pub fn revisions_and_null(
        &mut self,
        ui: &mut Ui,
        specs: &[&[u8]],
    ) -> Result<Vec<Option<Rev>>, Abort> {
        self.warn_of_disabled_markers_for(ui, specs)?;
        let view = self.view()?;
        let engine = self.engine(&view)?;
        let set = query(&engine, specs)?;
        let members = set.members(&engine).collect::<Result<_, _>>();
        Ok(members?)
    }

    /// True if the working copy is among the members.
    pub(crate) fn names_working_copy(&mut self, specs: &[&[u8]]) -> Result<bool, Abort> {
        let view = self.view()?;
        let engine = self.engine(&view)?;
        let set = query(&engine, specs)?;
        let is_working = |member| matches!(member, Err(RevsetError::WorkingCopy));
        Ok(set.members(&engine).any(is_working))
    }
}

/// The aliases of queries in a configuration.
pub fn aliases(config: &Hgrc) -> Aliases {
    let items = config.section("revsetalias").iter();
    Aliases::new(items.map(|item| (&item.key[..], &item.value[..])))
}

/// The answer to several queries.
pub fn query(engine: &Engine<'_>, specs: &[&[u8]]) -> Result<Set, Abort> {
    let sets: Result<Vec<Set>, Abort> = specs
        .iter()
        .map(|spec| engine.query(spec).map_err(|error| abort(error, spec)))
        .collect();
    let mut sets = sets?;
    Ok(match sets.pop() {
        Some(only) if sets.is_empty() => only,
        last => {
            sets.extend(last);
            Set::chain(sets)
        }
    })
}

/// An error of the query `spec`, with a mark below the place.
pub fn abort(error: RevsetError, spec: &[u8]) -> Abort {
    match error {
        RevsetError::Parse {
            message,
            at: Some(at),
            ..
        } => {
            let spec = String::from_utf8_lossy(spec).into_owned();
            let hint = format!("{spec}\n{}^ here", " ".repeat(at + 1));
            Abort::Parse {
                message,
                at: Some(at),
                hint: Some(hint),
            }
        }
        other => other.into(),
    }
}

impl From<RevsetError> for Abort {
    fn from(error: RevsetError) -> Abort {
        match error {
            RevsetError::Parse { message, at, hint } => Abort::Parse { message, at, hint },
            RevsetError::Lookup(error) => lookup(error),
            RevsetError::Date(error) if error.is_parse_error() => Abort::Parse {
                message: error.to_string(),
                at: None,
                hint: None,
            },
            RevsetError::Repo(error) => error.into(),
            RevsetError::Peer(error) => error.into(),
            RevsetError::Pattern(error) => error.into(),
            RevsetError::Alias(words) => Abort::new(words),
            RevsetError::WorkingCopy | RevsetError::NoBundle | RevsetError::NodesFile { .. } => {
                Abort::new(error.to_string())
            }
            RevsetError::NotInManifest { .. } => {
                Abort::of_kind(FailureKind::Storage, error.to_string())
            }
            other @ (RevsetError::Missing(_) | RevsetError::Empty | RevsetError::Date(_)) => {
                Abort::input(other.to_string())
            }
        }
    }
}

impl From<PeerError> for Abort {
    fn from(PeerError(error): PeerError) -> Abort {
        match error.downcast::<Abort>() {
            Ok(abort) => *abort,
            Err(other) => Abort::new(other.to_string()),
        }
    }
}

fn lookup(error: LookupError) -> Abort {
    match error {
        LookupError::Unknown(name) => Abort::input(format!("unknown revision '{name}'")),
        LookupError::Ambiguous(name) => {
            Abort::input(format!("ambiguous revision identifier: {name}"))
        }
        LookupError::Hidden { name, fate } => {
            Abort::input(format!("hidden revision '{name}'{fate}"))
                .hint("use --hidden to access hidden revisions")
        }
        LookupError::Repo(error) => error.into(),
    }
}
