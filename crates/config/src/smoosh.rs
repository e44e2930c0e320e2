//! `[smoosh]` and `[smoosh.CHANNEL]`: when databases and view indexes are compacted by themselves, in
//! CouchDB's words.

use crate::{ConfigError, Ini, Setting};
use std::time::Duration;

/// Prefix of a channel's name in the name of its section.
pub(crate) const CHANNEL: &str = "smoosh.";

/// Bytes of slack from which a file is compacted.
const SLACK: f64 = 536_870_912.0;
/// Ratio of the file to its needed bytes from which it is compacted.
const RATIO: f64 = 2.0;
/// Smaller files are left alone.
const MIN_SIZE: u64 = 1 << 20;

/// When databases and view indexes are compacted by themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Smoosh {
    /// `db_channels`, first ones first; `none` leaves them empty.
    pub channels: Vec<Channel>,
    /// `view_channels`, likewise.
    pub view_channels: Vec<Channel>,
    /// `wait_secs`: how long databases are watched before one is chosen; default 30.
    pub wait: Duration,
}

/// `[smoosh.CHANNEL]`: which files are compacted, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The word behind `smoosh.`.
    pub name: String,
    /// `priority`.
    pub priority: Priority,
    /// `min_priority`: from which on a file is taken.
    pub min_priority: f64,
    /// `max_priority`: below which it is taken; default infinity.
    pub max_priority: f64,
    /// `min_size` of the file in bytes; default 1 MiB.
    pub min_size: u64,
    /// `max_size` of the file in bytes; default infinity.
    pub max_size: u64,
    /// `from` and `to`: the time of day, UTC, in which compactions begin.
    pub window: Option<Window>,
}

/// Measure of a compaction's urgency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The file's size divided by that of its needed bytes.
    Ratio,
    /// The file's size without its needed bytes.
    Slack,
}

/// A part of the day, which may go over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Minutes after midnight, UTC.
    pub from: u32,
    /// Minutes after midnight, UTC; the window ends before it.
    pub to: u32,
    /// `strict_window`: whether a compaction that is under way at the end is ended too.
    pub is_strict: bool,
}

impl Window {
    /// Whether a minute of the day is in it. Equal ends mean the whole day.
    pub fn contains(&self, minute: u32) -> bool {
        match self.from <= self.to {
            true if self.from == self.to => true,
            true => (self.from..self.to).contains(&minute),
            false => minute >= self.from || minute < self.to,
        }
    }
}

impl Channel {
    /// The priority of a file of `file` bytes, of which `active` are needed; `None`
    /// if the channel does not take it.
    pub fn takes(&self, file: u64, active: u64) -> Option<f64> {
        let priority = match self.priority {
            Priority::Ratio => file as f64 / active.max(1) as f64,
            Priority::Slack => file.saturating_sub(active) as f64,
        };
        let fits = (self.min_size..=self.max_size).contains(&file);
        let is_urgent = priority >= self.min_priority && priority < self.max_priority;
        (fits && is_urgent).then_some(priority)
    }
}

/// Reads the settings; without any, files are compacted at a ratio of 2 and at 512 MiB of slack.
pub(crate) fn read(ini: &Ini) -> Result<Smoosh, ConfigError> {
    let wait = ini.get("smoosh", "wait_secs");
    let wait = wait.map_or(Ok(30), |setting| setting.number(0..=86_400))?;
    Ok(Smoosh {
        channels: channels(ini, "db_channels", ["ratio_dbs", "slack_dbs"])?,
        view_channels: channels(ini, "view_channels", ["ratio_views", "slack_views"])?,
        wait: Duration::from_secs(wait.unsigned_abs()),
    })
}

/// The channels that a list names, or the usual ones.
fn channels(ini: &Ini, list: &str, usual: [&str; 2]) -> Result<Vec<Channel>, ConfigError> {
    let names = match ini.get("smoosh", list) {
        Some(setting) => setting.list(),
        None => usual.map(str::to_owned).to_vec(),
    };
    // There is no older format to upgrade from, and an empty value is one that is not set.
    let real = |name: &&String| !["upgrade_dbs", "upgrade_views", "none"].contains(&name.as_str());
    let names = names.iter().filter(real);
    names.map(|name| channel(ini, name)).collect()
}

