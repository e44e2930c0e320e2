//! User, date and description of a changeset, from options and configuration.

use super::editor;
use crate::arguments::{Flag, Matches};
use crate::context::working::new_commit_phase;
use crate::context::{Config, Repo};
use crate::ui::editor::EditorVariables;
use crate::ui::{Abort, FailureKind, Ui};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use varve_lang::date;
use varve_repo::{Phase, Repository, StripOptions, WriteOptions};
use varve_workdir::{CommitMetadata, message};

/// `-m`.
pub(crate) const MESSAGE: Flag = Flag::value('m', "message", "TEXT", "the description");
/// `-l`.
pub(crate) const LOGFILE: Flag =
    Flag::value('l', "logfile", "FILE", "read the description from a file");
/// `-d`.
pub(crate) const DATE: Flag = Flag::value('d', "date", "DATE", "the date of the changeset");
/// `-u`.
pub(crate) const USER: Flag = Flag::value('u', "user", "USER", "who makes the changeset");

/// `-u`, or the configured user.
pub(crate) fn user(ui: &mut Ui, matches: &Matches) -> Result<Vec<u8>, Abort> {
    match matches.value("user").filter(|user| !user.is_empty()) {
        Some(user) => Ok(user.trim_ascii().to_vec()),
        None => ui.username(),
    }
}

/// `-d`, or now.
pub(crate) fn date(config: &Config, matches: &Matches) -> Result<(i64, i32), Abort> {
    match typed_date(matches)? {
        Some(date) => Ok(date),
        None => default_date(config),
    }
}

/// Date of `devel.default-date`, or now.
pub(crate) fn default_date(config: &Config) -> Result<(i64, i32), Abort> {
    match config.get("devel", "default-date") {
        Some(text) => parse_date(text),
        None => Ok(now()),
    }
}

/// Now, in the zone of this process.
pub(crate) fn now() -> (i64, i32) {
    let now = crate::ui::clock::clock().date();
    (now.time, now.zone)
}

/// `-d`.
pub(crate) fn typed_date(matches: &Matches) -> Result<Option<(i64, i32)>, Abort> {
    let typed = matches.value("date").filter(|date| !date.is_empty());
    typed.map(parse_date).transpose()
}

/// A date as users type it.
pub(crate) fn parse_date(text: &[u8]) -> Result<(i64, i32), Abort> {
    let clock = crate::ui::clock::clock();
    let text = String::from_utf8_lossy(text);
    let date = date::parse(&text, &clock).map_err(|error| {
        if error.is_parse_error() {
            Abort::Parse {
                message: error.to_string(),
                at: None,
                hint: None,
            }
        } else {
            Abort::input(error.to_string())
        }
    })?;
    Ok((date.time, date.zone))
}

/// Refuses options that contradict each other.
pub(crate) fn check(matches: &Matches) -> Result<(), Abort> {
    let given = |name| matches.value(name).is_some_and(|value| !value.is_empty());
    if given("message") && given("logfile") {
        return Err(Abort::input("cannot specify both --message and --logfile"));
    }
    Ok(())
}

/// `-m` or `-l`; `None` if neither says anything.
pub(crate) fn typed_message(
    repo: &Repo,
    ui: &Ui,
    matches: &Matches,
) -> Result<Option<Vec<u8>>, Abort> {
    let text = matches.value("message").filter(|text| !text.is_empty());
    let Some(file) = matches.value("logfile").filter(|file| !file.is_empty()) else {
        return Ok(text.map(<[u8]>::to_vec));
    };
    let mut bytes = Vec::new();
    let read = if file == b"-" {
        ui.streams.input().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(repo.cwd.join(OsStr::from_bytes(file)))
    };
    let wrong = |error: std::io::Error| {
        let words = crate::ui::system_words(&error);
        let shown = String::from_utf8_lossy(file);
        Abort::new(format!("can't read commit message '{shown}': {words}"))
    };
    read.map(Some).map_err(wrong)
}

