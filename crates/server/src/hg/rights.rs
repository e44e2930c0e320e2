//! Rights to read a repository and to push to it, from `[web]` of its `.hg/hgrc`.
//!
//! ```text
//! deny_read  = NAMES    may not read; comes first
//! allow_read = NAMES    only they may read, if there is such a line
//! allow-pull = no       clones and pulls are refused
//! push_ssl   = no       a push need not come by way of TLS
//! deny_push  = NAMES    may not push; comes first
//! allow-push = NAMES    only they may push
//! ```
//! `*` alone means every client; a non-empty denying list denies clients without a login too. Status and words are
//! those of `hg serve`, because clients show them.

use crate::auth::UserContext;
use crate::hg::hgrc::RepositoryConfig;
use crate::hg::pages::is_page_command;
use crate::{Answer, Request};
use hyper::{Method, StatusCode};
use varve_config::hgrc::Hgrc;

/// Commands that write.
const WRITING: [&str; 2] = ["unbundle", "pushkey"];

/// Properties of a request that its rights depend on.
#[derive(Debug)]
pub(super) struct AccessRequest<'a> {
    pub(super) command: &'a str,
    /// The login, if there is one.
    pub(super) user: Option<&'a str>,
    /// Whether there are users who could log in.
    pub(super) has_users: bool,
    is_post: bool,
    /// Whether it came by way of TLS.
    pub(super) is_secure: bool,
}

impl<'a> AccessRequest<'a> {
    pub(super) fn of(request: &'a Request, user: &'a UserContext) -> Self {
        AccessRequest {
            command: request
                .query("cmd")
                .filter(|command| !is_page_command(command))
                .unwrap_or_default(),
            user: user.name.as_deref(),
            has_users: true,
            is_post: request.method == Method::POST,
            is_secure: request.is_secure(),
        }
    }

    pub(super) fn writes(&self) -> bool {
        is_writing_command(self.command)
    }
}

/// True for the commands of pushes.
pub(super) fn is_writing_command(command: &str) -> bool {
    WRITING.contains(&command)
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    status: StatusCode,
    words: &'static str,
    /// Whether a login may help.
    ask_for_login: bool,
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Answer {
        let body = format!("0\n{}\n", refusal.words).into_bytes();
        let mut answer = Answer::whole(refusal.status, "", body);
        answer.reason = Some(refusal.words);
        if refusal.ask_for_login {
            answer.set_header("www-authenticate", "Basic realm=\"varve\"");
        }
        answer
    }
}

/// Whether a user, or a client without a login, may read.
pub(super) fn may_read(values: &Hgrc, user: Option<&str>) -> bool {
    let list = |key| List(values.list("web", key));
    let (deny, allow) = (list("deny_read"), list("allow_read"));
    !deny.denies(user) && (allow.is_empty() || allow.includes(user))
}

/// Refuses a request that the configuration does not allow.
pub(super) fn check(config: &RepositoryConfig, asked: &AccessRequest<'_>) -> Result<(), Refusal> {
    let list = |keys: &[&str]| {
        let lists = keys.iter().map(|key| config.values.list("web", key));
        List(lists.flatten().collect())
    };
    let denied = |words, by: &List| {
        Err(Refusal {
            status: StatusCode::UNAUTHORIZED,
            words,
            ask_for_login: asked.has_users && asked.user.is_none() && by.has_names(),
        })
    };
    let (deny, allow) = (list(&["deny_read"]), list(&["allow_read"]));
    if deny.denies(asked.user) || !(allow.is_empty() || allow.includes(asked.user)) {
        let by = if deny.denies(asked.user) { deny } else { allow };
        return denied("read not authorized", &by);
    }
    if !asked.writes() {
        let pulls = ["allow-pull", "allowpull"].iter();
        let mut pulls = pulls.map(|key| config.values.boolean("web", key, true).unwrap_or(false));
        return match asked.command.is_empty() || pulls.all(|allowed| allowed) {
            true => Ok(()),
            false => denied("pull not authorized", &List::default()),
        };
    }
    let refused = |status, words| {
        Err(Refusal {
            status,
            words,
            ask_for_login: false,
        })
    };
    if !asked.is_post {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "push requires POST request");
    }
    let needs_tls = config.values.boolean("web", "push_ssl", true);
    if needs_tls.unwrap_or(true) && !asked.is_secure {
        return refused(StatusCode::FORBIDDEN, "ssl required");
    }
    let (deny, allow) = (list(&["deny_push"]), list(&["allow-push", "allow_push"]));
    if deny.denies(asked.user) || !allow.includes(asked.user) || !config.is_whole {
        let by = if deny.is_everybody() {
            List::default()
        } else {
            allow
        };
        return denied("push not authorized", &by);
    }
    Ok(())
}

