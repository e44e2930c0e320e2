//! Directories in the place of their files.

use super::LISTS;
use crate::ui::Abort;
use std::collections::HashMap;
use varve_workdir::Status;

/// Lists by the letters that the option has for them.
pub(super) fn lists(letters: &[u8]) -> Result<Vec<char>, Abort> {
    let list = |letter: &u8| {
        let of_option = LISTS
            .iter()
            .find(|(option, _)| option.as_bytes().first() == Some(letter));
        let unknown = || {
            let letter = String::from_utf8_lossy(&[*letter]).into_owned();
            Abort::input(format!("'{letter}' not recognized"))
        };
        of_option.map(|(_, shown)| *shown).ok_or_else(unknown)
    };
    letters.iter().map(list).collect()
}

/// Puts each topmost directory whose files are all in one of the `lists` in the place of its files. The status has to have
/// the clean, unknown and ignored files too.
pub(super) fn fold(status: &mut Status, lists: &[char]) {
    let mut only_list: HashMap<&[u8], Option<char>> = HashMap::new();
    for (_, letter) in LISTS {
        for path in super::list(status, letter) {
            for directory in directories(path) {
                only_list
                    .entry(directory)
                    .and_modify(|only| *only = only.filter(|only| *only == letter))
                    .or_insert(Some(letter));
            }
        }
    }
    let folded: Vec<(char, Vec<Vec<u8>>)> = lists
        .iter()
        .map(|letter| {
            let shown = |path: &Vec<u8>| -> Vec<u8> {
                let mut above = directories(path);
                let whole = above.find(|above| only_list.get(above) == Some(&Some(*letter)));
                whole.map_or_else(|| path.clone(), <[u8]>::to_vec)
            };
            let mut paths: Vec<_> = super::list(status, *letter).iter().map(shown).collect();
            paths.sort_unstable();
            paths.dedup();
            (*letter, paths)
        })
        .collect();
    for (letter, paths) in folded {
        *super::list_mut(status, letter) = paths;
    }
}

/// The directories above a file, the topmost first, with a slash at their ends.
fn directories(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[..=at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<Vec<u8>> {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    #[test]
    fn a_directory_stands_for_files_of_one_list() {
        let mut status = Status {
            modified: paths(&["a/b/x", "a/b/y", "a/c/z", "top"]),
            clean: paths(&["a/c/still"]),
            unknown: paths(&["u/1", "u/v/2"]),
            ..Status::default()
        };
        let before = status.clone();
        fold(&mut status, &['M']);
        assert_eq!(status.modified, paths(&["a/b/", "a/c/z", "top"]));
        assert_eq!(status.unknown, before.unknown);
        fold(&mut status, &['?']);
        assert_eq!(status.unknown, paths(&["u/"]));
    }

    #[test]
    fn letters_are_those_of_options() {
        assert_eq!(lists(b"mardiuc").unwrap().len(), LISTS.len());
        assert!(lists(b"x").is_err());
    }
}