/// The description, from the user's editor if nothing was typed or `--edit` asks for it.
pub(crate) fn description(
    ui: &mut Ui,
    matches: &Matches,
    typed: Option<Vec<u8>>,
    notes: &message::EditorNotes<'_>,
) -> Result<Vec<u8>, Abort> {
    let form = match notes.is_merge {
        true => "commit.normal.merge",
        false => "commit.normal.normal",
    };
    let text = DescriptionDraft {
        form,
        edits: typed.is_none() || matches.flag("edit"),
        typed: typed.unwrap_or_default(),
    };
    edited(ui, text, notes)
}

/// A description, and whether the user changes it.
pub(crate) struct DescriptionDraft {
    /// Text so far.
    pub(crate) typed: Vec<u8>,
    /// Whether the editor is called.
    pub(crate) edits: bool,
    /// The kind of commit, which the editor gets as `HGEDITFORM`.
    pub(crate) form: &'static str,
}

/// The description, after the user's editor if that is wanted.
pub(crate) fn edited(
    ui: &mut Ui,
    text: DescriptionDraft,
    notes: &message::EditorNotes<'_>,
) -> Result<Vec<u8>, Abort> {
    let text = match text.edits {
        false => text.typed,
        true => {
            let shown = message::with_notes(&text.typed, notes);
            let variables = EditorVariables {
                form: Some(text.form),
                user: Some(notes.user),
            };
            message::without_notes(&editor::edit(ui, &shown, &variables)?)
        }
    };
    let tidied = message::tidy(&text);
    if tidied.is_empty() {
        return Err(Abort::input("empty commit message"));
    }
    Ok(tidied)
}

/// `--secret` or `--draft`.
pub(crate) fn phase(matches: &Matches) -> Result<Option<Phase>, Abort> {
    match (matches.flag("secret"), matches.flag("draft")) {
        (true, true) => Err(Abort::input("cannot specify both --draft and --secret")),
        (true, false) => Ok(Some(Phase::Secret)),
        (false, true) => Ok(Some(Phase::Draft)),
        (false, false) => Ok(None),
    }
}

/// `phases.new-commit`.
pub(crate) fn new_phase(config: &Config) -> Result<Phase, Abort> {
    new_commit_phase(&config.values()).ok_or_else(|| {
        let set = config.get("phases", "new-commit").unwrap_or_default();
        let shown = String::from_utf8_lossy(set);
        Abort::of_kind(
            FailureKind::Configuration,
            format!("phases.new-commit: not a valid phase name ('{shown}')"),
        )
    })
}

/// User and description as the repository holds them. Mercurial finds malformed text only in
/// the transaction, and says that it has undone that.
pub(crate) fn texts(ui: &mut Ui, words: &CommitMetadata<'_>) -> Result<(Vec<u8>, Vec<u8>), Abort> {
    let has_line_end = words.user.contains(&b'\n');
    let shown = String::from_utf8_lossy(words.user)
        .escape_debug()
        .to_string();
    let user = match has_line_end {
        true => Err(Abort::of_kind(
            FailureKind::Storage,
            format!("username '{shown}' contains a newline"),
        )),
        false => ui.decode(words.user),
    };
    let texts = user.and_then(|user| {
        let description = message::tidy(&ui.decode(words.description)?);
        Ok((user, description))
    });
    if texts.is_err() {
        ui.warn_of_rollback()?;
    }
    texts
}

/// How revisions are stored here.
pub(crate) fn write_options(
    config: &Config,
    repository: &Repository,
) -> Result<WriteOptions, Abort> {
    let settings = config.storage_settings()?;
    Ok(settings.write_options(repository.requirements()))
}

/// How changesets are removed; `devel.strip-obsmarkers` is on unless it is switched off.
pub(crate) fn strip_options(
    config: &Config,
    repository: &Repository,
) -> Result<StripOptions, Abort> {
    Ok(StripOptions {
        storage: write_options(config, repository)?,
        keeps_markers: !config.boolean("devel", "strip-obsmarkers", true)?,
    })
}
