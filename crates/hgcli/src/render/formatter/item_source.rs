//! The repository around the items of a command, for functions of templates.

use crate::context::matching::relative_to;
use crate::context::{Config, Repo};
use crate::render::formatter::Value;
use crate::render::templates::TemplateData;
use crate::ui::encoding::LocalEncoding;
use crate::ui::paint::Painter;
use crate::ui::{Abort, Ui};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use varve_config::hgrc::Hgrc;
use varve_repo::Rev;

/// The directories and settings that functions see where items are no changesets.
pub(crate) struct ItemSource {
    root: PathBuf,
    cwd: PathBuf,
    /// Digits of a node that is shown.
    node_digits: usize,
    config: Arc<Hgrc>,
    encoding: LocalEncoding,
    painter: Painter,
}

impl ItemSource {
    /// The repository of a call.
    pub(crate) fn new(repo: &Repo, ui: &Ui, config: &Config) -> Result<ItemSource, Abort> {
        Ok(ItemSource {
            root: repo.root()?.to_owned(),
            cwd: repo.cwd.clone(),
            node_digits: ui.node_digits(),
            config: config.values(),
            encoding: ui.encoding,
            painter: ui.painter.clone(),
        })
    }
}

/// The error of a function that needs a changeset.
fn no_changeset<T>() -> Result<T, Abort> {
    Err(Abort::new("template resource not available: ctx"))
}

impl TemplateData for ItemSource {
    fn of_changeset(&self, _: Option<Rev>, _: &str) -> Result<Option<Value>, Abort> {
        no_changeset()
    }

    fn of_file(&self, _: &[u8], _: &str) -> Result<Option<Value>, Abort> {
        Ok(None)
    }

    fn node_digits(&self) -> usize {
        self.node_digits
    }

    fn revset(&self, _: &[u8]) -> Result<Vec<Option<Rev>>, Abort> {
        no_changeset()
    }

    fn subset_parents(&self, _: i64, _: &HashSet<Rev>) -> Result<Vec<Rev>, Abort> {
        no_changeset()
    }

    fn shortest(&self, _: &[u8], _: usize) -> Result<Vec<u8>, Abort> {
        no_changeset()
    }

    fn relative(&self, path: &[u8]) -> Vec<u8> {
        relative_to(&self.root, &self.cwd, path)
    }

    fn in_utf8(&self, text: &[u8]) -> Vec<u8> {
        let decoded = self.encoding.decode(text);
        decoded.unwrap_or_else(|_| text.to_vec())
    }

    fn label(&self, labels: &str, text: &[u8]) -> Vec<u8> {
        self.painter.paint(labels, text)
    }

    fn setting(&self, section: &[u8], key: &[u8]) -> Option<Vec<u8>> {
        let (section, key) = (std::str::from_utf8(section), std::str::from_utf8(key));
        let value = self.config.get(section.ok()?, key.ok()?);
        value.map(<[u8]>::to_vec)
    }

    fn files(&self, _: &[u8]) -> Result<Vec<Vec<u8>>, Abort> {
        no_changeset()
    }

    fn diff(&self, _: Option<&[u8]>, _: Option<&[u8]>) -> Result<Vec<u8>, Abort> {
        no_changeset()
    }

    fn latest_tag(&self, _: Option<&[u8]>) -> Result<Value, Abort> {
        no_changeset()
    }
}
