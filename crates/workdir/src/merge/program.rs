//! Programs that merge files: which one merges a file, and with which settings.

use super::MarkerStyle;
use crate::{MergeTool, WorkdirError};
use std::path::PathBuf;
use std::sync::Arc;
use varve_config::hgrc::{Hgrc, boolean};
use varve_lang::patterns::Matcher;

/// The section that describes the programs.
const SECTION: &str = "merge-tools";
/// The program that is used last, if there is one of this name.
const FALLBACK: &[u8] = b"hgmerge";
/// Arguments of a program that has no others configured.
const USUAL_ARGUMENTS: &[u8] = b"$local $base $other";

/// Properties of a file that a tool must be able to merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTraits {
    /// A side has a zero byte.
    pub binary: bool,
    /// A side is a symbolic link.
    pub symlink: bool,
    /// A side has deleted the file.
    pub deleted: bool,
}

/// Why a tool is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolObstacle<'a> {
    /// There is no such program.
    NotFound,
    /// The tool cannot merge such files.
    Cannot(&'static str),
    /// The program needs a graphical display, and there is none.
    NeedsDisplay,
    /// Nothing: it merges a binary file because a pattern says so, though it is not known to be able to.
    PatternOverBinary(&'a [u8]),
}

/// Receives the tools that are passed over: their name, the pattern or path that they were chosen for, and the reason.
pub type OnObstacle<'a> = &'a mut dyn FnMut(&[u8], Option<&[u8]>, ToolObstacle<'_>);

/// The tool for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PickedTool {
    /// One without another program.
    Internal(MergeTool),
    /// A program.
    Program(MergeProgram),
    /// A symbolic link or a binary file, for which there is no tool: the user decides.
    Nothing,
}

impl PickedTool {
    /// The name that it is configured by.
    pub fn name(&self) -> Vec<u8> {
        match self {
            PickedTool::Internal(tool) => tool.name().into_bytes(),
            PickedTool::Program(program) => program.name.clone(),
            PickedTool::Nothing => MergeTool::Prompt.name().into_bytes(),
        }
    }
}

/// A program that merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeProgram {
    /// The name that it is configured by.
    pub name: Vec<u8>,
    /// The beginning of the line for the shell.
    pub command: Vec<u8>,
}

/// The merge that comes before a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Premerge {
    /// Nothing.
    Skip,
    /// The lines are merged; a file with conflicts is put back.
    Try,
    /// The lines are merged, and conflicts stay in the file, as this tool writes them.
    Keep(MergeTool),
}

/// Configured tools, and how they are chosen.
#[derive(Clone, Debug, Default)]
pub struct ToolTable {
    /// `--tool`.
    pub forced: Option<Vec<u8>>,
    /// `$HGMERGE`.
    pub environment: Option<Vec<u8>>,
    /// `[merge-patterns]` in their order: as written, what they match, the tool.
    pub patterns: Vec<(Vec<u8>, Matcher, Vec<u8>)>,
    /// `ui.merge`.
    pub configured: Option<Vec<u8>>,
    /// Has `[merge-tools]`.
    pub config: Arc<Hgrc>,
    /// Whether there is a graphical display.
    pub has_display: bool,
    /// Directories that programs are looked for in.
    pub directories: Vec<PathBuf>,
}

impl ToolTable {
    /// The tool for a file; each one that is passed over goes to `on_obstacle`.
    ///
    /// # Errors
    /// A setting of a tool that has a wrong value; a program in Python.
    pub fn pick(
        &self,
        path: &[u8],
        traits: FileTraits,
        on_obstacle: OnObstacle<'_>,
    ) -> Result<PickedTool, WorkdirError> {
        if let Some(name) = &self.forced {
            return self.unconditional(name, traits, self.find(name)?);
        }
        if let Some(name) = &self.environment {
            return self.unconditional(name, traits, None);
        }
        let strict = self
            .config
            .boolean("merge", "strict-capability-check", false)?;
        for (pattern, matcher, name) in &self.patterns {
            if !matcher.matches(path) {
                continue;
            }
            let asked = FileTraits {
                binary: traits.binary && strict,
                ..traits
            };
            if let Some(found) = self.check(name, Some(pattern), asked, strict, on_obstacle)? {
                if traits.binary && !strict && !self.takes_binary(name)? {
                    on_obstacle(name, Some(pattern), ToolObstacle::PatternOverBinary(path));
                }
                return Ok(found);
            }
        }
        if let Some(name) = &self.configured
            && let Some(found) = self.check(name, Some(path), traits, strict, on_obstacle)?
        {
            return Ok(found);
        }
        for name in self.by_priority()? {
            if let Some(found) = self.check(&name, None, traits, strict, on_obstacle)? {
                return Ok(found);
            }
        }
        Ok(match traits {
            FileTraits { deleted: true, .. } => PickedTool::Internal(MergeTool::Prompt),
            FileTraits {
                binary: false,
                symlink: false,
                ..
            } => PickedTool::Internal(MergeTool::Merge),
            _ => PickedTool::Nothing,
        })
    }