/// Names of users.
#[derive(Debug, Default)]
struct List(Vec<Vec<u8>>);

impl List {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn is_everybody(&self) -> bool {
        matches!(&self.0[..], [name] if name == b"*")
    }

    /// Whether it is about some and not others.
    fn has_names(&self) -> bool {
        !self.is_empty() && !self.is_everybody()
    }

    fn includes(&self, user: Option<&str>) -> bool {
        let named = |user: &str| self.0.iter().any(|name| name == user.as_bytes());
        self.is_everybody() || user.is_some_and(named)
    }

    fn denies(&self, user: Option<&str>) -> bool {
        !self.is_empty() && (user.is_none() || self.includes(user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(lines: &[&str], command: &str, user: Option<&str>) -> (u16, &'static str, bool) {
        let mut values = Hgrc::default();
        for line in lines {
            values
                .add_argument(format!("web.{line}").as_bytes())
                .unwrap();
        }
        let config = RepositoryConfig {
            values,
            is_whole: true,
            is_trusted: true,
            with_untrusted: None,
        };
        let asked = AccessRequest {
            command,
            user,
            has_users: true,
            is_post: true,
            is_secure: false,
        };
        match check(&config, &asked) {
            Ok(()) => (200, "", false),
            Err(Refusal {
                status,
                words,
                ask_for_login,
            }) => (status.as_u16(), words, ask_for_login),
        }
    }

    const FINE: (u16, &str, bool) = (200, "", false);

    #[test]
    fn pushes_need_a_permission() {
        let refused = |login| (401, "push not authorized", login);
        let push = |lines: &[&str], user| {
            let lines = [&["push_ssl=no"], lines].concat();
            words(&lines, "unbundle", user)
        };
        assert_eq!(words(&["allow-push=*"], "pushkey", None).1, "ssl required");
        assert_eq!(push(&[], None), refused(false));
        assert_eq!(push(&[], Some("ada")), refused(false));
        assert_eq!(push(&["allow-push=*"], None), FINE);
        assert_eq!(push(&["allow_push=bob, ada"], Some("ada")), FINE);
        assert_eq!(push(&["allow_push=bob, ada"], None), refused(true));
        assert_eq!(push(&["allow_push=bob"], Some("ada")), refused(false));
        assert_eq!(
            push(&["allow-push=*", "deny_push=ada"], Some("ada")),
            refused(false)
        );
        assert_eq!(push(&["allow-push=*", "deny_push=ada"], Some("bob")), FINE);
        assert_eq!(
            push(&["allow-push=*", "deny_push=ada"], None),
            refused(false)
        );
        assert_eq!(
            push(&["allow-push=bob", "deny_push=*"], Some("bob")),
            refused(false)
        );
    }

    #[test]
    fn everybody_reads_unless_that_is_forbidden() {
        let read = |lines: &[&str], user| words(lines, "heads", user);
        let refused = |login| (401, "read not authorized", login);
        assert_eq!(read(&[], None), FINE);
        assert_eq!(read(&["deny_read=*"], Some("ada")), refused(false));
        assert_eq!(read(&["deny_read=bob"], None), refused(true));
        assert_eq!(read(&["deny_read=bob"], Some("ada")), FINE);
        assert_eq!(read(&["allow_read=ada"], None), refused(true));
        assert_eq!(read(&["allow_read=ada"], Some("ada")), FINE);
        assert_eq!(words(&["allow_read=ada"], "", None), refused(true));
        let nobody = (401, "pull not authorized", false);
        assert_eq!(read(&["allow-pull=no"], Some("ada")), nobody);
        assert_eq!(read(&["allowpull=no"], None), nobody);
        assert_eq!(words(&["allow-pull=no"], "", None), FINE);
    }
}
