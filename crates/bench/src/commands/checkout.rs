//! Copies of a repository that belong to one program.

use super::conversion;
use super::measured_command::{CommandEffect, MeasuredCommand};
use crate::BenchError;
use crate::processes::{LocalServer, Program, Words, words};
use crate::report::ComparedProgram;
use std::cell::{Cell, OnceCell};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use varve_base::{Interrupt, Progress};
use varve_repo::RepoView;

/// A program with its copies: one is read, to the other one it commits.
#[derive(Debug)]
pub(super) struct Checkout {
    pub program: Program,
    pub compared: ComparedProgram,
    pub read: PathBuf,
    commit: PathBuf,
    /// Beside these, for copies that are updated.
    scratch: PathBuf,
    /// Commits so far: their contents depend on that alone, so that all programs make the same changesets.
    commits: Cell<u32>,
    /// Copies that were updated, and clones, so far.
    copies: Cell<u32>,
    /// Serves the copy that is read, once it is asked for.
    server: OnceCell<LocalServer>,
}

/// This program by the name `hg`, by which it acts as Mercurial.
pub(super) fn named_hg(varve: &Path, scratch: &Path) -> Result<Program, BenchError> {
    let program = Program::new(ComparedProgram::VARVE.name, scratch.join("hg"));
    let linked = std::path::absolute(varve)
        .and_then(|varve| std::os::unix::fs::symlink(varve, &program.file));
    linked.map_err(|error| program.cannot_run(&error))?;
    Ok(program)
}

impl Checkout {
    /// Copies of the repository at `source`, updated to its newest changeset.
    pub fn of_hg(
        program: Program,
        compared: ComparedProgram,
        source: &Path,
        scratch: &Path,
    ) -> Result<Checkout, BenchError> {
        let checkout = Checkout::new(program, compared, scratch);
        for directory in [&checkout.read, &checkout.commit] {
            checkout.clone_hg(source, directory)?;
            let update = words(&["update", "-q", "tip"]);
            checkout.program.run(&update, directory)?;
        }
        Ok(checkout)
    }

    /// A conversion of `view`, packed as `git gc` does, and a copy of it.
    pub fn of_git(
        program: Program,
        view: &RepoView,
        scratch: &Path,
        (progress, interrupt): (&dyn Progress, &Interrupt),
    ) -> Result<Checkout, BenchError> {
        let checkout = Checkout::new(program, ComparedProgram::GIT, scratch);
        let program = &checkout.program;
        let mut init = words(&["init", "-q", "-b", conversion::BRANCH]);
        init.push(checkout.read.clone().into());
        program.run(&init, scratch)?;
        conversion::convert(view, program, &checkout.read, (progress, interrupt))?;
        program.run(&words(&["gc", "-q", "--prune=now"]), &checkout.read)?;
        program.run(&words(&["reset", "-q", "--hard"]), &checkout.read)?;
        checkout.clone_git(&checkout.read, &checkout.commit)?;
        program.run(&words(&["reset", "-q", "--hard"]), &checkout.commit)?;
        Ok(checkout)
    }

    /// Mercurial's program in Rust, which reads the copy of `hg`.
    pub fn of_rhg(program: Program, hg: &Checkout, scratch: &Path) -> Checkout {
        let checkout = Checkout::new(program, ComparedProgram::RHG, scratch);
        let read = hg.read.clone();
        Checkout { read, ..checkout }
    }

    fn new(program: Program, compared: ComparedProgram, scratch: &Path) -> Checkout {
        let copy = |of: &str| scratch.join(format!("{}-{of}", compared.name));
        Checkout {
            read: copy("read"),
            commit: copy("commit"),
            scratch: scratch.to_owned(),
            program,
            compared,
            commits: Cell::new(0),
            copies: Cell::new(0),
            server: OnceCell::new(),
        }
    }

    pub fn is_git(&self) -> bool {
        self.compared == ComparedProgram::GIT
    }

    /// True if the program has this command with these arguments.
    pub fn takes(&self, work: &MeasuredCommand) -> Result<bool, BenchError> {
        /// `rhg` ends with it where only Mercurial's other program can go on.
        const UNSUPPORTED: i32 = 252;
        if self.compared != ComparedProgram::RHG {
            return Ok(true);
        }
        let takes = || {
            self.program
                .ends_otherwise(UNSUPPORTED, &work.hg, &self.read)
        };
        Ok(work.is_reading() && takes()?)
    }