    /// Whether files of lines without conflicts end as a plain merge leaves them, whatever their names.
    pub(crate) fn merges_only_lines(&self) -> bool {
        let picked = self.pick(b"", FileTraits::default(), &mut |_, _, _| {});
        let is_plain = match picked {
            Ok(PickedTool::Internal(tool)) => {
                matches!(
                    tool,
                    MergeTool::Merge | MergeTool::Merge3 | MergeTool::Mergediff
                )
            }
            Ok(PickedTool::Program(program)) => {
                let premerge = self.premerge(&program);
                premerge.is_ok_and(|premerge| premerge != Premerge::Skip)
            }
            Ok(PickedTool::Nothing) | Err(_) => false,
        };
        is_plain && self.patterns.is_empty()
    }

    /// A tool that the user or the environment names, which is not asked what it can do; `found` is its program, if it is
    /// known where that is.
    fn unconditional(
        &self,
        name: &[u8],
        traits: FileTraits,
        found: Option<Vec<u8>>,
    ) -> Result<PickedTool, WorkdirError> {
        let tool = match MergeTool::named(name) {
            Some(tool) if traits.deleted && !tool.takes_deleted() => MergeTool::Prompt,
            Some(tool) => tool,
            None if traits.deleted => MergeTool::Prompt,
            None => {
                return Ok(PickedTool::Program(MergeProgram {
                    name: name.to_vec(),
                    command: found.unwrap_or_else(|| name.to_vec()),
                }));
            }
        };
        Ok(PickedTool::Internal(tool))
    }

    /// The tool of this name, if it is there and can merge such a file.
    fn check(
        &self,
        name: &[u8],
        pattern: Option<&[u8]>,
        traits: FileTraits,
        strict: bool,
        on_obstacle: OnObstacle<'_>,
    ) -> Result<Option<PickedTool>, WorkdirError> {
        let internal = MergeTool::named(name);
        let program = match internal {
            Some(_) => None,
            None => self.find(name)?,
        };
        let can = |key| match internal {
            Some(tool) => Ok(strict && tool.takes_any_content()),
            None => self.boolean(name, key),
        };
        let obstacle = if internal.is_none() && program.is_none() {
            ToolObstacle::NotFound
        } else if traits.symlink && !can("symlink")? {
            ToolObstacle::Cannot("symlinks")
        } else if traits.binary && !can("binary")? {
            ToolObstacle::Cannot("binary")
        } else if traits.deleted && !internal.is_some_and(MergeTool::takes_deleted) {
            // Mercurial is silent here.
            return Ok(None);
        } else if !self.has_display && internal.is_none() && self.boolean(name, "gui")? {
            ToolObstacle::NeedsDisplay
        } else {
            return Ok(internal.map(PickedTool::Internal).or_else(|| {
                Some(PickedTool::Program(MergeProgram {
                    name: name.to_vec(),
                    command: program?,
                }))
            }));
        };
        on_obstacle(name, pattern, obstacle);
        Ok(None)
    }

    fn takes_binary(&self, name: &[u8]) -> Result<bool, WorkdirError> {
        match MergeTool::named(name) {
            Some(tool) => Ok(tool.takes_any_content()),
            None => self.boolean(name, "binary"),
        }
    }

