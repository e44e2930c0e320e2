//! Templates: the language of `-T`.

use super::formatter::ItemTemplate;
use super::{Abort, Session};

/// The template that prints the items of a command.
///
/// # Errors
/// If the template is wrong, or of a kind that is not there.
pub(crate) fn for_items(
    _: &Session,
    template: &[u8],
    topic: &str,
) -> Result<Box<dyn ItemTemplate>, Abort> {
    let shown = String::from_utf8_lossy(template);
    Err(Abort::new(format!(
        "{topic} has no output in the form of '{shown}'"
    )))
}
