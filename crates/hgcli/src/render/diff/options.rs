//! How differences are shown: options and configuration.

use crate::arguments::{Flag, Matches};
use crate::context::Config;
use crate::context::matching::relative_to;
use crate::ui::{Abort, Ui, environment};
use std::path::PathBuf;
use varve_delta::Blanks;
use varve_lang::date::Date;
use varve_patch::HunkOptions;
use varve_repo::{RepoView, Rev};

/// How differences are shown.
#[derive(Clone, Debug)]
pub(crate) struct DiffOptions {
    /// The form that git has.
    pub(crate) git: bool,
    /// Binary files with their contents, in git's form.
    pub(super) binary: bool,
    /// Digits of the names that git would give to contents; none are shown if 0.
    pub(super) index_digits: usize,
    /// Lines around each difference.
    pub(super) context: usize,
    /// Without dates behind the names.
    pub(super) no_dates: bool,
    /// Without `a/` and `b/`.
    pub(super) no_prefix: bool,
    /// All files are texts.
    pub(super) text: bool,
    /// With the name of the function.
    pub(super) functions: bool,
    /// Which blanks do not count.
    pub(super) blanks: Blanks,
    /// The other way to compare lines that `experimental.xdiff` asks for, which is not here.
    pub(super) xdiff: bool,
    /// A merge is compared with what its parents merge to, which `diff.merge` asks for and which is not here.
    merges_parents: bool,
    /// Colours show which words of a line differ.
    pub(crate) by_words: bool,
    /// The date that stands for the present, if the configuration has one.
    pub(super) working_date: Option<Date>,
    /// Prefix that is left out of shown names: a directory, or nothing.
    pub(crate) root: Vec<u8>,
    /// The root of the repository and the directory from which statistics name files, instead of from `root`.
    pub(crate) stat_directory: Option<(PathBuf, PathBuf)>,
}

/// `-g`.
pub(crate) const GIT: Flag = Flag::flag('g', "git", "in the extended form that git has");
/// `--stat`.
pub(crate) const STAT: Flag = Flag::long_flag("stat", "how much changed in each file");
/// `-w`.
pub(crate) const IGNORE_ALL_SPACE: Flag =
    Flag::flag('w', "ignore-all-space", "blanks do not count");
/// `-b`.
pub(crate) const IGNORE_SPACE_CHANGE: Flag = Flag::flag(
    'b',
    "ignore-space-change",
    "the number of blanks does not count",
);
/// `-B`.
pub(crate) const IGNORE_BLANK_LINES: Flag =
    Flag::flag('B', "ignore-blank-lines", "blank lines do not count");
/// `-Z`.
pub(crate) const IGNORE_SPACE_AT_EOL: Flag = Flag::flag(
    'Z',
    "ignore-space-at-eol",
    "blanks at the end of lines do not count",
);

/// Lines of context where it is not set.
const CONTEXT: usize = 3;

/// Digits of a name of git.
const GIT_DIGITS: usize = 40;

impl DiffOptions {
    /// Values of the options and the configuration.
    pub(crate) fn new(
        ui: &mut Ui,
        config: &Config,
        matches: &Matches,
    ) -> Result<DiffOptions, Abort> {
        let index_digits = index_digits(ui, config)?;
        let flag = |option, key| flag(config, matches, "diff", option, key);
        let typed = matches.value("unified").filter(|text| !text.is_empty());
        let lines = match typed.or(config.get("diff", "unified")) {
            None => CONTEXT,
            Some(text) => context_of(text)?,
        };
        // These change input of other programs.
        let plain = environment::is_plain(None);
        let no_prefix = matches.switch("noprefix");
        let binary = matches.switch("binary");
        Ok(DiffOptions {
            git: flag("git", "git")?,
            binary: match binary {
                Some(binary) => binary,
                None => plain || !config.boolean("diff", "nobinary", false)?,
            },
            index_digits,
            context: lines,
            no_dates: flag("nodates", "nodates")?,
            no_prefix: match no_prefix {
                Some(no_prefix) => no_prefix,
                None => !plain && config.boolean("diff", "noprefix", false)?,
            },
            text: matches.flag("text"),
            functions: flag("show-function", "showfunc")?,
            blanks: blanks(config, matches, "diff")?,
            xdiff: config.boolean("experimental", "xdiff", false)?,
            merges_parents: config.boolean("diff", "merge", false)?,
            by_words: !plain && config.boolean("diff", "word-diff", false)?,
            working_date: config.working_date(),
            root: Vec::new(),
            stat_directory: None,
        })
    }

    /// Those by which two changes are compared, as Mercurial does for its markers: git's form without context, and
    /// nothing of the configuration.
    pub(crate) fn comparable() -> DiffOptions {
        DiffOptions {
            git: true,
            binary: true,
            index_digits: 0,
            context: 0,
            no_dates: true,
            no_prefix: false,
            text: false,
            functions: false,
            blanks: Blanks::default(),
            xdiff: false,
            merges_parents: false,
            by_words: false,
            working_date: None,
            root: Vec::new(),
            stat_directory: None,
        }
    }

    /// Those of patches that are kept beside their changesets: git's form, and nothing of the configuration.
    pub(crate) fn of_kept_patch() -> DiffOptions {
        DiffOptions {
            context: CONTEXT,
            no_dates: false,
            ..DiffOptions::comparable()
        }
    }

    /// The same without the text behind the ranges of hunks.
    pub(crate) fn without_functions(mut self) -> DiffOptions {
        self.functions = false;
        self
    }