fn channel(ini: &Ini, name: &str) -> Result<Channel, ConfigError> {
    let section = format!("{CHANNEL}{name}");
    let get = |key| ini.get(&section, key);
    let priority = match get("priority") {
        None if name.starts_with("slack") => Priority::Slack,
        None => Priority::Ratio,
        Some(setting) => match setting.value.as_str() {
            "ratio" => Priority::Ratio,
            "slack" => Priority::Slack,
            _ => return Err(setting.refuse("ratio or slack")),
        },
    };
    let usual = match priority {
        Priority::Ratio => RATIO,
        Priority::Slack => SLACK,
    };
    let size = |key, usual| get(key).map_or(Ok(usual), Setting::size);
    let is_strict = get("strict_window").map_or(Ok(false), Setting::boolean)?;
    let window = match (get("from"), get("to")) {
        (None, None) => None,
        (from, to) => Some(Window {
            from: from.map_or(Ok(0), minute)?,
            to: to.map_or(Ok(0), minute)?,
            is_strict,
        }),
    };
    Ok(Channel {
        name: name.to_owned(),
        priority,
        min_priority: get("min_priority").map_or(Ok(usual), positive)?,
        max_priority: get("max_priority").map_or(Ok(f64::INFINITY), positive)?,
        min_size: size("min_size", MIN_SIZE)?,
        max_size: size("max_size", u64::MAX)?,
        window,
    })
}

fn positive(setting: &Setting) -> Result<f64, ConfigError> {
    let number = setting.value.parse().ok();
    let number = number.filter(|number: &f64| *number >= 0.0);
    number.ok_or_else(|| setting.refuse("a number such as 2.0"))
}

fn minute(setting: &Setting) -> Result<u32, ConfigError> {
    let parsed = setting.value.split_once(':').and_then(|(hour, minute)| {
        let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
        (hour < 24 && minute < 60).then_some(60 * hour + minute)
    });
    parsed.ok_or_else(|| setting.refuse("a time of day such as 23:30"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn smoosh(text: &str) -> Result<Smoosh, String> {
        let ini = Ini::parse(Path::new("varve.ini"), text).unwrap();
        read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn without_settings_couchdbs_defaults_count() {
        let found = smoosh("").unwrap();
        assert_eq!(found.wait.as_secs(), 30);
        let names: Vec<_> = found.channels.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["ratio_dbs", "slack_dbs"]);
        let names: Vec<_> = found.view_channels.iter().map(|it| &it.name[..]).collect();
        assert_eq!(names, ["ratio_views", "slack_views"]);
        assert_eq!(found.view_channels[1].priority, Priority::Slack);
        let [ratio, slack] = &found.channels[..] else {
            panic!("{found:?}");
        };
        assert_eq!(ratio.takes(2 << 20, 1 << 20), Some(2.0));
        assert_eq!(ratio.takes(2 << 20, (1 << 20) + 1), None);
        assert_eq!(ratio.takes(1 << 19, 1), None, "a small file");
        assert_eq!(slack.takes(1 << 30, 1 << 29), Some(SLACK));
        assert_eq!(slack.takes(1 << 30, (1 << 29) + 1), None);
    }

    #[test]
    fn channels_are_set_one_by_one_and_none_switches_it_off() {
        let text = "[smoosh]\ndb_channels = upgrade_dbs, night\nwait_secs = 0\n\
                    [smoosh.night]\npriority = slack\nmin_priority = 100\nmax_size = 1gb\n\
                    from = 23:30\nto = 04:00\nstrict_window = true\n";
        let found = smoosh(text).unwrap();
        let [night] = &found.channels[..] else {
            panic!("{found:?}");
        };
        assert_eq!((night.min_priority, night.max_size), (100.0, 1 << 30));
        let window = night.window.unwrap();
        assert!(window.is_strict && window.contains(0) && window.contains(23 * 60 + 30));
        assert!(!window.contains(4 * 60) && !window.contains(12 * 60));
        let off = smoosh("[smoosh]\ndb_channels = none\n").unwrap();
        assert_eq!((off.channels.len(), off.view_channels.len()), (0, 2));
        let off = smoosh("[smoosh]\nview_channels = upgrade_views\n").unwrap();
        assert_eq!((off.channels.len(), off.view_channels.len()), (2, 0));
        let wrong = smoosh("[smoosh.ratio_dbs]\nfrom = 24:00\n").unwrap_err();
        let words =
            "varve.ini:2: smoosh.ratio_dbs.from must be a time of day such as 23:30, not \"24:00\"";
        assert_eq!(wrong, words);
        let wrong = smoosh("[smoosh.ratio_dbs]\nmin_priority = much\n").unwrap_err();
        assert!(
            wrong.ends_with("must be a number such as 2.0, not \"much\""),
            "{wrong}"
        );
    }
}
