//! The tools that the section `[fix]` configures.

use crate::context::{Config, Repo};
use crate::render::formatter::Value;
use crate::render::templates::{Keywords, Template};
use crate::ui::{Abort, Ui};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_lang::patterns::{FileResolver, MatchRequest, Matcher, NameCheck, RegexEngine};
use varve_repo::fileset::FilesetEvaluator;
use varve_workdir::FixPlace;
use varve_workdir::filesets::FilesetTarget;

const SECTION: &str = "fix";

/// One tool.
#[derive(Debug)]
pub(super) struct FixTool {
    /// The name that it is configured by.
    pub(super) name: String,
    command: Template,
    linerange: Option<Template>,
    pattern: Vec<u8>,
    priority: i64,
    /// The tool writes JSON before the content.
    pub(super) has_metadata: bool,
    /// The tool is not run on files without changed lines.
    skips_clean: bool,
}

/// Reads the enabled tools, in the order in which they run, and warns of those that lack something.
pub(super) fn read(ui: &mut Ui, config: &Config) -> Result<Vec<FixTool>, Abort> {
    let keys = config.section(SECTION).iter().map(|item| &item.key[..]);
    let names = keys.filter_map(|key| {
        let at = key.iter().position(|byte| *byte == b':')?;
        Some(String::from_utf8_lossy(&key[..at]).into_owned())
    });
    let mut tools = Vec::new();
    for name in names.collect::<BTreeSet<String>>() {
        let key = |sub: &str| format!("{name}:{sub}");
        let text = |sub: &str| config.get(SECTION, &key(sub));
        let template = |text: &[u8]| Template::of_line(config, text);
        let enabled = config.boolean(SECTION, &key("enabled"), true)?;
        let priority = config.integer(SECTION, &key("priority"))?.unwrap_or(0);
        let has_metadata = config.boolean(SECTION, &key("metadata"), false)?;
        let skips_clean = config.boolean(SECTION, &key("skipclean"), true)?;
        if !enabled {
            ui.debug(format!("ignoring disabled fixer tool: {name}\n"))?;
            continue;
        }
        let Some(command) = text("command") else {
            ui.warn(format!("fixer tool has no command configuration: {name}\n"))?;
            continue;
        };
        let Some(pattern) = text("pattern") else {
            ui.warn(format!("fixer tool has no pattern configuration: {name}\n"))?;
            continue;
        };
        tools.push(FixTool {
            command: template(command)?,
            linerange: text("linerange").map(template).transpose()?,
            pattern: pattern.to_vec(),
            priority,
            has_metadata,
            skips_clean,
            name,
        });
    }
    // Those of one priority stay in the order of their names.
    tools.sort_by_key(|tool| std::cmp::Reverse(tool.priority));
    Ok(tools)
}

/// Directories of programs before those of the environment; relative ones are in the repository.
pub(super) fn extra_directories(config: &Config, root: &Path) -> Vec<PathBuf> {
    let paths = config.list(SECTION, "extra-bin-paths");
    let paths = paths.iter().map(|path| root.join(OsStr::from_bytes(path)));
    paths.collect()
}

/// Matchers of the pattern of each tool at each place.
#[derive(Default)]
pub(super) struct Matchers(BTreeMap<(String, FixPlace), Matcher>);

impl Matchers {
    /// True if the pattern of the tool matches a file of a place.
    pub(super) fn matches(
        &mut self,
        repo: &mut Repo,
        tool: &FixTool,
        (place, path): (FixPlace, &[u8]),
    ) -> Result<bool, Abort> {
        let key = (tool.name.clone(), place);
        if !self.0.contains_key(&key) {
            let matcher = matcher(repo, &tool.pattern, place)?;
            self.0.insert(key.clone(), matcher);
        }
        Ok(self.0[&key].matches(path))
    }
}

/// Patterns are about paths from the root on.
fn matcher(repo: &mut Repo, pattern: &[u8], place: FixPlace) -> Result<Matcher, Abort> {
    let at = match place {
        FixPlace::Rev(rev) => FilesetTarget::Rev(Some(rev)),
        FixPlace::Working => FilesetTarget::Working,
    };
    let files = FilesetEvaluator::new(repo.files_of(at)?);
    let root = repo.root()?;
    let patterns = [pattern.to_vec()];
    let request = MatchRequest {
        files: Some(&files as &dyn FileResolver),
        engine: RegexEngine::Backtracking,
        ..MatchRequest::of_setting(root, &patterns)
    };
    Ok(Matcher::new(&request, &NameCheck)?)
}

/// Keywords of a line for the shell.
struct OfFile<'a>(&'a [u8]);

impl Keywords for OfFile<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, Abort> {
        let value = match name {
            "rootpath" => Some(self.0),
            "basename" => self.0.rsplit(|byte| *byte == b'/').next(),
            _ => None,
        };
        Ok(value.map(|value| Value::Text(value.to_vec())))
    }
}

/// Keywords of a run of changed lines, counted from 0.
struct OfLines<'a>(&'a Range<usize>);

impl Keywords for OfLines<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, Abort> {
        let line = match name {
            "first" => self.0.start + 1,
            "last" => self.0.end,
            _ => return Ok(None),
        };
        Ok(i64::try_from(line).ok().map(Value::Int))
    }
}

impl FixTool {
    /// The line for the shell; none if the tool is to skip a file with these changed lines, counted from 0.
    pub(super) fn line(
        &self,
        path: &[u8],
        changed: &[Range<usize>],
    ) -> Result<Option<Vec<u8>>, Abort> {
        let mut line = Vec::new();
        self.command.fill(&OfFile(path), &mut line)?;
        let Some(linerange) = &self.linerange else {
            return Ok(Some(line));
        };
        if changed.is_empty() && self.skips_clean {
            return Ok(None);
        }
        for lines in changed {
            line.push(b' ');
            linerange.fill(&OfLines(lines), &mut line)?;
        }
        Ok(Some(line))
    }

    /// True if the tool gets the changed lines in its arguments.
    pub(super) fn takes_lines(&self) -> bool {
        self.linerange.is_some()
    }
}