    /// Those of changes to choose from: git's form, and of the options only which blanks do not count. The
    /// configuration sets the lines of context.
    pub(crate) fn of_choice(
        config: &Config,
        matches: &Matches,
        command: &str,
    ) -> Result<DiffOptions, Abort> {
        const SECTION: &str = "commands";
        let prefix = format!("{command}.interactive.");
        let unified = format!("{prefix}unified");
        let mut keys = config.section(SECTION).iter().map(|item| &item.key);
        let refused =
            keys.find(|key| key.starts_with(prefix.as_bytes()) && ***key != *unified.as_bytes());
        if let Some(key) = refused {
            let key = String::from_utf8_lossy(key);
            return Err(Abort::input(format!("{SECTION}.{key} is not supported")));
        }
        let lines = config.get(SECTION, &unified);
        Ok(DiffOptions {
            context: lines.map_or(Ok(CONTEXT), context_of)?,
            blanks: Blanks {
                ignore_all: matches.flag("ignore-all-space"),
                ignore_amount: matches.flag("ignore-space-change"),
                ignore_at_end: matches.flag("ignore-space-at-eol"),
                ignore_lines: matches.flag("ignore-blank-lines"),
            },
            functions: true,
            ..DiffOptions::comparable()
        })
    }

    /// Refuses to compare a changeset with its parent where `diff.merge` asks for more.
    ///
    /// # Errors
    /// The changeset is a merge, and `diff.merge` is set.
    pub(crate) fn check_parents(&self, view: &RepoView, rev: Option<Rev>) -> Result<(), Abort> {
        let is_merge = |rev: Rev| {
            let is_stored = rev.index() < view.changelog().len();
            is_stored && view.changelog().parents(rev)[1].is_some()
        };
        match self.merges_parents && rev.is_some_and(is_merge) {
            true => Err(Abort::input("diff.merge is not supported for merges")),
            false => Ok(()),
        }
    }

    /// Those that hunks depend on.
    pub(super) fn hunks(&self) -> HunkOptions {
        HunkOptions {
            context: self.context,
            functions: self.functions,
            blanks: self.blanks,
        }
    }

    /// A path as statistics show it.
    pub(super) fn shown_in_stat(&self, path: &[u8]) -> Vec<u8> {
        match &self.stat_directory {
            Some((root, directory)) => relative_to(root, directory, path),
            None => self.shown(path).to_vec(),
        }
    }

    /// A path as it is shown.
    pub(super) fn shown<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        match path.strip_prefix(&self.root[..]) {
            Some(shown) => shown,
            // The root itself is a file.
            None if self.root.strip_suffix(b"/") == Some(path) => b"",
            None => path,
        }
    }
}

/// A flag, or its value in a section of the configuration.
fn flag(
    config: &Config,
    matches: &Matches,
    section: &str,
    option: &str,
    key: &str,
) -> Result<bool, Abort> {
    match matches.switch(option) {
        Some(on) => Ok(on),
        None => config.boolean(section, key, false).map_err(Abort::Setting),
    }
}

fn blanks(config: &Config, matches: &Matches, section: &str) -> Result<Blanks, Abort> {
    let flag = |option, key| flag(config, matches, section, option, key);
    Ok(Blanks {
        ignore_all: flag("ignore-all-space", "ignorews")?,
        ignore_amount: flag("ignore-space-change", "ignorewsamount")?,
        ignore_at_end: flag("ignore-space-at-eol", "ignorewseol")?,
        ignore_lines: flag("ignore-blank-lines", "ignoreblanklines")?,
    })
}

/// Which blanks do not count where lines are annotated. The section has other settings of diffs
/// too, which must be right although nothing depends on them.
pub(crate) fn of_annotate(config: &Config, matches: &Matches) -> Result<Blanks, Abort> {
    for key in ["nodates", "showfunc"] {
        flag(config, matches, "annotate", key, key)?;
    }
    if let Some(text) = config.get("annotate", "unified") {
        let shown = String::from_utf8_lossy(text);
        shown.trim().parse::<i64>().map_err(|_| no_number(&shown))?;
    }
    blanks(config, matches, "annotate")
}

fn no_number(shown: &str) -> Abort {
    Abort::input(format!(
        "diff context lines count must be an integer, not '{shown}'"
    ))
}

fn context_of(text: &[u8]) -> Result<usize, Abort> {
    let shown = String::from_utf8_lossy(text);
    let number = shown.trim().parse::<i64>();
    let number = number.map_err(|_| no_number(&shown))?;
    usize::try_from(number)
        .map_err(|_| Abort::input(format!("negative diff context is not supported: {number}")))
}

/// Value of `experimental.extendedheader.index`; a wrong one is warned about.
fn index_digits(ui: &mut Ui, config: &Config) -> Result<usize, Abort> {
    let config = config.values();
    let Some(value) = config.get("experimental", "extendedheader.index") else {
        return Ok(0);
    };
    let shown = String::from_utf8_lossy(value);
    match value {
        b"none" => return Ok(0),
        b"short" | b"" => return Ok(12),
        b"full" => return Ok(GIT_DIGITS),
        _ => {}
    }
    let Ok(number) = shown.trim().parse::<i64>() else {
        ui.warn(format!(
            "invalid value for extendedheader.index: '{shown}'\n"
        ))?;
        return Ok(0);
    };
    let digits = usize::try_from(number).unwrap_or(usize::MAX);
    if digits > GIT_DIGITS {
        ui.warn(format!(
            "invalid length for extendedheader.index: '{shown}'\n"
        ))?;
    }
    Ok(if number < 0 {
        0
    } else {
        digits.min(GIT_DIGITS)
    })
}