    /// Names of the programs of the configuration by priority, and then of the usual one.
    fn by_priority(&self) -> Result<Vec<Vec<u8>>, WorkdirError> {
        let mut names: Vec<(i64, Vec<u8>)> = Vec::new();
        for item in self.config.section(SECTION) {
            let name = item.key.split(|byte| *byte == b'.').next();
            let name = name.unwrap_or_default();
            if names.iter().any(|(_, known)| known == name) || self.boolean(name, "disabled")? {
                continue;
            }
            let priority = self.config.integer(SECTION, &key(name, "priority"))?;
            names.push((priority.unwrap_or(0), name.to_vec()));
        }
        names.sort_by(|(a, left), (b, right)| b.cmp(a).then_with(|| left.cmp(right)));
        let names = names.into_iter().map(|(_, name)| name);
        Ok(names.chain([FALLBACK.to_vec()]).collect())
    }

    /// Where the program of a tool is, quoted for the shell.
    fn find(&self, name: &[u8]) -> Result<Option<Vec<u8>>, WorkdirError> {
        use std::os::unix::ffi::OsStrExt;
        let configured = self.config.get(SECTION, &key(name, "executable"));
        let program = configured.unwrap_or(name);
        if program.starts_with(b"python:") {
            let name = String::from_utf8_lossy(name).into_owned();
            return Err(WorkdirError::UnsupportedTool(format!(
                "merge tool '{name}' in Python"
            )));
        }
        let program = match program.strip_prefix(b"~/") {
            Some(rest) => {
                let home = std::env::var_os("HOME").unwrap_or_default();
                [home.as_bytes(), b"/", rest].concat()
            }
            None => program.to_vec(),
        };
        let file = PathBuf::from(std::ffi::OsStr::from_bytes(&program));
        let found = if program.contains(&b'/') {
            Some(file).filter(|file| file.exists())
        } else {
            let all = self.directories.iter().map(|place| place.join(&file));
            all.into_iter().find(|file| is_executable(file))
        };
        Ok(found.map(|path| quote_for_shell(path.as_os_str().as_bytes())))
    }

    fn boolean(&self, name: &[u8], of: &str) -> Result<bool, WorkdirError> {
        Ok(self.config.boolean(SECTION, &key(name, of), false)?)
    }

    /// The arguments of a program, with variables.
    pub(crate) fn arguments(&self, program: &MergeProgram) -> &[u8] {
        let configured = self.config.get(SECTION, &key(&program.name, "args"));
        configured.unwrap_or(USUAL_ARGUMENTS)
    }

    /// The merge that comes before the program is run on a file of lines.
    pub(crate) fn premerge(&self, program: &MergeProgram) -> Result<Premerge, WorkdirError> {
        let Some(value) = self.config.get(SECTION, &key(&program.name, "premerge")) else {
            return Ok(Premerge::Try);
        };
        match (&value.to_ascii_lowercase()[..], boolean(value)) {
            (_, Some(true)) => Ok(Premerge::Try),
            (_, Some(false)) => Ok(Premerge::Skip),
            (b"keep", _) => Ok(Premerge::Keep(MergeTool::Merge)),
            (b"keep-merge3", _) => Ok(Premerge::Keep(MergeTool::Merge3)),
            (b"keep-mergediff", _) => Ok(Premerge::Keep(MergeTool::Mergediff)),
            _ => Err(WorkdirError::WrongPremerge {
                tool: String::from_utf8_lossy(&program.name).into_owned(),
                value: String::from_utf8_lossy(value).into_owned(),
            }),
        }
    }

    /// Whether a check of the result is asked for: `changed`, `conflicts` or `prompt`.
    pub(crate) fn checks(&self, program: &MergeProgram, check: &str) -> Result<bool, WorkdirError> {
        let listed = self.config.list(SECTION, &key(&program.name, "check"));
        let named = listed.iter().any(|word| word == check.as_bytes());
        Ok(named || self.boolean(&program.name, &format!("check{check}"))?)
    }

    /// Whether the names of the sides come with their changesets.
    pub(crate) fn markers(&self, program: &MergeProgram) -> MarkerStyle {
        let style = self
            .config
            .get(SECTION, &key(&program.name, "mergemarkers"));
        style.map_or(MarkerStyle::Basic, MarkerStyle::named)
    }

    /// Whether the ends of lines are made as they were.
    pub(crate) fn fixes_line_ends(&self, program: &MergeProgram) -> Result<bool, WorkdirError> {
        self.boolean(&program.name, "fixeol")
    }

