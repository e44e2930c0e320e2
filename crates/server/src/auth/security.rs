//! A database's security object: the rights to read and write it, and to change its design.

use crate::Failure;
use crate::auth::UserContext;
use varve_json::{Object, Value};

/// One side of a security object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// User names.
    pub names: Vec<String>,
    /// Users with any of these roles belong to it.
    pub roles: Vec<String>,
}

impl Names {
    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.roles.is_empty()
    }

    fn include(&self, user: &UserContext) -> bool {
        let by_name = user.name.as_ref().is_some_and(|n| self.names.contains(n));
        by_name || user.roles.iter().any(|role| self.roles.contains(role))
    }
}

/// The part of `_security` that decides about access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Security {
    /// May change design documents and the security object.
    pub admins: Names,
    /// May read and write documents; an empty side admits every user, also without a login.
    pub members: Names,
}

impl Default for Security {
    /// A new database: server admins only, as since CouchDB 3.
    fn default() -> Self {
        let admins = Names {
            names: Vec::new(),
            roles: vec![crate::auth::user::ADMIN_ROLE.to_owned()],
        };
        Security {
            members: admins.clone(),
            admins,
        }
    }
}

impl Security {
    /// Reads a security object. Members that have nothing to do with access are left alone.
    ///
    /// # Errors
    /// 400 if a side is no object, or its names or roles are no list of texts.
    pub fn parse(object: &Object) -> Result<Security, Failure> {
        let side = |name: &str| match object.get(name) {
            None => Ok(Names::default()),
            Some(Value::Object(side)) => Ok(Names {
                names: texts(side, name, "names")?,
                roles: texts(side, name, "roles")?,
            }),
            Some(_) => Err(Failure::bad_request(format!(
                "`{name}` must be an object with `names` and `roles`"
            ))),
        };
        Ok(Security {
            admins: side("admins")?,
            members: side("members")?,
        })
    }

    /// Whether the user may read.
    ///
    /// # Errors
    /// 401 without a login, else 403.
    pub fn check_reader(&self, user: &UserContext) -> Result<(), Failure> {
        let open = self.members.is_empty();
        if open || self.members.include(user) || self.is_admin(user) {
            Ok(())
        } else {
            Err(user.refused("You are not authorized to access this db."))
        }
    }

    /// Whether the user may write documents: a reader with a login.
    ///
    /// # Errors
    /// 401 without a login, else 403.
    pub fn check_writer(&self, user: &UserContext) -> Result<(), Failure> {
        self.check_reader(user)?;
        user.require_login()
    }

    /// Whether the user may change design documents and the security object.
    ///
    /// # Errors
    /// 401 without a login, else 403.
    pub fn check_admin(&self, user: &UserContext) -> Result<(), Failure> {
        if self.is_admin(user) {
            Ok(())
        } else {
            Err(user.refused("You are not a db or server admin."))
        }
    }

    fn is_admin(&self, user: &UserContext) -> bool {
        user.is_admin() || self.admins.include(user)
    }
}

fn texts(side: &Object, of: &str, name: &str) -> Result<Vec<String>, Failure> {
    let Some(list) = side.get(name) else {
        return Ok(Vec::new());
    };
    let list = list.as_array().map(|items| items.iter().map(Value::as_str));
    let list: Option<Vec<&str>> = list.and_then(Iterator::collect);
    let list = list
        .ok_or_else(|| Failure::bad_request(format!("`{of}.{name}` must be an array of texts")))?;
    Ok(list.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str, roles: &[&str]) -> UserContext {
        UserContext {
            name: Some(name.to_owned()),
            roles: roles.iter().map(|&role| role.to_owned()).collect(),
        }
    }

    #[test]
    fn a_new_database_is_for_server_admins() {
        let security = Security::default();
        assert!(security.check_writer(&UserContext::admin("a")).is_ok());
        assert!(security.check_admin(&UserContext::admin("a")).is_ok());
        let anonymous = security.check_reader(&UserContext::default()).unwrap_err();
        assert_eq!(anonymous.status(), 401);
        assert_eq!(
            anonymous.reason,
            "You are not authorized to access this db."
        );
        assert_eq!(
            security.check_reader(&user("u", &[])).unwrap_err().status(),
            403
        );
    }

    #[test]
    fn an_open_database_can_be_read_but_not_written_without_a_login() {
        let security = Security {
            admins: Names::default(),
            members: Names::default(),
        };
        let anonymous = UserContext::default();
        assert!(security.check_reader(&anonymous).is_ok());
        assert_eq!(security.check_writer(&anonymous).unwrap_err().status(), 401);
        assert!(security.check_writer(&user("u", &[])).is_ok());
        assert_eq!(
            security.check_admin(&user("u", &[])).unwrap_err().status(),
            403
        );
    }

    #[test]
    fn what_is_stored_is_read_and_nonsense_is_refused() {
        let parse =
            |text: &str| Security::parse(&varve_json::parse_object(text.as_bytes()).unwrap());
        let got = parse(r#"{"members":{"names":["u"]},"admins":{"roles":["r"]},"x":1}"#).unwrap();
        assert_eq!(got.members.names, ["u"]);
        assert_eq!(got.admins.roles, ["r"]);
        for text in [
            r#"{"members":1}"#,
            r#"{"admins":{"names":[1]}}"#,
            r#"{"admins":{"roles":{}}}"#,
        ] {
            assert_eq!(parse(text).unwrap_err().status(), 400, "{text}");
        }
    }

    #[test]
    fn members_come_by_name_or_role() {
        let members = Names {
            names: vec!["ann".into()],
            roles: vec!["staff".into()],
        };
        let security = Security {
            members,
            ..Security::default()
        };
        assert!(security.check_reader(&user("ann", &[])).is_ok());
        assert!(security.check_reader(&user("bob", &["staff"])).is_ok());
        assert!(security.check_reader(&user("bob", &["other"])).is_err());
    }
}
