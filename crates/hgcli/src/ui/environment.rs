//! Environment of the process: variables, directories, and the layers of configuration.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use varve_config::hgrc::{Files, Hgrc, HgrcError, SettingSource};

/// The directory of the system's configuration.
const SYSTEM: &str = "/etc/mercurial";

/// Tells a program that is started by which one, as `HG`, unless that is told already.
pub fn name_this_program(command: &mut Command) {
    if variable("HG").is_none()
        && let Ok(program) = std::env::current_exe()
    {
        command.env("HG", program);
    }
}

/// Files on the disk, with the variables of this process.
#[derive(Clone, Copy, Debug)]
pub struct Environment;

impl Files for Environment {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn expand(&self, path: &[u8]) -> PathBuf {
        let mut out = Vec::with_capacity(path.len());
        let mut rest = path;
        if let Some(behind) = path.strip_prefix(b"~")
            && matches!(behind, [] | [b'/', ..])
            && let Some(home) = variable("HOME")
        {
            out.extend_from_slice(&home);
            rest = behind;
        }
        while let [byte, behind @ ..] = rest {
            let replaced = (*byte == b'$').then(|| variable_at(behind)).flatten();
            match replaced {
                Some((value, behind)) => {
                    out.extend_from_slice(&value);
                    rest = behind;
                }
                None => {
                    out.push(*byte);
                    rest = behind;
                }
            }
        }
        PathBuf::from(OsString::from_vec(out))
    }
}

/// `NAME…` or `{NAME}…`: the value of a variable that is set, and the text behind its name.
fn variable_at(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (name, behind) = match text.strip_prefix(b"{") {
        Some(inner) => {
            let end = inner.iter().position(|byte| *byte == b'}')?;
            (&inner[..end], &inner[end + 1..])
        }
        None => {
            let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let end = text.iter().position(|byte| !is_name(byte));
            text.split_at(end.unwrap_or(text.len()))
        }
    };
    let value = variable(
        std::str::from_utf8(name)
            .ok()
            .filter(|name| !name.is_empty())?,
    )?;
    Some((value, behind))
}

/// A variable of the environment.
pub fn variable(name: &str) -> Option<Vec<u8>> {
    std::env::var_os(name).map(OsString::into_vec)
}

/// Whether `HGPLAIN` asks for output that no configuration changes, except for `feature`.
pub fn is_plain(feature: Option<&str>) -> bool {
    let except = variable("HGPLAINEXCEPT");
    if variable("HGPLAIN").is_none() && except.is_none() {
        return false;
    }
    let except = except.unwrap_or_default();
    let mut exceptions = except.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    feature.is_none_or(|feature| !exceptions.any(|name| name == feature.as_bytes()))
}

/// True if `HGPLAIN` has the word `+strictflags`.
pub fn has_strict_flags() -> bool {
    let plain = variable("HGPLAIN").unwrap_or_default();
    let mut words = plain.split(|byte| *byte == b',');
    words.any(|word| word == b"+strictflags")
}

/// Whether a hook about the repository in `root` has called, which may read pending data there.
pub fn shows_pending(root: &Path) -> bool {
    variable("HG_PENDING").is_some_and(|pending| pending == root.as_os_str().as_bytes())
}

/// Configuration of the system and the user.
pub fn user_layers() -> Result<Hgrc, HgrcError> {
    let mut hgrc = Hgrc::default();
    match variable("HGRCPATH") {
        Some(list) => {
            add_programs(&mut hgrc);
            let parts = list.split(|byte| *byte == b':');
            for part in parts.filter(|part| !part.is_empty()) {
                add_file_or_directory(&mut hgrc, &Environment.expand(part))?;
            }
        }
        None => {
            add_merge_tools(&mut hgrc)?;
            for path in system_files() {
                hgrc.add_file(&Environment, &path)?;
            }
            add_directory(&mut hgrc, &Path::new(SYSTEM).join("hgrc.d"))?;
            add_programs(&mut hgrc);
            for path in user_files() {
                hgrc.add_file(&Environment, &path)?;
            }
        }
    }
    Ok(hgrc)
}

/// Settings for usual programs that merge: line, key and value, as `hg config --source merge-tools` shows those that
/// Mercurial 7.2 comes with.
const MERGE_TOOLS: &str = include_str!("merge_tools.txt");
/// How Mercurial names their file.
const MERGE_TOOLS_FILE: &str = "resource:mercurial.defaultrc.mergetools.rc";

/// Adds the settings of programs that merge.
fn add_merge_tools(hgrc: &mut Hgrc) -> Result<(), HgrcError> {
    let (mut text, mut at) = (String::from("[merge-tools]\n"), 2);
    for (line, setting) in MERGE_TOOLS.lines().filter_map(|line| line.split_once(' ')) {
        let line = line.parse().unwrap_or(at);
        text.extend((at..line).map(|_| '\n'));
        text.extend([setting, "\n"]);
        at = line + 1;
    }
    hgrc.add_file(&BuiltIn(text), Path::new(MERGE_TOOLS_FILE))
}

