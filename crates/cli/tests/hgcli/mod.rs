//! The program called `hg` beside the real one: same arguments, same directory, same answers.
//!
//! [`Twin::reading`] is one shared repository for commands that change nothing: both programs run
//! in it. [`Twin::writing`] is a repository in two copies, one for each program; the paths of both
//! have the same length and are shown alike.

mod absent;
mod absorbing;
mod access_control;
mod amend;
mod amend_extension;
mod annotate;
mod answers;
mod archiving;
mod bisecting;
mod bundle_repository;
mod bundles;
mod calls;
mod certificates;
mod changed_branches;
mod choosing_on_screen;
mod clone;
mod clone_bundles;
mod colours;
mod command_server;
mod commit;
mod completion;
mod config;
mod confirmed_pulls;
mod copies_recorded_later;
mod debugbundle;
mod diff;
mod dirstate_v2;
mod discoveries;
mod distant_copies;
mod edited_tags;
mod elsewhere;
mod encodings;
mod engines;
mod evolution;
mod exchange_words;
mod exchanged_bookmarks;
mod exit_codes;
mod export;
mod external_diff;
mod file_filters;
mod files;
mod filesets;
mod fixing;
mod followed_line_ranges;
mod following;
mod format;
mod grafting;
mod graph;
mod grep;
mod group_modes;
mod heads;
mod histedit;
mod hooks;
mod importing;
mod incoming;
mod interactive;
mod item_templates;
mod labels;
mod locate;
mod log;
mod long_names;
mod looking_inside;
mod made_history;
mod made_once;
mod many_bookmarks;
mod merge_debug;
mod merge_states;
mod merging;
mod models;
mod named_from_elsewhere;
mod names;
mod null_parent;
mod options;
mod pulling;
mod pulls_killed;
mod purge;
mod pushing;
mod random_history;
mod rebasing;
mod recompress;
pub(crate) mod remote_changegroups;
mod reported;
mod revert;
mod revlogs;
mod revset_aliases;
mod revset_functions;
mod revset_sources;
mod rewrite_backups;
mod rewrites_killed;
mod rollback;
mod root;
pub(crate) mod serving;
mod sharing;
mod shelving;
mod shown_progress;
mod signals;
mod small_words;
mod splitting;
mod state;
mod status;
mod store_streams;
mod strip;
mod strip_markers;
mod summary_remote;
mod template_aliases;
mod template_functions;
mod templates;
mod together;
mod tracking;
mod trust;
mod unbundle;
mod uncommit;
mod update;
mod verify;
mod working_revision;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;
use varve_testkit::peers::{self, Outcome};
use varve_testkit::repos;

/// Settings of both programs that make runs repeatable.
/// The detailed exit codes show the class of each failure too.
const SETTINGS: &[&str] = &[
    "devel.default-date=1700000000 0",
    "ui.detailed-exit-code=yes",
];

/// Two repositories with the same content, one for each program; or twice the same.
pub struct Twin {
    theirs: PathBuf,
    ours: PathBuf,
    variables: Vec<(&'static str, String)>,
    _directory: Option<TempDir>,
}

/// Outcomes of both programs.
pub struct Both {
    pub theirs: Outcome,
    pub ours: Outcome,
}

impl Twin {
    /// The rich repository of the test kit, for commands that only read.
    pub fn reading() -> Twin {
        static SHARED: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
        let (_, path) = SHARED.get_or_init(|| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("repository");
            repos::make(&peers::hg(), &path, repos::DEFAULT);
            (directory, path)
        });
        Twin::of(path)
    }

    /// Any repository, for commands that only read.
    pub fn of(path: &Path) -> Twin {
        Twin {
            theirs: path.to_owned(),
            ours: path.to_owned(),
            variables: Vec::new(),
            _directory: None,
        }
    }

    /// A repository that `make` fills, in two copies, for commands that write. It is filled once for all tests.
    pub fn writing(make: fn(&peers::Hg, &Path)) -> Twin {
        Twin::in_two_copies(|hg, path| models::copy_or_make(make, hg, path))
    }

    /// [`Twin::writing`] where `make` depends on something.
    pub fn writing_with(make: impl FnOnce(&peers::Hg, &Path)) -> Twin {
        Twin::in_two_copies(|hg, path| {
            std::fs::create_dir_all(path).unwrap();
            make(hg, path);
        })
    }

    fn in_two_copies(make: impl FnOnce(&peers::Hg, &Path)) -> Twin {
        let directory = tempfile::tempdir_in(varve_testkit::scratch()).unwrap();
        let theirs = directory.path().join("a/repository");
        let ours = directory.path().join("b/repository");
        make(&peers::hg(), &theirs);
        std::fs::create_dir_all(directory.path().join("b")).unwrap();
        models::copy(&theirs, &ours);
        Twin {
            theirs,
            ours,
            variables: Vec::new(),
            _directory: Some(directory),
        }
    }

