//! Rules for names of branches, tags and bookmarks.

use crate::ui::Abort;

/// A name without blanks around it, if it may be used.
pub(crate) fn checked(name: &[u8], what: &str) -> Result<Vec<u8>, Abort> {
    let name = name.trim_ascii();
    if name.is_empty() {
        let message = format!("{what} names cannot consist entirely of whitespace");
        return Err(Abort::new(message));
    }
    let shown = String::from_utf8_lossy(name);
    if matches!(name, b"tip" | b"." | b"null") {
        return Err(Abort::new(format!("the name '{shown}' is reserved")));
    }
    if let Some(bad) = [b':', 0, b'\n', b'\r']
        .iter()
        .find(|bad| name.contains(bad))
    {
        let bad = char::from(*bad).escape_debug();
        return Err(Abort::new(format!("'{bad}' cannot be used in a name")));
    }
    if std::str::from_utf8(name).is_ok_and(|name| name.trim().parse::<i64>().is_ok()) {
        return Err(Abort::new("cannot use an integer as a name"));
    }
    Ok(name.to_vec())
}
