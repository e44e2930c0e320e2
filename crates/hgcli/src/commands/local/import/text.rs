//! Description and user of an imported changeset.

use super::run::ImportRun;
use crate::commands::local::commit::metadata;
use crate::ui::Abort;
use varve_patch::PatchMessage;
use varve_repo::{Node, Phase};
use varve_workdir::{Status, message};

/// Metadata of a changeset that is not made yet.
pub(super) struct ImportedMetadata {
    pub(super) user: Vec<u8>,
    pub(super) date: (i64, i32),
    /// Empty only if the patch must be imported as it is.
    pub(super) description: Vec<u8>,
    pub(super) phase: Phase,
}

/// The changes that an editor shows.
pub(super) struct ShownChanges<'a> {
    pub(super) parents: [Node; 2],
    pub(super) branch: &'a [u8],
    pub(super) status: &'a Status,
    /// Whether `--edit` counts.
    pub(super) may_edit: bool,
}

impl ImportRun<'_> {
    /// The description as typed or as the patch has it.
    pub(super) fn description(&mut self, patch: &PatchMessage) -> Result<Vec<u8>, Abort> {
        metadata::check(self.matches)?;
        let typed = metadata::typed_message(self.repo, self.ui, self.matches)?;
        let typed = typed.filter(|text| !text.is_empty());
        Ok(typed.unwrap_or_else(|| patch.description.trim_ascii().to_vec()))
    }

    /// Metadata from options, the patch and the editor.
    pub(super) fn metadata(
        &mut self,
        patch: &PatchMessage,
        description: Vec<u8>,
        changes: &ShownChanges<'_>,
    ) -> Result<ImportedMetadata, Abort> {
        let user = match &patch.user {
            Some(user) if self.matches.value("user").is_none_or(<[u8]>::is_empty) => {
                user.trim_ascii().to_vec()
            }
            _ => metadata::user(self.ui, self.matches)?,
        };
        let date = match (self.options.date, &patch.date) {
            (Some(date), _) => date,
            (None, Some(text)) => metadata::parse_date(text)?,
            (None, None) => metadata::default_date(self.config)?,
        };
        let phase = match self.matches.flag("secret") {
            true => Phase::Secret,
            false => metadata::new_phase(self.config)?,
        };
        let description = match self.options.exact {
            true => description,
            false => self.edited(description, &user, changes)?,
        };
        if !self.options.bypass || !self.options.exact {
            // For the user, should the commit fail.
            let last = self.repository.root().join(".hg/last-message.txt");
            let _ = std::fs::write(last, &description);
        }
        self.has_written = true;
        let metadata = ImportedMetadata {
            user: self.ui.decode(&user)?,
            description: message::tidy(&self.ui.decode(&description)?),
            date,
            phase,
        };
        self.has_written = false;
        Ok(metadata)
    }

    fn edited(
        &mut self,
        description: Vec<u8>,
        user: &[u8],
        changes: &ShownChanges<'_>,
    ) -> Result<Vec<u8>, Abort> {
        let active = varve_workdir::active_bookmark(self.repository)?;
        let notes = message::EditorNotes {
            user,
            branch: changes.branch,
            is_merge: !changes.parents[1].is_null(),
            bookmark: active.as_deref(),
            status: changes.status,
        };
        let form = match (self.matches.flag("bypass"), notes.is_merge) {
            (true, _) => "import.bypass",
            (false, true) => "import.normal.merge",
            (false, false) => "import.normal.normal",
        };
        let draft = metadata::DescriptionDraft {
            form,
            edits: description.is_empty() || changes.may_edit && self.matches.flag("edit"),
            typed: description,
        };
        metadata::edited(self.ui, draft, &notes)
    }
}