    /// Sets a variable of the environment for both programs.
    pub fn with(mut self, name: &'static str, value: &str) -> Twin {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// The real program's copy.
    pub fn theirs(&self) -> &Path {
        &self.theirs
    }

    /// The copy of the program under test.
    pub fn ours(&self) -> &Path {
        &self.ours
    }

    /// Changes both copies.
    pub fn each(&self, change: impl Fn(&Path)) {
        change(&self.theirs);
        if self.ours != self.theirs {
            change(&self.ours);
        }
    }

    /// Runs both programs in the root of their copies.
    pub fn run(&self, arguments: &[&str]) -> Both {
        self.run_in("", arguments)
    }

    /// Runs both programs in a directory below the root.
    pub fn run_in(&self, below: &str, arguments: &[&str]) -> Both {
        self.run_with(below, arguments, None)
    }

    /// Both programs get these answers to their questions, and must say the same.
    #[track_caller]
    pub fn same_answering(&self, arguments: &[&str], answers: &str) {
        self.run_with("", arguments, Some(answers)).same(arguments);
    }

    fn run_with(&self, below: &str, arguments: &[&str], answers: Option<&str>) -> Both {
        let run = |program: &Path, root: &Path| {
            let mut command = Command::new(program);
            command.args(arguments).current_dir(root.join(below));
            command.env_clear();
            command
                .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                .env("HOME", root.parent().unwrap())
                .env("HGRCPATH", root.parent().unwrap().join("hgrc"))
                .env("HGPLAIN", "1")
                .env("HGUSER", "Ada Lovelace <ada@example.org>")
                .env("LC_ALL", "C.UTF-8")
                // The default, vi, would wait for a terminal for ever.
                .env("EDITOR", "false");
            for (name, value) in &self.variables {
                if value.is_empty() {
                    command.env_remove(name);
                } else {
                    command.env(name, value);
                }
            }
            write_settings(root.parent().unwrap());
            let mut input = PathBuf::from("/dev/null");
            if let Some(answers) = answers {
                input = root.parent().unwrap().join("answers");
                std::fs::write(&input, answers).unwrap();
            }
            let mut outcome = if *program == peers::hg_program() {
                peers::run_hg_with_input(&mut command, &input)
            } else {
                command.stdin(std::fs::File::open(&input).unwrap());
                Outcome::of(&mut command, program)
            };
            // Only where there are two copies do paths differ.
            let (from, to) = (
                root.parent().unwrap().to_str().unwrap(),
                self.theirs.parent().unwrap().to_str().unwrap(),
            );
            outcome.stdout = outcome.stdout.replace(from, to);
            outcome.stderr = outcome.stderr.replace(from, to);
            outcome
        };
        Both {
            theirs: run(&peers::hg_program(), &self.theirs),
            ours: run(&our_hg(), &self.ours),
        }
    }

    /// Both must say the same on both outputs and end with the same code.
    #[track_caller]
    pub fn same(&self, arguments: &[&str]) {
        self.run(arguments).same(arguments);
    }

    /// [`Twin::same`] for many command lines, written as words between spaces.
    #[track_caller]
    pub fn all_same(&self, lines: &[&str]) {
        for line in lines {
            let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
            self.same(&words);
        }
    }

    /// [`Twin::same`] in a directory below the root.
    #[track_caller]
    pub fn same_in(&self, below: &str, arguments: &[&str]) {
        self.run_in(below, arguments).same(arguments);
    }

    /// Same standard error and code; the standard output is our own, as in help.
    #[track_caller]
    pub fn same_but_output(&self, arguments: &[&str]) {
        let mut both = self.run(arguments);
        both.theirs.stdout.clear();
        both.ours.stdout.clear();
        both.same(arguments);
    }
}

impl Both {
    /// Both said the same.
    #[track_caller]
    pub fn same(&self, arguments: &[&str]) {
        let (theirs, ours) = (&self.theirs, &self.ours);
        assert!(
            theirs.stdout == ours.stdout
                && theirs.stderr == ours.stderr
                && theirs.code == ours.code,
            "hg {arguments:?} differs\n--- theirs, {:?}\n{}--- error\n{}--- ours, {:?}\n{}--- error\n{}",
            theirs.code,
            theirs.stdout,
            theirs.stderr,
            ours.code,
            ours.stdout,
            ours.stderr,
        );
    }
}

/// `section.key=value` as lines of a file.
fn line_of(setting: &str) -> String {
    let (name, value) = setting.split_once('=').unwrap();
    let (section, key) = name.split_once('.').unwrap();
    format!("[{section}]\n{key} = {value}\n")
}

/// Writes the settings in one step: tests that read the same repository run at once, and none may see half of them.
fn write_settings(directory: &Path) {
    let text: String = SETTINGS.iter().map(|line| line_of(line)).collect();
    let path = directory.join("hgrc");
    if std::fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
        return;
    }
    let mut file = tempfile::NamedTempFile::new_in(directory).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.persist(path).unwrap();
}

/// The program under test by the name of `hg`.
pub fn our_hg() -> PathBuf {
    static LINK: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, link) = LINK.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("hg");
        std::os::unix::fs::symlink(super::VARVE, &link).unwrap();
        (directory, link)
    });
    link.clone()
}
