//! The user chooses among changes on a screen that shows files, hunks and lines.

mod help;
mod interface;
mod keys;
mod shown_text;
mod view;

pub(in crate::commands::local) use interface::{Interface, interface};

use super::editor;
use super::interactive::{ChoiceVerb, EDIT_NOTES};
use crate::ui::screen::{Key, Row, Screen, ScreenEvent};
use crate::ui::{Abort, FailureKind, Ui};
use keys::Action;
use std::collections::VecDeque;
use varve_lang::patterns::PythonRegex;
use varve_patch::{PatchBase, SelectionTree};
use view::{View, ViewOptions};

/// Columns and rows of a screen that is not shown.
const SCRIPT_SIZE: (usize, usize) = (80, 24);

/// The changes that the user has chosen.
#[derive(Debug, Default)]
pub(super) struct ChosenPatch {
    /// Empty if nothing is chosen.
    pub(super) patch: Vec<u8>,
    /// A description that the user has written meanwhile.
    pub(super) description: Option<Vec<u8>>,
}

/// Lets the user choose among the changes of a tree.
///
/// # Errors
/// The user gives up, or the terminal or an editor fails.
pub(super) fn choose(
    ui: &mut Ui,
    tree: SelectionTree,
    verb: ChoiceVerb,
    script: Option<VecDeque<Key>>,
) -> Result<ChosenPatch, Abort> {
    if tree.files().is_empty() {
        return Ok(ChosenPatch::default());
    }
    if script.is_none() {
        ui.write("starting interactive selection\n")?;
    }
    std::io::Write::flush(&mut ui.out)?;
    let (input, size) = match script {
        Some(keys) => (Input::Script(keys), SCRIPT_SIZE),
        None => {
            let screen = Screen::open()?;
            let size = screen.size();
            (Input::Screen(screen), size)
        }
    };
    let options = ViewOptions {
        size,
        is_utf8: ui.encoding.is_utf8(),
        verb: verb.name(),
    };
    let mut chooser = ScreenChooser {
        ui,
        input,
        tree,
        view: View::new(options),
        base: verb.base(),
        search: None,
        notice: None,
        description: None,
    };
    let patch = chooser.run()?;
    Ok(ChosenPatch {
        patch,
        description: chooser.description,
    })
}

/// The source of keys.
enum Input {
    Screen(Screen),
    /// Keys that are written down; the end confirms.
    Script(VecDeque<Key>),
}

struct ScreenChooser<'a> {
    ui: &'a mut Ui,
    input: Input,
    tree: SelectionTree,
    view: View,
    base: PatchBase,
    search: Option<PythonRegex>,
    /// Stands in the last row until the next key.
    notice: Option<String>,
    description: Option<Vec<u8>>,
}

