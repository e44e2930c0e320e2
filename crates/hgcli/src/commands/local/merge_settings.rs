//! Settings of merges besides the tool: programs that come before it, touching changes, untracked files in the way.

use crate::context::Config;
use crate::ui::{Abort, environment};
use std::path::Path;
use varve_config::hgrc::Files;
use varve_delta::TouchingChanges;
use varve_lang::fileset;
use varve_lang::patterns::{
    CompilePattern, FileResolver, MatchRequest, Matcher, NameCheck, PathPredicate, PatternError,
    RegexEngine,
};
use varve_workdir::{CopyTraceMode, OnUntracked, PartialTool, UntrackedFiles};

/// The section of the programs that come before the merge of lines.
const PARTIAL: &str = "partial-merge-tools";

/// Arguments of such a program that has no others configured.
const ARGUMENTS: &[u8] = b"$local $base $other";

/// `experimental.relaxed-block-sync-merge`.
pub(super) fn touching_changes(config: &Config) -> Result<TouchingChanges, Abort> {
    Ok(
        match config.boolean("experimental", "relaxed-block-sync-merge", false)? {
            true => TouchingChanges::Merge,
            false => TouchingChanges::Conflict,
        },
    )
}

/// Limit of both numbers of heuristics.
const USUAL_LIMIT: i64 = 100;

/// `experimental.copytrace` and its limits. A value that is no truth value stands for all copies, as in Mercurial.
pub(super) fn copy_tracing(config: &Config) -> Result<CopyTraceMode, Abort> {
    let set = config.get("experimental", "copytrace").unwrap_or_default();
    if set == b"heuristics" {
        let limit = |key: &str| {
            let set = config.integer("experimental", key)?;
            Ok::<_, Abort>(set.unwrap_or(USUAL_LIMIT))
        };
        return Ok(CopyTraceMode::Heuristics {
            changesets: limit("copytrace.sourcecommitlimit")?,
            candidates: limit("copytrace.movecandidateslimit")?,
        });
    }
    Ok(match varve_config::hgrc::boolean(set) {
        Some(false) => CopyTraceMode::Off,
        _ => CopyTraceMode::Full,
    })
}

/// `merge.checkunknown` and `merge.checkignored`.
pub(super) fn untracked_files(config: &Config) -> Result<UntrackedFiles, Abort> {
    let treatment = |key: &str| {
        let Some(value) = config.get("merge", key) else {
            return Ok(OnUntracked::default());
        };
        let known = OnUntracked::SETTINGS.iter();
        let mut known = known.filter(|(name, _)| name.as_bytes() == value);
        known.next().map(|(_, how)| *how).ok_or_else(|| {
            let names = OnUntracked::SETTINGS.map(|(name, _)| format!("'{name}'"));
            let (value, names) = (String::from_utf8_lossy(value), names.join(", "));
            Abort::Definition(format!(
                "merge.{key} not valid ('{value}' is none of {names})"
            ))
        })
    };
    let items = config.section("ui").iter();
    let files = items.filter(|item| item.key == b"ignore" || item.key.starts_with(b"ignore."));
    Ok(UntrackedFiles {
        unknown: treatment("checkunknown")?,
        ignored: treatment("checkignored")?,
        ignore_files: files
            .map(|item| environment::Environment.expand(&item.value))
            .collect(),
    })
}

/// The programs of `[partial-merge-tools]`, in the order in which they are run.
pub(super) fn partial_tools(config: &Config) -> Result<Vec<PartialTool>, Abort> {
    if config.boolean("merge", "disable-partial-tools", false)? {
        return Ok(Vec::new());
    }
    let mut tools: Vec<(i64, PartialTool)> = Vec::new();
    for item in config.section(PARTIAL) {
        let name = item.key.split(|byte| *byte == b'.').next();
        let name = name.unwrap_or_default();
        if tools.iter().any(|(_, tool)| tool.name == name) {
            continue;
        }
        let key = |of: &str| format!("{}.{of}", String::from_utf8_lossy(name));
        if config.boolean(PARTIAL, &key("disable"), false)? {
            continue;
        }
        let value = |of: &str| config.get(PARTIAL, &key(of)).map(<[u8]>::to_vec);
        let order = config
            .integer(PARTIAL, &key("order"))
            .map_err(Abort::Setting)?;
        let executable = value("executable").unwrap_or_else(|| name.to_vec());
        let executable = environment::Environment.expand(&executable);
        let tool = PartialTool {
            name: name.to_vec(),
            executable: executable.into_os_string().into_encoded_bytes(),
            arguments: value("args").unwrap_or_else(|| ARGUMENTS.to_vec()),
            files: matcher(&config.list(PARTIAL, &key("patterns")))?,
        };
        tools.push((order.unwrap_or_default(), tool));
    }
    tools.sort_by_key(|(order, _)| *order);
    Ok(tools.into_iter().map(|(_, tool)| tool).collect())
}

fn matcher(patterns: &[Vec<u8>]) -> Result<Matcher, Abort> {
    let request = MatchRequest {
        files: Some(&PlainFilesets),
        engine: RegexEngine::Backtracking,
        ..MatchRequest::of_setting(Path::new("/"), patterns)
    };
    Ok(Matcher::new(&request, &NameCheck)?)
}

/// Filesets that are a single pattern; those that ask about files are refused.
struct PlainFilesets;

impl FileResolver for PlainFilesets {
    fn fileset(
        &self,
        _: &fileset::Expr,
        _: &CompilePattern<'_>,
    ) -> Result<PathPredicate, PatternError> {
        Err(unsupported("set:"))
    }

    fn pattern_file(&self, _: &[u8]) -> Result<PathPredicate, PatternError> {
        Err(unsupported("include:"))
    }
}

fn unsupported(kind: &str) -> PatternError {
    fileset::FilesetError {
        message: format!("patterns of {PARTIAL} with '{kind}' are not supported"),
        at: None,
        hint: None,
    }
    .into()
}