    /// Arguments of this program for a command.
    pub fn words<'w>(&self, work: &'w MeasuredCommand) -> &'w [OsString] {
        match self.is_git() {
            true => &work.git,
            false => &work.hg,
        }
    }

    /// Output of a command that reads.
    pub fn output(&self, work: &MeasuredCommand) -> Result<Vec<u8>, BenchError> {
        self.program.output(self.words(work), &self.read)
    }

    /// Runs a command once; returns its wall seconds, without those of preparing it.
    pub fn run(&self, work: &MeasuredCommand) -> Result<f64, BenchError> {
        let directory = match work.effect {
            CommandEffect::Read => self.read.clone(),
            CommandEffect::Commit => {
                let number = next(&self.commits);
                let changed = append_line(&self.commit.join(&work.file), number);
                changed.map_err(|error| self.program.cannot_run(&error))?;
                self.commit.clone()
            }
            CommandEffect::Update => self.empty_copy()?,
            CommandEffect::Clone => {
                let words = self.words_of_clone(work)?;
                return self.program.run(&words, &self.scratch);
            }
        };
        self.program.run(self.words(work), &directory)
    }

    fn words_of_clone(&self, work: &MeasuredCommand) -> Result<Words, BenchError> {
        let server = match self.server.get() {
            Some(server) => server,
            None => {
                let started = match self.is_git() {
                    true => LocalServer::start_git(&self.program, &self.read)?,
                    false => LocalServer::start(&self.program, &self.read)?,
                };
                self.server.get_or_init(|| started)
            }
        };
        let mut words = self.words(work).to_vec();
        // git takes no URL without a path.
        words.push(format!("{}/", server.url()).into());
        words.push(self.new_directory().into());
        Ok(words)
    }

    /// A name that was not used before. Older directories stay until the end: a file system that has just lost many
    /// files makes new ones several times slower.
    fn new_directory(&self) -> PathBuf {
        let name = format!("{}-copy-{}", self.compared.name, next(&self.copies));
        self.scratch.join(name)
    }

    /// A new copy without files.
    fn empty_copy(&self) -> Result<PathBuf, BenchError> {
        let directory = self.new_directory();
        match self.is_git() {
            true => self.clone_git(&self.read, &directory)?,
            false => self.clone_hg(&self.read, &directory)?,
        }
        Ok(directory)
    }

    fn clone_hg(&self, source: &Path, target: &Path) -> Result<(), BenchError> {
        let mut clone = words(&["clone", "-q", "-U"]);
        clone.extend([source.into(), target.into()]);
        self.program.run(&clone, &self.scratch).map(drop)
    }

    fn clone_git(&self, source: &Path, target: &Path) -> Result<(), BenchError> {
        let mut clone = words(&["clone", "-q", "-n"]);
        clone.extend([source.into(), target.into()]);
        self.program.run(&clone, &self.scratch).map(drop)
    }

    /// Hash of the newest changeset among those that were committed.
    pub fn tip(&self) -> Result<Vec<u8>, BenchError> {
        let tip = words(&["log", "-r", "tip", "-T", "{node}"]);
        self.program.output(&tip, &self.commit)
    }

    /// Name and version of the program.
    pub fn version(&self) -> Result<String, BenchError> {
        let words = match self.compared {
            ComparedProgram::VARVE => return Ok(format!("varve {}", env!("CARGO_PKG_VERSION"))),
            // It has no way to tell.
            ComparedProgram::RHG => return Ok(self.compared.name.to_owned()),
            ComparedProgram::GIT => words(&["--version"]),
            _ => words(&["version", "-q"]),
        };
        let printed = self.program.output(&words, &self.scratch)?;
        let text = String::from_utf8_lossy(&printed);
        let first = text.lines().next().unwrap_or_default();
        Ok(format!("{} ({first})", self.compared.name))
    }

    /// Bytes of all files of the history, without the working copy.
    pub fn store_size(&self) -> io::Result<u64> {
        match self.is_git() {
            true => size(&self.read.join(".git/objects")),
            false => size(&self.read.join(".hg/store")),
        }
    }
}

/// Counts one more; returns the number so far.
fn next(count: &Cell<u32>) -> u32 {
    count.set(count.get() + 1);
    count.get()
}

fn append_line(file: &Path, number: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(file)?;
    writeln!(file, "line {number}")
}

fn size(directory: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        sum += match entry.file_type()?.is_dir() {
            true => size(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(sum)
}
