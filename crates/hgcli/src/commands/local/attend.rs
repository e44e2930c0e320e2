//! Watching an update at the terminal: its output, its prompts, and the merge tools.

use crate::commands::local::conflict_labels::{self, Describer};
use crate::commands::local::merge_settings;
use crate::commands::local::merge_trace;
use crate::commands::local::tool_announcement;
use crate::context::Config;
use crate::ui::{Abort, Ui, environment};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use varve_config::hgrc::Files;
use varve_lang::patterns::{MatchRequest, Matcher, NameCheck, RegexEngine};
use varve_workdir::{
    Backups, DescribedSide, MergeLabels, MergeOptions, MergeTool, Resolution, ToolCheck,
    ToolObstacle, ToolRun, ToolSelection, ToolTable, UpdateEvent, UpdateObserver, UpdateQuestion,
};

/// Prints the steps of an update, and asks about conflicts.
pub(crate) struct Watcher<'s> {
    ui: &'s mut Ui,
    interactive: bool,
    labels: MergeLabels,
    config: Config,
    /// Describes changesets in the lines around conflicts, once there is one.
    describer: Option<Describer>,
    /// The first thing that could not be printed.
    failed: Option<Abort>,
}

impl<'s> Watcher<'s> {
    /// Asks only if questions can be answered. `labels` name the sides in them.
    pub(crate) fn new(
        ui: &'s mut Ui,
        config: &Config,
        labels: &MergeLabels,
    ) -> Result<Self, Abort> {
        Ok(Watcher {
            interactive: ui.is_interactive()?,
            labels: labels.clone(),
            config: config.clone(),
            describer: None,
            ui,
            failed: None,
        })
    }

    /// Fails if anything could not be printed.
    pub(crate) fn finish(self) -> Result<(), Abort> {
        self.failed.map_or(Ok(()), Err)
    }

    fn keep(&mut self, printed: Result<(), Abort>) {
        if let Err(abort) = printed {
            self.failed.get_or_insert(abort);
        }
    }

    fn print(&mut self, event: &UpdateEvent<'_>) -> Result<(), Abort> {
        let ui = &mut *self.ui;
        let line = |parts: &[&[u8]]| [&parts.concat()[..], b"\n"].concat();
        match event {
            UpdateEvent::Planned(comparison) => merge_trace::print_comparison(ui, comparison),
            UpdateEvent::Decided(..)
            | UpdateEvent::Preserving { .. }
            | UpdateEvent::MergedElsewhere(_)
            | UpdateEvent::ToolPicked { .. }
            | UpdateEvent::Versions(_)
            | UpdateEvent::MergedBefore
            | UpdateEvent::LaunchingTool { .. }
            | UpdateEvent::ToolEnded(_) => merge_trace::print_step(ui, event),
            UpdateEvent::Removing(path) => ui.note(line(&[b"removing ", path])),
            UpdateEvent::CreatingDirectory(path) => {
                ui.note(format!("creating directory: {}\n", path.display()))
            }
            UpdateEvent::Getting(path) => ui.note(line(&[b"getting ", path])),
            UpdateEvent::Moving { from, to } => ui.note(line(&[b"moving ", from, b" to ", to])),
            UpdateEvent::GettingAs { from, to } => ui.note(line(&[b"getting ", from, b" to ", to])),
            UpdateEvent::ReplacingUntracked(path) => {
                ui.warn(line(&[path, b": replacing untracked file"]))
            }
            UpdateEvent::Auction {
                comparison,
                auction,
            } => merge_trace::print_auction(ui, comparison, auction),
            UpdateEvent::RenamedTwice { .. }
            | UpdateEvent::RenamedAndDeleted { .. }
            | UpdateEvent::CopiesPassedOver { .. } => print_about_renames(ui, event),
            UpdateEvent::NoToolConfigured => ui.note("couldn't find merge tool hgmerge\n"),
            UpdateEvent::ToolObstacle {
                tool,
                pattern,
                obstacle,
            } => print_obstacle(ui, tool, *pattern, obstacle),
            UpdateEvent::RunningTool { tool, path } => {
                ui.note(line(&[b"running merge tool ", tool, b" for file ", path]))
            }
            UpdateEvent::ToolFailed(path) => ui.warn(line(&[b"merging ", path, b" failed!"])),
            UpdateEvent::NoTool(path) => ui.warn(line(&[b"no tool found to merge ", path])),
            UpdateEvent::Merging { ours, theirs, dest } if ours == theirs && ours == dest => {
                ui.status(line(&[b"merging ", ours]))
            }
            UpdateEvent::Merging { ours, theirs, dest } => {
                ui.status(line(&[b"merging ", ours, b" and ", theirs, b" to ", dest]))
            }
            UpdateEvent::LooksBinary(path) => {
                ui.warn(line(&[b"warning: ", path, b" looks like a binary file."]))
            }
            UpdateEvent::IsLink { tool, path } => ui.warn(line(&[
                b"warning: internal ",
                tool.as_bytes(),
                b" cannot merge symlinks for ",
                path,
            ])),
            UpdateEvent::KeepsMode(path) => ui.warn(line(&[
                b"warning: cannot merge flags for ",
                path,
                b" without common ancestor - keeping local flags",
            ])),
            UpdateEvent::Conflicts(path) => ui.warn(line(&[
                b"warning: conflicts while merging ",
                path,
                b"! (edit, then use 'hg resolve --mark')",
            ])),
            UpdateEvent::MergedTags | UpdateEvent::TagConflicts { .. } => print_tags(ui, event),
        }
    }

