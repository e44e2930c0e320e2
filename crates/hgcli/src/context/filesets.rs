//! The files that filesets are evaluated over.

use crate::context::Repo;
use crate::context::revision::{abort, aliases};
use crate::context::working::new_commit_phase;
use crate::ui::Abort;
use crate::ui::clock::clock;
use std::sync::Arc;
use varve_lang::fileset::FilesetError;
use varve_lang::patterns::PatternError;
use varve_repo::Phase;
use varve_repo::fileset::FileSource;
use varve_revset::{Engine, QueryContext, RevsetError};
use varve_workdir::filesets::{FilesetContext, FilesetTarget, RevsetQuery, TargetFiles};

impl Repo {
    /// The files of a place; nothing is read before a fileset asks.
    pub fn files_of(&mut self, at: FilesetTarget) -> Result<Arc<dyn FileSource>, Abort> {
        Ok(Arc::new(TargetFiles::new(self.fileset_context()?, at)))
    }

    /// The repository and the settings for filesets.
    pub(crate) fn fileset_context(&mut self) -> Result<Arc<FilesetContext>, Abort> {
        Ok(Arc::new(FilesetContext {
            repository: self.repository()?,
            view: self.view()?,
            ignore_files: self.ignore_files()?,
            query: self.fileset_query()?,
            stop: self.stop.clone(),
        }))
    }

    /// Answers the queries for changesets in `revs()` and `status()`.
    fn fileset_query(&mut self) -> Result<RevsetQuery, Abort> {
        let view = self.view()?;
        let parents = self.working_parents()?;
        let (root, cwd) = (self.root()?.to_owned(), self.cwd.clone());
        let aliases = Arc::new(aliases(&self.config));
        let new_commit_phase = new_commit_phase(&self.config).unwrap_or(Phase::Draft);
        Ok(Box::new(move |query| {
            if query.trim_ascii() == b"wdir()" {
                return Ok(vec![FilesetTarget::Working]);
            }
            let engine = Engine::new(QueryContext {
                bundled_from: None,
                preferred: None,
                new_commit_phase,
                view: &view,
                parents: parents.clone(),
                root: root.clone(),
                cwd: cwd.clone(),
                clock: clock(),
                aliases: aliases.clone(),
                files: None,
                peers: None,
                working: None,
            });
            let set = engine.query(query).map_err(|error| wrong(error, query))?;
            let places = set.members(&engine).map(|member| {
                let member = member.map_err(|error| wrong(error, query))?;
                Ok(FilesetTarget::Rev(member))
            });
            places.collect()
        }))
    }
}

fn wrong(error: RevsetError, query: &[u8]) -> PatternError {
    match abort(error, query) {
        Abort::Parse { message, at, hint } => FilesetError { message, at, hint }.into(),
        Abort::Failed { message, .. } => PatternError::Revisions(message),
        other => PatternError::Files(other.to_string()),
    }
}
