//! Per-document access: the names in `_access`, and the readers and writers that they stand for.
//!
//! In a database with access a document's text begins with its `_access`, so that whatever shows the text shows it.

use std::collections::BTreeSet;
use std::sync::Arc;
use varve_json::Value;

/// The member that lists names of users and roles.
pub(crate) const MEMBER: &str = "_access";
/// Beginning of a stored text with names.
const BEGINNING: &[u8] = b"{\"_access\":[";
/// The role of every user with a login.
const EVERY_USER: &str = "_users";
/// Stands in keys for the name of what names none; no user and no role has it.
pub(crate) const UNNAMED: &str = "";
/// Each name has two rows.
const MOST_NAMES: usize = 1000;
/// Names are a part of keys.
const LONGEST_NAME: usize = 512;

/// Why a document cannot be written as it is in a database with access. `Display` is for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// `_access` is no list of names.
    #[error("`_access` must be a list of at most 1000 names, each a text of 1 to 512 bytes")]
    Malformed,
    /// `_access` is on a local document.
    #[error("Local documents belong to the user who writes them and have no `_access`")]
    Local,
    /// The author is not among those who may see it.
    #[error("`_access` must name you or one of your roles")]
    AuthorNotNamed,
    /// The author may not see the revision or the document that is there.
    #[error("You are not allowed to change this document")]
    Foreign,
    /// A name of the parent revision is missing.
    #[error("`_access` must keep the names that it has; an admin can remove some")]
    Narrowed,
}

impl AccessError {
    /// Whether the request is wrong for every user.
    pub fn is_malformed(self) -> bool {
        matches!(self, AccessError::Malformed | AccessError::Local)
    }
}

/// A reader or writer of documents in a database with access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewer(Sight);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Sight {
    All,
    Named(Arc<Named>),
}

#[derive(Debug, PartialEq, Eq)]
struct Named {
    user: Option<String>,
    /// The user and the roles, sorted, each once.
    names: Vec<String>,
}

impl Viewer {
    /// An admin, or the program itself: every document is visible.
    pub const ALL: Viewer = Viewer(Sight::All);

    /// A user with these roles; `None` is a client without a login.
    pub fn named(user: Option<&str>, roles: &[String]) -> Viewer {
        let mut names: BTreeSet<&str> = roles.iter().map(String::as_str).collect();
        names.extend(user);
        names.extend(user.map(|_| EVERY_USER));
        names.retain(|name| (1..=LONGEST_NAME).contains(&name.len()));
        Viewer(Sight::Named(Arc::new(Named {
            user: user.map(str::to_owned),
            names: names.into_iter().map(str::to_owned).collect(),
        })))
    }

    /// Sees what names none. Only admins write that, so the design documents among it are those that count.
    pub fn unnamed() -> Viewer {
        Viewer(Sight::Named(Arc::new(Named {
            user: None,
            names: vec![UNNAMED.to_owned()],
        })))
    }

    /// Sees and writes nothing.
    pub fn none() -> Viewer {
        Viewer::named(None, &[])
    }

    /// Whether every document is visible.
    pub fn sees_all(&self) -> bool {
        self.0 == Sight::All
    }

    /// Names under which documents are visible, sorted, each once; `None` if all are.
    pub fn names(&self) -> Option<&[String]> {
        match &self.0 {
            Sight::All => None,
            Sight::Named(named) => Some(&named.names),
        }
    }

    /// The user's own name.
    pub(crate) fn user(&self) -> Option<&str> {
        match &self.0 {
            Sight::All => None,
            Sight::Named(named) => named.user.as_deref(),
        }
    }

    /// Whether a revision with these names is visible.
    pub(crate) fn sees(&self, access: &[String]) -> bool {
        let Some(own) = self.names() else { return true };
        let is_own = |name: &str| own.binary_search_by(|own| own.as_str().cmp(name)).is_ok();
        match access {
            [] => is_own(UNNAMED),
            names => names.iter().any(|name| is_own(name)),
        }
    }

    /// Prefix of the ids of this viewer's local documents, which no other viewer has; `None` without a login.
    pub(crate) fn local_prefix(&self) -> Option<String> {
        match self.sees_all() {
            true => Some(String::new()),
            false => self.user().map(|user| format!("\0{}:{user}:", user.len())),
        }
    }
}

