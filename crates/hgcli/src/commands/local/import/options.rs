//! The options of an import, checked.

use crate::arguments::Matches;
use crate::commands::local::commit::metadata;
use crate::context::{Config, Repo};
use crate::ui::Abort;
use varve_lang::patterns::relative_to_root;
use varve_patch::{ApplyOptions, LineEnds};

/// Lines of context that need not fit, unless configured otherwise.
const FUZZ: usize = 2;

/// How patches are imported.
#[derive(Clone, Debug)]
pub(super) struct ImportOptions {
    pub(super) bypass: bool,
    pub(super) exact: bool,
    pub(super) no_commit: bool,
    pub(super) partial: bool,
    /// Whether the branch is that of the patch.
    pub(super) takes_branch: bool,
    /// From 0, for none, to 1.
    pub(super) similarity: f64,
    /// `-d`.
    pub(super) date: Option<(i64, i32)>,
    strip: usize,
}

impl ImportOptions {
    /// Reads the options, and refuses those that do not go together.
    pub(super) fn read(config: &Config, matches: &Matches) -> Result<ImportOptions, Abort> {
        for (one, other) in [
            ("no-commit", "bypass"),
            ("no-commit", "secret"),
            ("exact", "edit"),
            ("exact", "prefix"),
        ] {
            if is_given(matches, one) && is_given(matches, other) {
                let message = format!("cannot specify both --{one} and --{other}");
                return Err(Abort::input(message));
            }
        }
        if matches.arguments().is_empty() {
            return Err(Abort::input("need at least one patch to import"));
        }
        let date = metadata::typed_date(matches)?;
        let bypass = matches.flag("bypass");
        let similarity = similarity(matches)?;
        if similarity > 0.0 && bypass {
            return Err(Abort::input("cannot use --similarity with --bypass"));
        }
        if config
            .get("ui", "patch")
            .is_some_and(|tool| !tool.is_empty())
        {
            return Err(Abort::new("ui.patch is not supported")
                .hint("patches are applied without other programs"));
        }
        Ok(ImportOptions {
            bypass,
            exact: matches.flag("exact"),
            no_commit: matches.flag("no-commit"),
            partial: matches.flag("partial"),
            takes_branch: matches.flag("exact") || matches.flag("import-branch"),
            similarity,
            date,
            strip: strip(matches)?,
        })
    }

    /// How patches are applied. Mercurial reads these settings when the first patch is there.
    pub(super) fn apply(
        &self,
        repo: &Repo,
        config: &Config,
        matches: &Matches,
    ) -> Result<ApplyOptions, Abort> {
        Ok(ApplyOptions {
            strip: self.strip,
            prefix: prefix(repo, matches)?,
            fuzz: fuzz(config)?,
            line_ends: line_ends(config)?,
        })
    }
}

fn is_given(matches: &Matches, name: &str) -> bool {
    match name {
        "prefix" => matches.value(name).is_some_and(|value| !value.is_empty()),
        _ => matches.flag(name),
    }
}

fn strip(matches: &Matches) -> Result<usize, Abort> {
    let Some(text) = matches.value("strip") else {
        return Ok(1);
    };
    let text = String::from_utf8_lossy(text);
    let number: i64 = text.trim().parse().map_err(|_| {
        Abort::input(format!(
            "invalid value '{text}' for option -p, expected int"
        ))
    })?;
    Ok(usize::try_from(number).unwrap_or(0))
}

fn similarity(matches: &Matches) -> Result<f64, Abort> {
    let text = match matches.value("similarity") {
        None | Some(b"") => return Ok(0.0),
        Some(text) => String::from_utf8_lossy(text).into_owned(),
    };
    let number: f64 = text
        .trim()
        .parse()
        .map_err(|_| Abort::input("similarity must be a number"))?;
    match (0.0..=100.0).contains(&number) {
        true => Ok(number / 100.0),
        false => Err(Abort::input("similarity must be between 0 and 100")),
    }
}

fn prefix(repo: &Repo, matches: &Matches) -> Result<Vec<u8>, Abort> {
    let typed = matches.value("prefix").filter(|typed| !typed.is_empty());
    let Some(typed) = typed else {
        return Ok(Vec::new());
    };
    let mut path = relative_to_root(repo.root()?, &repo.cwd, typed)?;
    if !path.is_empty() {
        path.push(b'/');
    }
    Ok(path)
}

fn fuzz(config: &Config) -> Result<usize, Abort> {
    let fuzz = config.integer("patch", "fuzz").map_err(Abort::Setting)?;
    Ok(fuzz.map_or(FUZZ, |fuzz| usize::try_from(fuzz).unwrap_or(0)))
}

fn line_ends(config: &Config) -> Result<LineEnds, Abort> {
    let typed = config.get("patch", "eol").unwrap_or(b"strict");
    match &typed.to_ascii_lowercase()[..] {
        b"strict" => Ok(LineEnds::Strict),
        b"lf" => Ok(LineEnds::Lf),
        b"crlf" => Ok(LineEnds::CrLf),
        b"auto" => Ok(LineEnds::Auto),
        _ => {
            let shown = String::from_utf8_lossy(typed);
            Err(Abort::new(format!(
                "unsupported line endings type: {shown}"
            )))
        }
    }
}
