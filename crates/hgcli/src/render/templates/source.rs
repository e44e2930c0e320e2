//! Requests of template functions to the repository.

use super::eval::Keywords;
use crate::render::formatter::Value;
use crate::ui::Abort;
use std::collections::HashSet;
use varve_repo::Rev;

/// The repository as functions see it, from the changeset that is printed.
pub(crate) trait TemplateData {
    /// A keyword of another changeset.
    fn of_changeset(&self, rev: Option<Rev>, name: &str) -> Result<Option<Value>, Abort>;

    /// Calls `look` with the keywords of another changeset, whose functions look at that one too.
    fn at_changeset(
        &self,
        rev: Option<Rev>,
        look: &mut dyn FnMut(&dyn Keywords) -> Result<(), Abort>,
    ) -> Result<(), Abort>;

    /// A keyword about a file of the changeset.
    fn of_file(&self, path: &[u8], name: &str) -> Result<Option<Value>, Abort>;

    /// Digits of a node that is shown.
    fn node_digits(&self) -> usize;

    /// The changesets that a query means.
    fn revset(&self, query: &[u8]) -> Result<Vec<Option<Rev>>, Abort>;

    /// Parents of a changeset in the graph that only `subset` makes; none if it does not belong to it.
    fn subset_parents(
        &self,
        rev: i64,
        subset: &HashSet<Option<Rev>>,
    ) -> Result<Vec<Option<Rev>>, Abort>;

    /// The shortest beginning of a node that no other has, of no fewer digits than `least`.
    fn shortest(&self, node: &[u8], least: usize) -> Result<Vec<u8>, Abort>;

    /// A path as it is called in the current directory.
    fn relative(&self, path: &[u8]) -> Result<Vec<u8>, Abort>;

    /// Text of the terminal's encoding in UTF-8.
    fn in_utf8(&self, text: &[u8]) -> Vec<u8>;

    /// Text with labels.
    fn label(&self, labels: &str, text: &[u8]) -> Vec<u8>;

    /// A configured value.
    fn setting(&self, section: &[u8], key: &[u8]) -> Option<Vec<u8>>;

    /// Files of the changeset that match a pattern.
    fn files(&self, pattern: &[u8]) -> Result<Vec<Vec<u8>>, Abort>;

    /// The changes of the files that match; all if nothing is included.
    fn diff(&self, include: Option<&[u8]>, exclude: Option<&[u8]>) -> Result<Vec<u8>, Abort>;

    /// Names of the newest tagged ancestor among tags that match, with distance and changes.
    fn latest_tag(&self, pattern: Option<&[u8]>) -> Result<Value, Abort>;
}
