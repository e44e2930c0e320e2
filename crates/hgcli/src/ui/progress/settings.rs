//! The section `[progress]`: when a bar is shown, and of what it consists.

use crate::ui::environment;
use crate::ui::{Verbosity, columns};
use std::time::Duration;
use varve_config::hgrc::{Hgrc, HgrcError};

/// Seconds until a step is shown at all.
const DELAY: f64 = 3.0;
/// Seconds until the next step takes the place of the one that was shown.
const CHANGE_DELAY: f64 = 1.0;
/// Seconds between two pictures.
const REFRESH: f64 = 0.1;
/// Refreshes that a new step waits for at least.
const REFRESHES_UNTIL_CHANGE: f64 = 3.0;
/// Seconds over which the speed is taken.
const SPEED_WINDOW: f64 = 60.0;
/// Columns of an item that are shown unless the format says otherwise.
const ITEM_COLUMNS: usize = 20;
/// Columns at most of a line, and of an item in it: no terminal is wider, and all of them are filled with spaces.
const MOST_COLUMNS: usize = 1 << 14;
/// The longest time that is waited for; longer ones are as good as never.
const LONGEST: f64 = 1e9;

/// One part of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Topic,
    Bar,
    Number,
    Unit,
    Estimate,
    Speed,
    /// The first columns of the item that is worked on.
    ItemStart(usize),
    /// Its last columns.
    ItemEnd(usize),
}

impl Field {
    /// Mercurial passes over fields that it does not know, and over counts that are none.
    fn parse(word: &[u8]) -> Option<Field> {
        let counted = |digits: &[u8]| -> Option<usize> {
            let columns: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
            Some(columns.min(MOST_COLUMNS))
        };
        match word {
            b"topic" => Some(Field::Topic),
            b"bar" => Some(Field::Bar),
            b"number" => Some(Field::Number),
            b"unit" => Some(Field::Unit),
            b"estimate" => Some(Field::Estimate),
            b"speed" => Some(Field::Speed),
            b"item" => Some(Field::ItemEnd(ITEM_COLUMNS)),
            _ => match word.strip_prefix(b"item-") {
                Some(digits) => counted(digits).map(Field::ItemEnd),
                None => word
                    .strip_prefix(b"item+")
                    .and_then(counted)
                    .map(Field::ItemStart),
            },
        }
    }
}

/// Settings of the line of progress.
#[derive(Clone, Debug)]
pub struct ProgressSettings {
    pub delay: Duration,
    pub change_delay: Duration,
    pub refresh: Duration,
    pub speed_window: Duration,
    pub format: Vec<Field>,
    /// Columns that the line may take.
    pub width: usize,
    /// Leaves nothing behind when a step ends.
    pub clears: bool,
}

impl ProgressSettings {
    /// `None` where nothing is to be shown, as there is no terminal or it is not wished.
    ///
    /// # Errors
    /// A value that is none.
    pub fn of(
        config: &Hgrc,
        verbosity: Verbosity,
        has_terminal: bool,
    ) -> Result<Option<ProgressSettings>, HgrcError> {
        let is_shown = has_terminal || config.boolean("progress", "assume-tty", false)?;
        let is_hidden =
            verbosity.quiet || verbosity.debug || environment::is_plain(Some("progress"));
        if config.boolean("progress", "disable", false)? || is_hidden || !is_shown {
            return Ok(None);
        }
        let seconds = |key, usual| Ok(config.number("progress", key)?.unwrap_or(usual));
        let refresh: f64 = seconds("refresh", REFRESH)?;
        let change_delay = seconds("changedelay", CHANGE_DELAY)?;
        let columns = columns::of_terminal().min(MOST_COLUMNS);
        let width = config.integer("progress", "width")?;
        Ok(Some(ProgressSettings {
            delay: duration(seconds("delay", DELAY)?),
            change_delay: duration(change_delay.max(REFRESHES_UNTIL_CHANGE * refresh)),
            refresh: duration(refresh),
            speed_window: duration(seconds("estimateinterval", SPEED_WINDOW)?),
            format: fields(config),
            width: width.map_or(columns, |width| {
                columns.min(usize::try_from(width).unwrap_or_default())
            }),
            clears: config.boolean("progress", "clear-complete", true)?,
        }))
    }
}

fn duration(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, LONGEST))
}

fn fields(config: &Hgrc) -> Vec<Field> {
    let words = config.list("progress", "format");
    if words.is_empty() {
        return vec![Field::Topic, Field::Bar, Field::Number, Field::Estimate];
    }
    words.iter().filter_map(|word| Field::parse(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_config::hgrc::SettingSource;

    fn config(settings: &[(&str, &str)]) -> Hgrc {
        let mut config = Hgrc::default();
        for (key, value) in settings {
            config.set(
                b"progress",
                key.as_bytes(),
                value.as_bytes(),
                SettingSource::Named("test".to_owned()),
            );
        }
        config
    }

    #[test]
    fn unknown_fields_are_passed_over_and_items_have_a_length() {
        let config = config(&[(
            "format",
            "topic wrong item item-2 item+3 item-x item+18446744073709551615",
        )]);
        let expected = [
            Field::Topic,
            Field::ItemEnd(20),
            Field::ItemEnd(2),
            Field::ItemStart(3),
            Field::ItemStart(MOST_COLUMNS),
        ];
        assert_eq!(fields(&config), expected);
    }

    #[test]
    fn nothing_is_shown_without_a_terminal_unless_one_is_assumed() {
        let of = |settings: &[(&str, &str)], has_terminal| {
            let settings = config(settings);
            let made = ProgressSettings::of(&settings, Verbosity::default(), has_terminal);
            made.map(|made| made.is_some())
        };
        assert!(!of(&[], false).unwrap());
        assert!(of(&[], true).unwrap());
        assert!(of(&[("assume-tty", "yes")], false).unwrap());
        let disabled = [("assume-tty", "yes"), ("disable", "1")];
        assert!(!of(&disabled, true).unwrap());
        assert!(of(&[("delay", "soon")], true).is_err());
        assert!(of(&[("width", "wide")], true).is_err());
    }

    #[test]
    fn a_new_step_waits_for_three_refreshes_at_least() {
        let config = config(&[("refresh", "2"), ("changedelay", "1")]);
        let made = ProgressSettings::of(&config, Verbosity::default(), true);
        assert_eq!(made.unwrap().unwrap().change_delay, Duration::from_secs(6));
    }
}