    /// Asks whether a program has merged a file; no is the default.
    fn ask_success(&mut self, question: &str) -> Result<bool, Abort> {
        loop {
            self.ui.print_question(question.trim_end())?;
            if !self.interactive {
                self.ui.write("n\n")?;
                return Ok(false);
            }
            match &self.ui.read_answer(b"n")?.to_ascii_lowercase()[..] {
                b"y" => return Ok(true),
                b"n" => return Ok(false),
                _ => self.ui.write("unrecognized response\n")?,
            }
        }
    }

    fn ask(&mut self, text: &[u8], answers: &[(u8, Resolution)]) -> Result<Resolution, Abort> {
        loop {
            self.ui.write(text)?;
            if !self.interactive {
                self.ui.write("u\n")?;
                return Ok(Resolution::Unresolved);
            }
            let Some(typed) = self.ui.read_optional_answer(b"u")? else {
                self.ui.write("\n")?;
                return Ok(Resolution::Unresolved);
            };
            let letter = typed.trim_ascii().to_ascii_lowercase();
            if letter == b"u" {
                return Ok(Resolution::Unresolved);
            }
            let known = answers.iter().find(|(known, _)| letter == [*known]);
            if let Some((_, answer)) = known {
                return Ok(*answer);
            }
            self.ui.write("unrecognized response\n")?;
        }
    }
}

/// Names a tool that is passed over; one that nothing asked for only with `--verbose`.
pub(crate) fn print_obstacle(
    ui: &mut Ui,
    tool: &[u8],
    pattern: Option<&[u8]>,
    obstacle: &ToolObstacle<'_>,
) -> Result<(), Abort> {
    let of_pattern = match pattern {
        Some(pattern) => [b" (for pattern ", pattern, b")"].concat(),
        None => Vec::new(),
    };
    let words = match obstacle {
        ToolObstacle::NotFound => {
            let words = [b"couldn't find merge tool ", tool, &of_pattern, b"\n"].concat();
            return match pattern {
                Some(_) => ui.warn(words),
                None => ui.note(words),
            };
        }
        ToolObstacle::Cannot(what) => [b" can't handle ", what.as_bytes()].concat(),
        ToolObstacle::NeedsDisplay => b" requires a GUI".to_vec(),
        ToolObstacle::PatternOverBinary(path) => {
            let parts: [&[u8]; 5] = [
                b"warning: check merge-patterns configurations, if '",
                tool,
                b"' for binary file '",
                path,
                b"' is unintentional\n(see 'hg help merge-tools' for binary files capability)\n",
            ];
            return ui.warn(parts.concat());
        }
    };
    ui.warn([b"tool ", tool, &of_pattern[..], &words, b"\n"].concat())
}

