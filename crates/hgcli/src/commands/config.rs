//! `config`: settings, and the files that they come from.

use crate::arguments::{Flag, Matches, TEMPLATE};
use crate::context::{Category, Command, Context, Repo};
use crate::render::Formatter;
use crate::render::formatter::Value;
use crate::ui::editor::{self, EditorVariables};
use crate::ui::{Abort, FailureKind, Ui, environment};
use std::path::PathBuf;
use varve_config::hgrc::{ConfigItem, Hgrc, SettingSource};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["config", "showconfig", "debugconfig"],
    options: &[
        Flag::flag('e', "edit", "edit the user's file"),
        Flag::flag('l', "local", "edit the repository's file"),
        Flag::long_flag(
            "shared",
            "edit the file of the repository whose store is shared",
        ),
        Flag::long_flag(
            "non-shared",
            "edit the repository's file that shares do not read",
        ),
        Flag::flag('g', "global", "edit the system's file"),
        Flag::flag('u', "untrusted", "also what untrusted files set"),
        Flag::long_flag("source", "print where each value was set"),
        TEMPLATE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[NAME]...",
    summary: "show the configuration of all files together",
    help: "Each NAME is a section, or a section and a key with a dot between them. If one key is \
           all that is asked for, only its value is printed.\n\nEnds with 0, or with 1 if nothing \
           of these names is set.",
    category: Some(Category::Help),
    run,
};

/// Options that name the file to be edited, in the order in which two of them are refused.
const LEVELS: [&str; 4] = ["local", "global", "shared", "non-shared"];

/// Beginning of a new file of configuration.
const SAMPLE: &str = "# Configuration of hg, see `hg help config`\n[ui]\n# The author of commits, \
                      for instance\n# username = Ada Lovelace <ada@example.org>\n";

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    if matches.flag("edit") || LEVELS.iter().any(|level| matches.flag(level)) {
        return edit(&mut context.repo, &mut context.ui, matches);
    }
    let names = matches.arguments();
    let (keys, sections): (Vec<&Vec<u8>>, Vec<&Vec<u8>>) =
        names.iter().partition(|name| name.contains(&b'.'));
    let only = keys.len() == 1 && sections.is_empty();
    let sources = matches.flag("source") || context.ui.verbosity.debug;
    if context.ui.verbosity.debug {
        for file in context.config.files_read.clone() {
            context
                .ui
                .write(format!("read config from: {}\n", file.display()))?;
        }
    }
    let read = match &context.config.with_untrusted {
        Some(all) if matches.flag("untrusted") => all,
        _ => &context.config.values,
    };
    let config = shown_config(&context.repo, read, matches);
    let mut found = false;
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "config")?;
    for (section, items) in config.sections() {
        for item in items {
            let name = [section, b".", &item.key].concat();
            if !names.is_empty()
                && !keys.contains(&&name)
                && !sections.iter().any(|wanted| *wanted == section)
            {
                continue;
            }
            found = true;
            print(&mut context.ui, &mut out, &name, item, (only, sources))?;
        }
    }
    out.end(&mut context.ui)?;
    Ok(u8::from(!found && !names.is_empty()))
}

/// The configuration with Mercurial's additions: the repository's place, and options that
/// count as values.
fn shown_config(repo: &Repo, config: &Hgrc, matches: &Matches) -> Hgrc {
    let mut config = config.clone();
    let named = |name: &str| SettingSource::Named(name.to_owned());
    if let Some(root) = repo.location().root() {
        use std::os::unix::ffi::OsStrExt;
        let root = root.as_os_str().as_bytes();
        config.set(b"bundle", b"mainreporoot", root, named("repo"));
    }
    if ["verbose", "debug", "quiet"]
        .iter()
        .any(|flag| matches.flag(flag))
    {
        for (flag, on) in [
            ("verbose", matches.flag("verbose")),
            ("debug", matches.flag("debug")),
            ("quiet", matches.flag("quiet")),
        ] {
            let value: &[u8] = if on { b"True" } else { b"False" };
            config.set(b"ui", flag.as_bytes(), value, named(&format!("--{flag}")));
        }
    }
    if matches.flag("noninteractive") {
        config.set(b"ui", b"interactive", b"off", named("-y"));
    }
    config
}

fn print(
    ui: &mut Ui,
    out: &mut Formatter,
    name: &[u8],
    item: &ConfigItem,
    (only, sources): (bool, bool),
) -> Result<(), Abort> {
    let source = item.source.to_string();
    out.item(ui)?;
    out.data("source", source.as_str());
    if sources {
        out.plain(ui, format!("{source}: "))?;
    }
    if !only {
        out.plain(ui, [name, b"="].concat())?;
    }
    out.data("name", name);
    out.data("value", &item.value);
    // Aliases have no default value.
    if !name.starts_with(b"alias.") {
        out.data("defaultvalue", default_value(name));
    }
    let lines: Vec<&[u8]> = item.value.split(|byte| *byte == b'\n').collect();
    out.plain(ui, lines.join(&b"\\n"[..]))?;
    out.plain(ui, "\n")
}

/// Defaults of a few settings; those of the others are not printed.
fn default_value(name: &[u8]) -> Value {
    match name {
        b"bundle.mainreporoot" => Value::from(""),
        b"ui.verbose" | b"ui.debug" | b"ui.quiet" => Value::Bool(false),
        _ => Value::Null,
    }
}

/// Opens a file in the user's editor.
fn edit(repo: &mut Repo, ui: &mut Ui, matches: &Matches) -> Result<u8, Abort> {
    let files = edited_files(repo, matches)?;
    let existing = files.iter().find(|file| file.exists());
    let Some(file) = existing.or(files.first()) else {
        return Err(Abort::input(
            "there is no place for a file of configuration",
        ));
    };
    let of_repository = LEVELS
        .iter()
        .any(|level| *level != "global" && matches.flag(level));
    if existing.is_none() && !of_repository {
        std::fs::write(file, SAMPLE).map_err(|error| Abort::file(&error, file))?;
    }
    editor::run_or_fail(ui, file, &EditorVariables::default(), FailureKind::Input)?;
    Ok(0)
}

/// The files that the options mean, of which the first that exists is edited.
fn edited_files(repo: &mut Repo, matches: &Matches) -> Result<Vec<PathBuf>, Abort> {
    let mut levels = LEVELS.into_iter().filter(|level| matches.flag(level));
    let level = levels.next();
    if let (Some(one), Some(other)) = (level, levels.next()) {
        let words = format!("cannot specify both --{one} and --{other}");
        return Err(Abort::input(words));
    }
    let Some(level) = level else {
        return Ok(environment::user_files());
    };
    if level == "global" {
        return Ok(environment::system_files());
    }
    if repo.location().root().is_none() {
        let words = format!("can't use --{level} outside a repository");
        return Err(Abort::input(words));
    }
    let own = repo.root()?.to_owned();
    Ok(vec![match level {
        "shared" => shared_file(repo)?,
        "non-shared" => own.join(".hg/hgrc-not-shared"),
        _ => own.join(".hg/hgrc"),
    }])
}

/// The file of the repository whose store is shared.
fn shared_file(repo: &mut Repo) -> Result<PathBuf, Abort> {
    let repository = repo.repository()?;
    let Some(source) = repository.share_source() else {
        let words = "repository is not shared; can't use --shared";
        return Err(Abort::input(words));
    };
    match repository.requirements().has("share-safe") {
        true => Ok(source.join("hgrc")),
        false => Err(Abort::input(
            "share safe feature not enabled; unable to edit shared source repository config",
        )),
    }
}
