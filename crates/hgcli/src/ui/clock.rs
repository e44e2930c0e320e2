//! The present, in the zone of this process.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use varve_lang::date::{Clock, Zone};

/// Where the rules of zones lie, by name.
const ZONES: &str = "/usr/share/zoneinfo";
/// The zone of the system.
const SYSTEM: &str = "/etc/localtime";

/// Now, in the zone that the variable `TZ` says, or else in that of the system.
pub fn clock() -> Clock {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.map_or(0, |since| since.as_secs() as i64);
    let zone = match std::env::var("TZ") {
        Ok(name) => named(name.strip_prefix(':').unwrap_or(&name)),
        Err(_) => of_file(Path::new(SYSTEM)),
    };
    Clock {
        now,
        zone: zone.unwrap_or_default(),
    }
}

fn named(name: &str) -> Option<Zone> {
    if name.is_empty() || name == "UTC" {
        return None;
    }
    of_file(&Path::new(ZONES).join(name)).or_else(|| Zone::from_posix(name))
}

fn of_file(path: &Path) -> Option<Zone> {
    Zone::from_file(&std::fs::read(path).ok()?)
}