/// Says how the merge of tags ended; of other events nothing.
fn print_tags(ui: &mut Ui, event: &UpdateEvent<'_>) -> Result<(), Abort> {
    match event {
        UpdateEvent::MergedTags => ui.note(".hgtags merged successfully\n"),
        UpdateEvent::TagConflicts { tags, path } => print_tag_conflicts(ui, tags, path),
        _ => Ok(()),
    }
}

/// Says which tags are in conflict, and what may be done about it.
fn print_tag_conflicts(ui: &mut Ui, tags: &[Vec<u8>], path: &[u8]) -> Result<(), Abort> {
    let words = format!(
        "automatic .hgtags merge failed\nthe following {} tags are in conflict: ",
        tags.len()
    );
    let (tags, before) = (tags.join(&b", "[..]), b"\nautomatic tag merging of ");
    let hint = b" failed! (use 'hg resolve --tool :merge' or another merge tool of your choice)\n";
    ui.warn([words.as_bytes(), &tags, before, path, hint].concat())
}

/// Renames that conflict, or that are not looked for.
fn print_about_renames(ui: &mut Ui, event: &UpdateEvent<'_>) -> Result<(), Abort> {
    match event {
        UpdateEvent::RenamedTwice { source, names } => {
            let what = b" was renamed multiple times to:\n";
            ui.warn(possible_conflict(source, what, names))
        }
        UpdateEvent::RenamedAndDeleted { source, names } => {
            let what = b" was deleted and renamed to:\n";
            ui.warn(possible_conflict(source, what, names))
        }
        UpdateEvent::CopiesPassedOver { path, candidates } => {
            let count = candidates.to_string();
            let words: [&[u8]; 5] = [
                b"skipping copytracing for '",
                path,
                b"', more candidates than the limit: ",
                count.as_bytes(),
                b"\n",
            ];
            ui.status(words.concat())
        }
        _ => Ok(()),
    }
}

fn possible_conflict(source: &[u8], what: &[u8], names: &[Vec<u8>]) -> Vec<u8> {
    let mut text = [b"note: possible conflict - ", source, what].concat();
    for name in names {
        text.extend_from_slice(&[b" ", &name[..], b"\n"].concat());
    }
    text
}

impl UpdateObserver for Watcher<'_> {
    fn on_event(&mut self, event: &UpdateEvent<'_>) {
        let printed = self.print(event);
        self.keep(printed);
    }

    fn run_program(&mut self, command: &mut Command) -> io::Result<ExitStatus> {
        self.ui.print_peer_trace()?;
        self.ui.out.flush()?;
        crate::ui::environment::name_this_program(command);
        self.ui.streams.run(command)
    }

    fn announce_tool(&mut self, run: &ToolRun<'_>) -> bool {
        let printed = tool_announcement::print(self.ui, &self.config, run);
        let is_printed = printed.is_ok();
        self.keep(printed);
        is_printed
    }

    fn confirm(&mut self, check: &ToolCheck<'_>) -> bool {
        let shown = String::from_utf8_lossy;
        let question = match check {
            ToolCheck::Success(path) => format!("was merge of '{}' successful (yn)? ", shown(path)),
            ToolCheck::Unchanged(path) => format!(
                " output file {} appears unchanged\nwas merge successful (yn)? ",
                shown(path)
            ),
        };
        self.ask_success(&question).unwrap_or_else(|abort| {
            self.keep(Err(abort));
            false
        })
    }

    fn describe(&mut self, side: &DescribedSide<'_>) -> Vec<u8> {
        let described = conflict_labels::describe(self.ui, &self.config, &mut self.describer, side);
        described.unwrap_or_else(|abort| {
            self.keep(Err(abort));
            side.name.to_vec()
        })
    }

    fn decide(&mut self, question: &UpdateQuestion<'_>) -> Resolution {
        let ours = format!("[{}]", String::from_utf8_lossy(&self.labels.ours));
        let theirs = format!("[{}]", String::from_utf8_lossy(&self.labels.theirs));
        let (path, rest, answers) = match question {
            UpdateQuestion::DeletedThere(path) => (
                path,
                format!(
                    "' was deleted in other {theirs} but was modified in local {ours}.\n\
                     You can use (c)hanged version, (d)elete, or leave (u)nresolved.\n"
                ),
                [(b'c', Resolution::Ours), (b'd', Resolution::Theirs)],
            ),
            UpdateQuestion::DeletedHere(path) => (
                path,
                format!(
                    "' was deleted in local {ours} but was modified in other {theirs}.\n\
                     You can use (c)hanged version, leave (d)eleted, or leave (u)nresolved.\n"
                ),
                [(b'c', Resolution::Theirs), (b'd', Resolution::Ours)],
            ),
            UpdateQuestion::WhoseFile(path) => (
                path,
                format!(
                    "' needs to be resolved.\n\
                     You can keep (l)ocal {ours}, take (o)ther {theirs}, or leave (u)nresolved.\n"
                ),
                [(b'l', Resolution::Ours), (b'o', Resolution::Theirs)],
            ),
        };
        let what = b"What do you want to do? ";
        let text = [&b"file '"[..], path, rest.as_bytes(), what].concat();
        match self.ask(&text, &answers) {
            Ok(answer) => answer,
            Err(abort) => {
                self.keep(Err(abort));
                Resolution::Unresolved
            }
        }
    }
}

