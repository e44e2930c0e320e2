//! `[chttpd_auth_lockout]`: what becomes of users and addresses whose logins fail again and again.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};
use std::time::Duration;

/// `[chttpd_auth_lockout]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lockout {
    /// `mode`; default `enforce`.
    pub mode: LockoutMode,
    /// `threshold`: failed logins from which on further ones are refused; default 5.
    pub threshold: u32,
    /// `max_objects`: pairs of a user and an address that are remembered; default 10,000.
    pub most: usize,
    /// `max_lifetime`, in milliseconds: how long after the first failed login they are; default 300,000.
    pub lifetime: Duration,
}

/// `mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockoutMode {
    /// Failed logins are not counted.
    Off,
    /// Too many failures are only logged.
    Warn,
    /// Further logins are refused.
    Enforce,
}

/// # Errors
/// The first value that is not of its type.
pub(crate) fn read(ini: &Ini) -> Result<Lockout, ConfigError> {
    let of = |key| ini.get("chttpd_auth_lockout", key);
    let threshold = or(of("threshold"), |s| s.number(1..=1_000_000), 5)?;
    let most = or(of("max_objects"), |s| s.number(1..=1_000_000), 10_000)?;
    let lifetime = or(of("max_lifetime"), |s| s.number(1..=86_400_000), 300_000)?;
    Ok(Lockout {
        mode: or(of("mode"), mode, LockoutMode::Enforce)?,
        threshold: u32::try_from(threshold).unwrap_or(u32::MAX),
        most: usize::try_from(most).unwrap_or(usize::MAX),
        lifetime: Duration::from_millis(lifetime.unsigned_abs()),
    })
}

fn mode(setting: &Setting) -> Result<LockoutMode, ConfigError> {
    match setting.value.as_str() {
        "off" => Ok(LockoutMode::Off),
        "warn" => Ok(LockoutMode::Warn),
        "enforce" => Ok(LockoutMode::Enforce),
        _ => Err(setting.refuse("off, warn or enforce")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn five_failures_in_five_minutes_are_enough() {
        let lockout = |text: &str| {
            let text = format!("[chttpd_auth_lockout]\n{text}");
            let ini = Ini::parse(Path::new("varve.ini"), &text).unwrap();
            read(&ini).map_err(|error| error.to_string())
        };
        let usual = lockout("").unwrap();
        assert_eq!((usual.mode, usual.threshold), (LockoutMode::Enforce, 5));
        assert_eq!((usual.most, usual.lifetime.as_secs()), (10_000, 300));
        assert_eq!(lockout("mode = off").unwrap().mode, LockoutMode::Off);
        for wrong in ["mode = on", "threshold = 0", "max_lifetime = infinity"] {
            assert!(lockout(wrong).is_err(), "{wrong}");
        }
    }
}
