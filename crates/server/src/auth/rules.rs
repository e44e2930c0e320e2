//! `[chttpd_auth] password_regexp`: what a new password of a user must match.

use crate::{Failure, ServerError};
use regex::bytes::{Regex, RegexBuilder};
use varve_config::{PasswordRule, Passwords};

const REFUSED: &str = "Password does not conform to requirements.";
/// Bytes that a compiled pattern may take.
const LARGEST: usize = 256 << 10;

fn compile(rule: &PasswordRule) -> Result<Regex, regex::Error> {
    // As in Erlang, letters are bytes.
    let mut builder = RegexBuilder::new(&rule.pattern);
    builder.unicode(false).size_limit(LARGEST).build()
}

/// Refuses patterns that cannot be used.
///
/// # Errors
/// [`ServerError::Config`].
pub(super) fn check(settings: &Passwords) -> Result<(), ServerError> {
    for rule in &settings.rules {
        if let (Err(_), Some(setting)) = (compile(rule), &settings.rules_setting) {
            let expected = format!(
                "a list of regular expressions without look-around, and {:?} is none",
                rule.pattern
            );
            return Err(setting.refuse(expected).into());
        }
    }
    Ok(())
}

/// Checks a new password.
///
/// # Errors
/// 400 with the reason of the first rule that it breaks.
pub(crate) fn check_new_password(settings: &Passwords, password: &str) -> Result<(), Failure> {
    for rule in &settings.rules {
        let pattern = compile(rule).map_err(Failure::internal)?;
        if !pattern.is_match(password.as_bytes()) {
            let reason = format!("{REFUSED} {}", rule.reason);
            return Err(Failure::bad_request(reason.trim_end()));
        }
    }
    Ok(())
}
