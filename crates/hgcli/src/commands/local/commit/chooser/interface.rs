//! Which interface the settings ask for, and the terminal allows.

use super::keys;
use crate::context::Config;
use crate::ui::screen::Key;
use crate::ui::{Abort, Ui, environment};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// How the user is asked.
#[derive(Debug)]
pub(in crate::commands::local) enum Interface {
    /// By questions, one after the other.
    Questions,
    /// By a screen.
    Screen,
    /// By a screen that is not shown, with these keys.
    Script(VecDeque<Key>),
}

/// The interface of `ui.interface.chunkselector`, or else `ui.interface`; warns of other values.
pub(in crate::commands::local) fn interface(
    ui: &mut Ui,
    config: &Config,
) -> Result<Interface, Abort> {
    if environment::is_plain(None) || !wants_screen(ui, config)? {
        return Ok(Interface::Questions);
    }
    if let Some(path) = config.get("experimental", "crecordtest") {
        return Ok(Interface::Script(script(path)));
    }
    let has_terminal = ui.streams.has_terminal_input() && ui.streams.has_terminal_output();
    Ok(match has_terminal && ui.is_interactive()? {
        true => Interface::Screen,
        false => Interface::Questions,
    })
}

/// True if the settings ask for a screen, and the kind of the terminal allows one.
fn wants_screen(ui: &mut Ui, config: &Config) -> Result<bool, Abort> {
    const KEY: &str = "interface.chunkselector";
    let terminal = environment::variable("TERM").unwrap_or_default();
    let can_move = !terminal.is_empty() && terminal != b"dumb";
    let known = |value: &[u8]| match value {
        b"curses" => Some(can_move),
        b"text" => Some(false),
        _ => None,
    };
    let (general, own) = (config.get("ui", "interface"), config.get("ui", KEY));
    let usual = general.and_then(known);
    let own_known = own.and_then(known);
    let is_screen = own_known.or(usual).unwrap_or(false);
    let used = if is_screen { "curses" } else { "text" };
    if let (Some(value), None) = (general, usual) {
        let value = String::from_utf8_lossy(value);
        let used = match own {
            Some(_) => String::new(),
            None => format!(" (using {used})"),
        };
        ui.warn(format!("invalid value for ui.interface: {value}{used}\n"))?;
    }
    if let (Some(value), None) = (own, own_known) {
        let value = String::from_utf8_lossy(value);
        ui.warn(format!(
            "invalid value for ui.{KEY}: {value} (using {used})\n"
        ))?;
    }
    Ok(is_screen)
}

/// The keys in a file, one a line. As in Mercurial, a file that is not there has none.
fn script(path: &[u8]) -> VecDeque<Key> {
    let text = std::fs::read(OsStr::from_bytes(path)).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    let names = lines.map(|line| String::from_utf8_lossy(line).into_owned());
    names.filter_map(|name| keys::scripted(&name)).collect()
}
