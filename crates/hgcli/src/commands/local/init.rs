//! `init`: a new repository.

use crate::arguments::{INSECURE, Matches, REMOTECMD, SSH};
use crate::commands::exchange::clone::refuse_http;
use crate::context::{Category, Command, Config, Context, disk};
use crate::remote::peers;
use crate::ui::Abort;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use varve_repo::{Repository, Requirements};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["init"],
    options: &[SSH, REMOTECMD, INSECURE],
    arguments: 0..=1,
    synopsis: "[-e CMD] [--remotecmd CMD] [DEST]",
    summary: "create a new repository in the given directory",
    help: "Makes the directory if it is not there. Without DEST the current directory is used. With a URL \
           of ssh the repository is made on another machine, by the program there. Ends with 0.",
    category: Some(Category::Creation),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let typed = matches.arguments().first().map_or(&b"."[..], Vec::as_slice);
    if typed.starts_with(b"ssh://") {
        for target in peers::destinations(repo, ui, config, &[typed.to_vec()])? {
            peers::create_over_ssh(ui, config, &target)?;
            peers::connect(repo, ui, config, &target)?;
        }
        return Ok(0);
    }
    refuse_http(typed)?;
    let path = repo.cwd.join(Path::new(OsStr::from_bytes(typed)));
    if path.join(".hg").exists() {
        let typed = String::from_utf8_lossy(typed);
        return Err(Abort::new(format!("repository {typed} already exists")));
    }
    Repository::create_as(disk(), &path, &requirements_of_new(config)?)?;
    Ok(0)
}

/// Settings of formats that new repositories always have or never have here.
const FORMATS: &[(&str, bool)] = &[
    ("generaldelta", true),
    ("use-persistent-nodemap", false),
    ("usefncache", true),
    ("usestore", true),
];

/// Settings of formats that are chosen, whether they are usual, and their requirements.
const CHOSEN: &[(&str, bool, &str)] = &[
    ("dotencode", true, "dotencode"),
    ("sparse-revlog", true, "sparserevlog"),
    (
        "use-dirstate-tracked-hint",
        false,
        "dirstate-tracked-key-v1",
    ),
    ("use-dirstate-v2", false, "dirstate-v2"),
    ("use-share-safe", true, "share-safe"),
    ("usegeneraldelta", true, "generaldelta"),
];

/// The requirements that the configuration gives a new repository.
pub(crate) fn requirements_of_new(config: &Config) -> Result<Requirements, Abort> {
    refuse_other_formats(config)?;
    chosen_requirements(config)
}

/// Those of a repository around the files or the store of another one, whose formats are not chosen. The settings of these must
/// be booleans all the same.
pub(crate) fn requirements_around_store(config: &Config) -> Result<Requirements, Abort> {
    for (key, usual) in FORMATS {
        config.boolean("format", key, *usual)?;
    }
    chosen_requirements(config)
}

fn chosen_requirements(config: &Config) -> Result<Requirements, Abort> {
    let engine = config.storage_settings()?.engine_of_new()?;
    let mut requirements = Requirements::of_new_repository(engine);
    for (key, usual, name) in CHOSEN {
        let is_there = config.boolean("format", key, *usual)?;
        requirements = requirements.with(name, is_there);
    }
    // Snapshots upon snapshots are deltas against other revisions than the one before.
    let is_sparse = requirements.has("sparserevlog") && requirements.has("generaldelta");
    Ok(requirements.with("sparserevlog", is_sparse))
}

/// A format that was asked for and cannot be made is not passed over in silence.
fn refuse_other_formats(config: &Config) -> Result<(), Abort> {
    for (key, usual) in FORMATS {
        if config.boolean("format", key, *usual)? != *usual {
            let value = config.text("format", key).unwrap_or_default();
            return Err(Abort::input(format!(
                "repositories with format.{key}={value} are not made here"
            )));
        }
    }
    Ok(())
}
