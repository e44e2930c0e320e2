//! The user: the name that changesets carry, and answers to questions.

use crate::ui::{Abort, Ui, environment};
use rustix::termios::OptionalActions;
use std::net::{IpAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;

/// Names of this machine and of others.
const HOSTS: &str = "/etc/hosts";
/// The name that the system gives itself.
const HOST: &str = "/proc/sys/kernel/hostname";
/// Belongs to the user of this process.
const OWN_PROCESS: &str = "/proc/self";

impl Ui {
    /// The user name for commits: `$HGUSER`, `[ui] username`, `$EMAIL`; else the answer to
    /// `ui.askusername`, or a guess, with a line that says so.
    pub fn username(&mut self) -> Result<Vec<u8>, Abort> {
        let known = self.known_user();
        let asks = known.is_none() && self.config.boolean("ui", "askusername", false)?;
        let user = match known {
            None if asks => self.prompt("enter a commit username:")?,
            known => known,
        };
        let user = match user {
            Some(user) => user,
            None => {
                let guess = format!("{}@{}", login(), host(""));
                self.warn(format!("no username found, using '{guess}' instead\n"))?;
                guess.into_bytes()
            }
        };
        if user.is_empty() {
            return Err(Abort::new("no username supplied")
                .hint("use 'hg config --edit' to set your username"));
        }
        if user.contains(&b'\n') {
            let shown = String::from_utf8_lossy(&user).escape_debug().to_string();
            return Err(Abort::new(format!(
                "username '{shown}' contains a newline\n"
            )));
        }
        Ok(user)
    }

    /// The user name, if it is configured.
    pub fn known_user(&self) -> Option<Vec<u8>> {
        environment::variable("HGUSER")
            .or_else(|| self.configured_user())
            .or_else(|| environment::variable("EMAIL"))
    }

    fn configured_user(&self) -> Option<Vec<u8>> {
        use varve_config::hgrc::Files;
        let value = self.config.get("ui", "username");
        let value = value.or_else(|| self.config.get("ui", "user"))?;
        let expanded = environment::Environment.expand(value);
        Some(expanded.into_os_string().into_vec())
    }

    /// Whether questions can be answered.
    pub fn is_interactive(&self) -> Result<bool, Abort> {
        let terminal = self.streams.has_terminal_input();
        Ok(!self.unattended && self.config.boolean("ui", "interactive", terminal)?)
    }

    /// Asks for a password, which a terminal does not show.
    pub fn prompt_password(&mut self) -> Result<String, Abort> {
        self.warn("password: ")?;
        let stdin = std::io::stdin();
        let before = rustix::termios::tcgetattr(&stdin).ok();
        if let Some(shown) = &before {
            let mut hidden = shown.clone();
            hidden.local_modes.remove(rustix::termios::LocalModes::ECHO);
            // A terminal that cannot hide input shows it.
            let _ = rustix::termios::tcsetattr(&stdin, OptionalActions::Flush, &hidden);
        }
        let line = self.read_line();
        if let Some(shown) = &before {
            let _ = rustix::termios::tcsetattr(&stdin, OptionalActions::Flush, shown);
        }
        self.warn("\n")?;
        let line = line?.ok_or_else(no_response)?;
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    /// Prints a question and the blank before the answer.
    pub(crate) fn print_question(&mut self, words: impl AsRef<[u8]>) -> Result<(), Abort> {
        let mut shown = self.painter.paint(" ui.prompt", words.as_ref());
        shown.push(b' ');
        self.write(shown)
    }

    /// Asks for a line; `None` if questions cannot be answered.
    pub fn prompt(&mut self, question: &str) -> Result<Option<Vec<u8>>, Abort> {
        self.print_question(question)?;
        if !self.is_interactive()? {
            self.write("\n")?;
            return Ok(None);
        }
        self.read_answer(b"").map(Some)
    }

    /// Asks a question that is answered by y or n; yes is the default.
    pub fn confirm(&mut self, question: &str) -> Result<bool, Abort> {
        self.confirm_by(question.as_bytes(), "(yn)?")
    }

    /// The same, where the question shows that yes is the default.
    pub fn confirm_default(&mut self, question: &[u8]) -> Result<bool, Abort> {
        self.confirm_by(question, "(Yn)?")
    }

    fn confirm_by(&mut self, question: &[u8], letters: &str) -> Result<bool, Abort> {
        loop {
            self.print_question([question, b" ", letters.as_bytes()].concat())?;
            if !self.is_interactive()? {
                self.write("y\n")?;
                return Ok(true);
            }
            match &self.read_answer(b"y")?.to_ascii_lowercase()[..] {
                b"y" => return Ok(true),
                b"n" => return Ok(false),
                _ => self.write("unrecognized response\n")?,
            }
        }
    }

    /// Asks whether to do what cannot be undone; no is the default.
    pub fn confirm_removal(&mut self, question: &str) -> Result<bool, Abort> {
        loop {
            self.print_question(format!("{question} (yN)"))?;
            if !self.is_interactive()? {
                self.write("n\n")?;
                return Ok(false);
            }
            match &self.read_answer(b"n")?.to_ascii_lowercase()[..] {
                b"y" => return Ok(true),
                b"n" => return Ok(false),
                _ => self.write("unrecognized response\n")?,
            }
        }
    }

    /// The answer to a question, `default` for an empty line; `ui.promptecho` shows the answer, as a terminal would.
    pub(crate) fn read_answer(&mut self, default: &[u8]) -> Result<Vec<u8>, Abort> {
        self.read_optional_answer(default)?.ok_or_else(no_response)
    }

    /// The same; `None` at the end of the input.
    pub(crate) fn read_optional_answer(
        &mut self,
        default: &[u8],
    ) -> Result<Option<Vec<u8>>, Abort> {
        let Some(mut answer) = self.read_line()? else {
            return Ok(None);
        };
        if answer.is_empty() {
            answer.extend_from_slice(default);
        }
        if self.config.boolean("ui", "promptecho", false)? {
            let mut shown = self.painter.paint(" ui.promptecho", &answer);
            shown.push(b'\n');
            self.write(shown)?;
            // What follows may be an error.
            std::io::Write::flush(&mut self.out)?;
        }
        Ok(Some(answer))
    }

    /// A line of the standard input, without its end; `None` at the end of the input.
    fn read_line(&mut self) -> Result<Option<Vec<u8>>, Abort> {
        std::io::Write::flush(&mut self.out)?;
        let mut line = self.streams.read_line()?;
        if line.is_empty() {
            return Ok(None);
        }
        while line
            .last()
            .is_some_and(|last| matches!(last, b'\n' | b'\r'))
        {
            line.pop();
        }
        Ok(Some(line))
    }
}

fn no_response() -> Abort {
    Abort::new("response expected")
}

/// The name under which the user logged in.
pub(crate) fn login() -> String {
    let set = |name: &&str| environment::variable(name).filter(|value| !value.is_empty());
    let named = ["LOGNAME", "USER", "LNAME", "USERNAME"]
        .iter()
        .find_map(set);
    let named = named.map(|name| String::from_utf8_lossy(&name).into_owned());
    named
        .or_else(name_of_owner)
        .unwrap_or_else(|| "unknown".to_owned())
}

fn name_of_owner() -> Option<String> {
    name_of(std::fs::metadata(OWN_PROCESS).ok()?.uid())
}

/// The name of the user with this number.
pub(crate) fn name_of(id: u32) -> Option<String> {
    let name = varve_repo::acl::user_name(id)?;
    Some(String::from_utf8_lossy(&name).into_owned())
}

/// The name of a machine, of this one if it is called nothing: one with a dot, if it is known under
/// several.
pub fn host(called: &str) -> String {
    let mut own = String::new();
    if called.is_empty() {
        own = std::fs::read_to_string(HOST).unwrap_or_default();
    }
    let name = if called.is_empty() {
        own.trim()
    } else {
        called
    };
    let addresses: Vec<IpAddr> = (name, 0)
        .to_socket_addrs()
        .map(|found| found.map(|address| address.ip()).collect())
        .unwrap_or_default();
    let hosts = std::fs::read(HOSTS).unwrap_or_default();
    full_name(name, &addresses, &String::from_utf8_lossy(&hosts))
}

/// Name of `name`'s first address in the list of hosts: the first of its names that has a
/// dot, or else the first.
fn full_name(name: &str, addresses: &[IpAddr], hosts: &str) -> String {
    let lines = hosts.lines().filter_map(|line| {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        let address: IpAddr = words.next()?.parse().ok()?;
        Some((address, words.collect::<Vec<_>>()))
    });
    let lines: Vec<_> = lines.collect();
    for address in addresses {
        let Some((_, names)) = lines.iter().find(|(listed, _)| listed == address) else {
            continue;
        };
        let full = names.iter().find(|name| name.contains('.'));
        if let Some(found) = full.or(names.first()) {
            return (*found).to_owned();
        }
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_called_by_their_full_names() {
        let hosts = "# names\n127.0.0.1 localhost\n127.0.1.1\tbox box.example.org # mine\n127.0.1.1 other.x\n";
        let named = |address: &str| full_name("box", &[address.parse().unwrap()], hosts);
        assert_eq!(named("127.0.1.1"), "box.example.org");
        assert_eq!(named("127.0.0.1"), "localhost");
        assert_eq!(named("10.0.0.1"), "box");
        assert_eq!(full_name("box", &[], hosts), "box");
    }
}