/// The names that an `_access` lists, sorted, each once.
pub(crate) fn names_of(value: &Value) -> Result<Vec<String>, AccessError> {
    let list = value.as_array().filter(|list| list.len() <= MOST_NAMES);
    let names = list.ok_or(AccessError::Malformed)?.iter().map(|name| {
        let name = name
            .as_str()
            .filter(|name| (1..=LONGEST_NAME).contains(&name.len()));
        name.map(str::to_owned).ok_or(AccessError::Malformed)
    });
    let names: BTreeSet<String> = names.collect::<Result<_, _>>()?;
    Ok(names.into_iter().collect())
}

/// The text of a document as a database with access stores it: with `access` as its first member.
///
/// # Errors
/// [`AccessError::Malformed`] if that is no list of names.
pub fn text_with_access(access: &Value, text: &[u8]) -> Result<Vec<u8>, AccessError> {
    names_of(access)?;
    let mut list = Vec::new();
    varve_json::write(access, &mut list);
    Ok(with_access(&list, text))
}

/// A document's text with `_access` as its first member.
pub(crate) fn with_access(access: &[u8], text: &[u8]) -> Vec<u8> {
    let rest = text.get(1..).unwrap_or(b"}");
    let comma: &[u8] = if rest == b"}" { b"" } else { b"," };
    [&b"{\"_access\":"[..], access, comma, rest].concat()
}

/// `_access` as JSON.
pub(crate) fn access_text(names: &[String]) -> Vec<u8> {
    let mut out = b"[".to_vec();
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        varve_json::write_string(name, &mut out);
    }
    out.push(b']');
    out
}

/// The names in a stored text; none where it has no `_access`, which is then for admins only.
pub(crate) fn names_in(text: &[u8]) -> Vec<String> {
    if !text.starts_with(BEGINNING) {
        return Vec::new();
    }
    let document = varve_json::parse_object(text).ok();
    let names = document.as_ref().and_then(|document| document.get(MEMBER));
    names.map(names_of).and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_viewer_sees_what_names_the_user_or_a_role() {
        let role = ["team".to_owned()];
        let viewer = Viewer::named(Some("ann"), &role);
        let sees =
            |names: &[&str]| viewer.sees(&names.iter().map(|&n| n.into()).collect::<Vec<_>>());
        assert!(sees(&["ann"]) && sees(&["bob", "team"]) && sees(&["_users"]));
        assert!(!sees(&[]) && !sees(&["bob"]) && !sees(&["an"]) && !sees(&["anna"]));
        assert!(Viewer::ALL.sees(&[]) && Viewer::unnamed().sees(&[]));
        assert!(!Viewer::unnamed().sees(&["ann".to_owned()]));
        assert!(!Viewer::named(Some(""), &[String::new()]).sees(&[]));
        assert!(!Viewer::none().sees(&["_users".to_owned(), String::new()]));
    }

    #[test]
    fn no_user_has_the_local_documents_of_another() {
        let prefix = |user: &str| Viewer::named(Some(user), &[]).local_prefix().unwrap();
        for (one, other) in [("a", "a\0"), ("a", "1:a:"), ("", "0::"), ("a:b", "a")] {
            let (one, other) = (prefix(one), prefix(other));
            assert!(!one.starts_with(&other) && !other.starts_with(&one));
        }
        assert_eq!(Viewer::none().local_prefix(), None);
    }

    #[test]
    fn a_text_keeps_its_names() {
        let names = names_of(&varve_json::parse(br#"["b","a\n","b"]"#).unwrap()).unwrap();
        assert_eq!(names, ["a\n", "b"]);
        for text in [&b"{}"[..], b"{\"x\":[1]}"] {
            let whole = with_access(&access_text(&names), text);
            assert_eq!(names_in(&whole), names);
            assert!(names_in(text).is_empty());
            varve_json::parse_object(&whole).unwrap();
        }
        for wrong in ["1", "null", "{}", "[1]", "[\"\"]", "[[\"a\"]]"] {
            let value = varve_json::parse(wrong.as_bytes()).unwrap();
            assert_eq!(names_of(&value), Err(AccessError::Malformed), "{wrong}");
        }
    }
}
