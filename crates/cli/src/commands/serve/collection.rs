//! `hg serve --web-conf`: repositories that a settings file names.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_config::hgrc::{Hgrc, HgrcError, SettingSource};
use varve_hgcli::arguments::Matches;
use varve_hgcli::context::Config;
use varve_hgcli::ui::clock::clock;
use varve_hgcli::ui::environment::{Environment, is_plain};
use varve_hgcli::ui::{Abort, Ui, system_words};
use varve_server::{Collection, CollectionSettings, CollectionSource, LoneConfig, ServerError};

/// Options that name the settings file; the first one counts.
const OPTIONS: [&str; 2] = ["web-conf", "webdir-conf"];

/// Sections that name repositories, and are no settings of these.
const NAMES: [&str; 2] = ["paths", "collections"];

/// The settings file that is named, if one is.
pub(super) fn settings_file(matches: &Matches) -> Option<PathBuf> {
    let mut values = OPTIONS.iter().filter_map(|name| matches.value(name));
    let value = values.find(|value| !value.is_empty())?;
    Some(Path::new(OsStr::from_bytes(value)).to_owned())
}

/// The configuration of the server: that of the call, with `[web]` of the file over all but `--config`.
pub(super) fn configuration(config: &Config, file: &Path) -> Result<Hgrc, Abort> {
    let text = std::fs::read(file).map_err(|error| Abort::file(&error, file))?;
    let mut settings = Hgrc::default();
    settings.add_text(&Environment, file, &text)?;
    let mut values = (*config.values()).clone();
    for item in settings.section("web") {
        values.set(b"web", &item.key, &item.value, item.source.clone());
    }
    for item in config.layers.arguments.section("web") {
        values.set(b"web", &item.key, &item.value, item.source.clone());
    }
    Ok(values)
}

/// Reads the file and finds its repositories.
pub(super) fn read(
    ui: &Ui,
    config: &Config,
    matches: &Matches,
    file: &Path,
) -> Result<Collection, Abort> {
    let started_in = std::env::current_dir()?;
    let config = with_options(config, matches, &["name", "style"]);
    let file = started_in.join(file);
    let source = CollectionSource {
        read: Arc::new(move || settings(&config, &file)),
        started_in,
        email: std::env::var("EMAIL")
            .ok()
            .filter(|email| !email.is_empty()),
        zone: clock().zone,
    };
    Collection::read(source, &ui.stop).map_err(|error| match error {
        ServerError::Hgrc(error) => error.into(),
        ServerError::NotARepository { path, name } => {
            let path = path.display();
            let message = format!("filesystem path is not a repository: '{path}'");
            Abort::input(message).hint(format!("this was mapped to server path '{name}'"))
        }
        ServerError::Walk { path, source } => Abort::file(&source, path),
        ServerError::Interrupted => Abort::Stopped(ui.guard.words().unwrap_or("killed!")),
        other => Abort::new(other.to_string()),
    })
}

/// The settings as they are now.
fn settings(config: &Config, file: &Path) -> Result<CollectionSettings, HgrcError> {
    let text = std::fs::read(file).map_err(|error: io::Error| HgrcError::Unreadable {
        path: file.to_owned(),
        reason: system_words(&error),
    })?;
    let mut added = Hgrc::default();
    added.add_text(&Environment, file, &text)?;
    let [paths, collections] = NAMES.map(|name| added.section(name).to_vec());
    for name in NAMES {
        added.unset_section(name);
    }
    let mut layers = (*config.layers).clone();
    layers.user.add_all(&added);
    let values = layers.with(None)?.config;
    Ok(CollectionSettings {
        values,
        paths,
        collections,
        configuration: Arc::new(move |root| {
            let layered = layers.with(Some(root))?;
            Ok(LoneConfig {
                values: of_pages(layered.config),
                with_untrusted: layered.with_untrusted,
            })
        }),
    })
}

/// The configuration with options of the call over their namesakes in `[web]`.
pub(super) fn with_options(config: &Config, matches: &Matches, names: &[&str]) -> Config {
    let mut config = config.clone();
    for name in names {
        if let Some(value) = matches.value(name).filter(|value| !value.is_empty()) {
            let source = SettingSource::Named("serve".to_owned());
            let layers = Arc::make_mut(&mut config.layers);
            layers.arguments.set(b"web", name.as_bytes(), value, source);
        }
    }
    config
}

/// The configuration that pages read: with `HGPLAIN`, no setting keeps other programs from applying a difference.
pub(super) fn of_pages(mut values: Hgrc) -> Hgrc {
    if is_plain(None) {
        for key in ["nobinary", "noprefix"] {
            values.unset(b"diff", key.as_bytes());
        }
    }
    values
}
