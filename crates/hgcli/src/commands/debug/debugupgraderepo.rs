//! `debugupgraderepo`: the store in another format, of which only the compression can change.

use crate::arguments::{Flag, Matches};
use crate::context::{Command, Context};
use crate::ui::Abort;
use varve_repo::{LockKind, RecompressOptions, engine_of};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugupgraderepo"],
    options: &[Flag::long_flag(
        "run",
        "do it instead of telling what would be done",
    )],
    arguments: 0..=0,
    synopsis: "[--run]",
    summary: "upgrade a repository to use different features",
    help: "Compares the repository's compression with `format.revlog-compression` and, with --run, \
           writes the store again with the configured engine and level. Changes of other features \
           are refused. See also `recompress`.\n\nEnds with 0.",
    category: None,
    run,
};

/// Features that are not changed, with the names of their requirement and setting.
const FIXED: &[(&str, &str, bool)] = &[
    ("generaldelta", "usegeneraldelta", true),
    ("sparserevlog", "sparse-revlog", true),
    ("fncache", "usefncache", true),
    ("dotencode", "dotencode", true),
    ("share-safe", "use-share-safe", true),
    ("dirstate-v2", "use-dirstate-v2", false),
    ("persistent-nodemap", "use-persistent-nodemap", false),
];

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let repository = context.repo.repository()?;
    let requirements = repository.requirements();
    for (name, setting, default) in FIXED {
        let wanted = context.config.boolean("format", setting, *default)?;
        if wanted != requirements.has(name) {
            let verb = if wanted { "add" } else { "remove" };
            return Err(Abort::input(format!("cannot {verb} the feature {name}"))
                .hint(format!("set format.{setting}={} to keep it", !wanted)));
        }
    }
    let settings = context.config.storage_settings()?;
    let (old, new) = (engine_of(requirements), settings.engine_of_new()?);
    if old == new {
        context
            .ui
            .write("(no format upgrades found in existing repository)\n")?;
        return Ok(0);
    }
    let (old, wanted) = (old.name(), new.name());
    if !matches.flag("run") {
        let line = format!("compression would change from {old} to {wanted} with \"--run\"\n");
        context.ui.write(line)?;
        return Ok(0);
    }
    let mut write = settings.write_options(requirements);
    write.engine = settings.engine(new);
    let how = RecompressOptions {
        write,
        redelta: false,
    };
    let working_copy = context.repo.lock(&mut context.ui, LockKind::WorkingCopy)?;
    let store = context.repo.lock(&mut context.ui, LockKind::Store)?;
    let progress = context.ui.progress.as_ref();
    let done = repository.recompress(&working_copy, &store, &how, progress, &context.ui.stop)?;
    let (before, after) = (done.before, done.after);
    context.ui.status(format!(
        "compression changed from {old} to {wanted}\n{before} bytes before, {after} bytes after\n"
    ))?;
    Ok(0)
}
