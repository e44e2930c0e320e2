//! `debugformat`: the format of the repository, beside that of a new one with this configuration.

use crate::arguments::{Matches, TEMPLATE};
use crate::context::{Command, Context};
use crate::render::Formatter;
use crate::ui::{Abort, Ui};
use varve_codec::EngineSetting;
use varve_repo::{Requirements, StorageSettings, engine_of};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugformat"],
    options: &[TEMPLATE],
    arguments: 0..=usize::MAX,
    synopsis: "[PATTERN] ... [PATTERN]",
    summary: "display format information about the current repository",
    help: "With -v also what a new repository would have with the present configuration, and \
           without any.\n\nA PATTERN leaves the variants whose names contain it, or another PATTERN.\n\nEnds with 0.",
    category: None,
    run,
};

/// Width of the names.
const NAMES: usize = 31;

/// A format variant that a requirement stands for.
struct Variant {
    name: &'static str,
    /// Empty if no repository that is read here has it.
    requirement: &'static str,
    /// Section and name of the setting that decides for new repositories, if there is one.
    setting: Option<(&'static str, &'static str)>,
    default: bool,
}

const fn variant(
    name: &'static str,
    requirement: &'static str,
    setting: Option<&'static str>,
    default: bool,
) -> Variant {
    let setting = match setting {
        Some(setting) => Some(("format", setting)),
        None => None,
    };
    Variant {
        name,
        requirement,
        setting,
        default,
    }
}

const VARIANTS: &[Variant] = &[
    variant("fncache", "fncache", Some("usefncache"), true),
    variant("fileindex-v1", "", None, false),
    variant("dirstate-v2", "dirstate-v2", Some("use-dirstate-v2"), false),
    variant(
        "tracked-hint",
        "dirstate-tracked-key-v1",
        Some("use-dirstate-tracked-hint"),
        false,
    ),
    variant("dotencode", "dotencode", Some("dotencode"), true),
    variant("fragile-plain-encode", "", None, false),
    variant(
        "generaldelta",
        "generaldelta",
        Some("usegeneraldelta"),
        true,
    ),
    variant("share-safe", "share-safe", Some("use-share-safe"), true),
    variant("sparserevlog", "sparserevlog", Some("sparse-revlog"), true),
    variant(
        "delta-info-flags",
        "delta-info-revlog",
        Some("use-delta-info-flags"),
        false,
    ),
    variant(
        "persistent-nodemap",
        "persistent-nodemap",
        Some("use-persistent-nodemap"),
        false,
    ),
    variant("copies-sdc", "", None, false),
    variant("revlog-v2", "", None, false),
    variant("changelog-v2", "", None, false),
];

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let repository = context.repo.repository()?;
    let requirements = repository.requirements();
    let config = context.config.values();
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "debugformat")?;
    let mut header = format!("{:<NAMES$}repo", "format-variant");
    if context.ui.verbosity.verbose {
        header += " config default";
    }
    out.plain(&mut context.ui, header + "\n")?;
    let patterns = matches.arguments();
    let is_wanted = |name: &str| {
        let contains = |pattern: &Vec<u8>| {
            let text = String::from_utf8_lossy(pattern);
            name.contains(&*text)
        };
        patterns.is_empty() || patterns.iter().any(contains)
    };
    for variant in VARIANTS.iter().filter(|variant| is_wanted(variant.name)) {
        let configured = match variant.setting {
            Some((section, name)) => config.boolean(section, name, variant.default)?,
            None => variant.default,
        };
        let has = requirements.has(variant.requirement);
        row(
            &mut context.ui,
            &mut out,
            variant.name,
            [has, configured, variant.default],
        )?;
    }
    // The changelog has no deltas in any repository that is read here.
    if is_wanted("plain-cl-delta") {
        row(&mut context.ui, &mut out, "plain-cl-delta", [true; 3])?;
    }
    let settings = context.config.storage_settings()?;
    let names = [
        engine_of(requirements),
        settings.engine_of_new()?,
        StorageSettings::default().engine_of_new()?,
    ];
    if is_wanted("compression") {
        let names = names.map(|engine| engine.name().to_owned());
        row(&mut context.ui, &mut out, "compression", names)?;
    }
    let level = level(&settings, requirements);
    let levels = [level.clone(), level, "default".to_owned()];
    if is_wanted("compression-level") {
        row(&mut context.ui, &mut out, "compression-level", levels)?;
    }
    out.end(&mut context.ui)?;
    Ok(0)
}

/// The level of the repository's engine, if it is not the engine's own.
fn level(settings: &StorageSettings, requirements: &Requirements) -> String {
    let setting = settings.engine(engine_of(requirements));
    let own = [
        EngineSetting::ZLIB,
        EngineSetting::ZSTD,
        EngineSetting::NONE,
    ];
    if own.contains(&setting) {
        "default".to_owned()
    } else {
        setting.level().to_string()
    }
}

/// Something that stands in a column.
trait Cell: Into<crate::render::formatter::Value> + Clone {
    fn text(&self) -> String;
}

impl Cell for bool {
    fn text(&self) -> String {
        if *self { "yes" } else { "no" }.to_owned()
    }
}

impl Cell for String {
    fn text(&self) -> String {
        self.clone()
    }
}

/// One line: the repository, the configuration, the default.
fn row<C: Cell>(
    ui: &mut Ui,
    out: &mut Formatter,
    name: &'static str,
    [repo, config, default]: [C; 3],
) -> Result<(), Abort> {
    out.item(ui)?;
    let mut line = format!("{:<NAMES$} {:>3}", format!("{name}:"), repo.text());
    if ui.verbosity.verbose {
        line += &format!(" {:>6} {:>7}", config.text(), default.text());
    }
    out.plain(ui, line + "\n")?;
    out.data("name", name);
    out.data("repo", repo);
    out.data("config", config);
    out.data("default", default);
    Ok(())
}
