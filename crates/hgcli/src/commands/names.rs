//! Names that a user gives to branches, tags and bookmarks.

use crate::ui::Abort;
use varve_repo::{LabelRefusal, check_label};

/// The name without the blanks around it. `what` is `tag`, for instance.
pub(crate) fn checked(name: &[u8], what: &str) -> Result<Vec<u8>, Abort> {
    let message = match check_label(name) {
        Ok(name) => return Ok(name.to_vec()),
        Err(LabelRefusal::Blank) => {
            format!("{what} names cannot consist entirely of whitespace")
        }
        Err(LabelRefusal::Reserved) => {
            let name = String::from_utf8_lossy(name.trim_ascii());
            format!("the name '{name}' is reserved")
        }
        Err(refusal @ (LabelRefusal::Forbidden(_) | LabelRefusal::Integer)) => refusal.to_string(),
    };
    Err(Abort::input(message))
}