/// A file of configuration that comes with the program.
struct BuiltIn(String);

impl Files for BuiltIn {
    fn read(&self, _path: &Path) -> io::Result<Vec<u8>> {
        Ok(self.0.clone().into_bytes())
    }

    fn expand(&self, path: &[u8]) -> PathBuf {
        Environment.expand(path)
    }
}

/// Files of the system's configuration, besides those of a directory.
pub fn system_files() -> Vec<PathBuf> {
    vec![Path::new(SYSTEM).join("hgrc")]
}

/// Files of the user's configuration.
pub fn user_files() -> Vec<PathBuf> {
    let path = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(directory)
    };
    let home = path("HOME");
    let xdg = path("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let mut files: Vec<PathBuf> = home.into_iter().map(|home| home.join(".hgrc")).collect();
    files.extend(xdg.map(|xdg| xdg.join("hg/hgrc")));
    files
}

fn directory(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

/// Programs that variables name.
fn add_programs(hgrc: &mut Hgrc) {
    for (name, section, key) in [
        ("EDITOR", "ui", "editor"),
        ("VISUAL", "ui", "editor"),
        ("PAGER", "pager", "pager"),
    ] {
        if let Some(value) = variable(name) {
            let source = SettingSource::Named(format!("${name}"));
            hgrc.set(section.as_bytes(), key.as_bytes(), &value, source);
        }
    }
}

fn add_file_or_directory(hgrc: &mut Hgrc, path: &Path) -> Result<(), HgrcError> {
    if path.is_dir() {
        add_directory(hgrc, path)
    } else {
        hgrc.add_file(&Environment, path)
    }
}

/// Files of a directory whose names end in `.rc`, sorted.
fn add_directory(hgrc: &mut Hgrc, path: &Path) -> Result<(), HgrcError> {
    let Ok(entries) = std::fs::read_dir(path) else {
        return Ok(());
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.as_os_str().as_bytes().ends_with(b".rc"));
    files.sort_unstable();
    files
        .iter()
        .try_for_each(|file| hgrc.add_file(&Environment, file))
}

/// Files of a repository's configuration.
pub const OF_REPOSITORY: [&str; 2] = [".hg/hgrc", ".hg/hgrc-not-shared"];

/// Defaults that `ui.tweakdefaults` replaces: section, key, value.
const TWEAKED: &[(&str, &str, &str)] = &[
    ("commands", "grep.all-files", "True"),
    ("commands", "update.check", "noconflict"),
    ("commands", "status.verbose", "True"),
    ("commands", "resolve.explicit-re-merge", "True"),
    ("diff", "git", "1"),
    ("diff", "showfunc", "1"),
    ("diff", "word-diff", "1"),
    ("ui", "rollback", "False"),
    ("ui", "statuscopies", "yes"),
    ("ui", "interface", "curses"),
    ("ui", "relative-paths", "yes"),
];

/// Sets what `ui.tweakdefaults` asks for, where nothing else has set it.
pub fn tweak_defaults(config: &mut Hgrc) -> Result<(), HgrcError> {
    if !config.boolean("ui", "tweakdefaults", false)? || is_plain(Some("tweakdefaults")) {
        return Ok(());
    }
    for (section, key, value) in TWEAKED {
        if config.item(section, key).is_none() {
            let source = SettingSource::Named("<tweakdefaults>".to_owned());
            config.set(section.as_bytes(), key.as_bytes(), value.as_bytes(), source);
        }
    }
    Ok(())
}

/// Sections that may not change output for scripts, with the name of their exception.
const NOT_PLAIN_SECTIONS: &[(&str, Option<&str>)] = &[
    ("alias", Some("alias")),
    ("color", Some("color")),
    ("command-templates", None),
    ("commands", None),
    ("defaults", None),
    ("revsetalias", Some("revsetalias")),
    ("templatealias", Some("templatealias")),
];

/// The same for keys of `[ui]`.
const NOT_PLAIN_UI: &[&str] = &[
    "debug",
    "fallbackencoding",
    "logtemplate",
    "message-output",
    "quiet",
    "slash",
    "statuscopies",
    "style",
    "traceback",
    "verbose",
];

/// Takes out the settings that `HGPLAIN` forbids.
pub fn make_plain(hgrc: &mut Hgrc) {
    if !is_plain(None) {
        return;
    }
    for (section, exception) in NOT_PLAIN_SECTIONS {
        if is_plain(*exception) {
            hgrc.unset_section(section);
        }
    }
    for key in NOT_PLAIN_UI {
        hgrc.unset(b"ui", key.as_bytes());
    }
}
