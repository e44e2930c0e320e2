//! Running the tools on one file after another.

use super::metadata;
use super::tools::{FixTool, Matchers};
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui, short_hex};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use varve_workdir::{FixItem, FixPlace, FixScope, changed_lines};

/// Tools, and files to run them on.
pub(super) struct FixRun<'a> {
    pub(super) tools: &'a [FixTool],
    pub(super) scope: &'a FixScope<'a>,
    /// All lines count as changed.
    pub(super) whole: bool,
    /// Larger files are left alone; bytes.
    pub(super) max_size: u64,
    /// Directories in which tools are looked for first.
    pub(super) extra_directories: Vec<PathBuf>,
}

/// One file after all tools.
pub(super) struct FixOutcome {
    /// None if it is as before.
    pub(super) content: Option<Vec<u8>>,
    /// Of the tools that have run, in their order.
    pub(super) metadata: Vec<(Vec<u8>, Option<serde_json::Value>)>,
}

/// The end of a process.
struct Ended {
    output: Vec<u8>,
    errors: Vec<u8>,
    /// 0 if all is well; minus the signal that killed it.
    code: i32,
}

impl FixRun<'_> {
    /// Runs the tools on a file. None if it is too large.
    pub(super) fn fix(
        &self,
        (repo, ui, config): (&mut Repo, &mut Ui, &Config),
        matchers: &mut Matchers,
        item: &FixItem,
    ) -> Result<Option<FixOutcome>, Abort> {
        let Some(place) = item.places.first().copied() else {
            return Ok(None);
        };
        let before = item.content(self.scope)?;
        if before.len() as u64 > self.max_size {
            let limit = self.max_size;
            for _ in &item.places {
                let line = format!("ignoring file larger than {limit} bytes: ");
                ui.warn([line.as_bytes(), &item.path, b"\n"].concat())?;
            }
            return Ok(None);
        }
        let mut content = before.clone();
        let mut told = Vec::new();
        let mut bases = None;
        for tool in self.tools {
            if !matchers.matches(repo, tool, (place, &item.path))? {
                continue;
            }
            if bases.is_none() && tool.takes_lines() && !self.whole {
                bases = Some(item.bases(self.scope)?);
            }
            let changed = self.changed(bases.as_deref(), &content);
            let Some(line) = tool.line(&item.path, &changed)? else {
                continue;
            };
            self.note(ui, (place, item), (tool, &line))?;
            let ended = self.run(&line, &content)?;
            let name = place_name(place);
            warn_of_errors(ui, (&name, &tool.name), &ended)?;
            let mut output = ended.output;
            let mut value = None;
            if tool.has_metadata {
                let Some((json, rest)) = metadata::split(&output) else {
                    let name = &tool.name;
                    ui.warn(format!("ignored invalid output from fixer tool: {name}\n"))?;
                    continue;
                };
                (value, output) = (Some(json), rest.to_vec());
            }
            if ended.code != 0 {
                check_failure(config)?;
                continue;
            }
            told.push((tool.name.clone().into_bytes(), value));
            content = output;
        }
        Ok(Some(FixOutcome {
            content: (content != before).then_some(content),
            metadata: told,
        }))
    }

    /// The lines to fix of a file as earlier tools have left it.
    fn changed(&self, bases: Option<&[Option<Vec<u8>>]>, content: &[u8]) -> Vec<Range<usize>> {
        match bases {
            Some(bases) => changed_lines(bases, content),
            None => changed_lines(&[None], content),
        }
    }

    fn note(
        &self,
        ui: &mut Ui,
        (place, item): (FixPlace, &FixItem),
        (tool, line): (&FixTool, &[u8]),
    ) -> Result<(), Abort> {
        let node = match place {
            FixPlace::Rev(rev) => short_hex(&self.scope.view.changelog().node(rev)),
            FixPlace::Working => format!("{}+", short_hex(&self.scope.dirstate.parents()[0])),
        };
        let words = format!("fixing: {node} - {} - ", tool.name);
        ui.debug([words.as_bytes(), &item.path, b"\n"].concat())?;
        ui.debug([b"subprocess: ", line, b"\n"].concat())
    }

    fn search_path(&self) -> Result<OsString, Abort> {
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let extra = self.extra_directories.iter().cloned();
        let all = std::env::join_paths(extra.chain(std::env::split_paths(&usual)));
        all.map_err(|error| Abort::input(format!("fix.extra-bin-paths: {error}")))
    }

    /// Runs the line in the root of the repository, with the content as its input.
    fn run(&self, line: &[u8], content: &[u8]) -> Result<Ended, Abort> {
        let mut process = Command::new("/bin/sh")
            .arg("-c")
            .arg(OsStr::from_bytes(line))
            .env("PATH", self.search_path()?)
            .current_dir(self.scope.repository.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (input, errors) = (process.stdin.take(), process.stderr.take());
        let mut output = Vec::new();
        // All three at once: a tool may write before it has read everything.
        let errors = std::thread::scope(|scope| -> io::Result<Vec<u8>> {
            let writer = scope.spawn(|| feed(input, content));
            let reader = scope.spawn(|| drain(errors));
            if let Some(mut pipe) = process.stdout.take() {
                pipe.read_to_end(&mut output)?;
            }
            joined(writer)?;
            joined(reader)
        })?;
        let status = process.wait()?;
        let signal = status.signal().map_or(-1, |signal| -signal);
        Ok(Ended {
            output,
            errors,
            code: status.code().unwrap_or(signal),
        })
    }
}

/// Writes the content; a tool that does not read it all is no error.
fn feed(input: Option<impl Write>, content: &[u8]) -> io::Result<()> {
    let Some(mut input) = input else {
        return Ok(());
    };
    match input.write_all(content) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

fn drain(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    let ended = thread.join();
    ended.unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")))
}

/// The place as messages of tools name it.
fn place_name(place: FixPlace) -> String {
    match place {
        FixPlace::Rev(rev) => rev.0.to_string(),
        FixPlace::Working => "wdir".to_owned(),
    }
}

/// Prints what a tool has written to its standard error, or that it has failed.
fn warn_of_errors(ui: &mut Ui, (place, tool): (&str, &str), ended: &Ended) -> Result<(), Abort> {
    let begin = format!("[{place}] {tool}: ");
    for line in ended.errors.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        ui.warn([begin.as_bytes(), line, b"\n"].concat())?;
    }
    if ended.errors.is_empty() && ended.code != 0 {
        let code = ended.code;
        ui.warn(format!("{begin}exited with status {code}\n"))?;
    }
    Ok(())
}

/// Fails where `fix.failure` has a failed tool end the command.
fn check_failure(config: &Config) -> Result<(), Abort> {
    match config.text("fix", "failure").as_deref() {
        None | Some("continue") => Ok(()),
        Some("abort") => Err(Abort::new("no fixes will be applied")
            .hint("use --config fix.failure=continue to apply any successful fixes anyway")),
        Some(other) => Err(Abort::new(format!("unknown fix.failure action: {other}"))
            .hint("use \"continue\" or \"abort\"")),
    }
}