/// Tool that merges files: the call's, or that of the environment or the configuration.
///
/// # Errors
/// A wrong pattern in `[merge-patterns]`.
pub(crate) fn tool_choice(config: &Config, tool: Option<&[u8]>) -> Result<MergeOptions, Abort> {
    Ok(MergeOptions {
        chosen: chosen_tool(config, tool)?,
        markers: conflict_labels::style(config)?,
        backups: backup_directory(config),
        touching: merge_settings::touching_changes(config)?,
        partial: merge_settings::partial_tools(config)?,
        untracked: merge_settings::untracked_files(config)?,
        copies: merge_settings::copy_tracing(config)?,
    })
}

/// Where files are kept before they are overwritten: `ui.origbackuppath`.
pub(crate) fn backup_directory(config: &Config) -> Backups {
    let set = config.get("ui", "origbackuppath");
    match set.filter(|path| !path.is_empty()) {
        Some(path) => Backups::Below(environment::Environment.expand(path)),
        None => Backups::Beside,
    }
}

fn chosen_tool(config: &Config, tool: Option<&[u8]>) -> Result<ToolSelection, Abort> {
    let table = tool_table(config, tool)?;
    let named = table.forced.as_ref().or(table.environment.as_ref());
    if let Some(name) = named {
        let tool = MergeTool::named(name).map(ToolSelection::Forced);
        return Ok(tool.unwrap_or_else(|| ToolSelection::Table(Arc::new(table))));
    }
    let has_sections = ["merge-patterns", "merge-tools"]
        .iter()
        .any(|section| !config.section(section).is_empty());
    let may_choose = has_sections || table.configured.is_some() || is_on_path("hgmerge");
    Ok(match may_choose {
        false => ToolSelection::Default,
        true => ToolSelection::Table(Arc::new(table)),
    })
}

/// All that the configuration and the environment say about tools.
pub(crate) fn tool_table(config: &Config, tool: Option<&[u8]>) -> Result<ToolTable, Abort> {
    let set = |name: Option<Vec<u8>>| name.filter(|name| !name.is_empty());
    let root = Path::new("/");
    let patterns = config.section("merge-patterns").iter().map(|item| {
        let request = MatchRequest {
            engine: RegexEngine::Backtracking,
            ..MatchRequest::of_setting(root, std::slice::from_ref(&item.key))
        };
        let matcher = Matcher::new(&request, &NameCheck)?;
        Ok((item.key.clone(), matcher, item.value.clone()))
    });
    let display = environment::variable("DISPLAY");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    Ok(ToolTable {
        forced: set(tool.map(<[u8]>::to_vec)),
        environment: set(environment::variable("HGMERGE")),
        patterns: patterns.collect::<Result<_, Abort>>()?,
        configured: set(config.get("ui", "merge").map(<[u8]>::to_vec)),
        config: config.values(),
        has_display: display.is_some_and(|display| !display.is_empty()),
        directories: std::env::split_paths(&paths).collect(),
    })
}

fn is_on_path(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|directory| directory.join(program).is_file())
}
