//! `[couch_peruser]`: a database for each user.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};

/// `[couch_peruser]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerUser {
    /// `enable`: whether users get databases; default false.
    pub enabled: bool,
    /// `delete_dbs`: whether the database goes with its user; default false.
    pub deletes: bool,
    /// `database_prefix`: stands before the user's name in hexadecimal; default `userdb-`.
    pub prefix: String,
}

/// # Errors
/// The first value that is not of its type.
pub(crate) fn read(ini: &Ini) -> Result<PerUser, ConfigError> {
    let of = |key| ini.get("couch_peruser", key);
    Ok(PerUser {
        enabled: or(of("enable"), Setting::boolean, false)?,
        deletes: or(of("delete_dbs"), Setting::boolean, false)?,
        prefix: or(of("database_prefix"), prefix, "userdb-".to_owned())?,
    })
}

fn prefix(setting: &Setting) -> Result<String, ConfigError> {
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_$()+-/".contains(&byte);
    let text = setting.value.as_str();
    let begins = text.starts_with(|c: char| c.is_ascii_lowercase());
    match begins && text.len() <= 64 && text.bytes().all(fits) {
        true => Ok(text.to_owned()),
        false => Err(setting.refuse("the beginning of a database's name, of at most 64 letters")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn databases_of_users_begin_as_all_databases_do() {
        let per_user = |text: &str| {
            let text = format!("[couch_peruser]\n{text}");
            let ini = Ini::parse(Path::new("varve.ini"), &text).unwrap();
            read(&ini).map_err(|error| error.to_string())
        };
        let usual = per_user("").unwrap();
        assert_eq!((usual.enabled, usual.prefix.as_str()), (false, "userdb-"));
        assert!(
            per_user("enable = true\ndatabase_prefix = a/b_")
                .unwrap()
                .enabled
        );
        for wrong in ["Users-", "_u", "1"] {
            assert!(per_user(&format!("database_prefix = {wrong}")).is_err());
        }
    }
}
