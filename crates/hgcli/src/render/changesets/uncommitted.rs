//! The working copy as a changeset that is printed.

use super::Printer;
use crate::render::diff::{
    Comparison, DiffOptions, DiffSide, DiffedFile, of_changeset, with_dirstate,
};
use crate::ui::Abort;
use varve_lang::patterns::Matcher;
use varve_repo::Rev;
use varve_revset::{RevsetError, UncommittedFiles, WORKING_COPY};
use varve_workdir::Dirstate;

/// The working copy as a changeset.
pub(super) struct Uncommitted {
    pub(super) text: Vec<u8>,
    pub(super) files: UncommittedFiles,
}

impl Printer {
    /// The working copy as a changeset, read once.
    pub(super) fn uncommitted(&self) -> Result<&Uncommitted, Abort> {
        if let Some(known) = self.uncommitted.get() {
            return Ok(known);
        }
        let source = self.working_source.as_deref();
        let source = source.ok_or_else(|| Abort::from(RevsetError::WorkingCopy))?;
        let read = Uncommitted {
            text: source.changeset_text()?,
            files: source.changed_files()?,
        };
        Ok(self.uncommitted.get_or_init(|| read))
    }

    /// The changes of a changeset or of the working copy to files that match.
    pub(super) fn compared<'a>(
        &'a self,
        rev: Option<Rev>,
        options: &'a DiffOptions,
        digits: usize,
        matcher: &Matcher,
    ) -> Result<(Comparison<'a>, Vec<DiffedFile>), Abort> {
        // Mercurial compares the null revision with the working copy's parent.
        let beside = self.working.first().copied();
        if rev != Some(WORKING_COPY) {
            return of_changeset(&self.view, rev, beside, options, digits, matcher);
        }
        let context = self.filesets.as_deref();
        let context = context.ok_or_else(|| Abort::from(RevsetError::WorkingCopy))?;
        let dirstate = Dirstate::read(&context.repository)?;
        let (place, git) = ((&context.repository, &dirstate), options.git);
        let changes = with_dirstate(place, &context.stop, &self.view, beside, matcher, git)?;
        let sides = (DiffSide::Rev(beside), DiffSide::Working);
        let comparison = Comparison::new(&self.view, sides, options, digits)?;
        Ok((comparison.with_dirstate(dirstate), changes))
    }
}