impl ScreenChooser<'_> {
    fn run(&mut self) -> Result<Vec<u8>, Abort> {
        loop {
            let rows = self.view.rows(&self.tree, self.notice.as_deref());
            let Some(key) = self.next_key(rows)? else {
                continue;
            };
            self.notice = None;
            let Some(action) = self.action(key) else {
                continue;
            };
            if let Some(patch) = self.act(action)? {
                return Ok(patch);
            }
        }
    }

    fn action(&self, key: Key) -> Option<Action> {
        match (&self.input, key) {
            // As in Mercurial.
            (Input::Script(_), Key::Char('R')) => Some(Action::Review),
            _ => keys::action(key),
        }
    }

    /// Shows these rows and waits for a key; `None` if there is another reason to draw.
    fn next_key(&mut self, rows: Vec<Row>) -> Result<Option<Key>, Abort> {
        match &mut self.input {
            Input::Script(keys) => Ok(Some(keys.pop_front().unwrap_or(Key::Char('c')))),
            Input::Screen(screen) => {
                screen.draw(&rows)?;
                let event = screen.next_event(&self.ui.stop)?;
                self.view.resize(screen.size());
                Ok(match event {
                    ScreenEvent::Key(key) => Some(key),
                    ScreenEvent::Redraw => None,
                })
            }
        }
    }

    /// Does what a key asks for; returns the patch once that is the end.
    fn act(&mut self, action: Action) -> Result<Option<Vec<u8>>, Abort> {
        let tree = &mut self.tree;
        match action {
            Action::Move(movement) => tree.move_cursor(movement),
            Action::ToggleFold => tree.toggle_fold(),
            Action::ToggleParentFold => tree.toggle_parent_fold(),
            Action::Toggle => tree.toggle(),
            Action::ToggleAndAdvance => tree.toggle_and_advance(),
            Action::ToggleRange => tree.toggle_range(),
            Action::ToggleAll => tree.toggle_all(),
            Action::Invert => tree.invert(),
            Action::ScrollToCursor => self.view.scroll_to_cursor(tree),
            Action::Edit => self.edit_hunk()?,
            Action::EditMessage => self.edit_description()?,
            Action::Review => return self.review(),
            Action::Confirm => return Ok(Some(tree.chosen_patch(self.base))),
            Action::Quit => return Err(Abort::of_kind(FailureKind::Canceled, "user quit")),
            Action::Help => self.help()?,
            Action::Search => self.ask_search()?,
            Action::SearchNext => self.find(false),
            Action::SearchPrevious => self.find(true),
        }
        Ok(None)
    }

    fn help(&mut self) -> Result<(), Abort> {
        if let Input::Screen(screen) = &self.input {
            let (_, height) = screen.size();
            for page in help::keys(height) {
                while self.next_key(page.clone())?.is_none() {}
            }
        }
        Ok(())
    }

    fn review(&mut self) -> Result<Option<Vec<u8>>, Abort> {
        if let Input::Screen(_) = &self.input {
            let answer = loop {
                if let Some(key) = self.next_key(help::review())? {
                    break key;
                }
            };
            if answer != Key::Char('y') {
                return Ok(None);
            }
        }
        let patch = [EDIT_NOTES, &self.tree.chosen_patch(self.base)].concat();
        self.aside(|ui| editor::review_patch(ui, &patch)).map(Some)
    }

    /// A failure of the editor leaves the hunk as it was.
    fn edit_hunk(&mut self) -> Result<(), Abort> {
        let Some(patch) = self.tree.hunk_patch(self.base) else {
            return Ok(());
        };
        let patch = [EDIT_NOTES, &patch].concat();
        let (ended, edited) = self.aside(|ui| editor::edit_hunk(ui, &patch))?;
        if ended.success() {
            self.tree.replace_hunk(&edited);
        } else if let Input::Screen(_) = &self.input {
            // As in Mercurial, a key is awaited that does nothing else.
            let notice = "The editor failed, and the hunk is as before. Any key goes on.";
            let rows = self.view.rows(&self.tree, Some(notice));
            while self.next_key(rows.clone())?.is_none() {}
        }
        Ok(())
    }

    fn edit_description(&mut self) -> Result<(), Abort> {
        let before = self.description.clone().unwrap_or_default();
        let edited = self.aside(|ui| editor::edit_early_description(ui, &before))?;
        self.description = Some(edited).filter(|text| !text.is_empty());
        Ok(())
    }

    /// Leaves the screen to an editor.
    fn aside<T>(&mut self, run: impl FnOnce(&mut Ui) -> Result<T, Abort>) -> Result<T, Abort> {
        match &mut self.input {
            Input::Script(_) => run(self.ui),
            Input::Screen(screen) => screen.aside(|| run(self.ui))?,
        }
    }

    fn ask_search(&mut self) -> Result<(), Abort> {
        let Some(pattern) = self.typed_pattern()? else {
            return Ok(());
        };
        match PythonRegex::new(pattern.as_bytes()) {
            Ok(regex) => {
                self.search = Some(regex);
                self.find(false);
            }
            Err(_) => self.notice = Some("This is no regular expression.".to_owned()),
        }
        Ok(())
    }

    /// A line that is typed in the last row; `None` if that is given up, or impossible.
    fn typed_pattern(&mut self) -> Result<Option<String>, Abort> {
        let mut typed = String::new();
        loop {
            if let Input::Script(_) = &self.input {
                return Ok(None);
            }
            let rows = self.view.rows(&self.tree, Some(&format!("/{typed}")));
            match self.next_key(rows)? {
                Some(Key::Enter) => return Ok(Some(typed).filter(|typed| !typed.is_empty())),
                Some(Key::Escape) => return Ok(None),
                Some(Key::Char(sign)) => typed.push(sign),
                Some(Key::Backspace) if typed.pop().is_none() => return Ok(None),
                _ => {}
            }
        }
    }

    fn find(&mut self, backwards: bool) {
        let Some(regex) = &self.search else {
            self.notice = Some("Nothing was searched for yet.".to_owned());
            return;
        };
        if !self.tree.find(backwards, |text| regex.is_match(text)) {
            self.notice = Some("Not found.".to_owned());
        }
    }
}
