//! Bodies of the fuzz targets; also run by plain tests.

use crate::parse;

/// Beside a hyphen a keyword is a name, as in `a-not`: the printed form has blanks there, and with them it is a keyword.
const NAMES_LIKE_KEYWORDS: [&[u8]; 6] = [b"-not", b"-and", b"-or", b"not-", b"and-", b"or-"];

/// Never panics; a parsed query is printed and parsed again to the same tree.
pub fn query(data: &[u8]) {
    let has = |name: &[u8]| data.windows(name.len()).any(|part| part == name);
    if !data.is_ascii() || NAMES_LIKE_KEYWORDS.iter().any(|name| has(name)) {
        let _ = parse(data, &|_| true);
        return;
    }
    if let Ok(tree) = parse(data, &|_| false) {
        assert_eq!(
            parse(tree.to_string().as_bytes(), &|_| false).ok(),
            Some(tree)
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_query_keeps_the_promises(
            words in proptest::collection::vec(
                prop_oneof![
                    Just("a"), Just("-"), Just("("), Just(")"), Just("::"), Just(":"), Just("^"),
                    Just("~"), Just("not "), Just(" or "), Just(" and "), Just(","), Just("f("),
                    Just("'x\\"), Just("'"), Just("="), Just("##"), Just("%"), Just("\u{e9}"),
                ],
                0..20,
            ),
        ) {
            super::query(words.concat().as_bytes());
        }
    }
}
