//! Names of databases and ids of generated documents.

use varve_repo::Node;

/// Prefix of the names of repositories' databases.
pub const DATABASE_PREFIX: &str = "hg/";
/// The local document that holds the checkpoint, and marks a database as one of a repository.
pub const CHECKPOINT: &str = "_local/varve-history";
/// The design document with the ready views.
pub const DESIGN: &str = "_design/history";

pub(crate) const BOOKMARK: &str = "bookmark/";
pub(crate) const BRANCH: &str = "branch/";
pub(crate) const FILE: &str = "file/";
pub(crate) const HEAD: &str = "head/";
/// Prefix of the documents of data files and their items.
pub(crate) const ITEM: &str = "item/";
pub(crate) const TAG: &str = "tag/";
/// Prefixes of the documents of names.
pub(crate) const LABELS: [&str; 4] = [BOOKMARK, BRANCH, HEAD, TAG];

/// Stands between the path of a data file and the name of an item.
pub(crate) const ITEM_NAME: char = ':';

/// Stands before the two hexadecimal digits of a byte that a database's name cannot have.
const ESCAPE: char = '$';

/// Returns whether a document of this id is made from the repository, or would be.
pub fn is_generated(id: &str) -> bool {
    let prefixes = LABELS.iter().chain([&FILE, &ITEM]);
    id == CHECKPOINT
        || id == DESIGN
        || is_node(id)
        || prefixes.copied().any(|prefix| id.starts_with(prefix))
}

/// Returns whether an id is a changeset's: 40 lowercase hexadecimal digits.
pub(crate) fn is_node(id: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    id.len() == 2 * Node::LEN && id.bytes().all(is_digit)
}

/// The database of a repository, which is called by its path below the directory of repositories. Bytes that a
/// database's name cannot have are `$` and two hexadecimal digits.
pub fn database_name(repository: &str) -> String {
    let mut name = DATABASE_PREFIX.to_owned();
    for byte in repository.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'(' | b')' | b'+' | b'-' | b'/' => {
                name.push(char::from(byte));
            }
            _ => name.push_str(&format!("{ESCAPE}{byte:02x}")),
        }
    }
    name
}

/// The repository of a database; `None` if [`database_name`] makes no such name.
pub fn repository_name(database: &str) -> Option<String> {
    let escaped = database.strip_prefix(DATABASE_PREFIX)?;
    let mut parts = escaped.split(ESCAPE);
    let mut name = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let byte = u8::from_str_radix(part.get(..2)?, 16).ok()?;
        name.push(byte);
        name.extend_from_slice(part.get(2..)?.as_bytes());
    }
    let name = String::from_utf8(name).ok()?;
    (database_name(&name) == database).then_some(name)
}

/// The id of what has a name in bytes. Names that are no UTF-8 are told apart by their bytes in hexadecimal digits.
pub(crate) fn id_of(prefix: &str, name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(name) => format!("{prefix}{name}"),
        Err(_) => {
            let digits: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{prefix}{} {digits}", String::from_utf8_lossy(name))
        }
    }
}

/// The id of a data file's document. A colon in its path is escaped, so that the first colon of an item's id ends the path.
pub(crate) fn data_file_id(path: &[u8]) -> String {
    id_of(ITEM, path)
        .replace('%', "%25")
        .replace(ITEM_NAME, "%3A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn generated_ids_are_told_from_those_of_people() {
        let node = "0123456789abcdef0123456789abcdef01234567";
        for id in [
            node,
            "bookmark/@",
            "tag/",
            "branch/default",
            "head/x",
            "file/a/b",
            "item/a.json:1",
            DESIGN,
            CHECKPOINT,
        ] {
            assert!(is_generated(id), "{id}");
        }
        let capitals = node.to_uppercase();
        let longer = format!("{node}0");
        for id in [
            capitals.as_str(),
            longer.as_str(),
            &node[..32],
            "review/1",
            "files/a",
            "items/a",
            "tag",
            "_design/mine",
            "_local/x",
            "",
        ] {
            assert!(!is_generated(id), "{id}");
        }
    }

    #[test]
    fn names_of_databases_are_legal_and_readable() {
        assert_eq!(database_name("team/varve-1"), "hg/team/varve-1");
        assert_eq!(database_name("My.Repo$"), "hg/$4dy$2e$52epo$24");
        for other in ["hg/A", "hg/$4", "hg/$zz", "hg/$61", "other", "hg/$é"] {
            assert_eq!(repository_name(other), None, "{other}");
        }
    }

    #[test]
    fn the_first_colon_of_an_item_ends_its_path() {
        assert_eq!(data_file_id(b"a:b%.json"), "item/a%3Ab%25.json");
        assert_eq!(data_file_id(b"d/a.json"), "item/d/a.json");
    }

    proptest! {
        #[test]
        fn repositories_are_found_by_their_databases(name in "\\PC{0,12}") {
            let database = database_name(&name);
            prop_assert_eq!(repository_name(&database), Some(name));
        }

        #[test]
        fn names_of_bytes_have_ids_of_their_own(
            a in proptest::collection::vec(120_u8..136, 0..4),
            b in proptest::collection::vec(120_u8..136, 0..4),
        ) {
            prop_assert_eq!(id_of(TAG, &a) == id_of(TAG, &b), a == b);
            prop_assert_eq!(data_file_id(&a) == data_file_id(&b), a == b);
        }
    }
}
