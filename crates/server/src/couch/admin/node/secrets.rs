//! Settings whose values are shown to no one.

/// Stands for a secret value.
const MASK: &str = "****";

/// Whether no answer and no line of the log may have the value.
pub(super) fn is_secret(section: &str, key: &str) -> bool {
    match section {
        "admins" | "jwt_keys" => true,
        "chttpd_auth" | "couch_httpd_auth" | "proxy" => key == "secret",
        "ssl" => key == "password",
        _ => false,
    }
}

/// The value as admins see it. Their own hashed passwords are shown, as CouchDB does.
pub(super) fn shown<'v>(section: &str, key: &str, value: &'v str) -> &'v str {
    let is_hash = section == "admins" && value.starts_with('-');
    match is_secret(section, key) && !is_hash {
        true => MASK,
        false => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_plain_passwords_are_not_shown() {
        for (section, key) in [
            ("chttpd_auth", "secret"),
            ("couch_httpd_auth", "secret"),
            ("jwt_keys", "hmac:a"),
            ("admins", "ann"),
            ("ssl", "password"),
        ] {
            assert_eq!(shown(section, key, "value"), MASK, "{section}.{key}");
        }
        assert_eq!(
            shown("admins", "ann", "-pbkdf2:sha256-x"),
            "-pbkdf2:sha256-x"
        );
        assert_eq!(shown("chttpd_auth", "timeout", "600"), "600");
    }
}
