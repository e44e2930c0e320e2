//! The keyword `onelinesummary`: a template of the configuration inside of a template.

use super::keywords::OfChangeset;
use crate::render::templates::{Template, TemplateAliases};
use crate::ui::Abort;

const KEYWORD: &str = "onelinesummary";

/// Number, short hash, bookmarks, tags and the first line of the description.
const DEFAULT: &[u8] = br#"{label("oneline-summary.changeset", "{rev}:{node|short}")}{
bookmarks % " {label('oneline-summary.bookmarks', bookmark)}"}{
tags % " {label('oneline-summary.tags', tag)}"} "{
label("oneline-summary.desc", desc|firstline)}""#;

impl OfChangeset<'_> {
    /// The first line of `command-templates.oneline-summary` for the changeset.
    ///
    /// # Errors
    /// The template is wrong, or stands for itself.
    pub(super) fn one_line_summary(&self) -> Result<Vec<u8>, Abort> {
        let config = &self.printer.config;
        let configured = config.get("command-templates", "oneline-summary");
        let template = Template::parse(configured.unwrap_or(DEFAULT))?;
        let template = template.expanded(&TemplateAliases::of(config))?;
        if template.names().contains(KEYWORD) {
            return Err(Abort::input(format!(
                "recursive reference '{KEYWORD}' in template"
            )));
        }
        let mut out = Vec::new();
        template.fill(self, &mut out)?;
        let end = out.iter().position(|byte| *byte == b'\n');
        out.truncate(end.unwrap_or(out.len()));
        Ok(out)
    }
}
