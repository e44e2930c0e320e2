//! Rules for the form of a user's document and for the changes that each user may make to it. The reasons are the
//! peer's, because clients show them.

use varve_json::{Object, Value};

use crate::Failure;
use crate::auth::SecondFactor;
use crate::auth::password::MOST_ITERATIONS;
use crate::auth::prf::Prf;
use crate::couch::users::PREFIX;

/// Rounds that a key of the user's own making may ask for: others wait for their logins meanwhile.
const MOST_OF_USERS: u32 = 1_000_000;

/// The user who edits.
pub(super) struct By<'a> {
    pub(super) name: Option<&'a str>,
    /// Of the server or of this database.
    pub(super) is_admin: bool,
    pub(super) is_server_admin: bool,
}

type Checked = Result<(), Failure>;

fn ensure(is_so: bool, reason: &str) -> Checked {
    match is_so {
        true => Ok(()),
        false => Err(Failure::forbidden(reason)),
    }
}

fn text<'o>(document: &'o Object, name: &str) -> Option<&'o str> {
    document.get(name).and_then(Value::as_str)
}

/// Whether the caller may delete a user.
///
/// # Errors
/// 403.
pub(super) fn check_deletion(before: Option<&Object>, by: &By<'_>) -> Checked {
    let own = before.and_then(|before| text(before, "name"));
    let is_own = own.is_some() && own == by.name;
    ensure(
        by.is_server_admin || is_own,
        "Only admins may delete other user docs.",
    )
}

