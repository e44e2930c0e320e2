//! The section `[hooks]` of a configuration.
//!
//! ```text
//! commit = COMMAND              COMMAND is for the shell
//! commit.mail = COMMAND         another one of the same kind
//! priority.commit.mail = 10     higher ones come first; 0 without a line
//! commit =                      takes the first one back
//! commit.mail:run-with-plain = no   whether the command sees HGPLAIN: yes, as by default, no, or auto
//! ```

use super::{HookArgs, HookRefusal, PushVars, followers};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use varve_config::hgrc::{Hgrc, HgrcError};

/// The command that names the function of Mercurial's extension `acl`.
const ACCESS_CONTROL: &[u8] = b"python:hgext.acl.hook";

/// The entries of `[hooks]`, in the order in which they run.
#[derive(Clone, Debug, Default)]
pub struct ConfiguredHooks {
    /// By priority, then as written.
    scripts: Vec<HookCommand>,
}

/// One hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCommand {
    /// As written before the `=`.
    pub name: Vec<u8>,
    /// As written behind it.
    pub command: Vec<u8>,
    /// Whether its command sees `HGPLAIN`; `None` leaves the variable as it is.
    pub plain: Option<bool>,
}

impl ConfiguredHooks {
    /// Reads the section.
    ///
    /// # Errors
    /// A priority that is no whole number.
    pub fn read(config: &Hgrc) -> Result<ConfiguredHooks, HgrcError> {
        let mut scripts = Vec::new();
        for item in config.section("hooks") {
            let is_option = item.key.starts_with(b"priority.") || item.key.contains(&b':');
            if item.value.is_empty() || is_option {
                continue;
            }
            let key = format!("priority.{}", String::from_utf8_lossy(&item.key));
            let priority = config.integer("hooks", &key)?.unwrap_or(0);
            let key = format!("{}:run-with-plain", String::from_utf8_lossy(&item.key));
            let plain = match config.get("hooks", &key) {
                Some(b"auto") => None,
                _ => Some(config.boolean("hooks", &key, true)?),
            };
            let hook = HookCommand {
                name: item.key.clone(),
                command: item.value.clone(),
                plain,
            };
            scripts.push((priority, hook));
        }
        scripts.sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
        let scripts = scripts.into_iter().map(|(_, script)| script).collect();
        Ok(ConfiguredHooks { scripts })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.scripts.is_empty()
    }

    /// Refuses functions of Python among the hooks that run after a kind: what they refuse could not be taken back.
    ///
    /// # Errors
    /// The refusal of the first.
    pub fn check_followers(&self, kind: &str) -> Result<(), HookRefusal> {
        followers(kind)
            .flat_map(|follower| self.of(follower))
            .try_for_each(HookCommand::check)
    }

    /// The hooks of a kind, in the order in which they run.
    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a HookCommand> {
        let of_kind = |script: &&HookCommand| script.kind() == kind.as_bytes();
        self.scripts.iter().filter(of_kind)
    }
}

impl HookCommand {
    /// The name up to the first dot.
    pub fn kind(&self) -> &[u8] {
        let mut parts = self.name.split(|byte| *byte == b'.');
        parts.next().unwrap_or_default()
    }

    /// Whether the hook is a function of Python instead of a line for the shell.
    pub fn is_python(&self) -> bool {
        self.command.starts_with(b"python:")
    }

    /// Returns whether the hook is the function of Mercurial's extension `acl`, which this program has itself.
    pub fn controls_access(&self) -> bool {
        self.command == ACCESS_CONTROL
    }

    /// Refuses a function of Python, which would have to be imported.
    ///
    /// # Errors
    /// The words for it.
    pub fn check(&self) -> Result<(), HookRefusal> {
        let name = String::from_utf8_lossy(&self.name);
        match self.is_python() && !self.controls_access() {
            true => {
                let words = format!("{name} hook is in Python, which cannot be run here");
                Err(HookRefusal::of_program(words))
            }
            false => Ok(()),
        }
    }

    /// Turns the exit status of the hook's process into its verdict.
    ///
    /// # Errors
    /// The words for a hook that refuses, or that could not be run.
    pub fn judge(&self, ended: io::Result<ExitStatus>) -> Result<(), HookRefusal> {
        let name = String::from_utf8_lossy(&self.name);
        let status = ended.map_err(|error| {
            let words = error.to_string();
            let words = words.split(" (os error ").next().unwrap_or_default();
            HookRefusal::of_program(format!("{name} hook cannot be run: {words}"))
        })?;
        let words = match (status.code(), status.signal()) {
            (Some(0), _) => return Ok(()),
            (None, Some(signal)) => format!("{name} hook killed by signal {signal}"),
            (code, _) => format!("{name} hook exited with status {}", code.unwrap_or(-1)),
        };
        Err(HookRefusal::of_program(words))
    }

