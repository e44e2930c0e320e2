//! URLs `ssh://[user@]host[:port]/path`, and the command line that leads there.

use crate::ExchangeError;
use percent_encoding::percent_decode;

/// An ssh URL, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    /// `user@host`, or the host alone.
    login: String,
    port: Option<String>,
    path: String,
}

impl Address {
    fn parse(url: &str) -> Result<Address, ExchangeError> {
        let wrong = || ExchangeError::NoLocation(url.to_owned());
        let rest = url.strip_prefix("ssh://").ok_or_else(wrong)?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let decoded = |text: &str| {
            let text = percent_decode(text.as_bytes());
            text.decode_utf8_lossy().into_owned()
        };
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(decoded(port))),
            _ => (host, None),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err(ExchangeError::PasswordForSsh);
        }
        let (user, host) = (user.map(decoded), decoded(host));
        // To ssh this would be an option, one of which runs any command.
        if [user.as_deref(), Some(&host), port.as_deref()]
            .into_iter()
            .flatten()
            .any(|word| word.starts_with('-'))
        {
            return Err(ExchangeError::UnsafeUrl(url.to_owned()));
        }
        if host.is_empty() {
            return Err(wrong());
        }
        Ok(Address {
            login: user.map_or_else(|| host.clone(), |user| format!("{user}@{host}")),
            port: port.filter(|port| !port.is_empty()),
            path: Some(decoded(path))
                .filter(|it| !it.is_empty())
                .unwrap_or(".".to_owned()),
        })
    }
}

/// The command to be run at a URL.
#[derive(Clone, Copy, Debug)]
pub(super) enum SshAction {
    /// To serve the repository.
    Serve,
    /// To make one.
    Create,
}

/// The line for the shell that does an errand at a URL: `ssh` is the command that reaches another
/// machine, `program` the one that runs there.
pub(super) fn line(
    url: &str,
    (ssh, program): (&str, &str),
    errand: SshAction,
) -> Result<String, ExchangeError> {
    let address = Address::parse(url)?;
    let words = match errand {
        SshAction::Serve => vec![program, "-R", &address.path, "serve", "--stdio"],
        SshAction::Create => vec![program, "init", &address.path],
    };
    let there: Vec<String> = words.into_iter().map(|it| quoted(it, THERE)).collect();
    let here = |word: &str| quoted(word, HERE);
    let port = address.port.map(|port| format!("-p {} ", here(&port)));
    let (port, login) = (port.unwrap_or_default(), here(&address.login));
    Ok(format!("{ssh} {port}{login} {}", here(&there.join(" "))))
}

/// Characters besides letters and digits that Mercurial does not quote, for the shell here and there.
const HERE: &[u8] = b"_+./-";
const THERE: &[u8] = b"@%_+=:,./-";

/// A word as the shell reads it as one.
fn quoted(word: &str, plain: &[u8]) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || plain.contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> String {
        line(url, ("ssh -C", "hg"), SshAction::Serve).unwrap()
    }

    #[test]
    fn lines_that_stock_hg_runs() {
        assert_eq!(of("ssh://host/a"), "ssh -C host 'hg -R a serve --stdio'");
        assert_eq!(of("ssh://host"), "ssh -C host 'hg -R . serve --stdio'");
        let full = of("ssh://me@host:2222//srv/a%20b");
        let there = r"'hg -R '\''/srv/a b'\'' serve --stdio'";
        assert_eq!(full, format!("ssh -C -p 2222 'me@host' {there}"));
        assert_eq!(
            of("ssh://[::1]:22/a"),
            "ssh -C -p 22 '[::1]' 'hg -R a serve --stdio'"
        );
    }

    #[test]
    fn a_repository_is_made_by_a_line_of_its_own() {
        let line = |url| line(url, ("ssh", "hg"), SshAction::Create).unwrap();
        assert_eq!(line("ssh://me@host/a"), "ssh 'me@host' 'hg init a'");
        assert_eq!(line("ssh://host"), "ssh host 'hg init .'");
    }

    #[test]
    fn what_could_be_an_option_is_refused() {
        for url in [
            "ssh://-oX/a",
            "ssh://-oX@host/a",
            "ssh://%2doX/a",
            "ssh://host:-p/a",
        ] {
            let refused = line(url, ("ssh", "hg"), SshAction::Create);
            assert!(matches!(refused, Err(ExchangeError::UnsafeUrl(_))), "{url}");
        }
        assert!(matches!(
            line("ssh://a:b@c/", ("ssh", "hg"), SshAction::Serve),
            Err(ExchangeError::PasswordForSsh)
        ));
        assert!(matches!(
            line("ssh:///a", ("ssh", "hg"), SshAction::Serve),
            Err(ExchangeError::NoLocation(_))
        ));
    }
}