    /// Whether the program has a window of its own.
    pub(crate) fn is_graphical(&self, program: &MergeProgram) -> Result<bool, WorkdirError> {
        self.boolean(&program.name, "gui")
    }
}

fn key(name: &[u8], of: &str) -> String {
    format!("{}.{of}", String::from_utf8_lossy(name))
}

fn is_executable(file: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    const EXECUTABLE: u32 = 0o111;
    std::fs::metadata(file)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & EXECUTABLE != 0)
}

/// A text as one word for the shell, in quotation marks where Mercurial uses them.
pub fn quote_for_shell(word: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._/+-".contains(byte);
    if !word.is_empty() && word.iter().all(is_plain) {
        return word.to_vec();
    }
    let parts: Vec<&[u8]> = word.split(|byte| *byte == b'\'').collect();
    [b"'", &parts.join(&b"'\\''"[..])[..], b"'"].concat()
}

/// Replaces `$NAME` in the arguments of a program by the quoted values; other names stay for the shell.
pub(crate) fn fill(arguments: &[u8], values: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = arguments;
    while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let name = |(name, _): &&(&str, Vec<u8>)| rest[1..].starts_with(name.as_bytes());
        // The longest name counts: `$labelbase` is none of `$label`.
        let found = values
            .iter()
            .filter(name)
            .max_by_key(|(name, _)| name.len());
        match found {
            Some((name, value)) => {
                out.extend(quote_for_shell(value));
                rest = &rest[1 + name.len()..];
            }
            None => {
                out.push(b'$');
                rest = &rest[1..];
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(settings: &[&str]) -> ToolTable {
        let mut config = Hgrc::default();
        for setting in settings {
            config.add_argument(setting.as_bytes()).unwrap();
        }
        ToolTable {
            config: Arc::new(config),
            directories: vec![PathBuf::from("/bin"), PathBuf::from("/usr/bin")],
            ..ToolTable::default()
        }
    }

    fn picked(table: &ToolTable, traits: FileTraits) -> (String, usize) {
        let mut obstacles = 0;
        let tool = table.pick(b"f", traits, &mut |_, _, _| obstacles += 1);
        let name = tool.unwrap().name();
        (String::from_utf8(name).unwrap(), obstacles)
    }

    #[test]
    fn the_program_of_the_highest_priority_that_is_there_merges() {
        let tools = table(&[
            "merge-tools.sh.priority=1",
            "merge-tools.nothing-of-this-name.priority=9",
            "merge-tools.cat.priority=5",
            "merge-tools.ls.priority=7",
            "merge-tools.ls.disabled=yes",
        ]);
        let text = FileTraits::default();
        assert_eq!(picked(&tools, text), ("cat".to_owned(), 1));
        let binary = FileTraits {
            binary: true,
            ..text
        };
        assert_eq!(picked(&tools, binary).0, ":prompt");
        assert_eq!(picked(&table(&[]), text), (":merge".to_owned(), 1));
    }

    #[test]
    fn a_named_tool_is_not_asked_what_it_can_do() {
        let mut tools = table(&["merge-tools.sh.gui=yes"]);
        tools.forced = Some(b"nothing-of-this-name".to_vec());
        let binary = FileTraits {
            binary: true,
            ..FileTraits::default()
        };
        let name = "nothing-of-this-name".to_owned();
        assert_eq!(picked(&tools, binary), (name, 0));
        let deleted = FileTraits {
            deleted: true,
            ..FileTraits::default()
        };
        assert_eq!(picked(&tools, deleted), (":prompt".to_owned(), 0));
    }

    #[test]
    fn arguments_are_quoted_for_the_shell() {
        let values = [
            ("base", b"/tmp/a b".to_vec()),
            ("labelbase", b"it's".to_vec()),
        ];
        let filled = fill(b"-x $base $labelbase $HOME $", &values);
        assert_eq!(filled, b"-x '/tmp/a b' 'it'\\''s' $HOME $");
        assert_eq!(quote_for_shell(b""), b"''");
        assert_eq!(quote_for_shell(b"a@b"), b"'a@b'");
        assert_eq!(quote_for_shell(b"/a.b+c-1_"), b"/a.b+c-1_");
    }
}
