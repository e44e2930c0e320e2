//! The meanings of keys.

use crate::ui::screen::Key;
use varve_patch::Movement;

/// An action on the tree, or beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Move(Movement),
    ToggleFold,
    ToggleParentFold,
    Toggle,
    ToggleAndAdvance,
    ToggleRange,
    ToggleAll,
    Invert,
    /// Lets an editor change the hunk.
    Edit,
    /// Lets an editor write the message of the commit.
    EditMessage,
    /// Asks, and lets an editor change the whole patch, which is taken then.
    Review,
    Confirm,
    Quit,
    Help,
    Search,
    SearchNext,
    SearchPrevious,
    ScrollToCursor,
}

/// Keys, their names on the page of help, what they do, and the words for it.
pub(super) const KEYS: &[(&[Key], &str, Action, &str)] = &[
    (
        &[Key::Down, Key::Char('j')],
        "Down j",
        Action::Move(Movement::Next),
        "next item",
    ),
    (
        &[Key::Up, Key::Char('k')],
        "Up k",
        Action::Move(Movement::Previous),
        "item before",
    ),
    (
        &[Key::PageDown, Key::Char('J')],
        "PgDn J",
        Action::Move(Movement::NextSibling),
        "next item of this kind, or behind the parent",
    ),
    (
        &[Key::PageUp, Key::Char('K')],
        "PgUp K",
        Action::Move(Movement::PreviousSibling),
        "item of this kind before, or the parent",
    ),
    (
        &[Key::Right, Key::Char('l')],
        "Right l",
        Action::Move(Movement::Child),
        "unfold, and go to the first part",
    ),
    (
        &[Key::Left, Key::Char('h')],
        "Left h",
        Action::Move(Movement::Parent),
        "fold, or go to the hunk or the file",
    ),
    (
        &[Key::ShiftLeft, Key::Char('H')],
        "Shift-Left H",
        Action::Move(Movement::File),
        "go to the file, or fold it",
    ),
    (
        &[Key::Char('g')],
        "g",
        Action::Move(Movement::First),
        "first item",
    ),
    (
        &[Key::Char('G')],
        "G",
        Action::Move(Movement::Last),
        "last item",
    ),
    (&[Key::Char('f')], "f", Action::ToggleFold, "fold or unfold"),
    (
        &[Key::Char('F')],
        "F",
        Action::ToggleParentFold,
        "fold the hunk of a line, the file of a hunk",
    ),
    (
        &[Key::Char(' '), Key::Char('x')],
        "Space x",
        Action::Toggle,
        "take or leave",
    ),
    (
        &[Key::Enter],
        "Enter",
        Action::ToggleAndAdvance,
        "take or leave, and go to the next item of this kind",
    ),
    (
        &[Key::Char('X')],
        "X",
        Action::ToggleRange,
        "take or leave all from the item changed last to this one",
    ),
    (
        &[Key::Char('A')],
        "A",
        Action::ToggleAll,
        "take or leave everything",
    ),
    (
        &[Key::Char('a')],
        "a",
        Action::Invert,
        "take the lines that are left, leave those that are taken",
    ),
    (
        &[Key::Char('e')],
        "e",
        Action::Edit,
        "change the hunk in an editor",
    ),
    (
        &[Key::Char('m')],
        "m",
        Action::EditMessage,
        "write the message of the commit in an editor",
    ),
    (
        &[Key::Char('/')],
        "/",
        Action::Search,
        "find a regular expression in names and lines",
    ),
    (
        &[Key::Char('n')],
        "n",
        Action::SearchNext,
        "find it again behind",
    ),
    (
        &[Key::Char('N')],
        "N",
        Action::SearchPrevious,
        "find it again before",
    ),
    (
        &[Key::Control('l')],
        "Ctrl-L",
        Action::ScrollToCursor,
        "show the item in the first row",
    ),
    (
        &[Key::Char('c')],
        "c",
        Action::Confirm,
        "go on with what is taken",
    ),
    (
        &[Key::Char('r')],
        "r",
        Action::Review,
        "change the whole patch in an editor, and go on with it",
    ),
    (
        &[Key::Char('q')],
        "q",
        Action::Quit,
        "give up; nothing is changed",
    ),
    (&[Key::Char('?')], "?", Action::Help, "this page"),
];

/// The action of a key, if it has one.
pub(super) fn action(key: Key) -> Option<Action> {
    let found = KEYS.iter().find(|(keys, ..)| keys.contains(&key));
    found.map(|(_, _, action, _)| *action)
}

/// The key of a line in the file that `experimental.crecordtest` names.
pub(super) fn scripted(name: &str) -> Option<Key> {
    Some(match name {
        "KEY_UP" => Key::Up,
        "KEY_DOWN" => Key::Down,
        "KEY_LEFT" => Key::Left,
        "KEY_RIGHT" => Key::Right,
        "KEY_SLEFT" => Key::ShiftLeft,
        "KEY_PPAGE" => Key::PageUp,
        "KEY_NPAGE" => Key::PageDown,
        "KEY_ENTER" => Key::Enter,
        _ => {
            let mut signs = name.chars();
            let sign = signs.next()?;
            signs.next().is_none().then_some(Key::Char(sign))?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings() {
        let keys: Vec<&Key> = KEYS.iter().flat_map(|(keys, ..)| *keys).collect();
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[at + 1..].contains(key), "{key:?}");
        }
        assert_eq!(action(Key::Char('x')), Some(Action::Toggle));
        assert_eq!(action(Key::Char('z')), None);
    }

    #[test]
    fn scripts_name_keys() {
        assert_eq!(scripted("KEY_DOWN"), Some(Key::Down));
        assert_eq!(scripted("x"), Some(Key::Char('x')));
        assert_eq!(scripted("nonsense"), None);
        assert_eq!(scripted(""), None);
    }
}