    /// The shell process of the hook, with `root` as its current directory and the arguments and the
    /// push variables in its environment. The caller connects its output.
    pub fn process(
        &self,
        (args, given): (&HookArgs, &PushVars),
        root: &Path,
        pending: bool,
    ) -> Command {
        let mut process = Command::new("/bin/sh");
        process.arg("-c").arg(OsStr::from_bytes(&self.command));
        process.current_dir(root);
        match self.plain {
            Some(true) => {
                process.env("HGPLAIN", "1");
            }
            Some(false) => {
                process.env_remove("HGPLAIN");
            }
            None => {}
        }
        // Those of a hook that has called this program are about something else.
        process.env_remove("HG_PENDING");
        let mut set = |name: &[u8], value: &[u8]| {
            // Either would keep the process from starting.
            let name = without(b"=\0", &[b"HG_", name].concat());
            process.env(
                OsString::from_vec(name),
                OsString::from_vec(without(b"\0", value)),
            );
        };
        set(b"HOOKNAME", &self.name);
        set(b"HOOKTYPE", self.kind());
        if pending {
            set(b"PENDING", root.as_os_str().as_bytes());
        }
        for (name, value) in args {
            set(name.to_ascii_uppercase().as_bytes(), value);
        }
        for (name, value) in given {
            set(&[b"USERVAR_", &name[..]].concat(), value);
        }
        process
    }
}

fn without(unwanted: &[u8], bytes: &[u8]) -> Vec<u8> {
    let wanted = |byte: &u8| !unwanted.contains(byte);
    bytes.iter().copied().filter(wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(pairs: &[&str]) -> Result<ConfiguredHooks, HgrcError> {
        let mut config = Hgrc::default();
        for pair in pairs {
            config.add_argument(format!("hooks.{pair}").as_bytes())?;
        }
        ConfiguredHooks::read(&config)
    }

    #[test]
    fn hooks_of_a_kind_run_by_priority_and_then_as_written() {
        let set = set(&[
            "commit.b=b",
            "commit=plain",
            "commit.last=z",
            "commit.a=a",
            "commit.gone=",
            "precommit=no",
            "priority.commit.a=5",
            "priority.commit.last=-1",
        ]);
        let set = set.unwrap();
        let names: Vec<_> = set.of("commit").map(|script| &script.command[..]).collect();
        assert_eq!(names, [&b"a"[..], b"b", b"plain", b"z"]);
        assert_eq!(set.of("txnclose").count(), 0);
    }

    #[test]
    fn an_option_of_a_hook_is_no_hook() {
        let set = set(&[
            "commit.a=a",
            "commit.a:run-with-plain=yes",
            "commit.b=b",
            "commit.b:run-with-plain=no",
            "commit.c=c",
            "commit.c:run-with-plain=auto",
            "commit.d=d",
        ]);
        let set = set.unwrap();
        let plain: Vec<_> = set.of("commit").map(|script| script.plain).collect();
        assert_eq!(plain, [Some(true), Some(false), None, Some(true)]);
    }

    #[test]
    fn a_priority_is_a_number() {
        let error = set(&["commit=x", "priority.commit=y"]).unwrap_err();
        let words = "hooks.priority.commit is not a valid integer ('y')";
        assert_eq!(error.to_string(), words);
    }

    #[test]
    fn facts_are_variables_of_the_process() {
        let script = HookCommand {
            name: b"commit.x".to_vec(),
            command: b"true".to_vec(),
            plain: None,
        };
        let args = HookArgs::from([("node", b"1\x002".to_vec())]);
        let given = vec![(b"A=\0B".to_vec(), b"=2".to_vec())];
        let process = script.process((&args, &given), Path::new("/r"), true);
        let mut variables: Vec<(&OsStr, Option<&OsStr>)> = process.get_envs().collect();
        variables.sort_unstable();
        let expected = [
            ("HG_HOOKNAME", "commit.x"),
            ("HG_HOOKTYPE", "commit"),
            ("HG_NODE", "12"),
            ("HG_PENDING", "/r"),
            ("HG_USERVAR_AB", "=2"),
        ];
        let expected = expected.map(|(name, value)| (OsStr::new(name), Some(OsStr::new(value))));
        assert_eq!(variables, expected);
    }
}
