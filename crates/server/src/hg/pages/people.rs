//! Parts of an author's name.

/// The name, without the address: `Ada Ried` of `Ada Ried <ada@lake.example>`.
pub(super) fn person(user: &[u8]) -> String {
    let user = String::from_utf8_lossy(user);
    let name = match (user.contains('@'), user.split_once('<')) {
        (false, _) => &user[..],
        (true, Some((name, _))) if !name.trim().is_empty() => {
            let name = name.trim_matches([' ', '"']);
            return name.replace("\\\"", "\"");
        }
        (true, _) => {
            let address = address(&user);
            return match address.split_once('@') {
                Some((login, _)) => login.replace('.', " "),
                None => address,
            };
        }
    };
    name.to_owned()
}

/// The address between `<` and `>`, or all of it.
pub(super) fn address(user: &str) -> String {
    let behind = user.split_once('<').map_or(user, |(_, behind)| behind);
    let address = behind
        .split_once('>')
        .map_or(behind, |(address, _)| address);
    address.to_owned()
}

/// The short form of an address or name: `ada` of `Ada Ried <ada@lake.example>`.
pub(super) fn login(user: &[u8]) -> String {
    let user = String::from_utf8_lossy(user);
    let behind = user.split_once('<').map_or(&user[..], |(_, behind)| behind);
    let login = behind.split('@').next().unwrap_or_default();
    let login = login.split(' ').next().unwrap_or_default();
    login.split('.').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_taken_apart() {
        for (user, expected) in [
            (
                "Ada Ried <ada.r@lake.example>",
                ("Ada Ried", "ada.r@lake.example", "ada"),
            ),
            ("bo", ("bo", "bo", "bo")),
            (
                "cleo.s@lake.example",
                ("cleo s", "cleo.s@lake.example", "cleo"),
            ),
            ("Jo \"x\" <j@x>", ("Jo \"x", "j@x", "j")),
            ("", ("", "", "")),
        ] {
            let found = (
                person(user.as_bytes()),
                address(user),
                login(user.as_bytes()),
            );
            let (name, mail, short) = &found;
            assert_eq!((&name[..], &mail[..], &short[..]), expected);
        }
    }
}
