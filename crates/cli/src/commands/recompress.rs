//! `recompress`: the store, written again with other settings.

use varve_codec::{CodecId, EngineSetting};
use varve_hgcli::arguments::{Flag, Matches};
use varve_hgcli::context::{Category, Command, Context};
use varve_hgcli::ui::Abort;
use varve_repo::{LockKind, RecompressOptions};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["recompress"],
    options: &[
        Flag::long_value("engine", "ENGINE", "compress with none, zlib or zstd"),
        Flag::long_value("level", "LEVEL", "level of the engine"),
        Flag::long_flag("redelta", "seek all deltas anew"),
    ],
    arguments: 0..=1,
    synopsis: "[OPTION]... [REPO]",
    summary: "write a repository's store again with other settings",
    help: "Makes a new store beside the old one, reads it back, and exchanges both in one step: an \
           interruption leaves the old store or the new one, whole. Without --engine the engine \
           stays, without --level the configured level is used. All cores work.\n\n\
           The engine becomes a requirement of the repository, so that later commits use it too.\n\n\
           Ends with 0.",
    category: Some(Category::Maintenance),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    if let Some(path) = matches.arguments().first() {
        // The store's settings are those of its own repository.
        context.switch_to(path)?;
    }
    let repository = context.repo.repository()?;
    let settings = context.config.storage_settings()?;
    let mut write = settings.write_options(repository.requirements());
    let engine = match matches.value("engine") {
        Some(name) => engine_of(name)?,
        None => write.engine.codec(),
    };
    write.engine = match matches.value("level") {
        Some(level) => level_of(engine, level)?,
        None => settings.engine(engine),
    };
    // Deltas from elsewhere are weighed like all others.
    write.reuse_delta = false;
    let how = RecompressOptions {
        write,
        redelta: matches.flag("redelta"),
    };
    let working_copy = context.repo.lock(&mut context.ui, LockKind::WorkingCopy)?;
    let store = context.repo.lock(&mut context.ui, LockKind::Store)?;
    let progress = context.ui.progress.as_ref();
    let done = repository.recompress(&working_copy, &store, &how, progress, &context.ui.stop)?;
    let percent = done.after as f64 * 100.0 / done.before.max(1) as f64;
    context.ui.status(format!(
        "rewrote {} revisions of {} revlogs with {}\n{} bytes before, {} bytes after ({percent:.1}%)\n",
        done.revisions,
        done.revlogs,
        described(how.write.engine),
        done.before,
        done.after,
    ))?;
    Ok(0)
}

fn engine_of(name: &[u8]) -> Result<CodecId, Abort> {
    match name {
        b"none" => Ok(CodecId::None),
        b"zlib" => Ok(CodecId::Zlib),
        b"zstd" => Ok(CodecId::Zstd),
        _ => {
            let name = String::from_utf8_lossy(name);
            Err(Abort::new(format!("unknown compression engine '{name}'"))
                .hint("known are none, zlib and zstd"))
        }
    }
}

fn level_of(engine: CodecId, level: &[u8]) -> Result<EngineSetting, Abort> {
    let text = String::from_utf8_lossy(level);
    let setting = text
        .parse()
        .ok()
        .and_then(|level| EngineSetting::new(engine, level).ok());
    setting.ok_or_else(|| {
        Abort::new(format!("'{text}' is not a level of {}", engine.name()))
            .hint("zlib has 0 to 9, zstd 0 to 22, none has 0")
    })
}

fn described(engine: EngineSetting) -> String {
    match engine.codec() {
        CodecId::None => "no compression".to_owned(),
        codec => format!("{} at level {}", codec.name(), engine.level()),
    }
}
