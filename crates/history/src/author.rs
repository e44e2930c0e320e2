//! Authors with their names and addresses apart.

use crate::text::text;
use varve_json::Object;

/// `{"name": …, "email": …}` of an author as a changeset has it, usually `Name <address>`. Without an address, `email`
/// is empty; without a name, it is the part of the address before the `@`.
pub(crate) fn author(user: &[u8]) -> Object {
    let user = text(user);
    let (name, email) = apart(user.trim());
    let mut author = Object::new();
    author.insert("name", name);
    author.insert("email", email);
    author
}

fn apart(user: &str) -> (&str, &str) {
    if let Some((name, rest)) = user.split_once('<') {
        let email = rest.split('>').next().unwrap_or(rest).trim();
        let name = name.trim_matches([' ', '\t', '"']);
        return match name {
            "" => (local_part(email), email),
            _ => (name, email),
        };
    }
    match user.contains('@') && !user.contains(' ') {
        true => (local_part(user), user),
        false => (user, ""),
    }
}

fn local_part(email: &str) -> &str {
    email.split('@').next().unwrap_or(email)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_told_apart() {
        for (user, name, email) in [
            ("Ada <ada@example.org>", "Ada", "ada@example.org"),
            ("\"Ada L.\" <ada@b>", "Ada L.", "ada@b"),
            ("<ada@b>", "ada", "ada@b"),
            ("ada@b", "ada", "ada@b"),
            ("Ada at home", "Ada at home", ""),
            ("Ada <broken", "Ada", "broken"),
            ("see me@home now", "see me@home now", ""),
            ("test", "test", ""),
            ("", "", ""),
        ] {
            assert_eq!(apart(user), (name, email), "{user}");
        }
    }
}
