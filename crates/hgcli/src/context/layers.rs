//! Layers of configuration: the system's and the user's, then the repository's, then the arguments.
//!
//! A repository may lie where other users can write. Its `hgrc` counts only if the file is the
//! user's own, or if `[trusted]` has its owner or group: it could name programs to run.

use crate::ui::{Abort, environment};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use varve_config::hgrc::{Files, Hgrc, HgrcError, SettingSource};

/// The layers besides that of a repository.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// Of the system and the user.
    pub user: Hgrc,
    /// Of `--config`.
    pub arguments: Hgrc,
}

/// The configuration for one repository.
#[derive(Clone, Debug, Default)]
pub struct Layered {
    /// All that counts.
    pub config: Hgrc,
    /// The same with untrusted files over all else, if there are any.
    pub with_untrusted: Option<Hgrc>,
    /// The untrusted files.
    pub untrusted: Vec<UntrustedConfig>,
}

/// A file whose owner is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedConfig {
    /// Relative to the repository's directory.
    name: &'static str,
    user: String,
    group: String,
    /// The number and text of the first line that does not parse.
    fault: Option<(usize, String)>,
}

impl UntrustedConfig {
    /// The warning about it, for a repository that is shown as `root`.
    pub fn warning(&self, root: &Path) -> String {
        let (path, user, group) = (root.join(self.name), &self.user, &self.group);
        let path = path.display();
        let mut text =
            format!("not trusting file {path} from untrusted user {user}, group {group}\n");
        if let Some((line, words)) = &self.fault {
            text += &format!("ignored {path}:{line}: {words}\n");
        }
        text
    }
}

impl Layers {
    /// Adds a file of `--config-file`.
    ///
    /// # Errors
    /// A file that is not there, or is none of configuration.
    pub fn add_argument_file(&mut self, name: &[u8]) -> Result<(), Abort> {
        let path = environment::Environment.expand(name);
        if !path.exists() {
            let shown = String::from_utf8_lossy(name);
            let message = format!("missing file \"{shown}\" for --config-file");
            return Err(Abort::input(message));
        }
        Ok(self.arguments.add_file(&environment::Environment, &path)?)
    }

    /// Puts the layer of the repository in `root`, if there is one, between the others, unless `HGRCSKIPREPO` is set.
    ///
    /// # Errors
    /// An error in a file that counts.
    pub fn with(&self, root: Option<&Path>) -> Result<Layered, HgrcError> {
        let mut all = Layered {
            config: self.user.clone(),
            ..Layered::default()
        };
        let root = root.filter(|_| environment::variable("HGRCSKIPREPO").is_none());
        let shared = root.and_then(share_safe_source);
        let shared = shared.iter().map(|source| (OF_SHARE, source.join("hgrc")));
        let own = root.iter().flat_map(|root| {
            let names = environment::OF_REPOSITORY;
            names.map(|name| (name, root.join(name)))
        });
        for (name, path) in shared.chain(own) {
            match self.untrusted(name, &path) {
                None => {
                    all.config.add_file(&environment::Environment, &path)?;
                    if let Some(other) = &mut all.with_untrusted {
                        other.add_file(&environment::Environment, &path)?;
                    }
                }
                Some(mut untrusted) => {
                    let arguments = &self.arguments;
                    let other = all.with_untrusted.get_or_insert_with(|| {
                        let mut other = all.config.clone();
                        other.add_all(arguments);
                        other
                    });
                    // An untrusted file need not even be a configuration.
                    let added = other.add_file(&environment::Environment, &path);
                    if let Err(HgrcError::Syntax {
                        place: SettingSource::Line(_, line),
                        text,
                    }) = added
                    {
                        untrusted.fault = Some((line, text));
                    }
                    all.untrusted.push(untrusted);
                }
            }
        }
        // HGPLAIN is about settings of files; --config is part of the call.
        environment::make_plain(&mut all.config);
        all.config.add_all(&self.arguments);
        environment::tweak_defaults(&mut all.config)?;
        if !all
            .config
            .boolean("ui", "report_untrusted", true)
            .unwrap_or(true)
        {
            all.untrusted.clear();
        }
        Ok(all)
    }

    /// The file, unless its owner is the user or is trusted.
    fn untrusted(&self, name: &'static str, path: &Path) -> Option<UntrustedConfig> {
        let metadata = std::fs::metadata(path).ok()?;
        if own_id() == Some(metadata.uid()) {
            return None;
        }
        let mut trusted = self.user.clone();
        trusted.add_all(&self.arguments);
        let user = name_of("/etc/passwd", metadata.uid());
        let group = name_of("/etc/group", metadata.gid());
        let (users, groups) = (
            trusted.list("trusted", "users"),
            trusted.list("trusted", "groups"),
        );
        let anybody = users.iter().chain(&groups).any(|name| name == b"*");
        let has = |list: &[Vec<u8>], name: &str| list.iter().any(|word| word == name.as_bytes());
        if anybody || has(&users, &user) || has(&groups, &group) {
            return None;
        }
        Some(UntrustedConfig {
            name,
            user,
            group,
            fault: None,
        })
    }
}

/// How warnings call the configuration of a share's source.
const OF_SHARE: &str = ".hg/hgrc";

/// `.hg` of the repository whose store this one has, if its configuration counts here, too.
fn share_safe_source(root: &Path) -> Option<PathBuf> {
    let hg = root.join(".hg");
    let requires = std::fs::read_to_string(hg.join("requires")).ok()?;
    let has = |name| requires.lines().any(|line| line == name);
    if !has("share-safe") || !(has("shared") || has("relshared")) {
        return None;
    }
    let path = std::fs::read(hg.join("sharedpath")).ok()?;
    let path = path.strip_suffix(b"\n").unwrap_or(&path);
    Some(hg.join(OsStr::from_bytes(path)))
}

/// The user of this process; `None` where the system has no answer, and then no owner is trusted.
fn own_id() -> Option<u32> {
    let own = |path: PathBuf| std::fs::metadata(path).ok().map(|found| found.uid());
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    own(PathBuf::from("/proc/self")).or_else(|| own(home()?))
}

/// The name of a number in a table of the system, or else the number.
fn name_of(table: &str, id: u32) -> String {
    let number = id.to_string();
    let text = std::fs::read(table).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let named = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then(|| name.to_owned())
    });
    named.unwrap_or(number)
}
