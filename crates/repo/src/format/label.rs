//! Rules for the names of branches, tags and bookmarks.

/// The reason why a name cannot be given to a branch, tag or bookmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelRefusal {
    /// The name is empty, or has blanks only.
    #[error("the name is blank")]
    Blank,
    /// `tip`, `.` and `null` always name the same changesets.
    #[error("the name is reserved")]
    Reserved,
    /// The byte separates names or lines elsewhere.
    #[error("'{}' cannot be used in a name", char::from(*.0).escape_debug())]
    Forbidden(u8),
    /// The name would be taken for a revision number.
    #[error("cannot use an integer as a name")]
    Integer,
}

/// The name without the blanks around it.
///
/// # Errors
/// [`LabelRefusal`] for a name that a new branch, tag or bookmark must not have.
pub fn check_label(name: &[u8]) -> Result<&[u8], LabelRefusal> {
    let name = name.trim_ascii();
    if name.is_empty() {
        return Err(LabelRefusal::Blank);
    }
    if matches!(name, b"tip" | b"." | b"null") {
        return Err(LabelRefusal::Reserved);
    }
    let forbidden = [b':', 0, b'\n', b'\r'];
    if let Some(byte) = forbidden.into_iter().find(|byte| name.contains(byte)) {
        return Err(LabelRefusal::Forbidden(byte));
    }
    match is_integer(name) {
        true => Err(LabelRefusal::Integer),
        false => Ok(name),
    }
}

/// Digits with an optional sign, of any length. Python's `int` reads underscores between digits as well, but
/// Mercurial allows names with them.
fn is_integer(name: &[u8]) -> bool {
    let digits = match name {
        [b'-' | b'+', digits @ ..] => digits,
        digits => digits,
    };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_around_a_name_do_not_belong_to_it() {
        assert_eq!(check_label(b" \ta name\n "), Ok(&b"a name"[..]));
        assert_eq!(check_label("\u{e9}t\u{e9}".as_bytes()).unwrap().len(), 5);
    }

    /// Mercurial 7.2 refuses the integers below, and none of the names.
    #[test]
    fn integers_are_refused_however_long_they_are() {
        for name in ["0", "-1", "+7", "007", "123456789012345678901234567890"] {
            assert_eq!(
                check_label(name.as_bytes()),
                Err(LabelRefusal::Integer),
                "{name}"
            );
        }
        for name in [
            "1.0", "1e3", "0x10", "1_000", "_1", "1__0", "-", "+-1", "1 0", "v1",
        ] {
            assert_eq!(check_label(name.as_bytes()), Ok(name.as_bytes()));
        }
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for name in [&b""[..], b" ", b"\n"] {
            assert_eq!(check_label(name), Err(LabelRefusal::Blank));
        }
        for name in [&b"tip"[..], b".", b" null "] {
            assert_eq!(check_label(name), Err(LabelRefusal::Reserved));
        }
        assert_eq!(check_label(b"TIP"), Ok(&b"TIP"[..]));
        for byte in [b':', 0, b'\n', b'\r'] {
            let name = [b'a', byte, b'b'];
            assert_eq!(check_label(&name), Err(LabelRefusal::Forbidden(byte)));
        }
        let shown = LabelRefusal::Forbidden(b'\n').to_string();
        assert_eq!(shown, "'\\n' cannot be used in a name");
    }
}