/// Checks a user's document that takes the place of `before`.
///
/// # Errors
/// 403.
pub(super) fn check(id: &str, new: &Object, before: Option<&Object>, by: &By<'_>) -> Checked {
    ensure(text(new, "type") == Some("user"), "doc.type must be user")?;
    let name = text(new, "name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Failure::forbidden("doc.name is required"))?;
    let roles = roles_of(new)?;
    ensure(
        id.strip_prefix(PREFIX) == Some(name),
        "Doc ID must be of the form org.couchdb.user:name",
    )?;
    if let Some(before) = before {
        ensure(
            text(before, "name") == Some(name),
            "Usernames can not be changed.",
        )?;
    }
    let most = match by.is_admin {
        true => MOST_ITERATIONS,
        false => MOST_OF_USERS,
    };
    check_password(new, most)?;
    ensure(
        SecondFactor::of_document(new) != SecondFactor::Unusable,
        "totp must have a key in Base 32; its algorithm may be sha, sha256 or sha512, its length 6 to 9.",
    )?;
    if !by.is_admin {
        check_rights(name, &roles, before, by)?;
    }
    ensure(
        !roles.iter().any(|role| role.starts_with('_')),
        "No system roles (starting with underscore) in users db.",
    )?;
    ensure(
        !name.starts_with('_'),
        "Username may not start with underscore.",
    )?;
    ensure(
        !name.contains(':'),
        "Character `:` is not allowed in usernames.",
    )
}

fn roles_of(document: &Object) -> Result<Vec<&str>, Failure> {
    let roles = match document.get("roles") {
        None | Some(Value::Null | Value::Bool(false)) => {
            return Err(Failure::forbidden("doc.roles must exist"));
        }
        Some(roles) => roles.as_array(),
    };
    let roles = roles.ok_or_else(|| Failure::forbidden("doc.roles must be an array"))?;
    let roles: Option<Vec<_>> = roles.iter().map(Value::as_str).collect();
    roles.ok_or_else(|| Failure::forbidden("doc.roles can only contain strings"))
}

/// Checks the stored form of the password.
fn check_password(new: &Object, most: u32) -> Checked {
    let has = |name: &str| {
        let value = new.get(name).filter(|value| !value.is_null());
        value.is_some_and(|value| value.as_str() != Some(""))
    };
    ensure(
        !has("password_sha") || has("salt"),
        "Users with password_sha must have a salt. See /_utils/script/couch.js for example code.",
    )?;
    if !has("password_scheme") {
        return Ok(());
    }
    let scheme = text(new, "password_scheme").unwrap_or_default();
    ensure(
        ["simple", "pbkdf2"].contains(&scheme),
        &format!("Password scheme `{scheme}` not supported."),
    )?;
    if scheme != "pbkdf2" {
        return Ok(());
    }
    let iterations = new.get("iterations");
    ensure(
        matches!(iterations, Some(Value::Number(_))),
        "iterations must be a number.",
    )?;
    let iterations = iterations.and_then(Value::as_u64);
    ensure(
        iterations.is_some_and(|n| (1..=u64::from(most)).contains(&n)),
        &format!("iterations must be from 1 to {most}."),
    )?;
    ensure(
        text(new, "derived_key").is_some(),
        "derived_key must be a string.",
    )?;
    let prf = text(new, "pbkdf2_prf");
    ensure(
        !has("pbkdf2_prf") || prf.and_then(Prf::named).is_some(),
        "pbkdf2_prf must be sha, sha224, sha256, sha384 or sha512.",
    )
}

/// Refuses changes that users may not make to a document of their own.
fn check_rights(name: &str, roles: &[&str], before: Option<&Object>, by: &By<'_>) -> Checked {
    let Some(before) = before else {
        return ensure(roles.is_empty(), "Only _admin may set roles");
    };
    ensure(
        by.name == Some(name),
        "You may only update your own user document.",
    )?;
    let mut had = roles_of(before).unwrap_or_default();
    let mut roles = roles.to_vec();
    had.sort_unstable();
    roles.sort_unstable();
    ensure(had == roles, "Only _admin may edit roles")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADMIN: By<'_> = By {
        name: Some("adm"),
        is_admin: true,
        is_server_admin: true,
    };
    const ADA: By<'_> = By {
        name: Some("ada"),
        is_admin: false,
        is_server_admin: false,
    };

    fn object(text: &str) -> Object {
        varve_json::parse_object(text.as_bytes()).unwrap()
    }

    /// The reason of a refusal; empty if there is none.
    fn said(text: &str, before: Option<&str>, by: &By<'_>) -> String {
        let (new, before) = (object(text), before.map(object));
        let checked = check("org.couchdb.user:ada", &new, before.as_ref(), by);
        checked.map_or_else(|failure| failure.reason, |()| String::new())
    }

    #[test]
    fn documents_are_refused_in_the_peers_words() {
        let right = r#"{"type":"user","name":"ada","roles":["r"]}"#;
        assert_eq!(said(right, None, &ADMIN), "");
        let with = |more: &str| right.replace("[\"r\"]", &format!("[\"r\"],{more}"));
        for (text, reason) in [
            (
                r#"{"name":"ada","roles":[]}"#.to_owned(),
                "doc.type must be user",
            ),
            (
                r#"{"type":"user","roles":[]}"#.to_owned(),
                "doc.name is required",
            ),
            (
                r#"{"type":"user","name":"ada"}"#.to_owned(),
                "doc.roles must exist",
            ),
            (right.replace("[\"r\"]", "{}"), "doc.roles must be an array"),
            (
                right.replace("\"r\"", "1"),
                "doc.roles can only contain strings",
            ),
            (
                right.replace("ada", "bob"),
                "Doc ID must be of the form org.couchdb.user:name",
            ),
            (
                right.replace("\"r\"", "\"_admin\""),
                "No system roles (starting with underscore) in users db.",
            ),
            (
                with(r#""password_scheme":"rot13""#),
                "Password scheme `rot13` not supported.",
            ),
            (
                with(r#""password_scheme":"pbkdf2","iterations":"1""#),
                "iterations must be a number.",
            ),
            (
                with(r#""password_scheme":"pbkdf2","iterations":1"#),
                "derived_key must be a string.",
            ),
            (
                with(r#""password_scheme":"pbkdf2","iterations":100000000,"derived_key":"00""#),
                "iterations must be from 1 to 10000000.",
            ),
            (
                with(r#""password_sha":"00""#),
                "Users with password_sha must have a salt. See /_utils/script/couch.js for example code.",
            ),
        ] {
            assert_eq!(said(&text, None, &ADMIN), reason, "{text}");
        }
        let renamed = right.replace("ada", "bob");
        assert_eq!(
            said(right, Some(&renamed), &ADMIN),
            "Usernames can not be changed."
        );
        for (name, reason) in [
            ("_ada", "Username may not start with underscore."),
            ("a:b", "Character `:` is not allowed in usernames."),
        ] {
            let new = object(&right.replace("ada", name));
            let checked = check(&format!("{PREFIX}{name}"), &new, None, &ADMIN);
            assert_eq!(checked.unwrap_err().reason, reason);
        }
    }

    #[test]
    fn roles_are_given_by_admins() {
        let with = |roles: &str| format!(r#"{{"type":"user","name":"ada","roles":{roles}}}"#);
        let (none, one, two) = (with("[]"), with(r#"["r"]"#), with(r#"["s","r"]"#));
        let swapped = with(r#"["r","s"]"#);
        assert_eq!(said(&none, None, &ADA), "");
        assert_eq!(said(&one, None, &ADA), "Only _admin may set roles");
        assert_eq!(said(&one, Some(&none), &ADA), "Only _admin may edit roles");
        assert_eq!(said(&none, Some(&one), &ADA), "Only _admin may edit roles");
        assert_eq!(said(&two, Some(&swapped), &ADA), "");
        assert_eq!(said(&two, Some(&none), &ADMIN), "");
        let slow = none.replace(
            "[]",
            r#"[],"password_scheme":"pbkdf2","iterations":2000000,"derived_key":"00""#,
        );
        assert_eq!(said(&slow, None, &ADMIN), "");
        let words = "iterations must be from 1 to 1000000.";
        assert_eq!(said(&slow, None, &ADA), words);
        let bob = By {
            name: Some("bob"),
            ..ADA
        };
        let own = "You may only update your own user document.";
        assert_eq!(said(&none, Some(&none), &bob), own);
        let before = object(&none);
        assert!(check_deletion(Some(&before), &ADA).is_ok());
        assert!(check_deletion(Some(&before), &ADMIN).is_ok());
        let refused = check_deletion(Some(&before), &bob).unwrap_err();
        assert_eq!(refused.reason, "Only admins may delete other user docs.");
        assert_eq!(check_deletion(None, &bob).unwrap_err().status(), 403);
    }
}
