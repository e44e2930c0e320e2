//! `bundle`: changesets in a file.

mod choice;
mod stream;

use crate::arguments::{Flag, INSECURE, Matches, REMOTECMD, SSH};
use crate::commands::exchange::exchanged::REV;
use crate::context::{Category, Command, Config, Context, Repo};
use crate::remote::bundle_output::BundleOutput;
use crate::remote::incoming;
use crate::ui::{Abort, Ui, system_words};
use choice::Choice;
use std::io::ErrorKind;
use varve_codec::StreamSetting;
use varve_exchange::ExchangeError;
use varve_exchange::format::bundlespec::{
    BundleContents, BundleSpec, BundleSpecError, BundleType, SpecDefaults,
};
use varve_exchange::generate::{BundlePlan, PartOutline, SectionSizes};
use varve_repo::RepoView;
use varve_repo::hooks::HookArgs;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["bundle"],
    options: &[
        Flag::long_flag(
            "exact",
            "only what --rev names, on top of what that builds on",
        ),
        Flag::flag('f', "force", "even if DEST has nothing to do with this"),
        REV,
        Flag::list('b', "branch", "BRANCH", "without meaning, as in Mercurial"),
        Flag::long_list("base", "REV", "what the reader of the bundle has already"),
        Flag::flag('a', "all", "everything, for a reader that has nothing"),
        Flag::value(
            't',
            "type",
            "TYPE",
            "a bundlespec: which kind of bundle it shall be",
        ),
        SSH,
        REMOTECMD,
        INSECURE,
    ],
    arguments: 1..=usize::MAX,
    synopsis: "[-f] [-t BUNDLESPEC] [-a] [-r REV]... [--base REV]... FILE [DEST]...",
    summary: "create a bundle file",
    help: "Writes changesets with their files to FILE, or to the standard output if that is `-`. \
           Any repository that has what they build on can read it with unbundle or pull.\n\n\
           With --all everything is written. With --base, what the reader is assumed to have is \
           left out. Otherwise that is what DEST has, a URL of http or https or a repository of this \
           machine, by default the path default-push or default; secret changesets are then left out too.\n\n\
           --type says what kind of bundle it shall be and how it is compressed: see 'hg help \
           bundlespec'. It is compressed by bzip2 unless this says something else.\n\n\
           FILE is there when it is complete, and not before. While the bundle goes to the standard \
           output, words go to the standard error.\n\n\
           Ends with 0, or with 1 if there was nothing to write.",
    category: Some(Category::Exchange),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let mut target = BundleOutput::begin(ui, &matches.arguments()[0]);
    let done = bundle(repo, ui, config, matches, &mut target);
    target.end(ui)?;
    done
}

fn bundle(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    target: &mut BundleOutput,
) -> Result<u8, Abort> {
    let asked = choice::asked(repo, matches)?;
    let spec = bundlespec(repo, matches)?;
    if spec.kind() == BundleType::Packed1 {
        return Err(
            Abort::input("packed bundles cannot be produced by \"hg bundle\"")
                .hint("use 'hg debugcreatestreamclonebundle'"),
        );
    }
    let Some(choice) = choice::choose(repo, ui, config, matches, asked)? else {
        return Ok(1);
    };
    let contents = contents(config, &spec)?;
    let setting = setting(config, &spec)?;
    if let Some(form) = &contents.stream {
        stream::write(repo, ui, config, target, form, &contents)?;
        return Ok(0);
    }
    let view = repo.view()?;
    let plan = BundlePlan::new(&view, &choice.outgoing, &contents)?;
    announce(repo, ui, &view, &choice, &contents)?;
    print_engine(ui, spec.setting())?;
    print_parts(ui, &plan, setting)?;
    let sizes = target.write(&repo.cwd, ui, &mut |ui, out| {
        plan.write(setting, out, &ui.stop).map_err(failed)
    })?;
    if contents.changegroup {
        after(repo, ui, &view, &choice, &sizes)?;
    }
    Ok(0)
}

fn bundlespec(repo: &mut Repo, matches: &Matches) -> Result<BundleSpec, Abort> {
    let text = String::from_utf8_lossy(matches.value("type").unwrap_or(b"bzip2")).into_owned();
    let habits = SpecDefaults {
        general_delta: repo.repository()?.requirements().has("generaldelta"),
    };
    let spec = BundleSpec::parse(&text, habits).map_err(of_spec)?;
    let version = &spec.contents().changegroup_version;
    match version.as_str() {
        "01" | "02" | "03" => Ok(spec),
        "04" => Err(Abort::input("changegroup version 04 cannot be written yet")),
        _ => Err(ExchangeError::ChangegroupVersion(version.clone()).into()),
    }
}

fn of_spec(error: BundleSpecError) -> Abort {
    Abort::input(error.to_string()).hint("see 'hg help bundlespec' for supported values for --type")
}

/// Contents according to the bundlespec and the configuration.
fn contents(config: &Config, spec: &BundleSpec) -> Result<BundleContents, Abort> {
    let mut contents = spec.contents().clone();
    let switches = [
        ("bundle-phases", &mut contents.phases),
        ("evolution.bundle-obsmarker", &mut contents.obsolescence),
    ];
    for (key, switch) in switches {
        let on = config.boolean("experimental", key, false);
        *switch |= on.map_err(Abort::Setting)?;
    }
    Ok(contents)
}

/// Level and threads, as the bundlespec or else the configuration says.
fn setting(config: &Config, spec: &BundleSpec) -> Result<StreamSetting, Abort> {
    let configured = |name: &str| {
        let own = format!("{name}.{}", spec.setting().engine.name());
        for key in [own, name.to_owned()] {
            let number = config.integer("experimental", &key);
            if let Some(number) = number.map_err(Abort::Setting)? {
                return Ok(Some((format!("experimental.{key}"), number)));
            }
        }
        Ok::<_, Abort>(None)
    };
    let level = configured("bundlecomplevel")?;
    let threads = configured("bundlecompthreads")?.map(|(_, threads)| threads);
    let setting = spec.setting_with(level, threads);
    setting.map_err(|error| Abort::input(error.to_string()))
}

/// Runs the hooks that may refuse, and prints the changesets to be written.
fn announce(
    repo: &Repo,
    ui: &mut Ui,
    view: &RepoView,
    choice: &Choice,
    contents: &BundleContents,
) -> Result<(), Abort> {
    if !contents.changegroup {
        return Ok(());
    }
    let args = HookArgs::from([("source", b"bundle".to_vec())]);
    repo.run_hooks(ui, "preoutgoing", &args)?;
    let revs = &choice.outgoing.revs;
    ui.status(format!("{} changesets found\n", revs.len()))?;
    if ui.verbosity.debug {
        ui.write("list of changesets:\n")?;
        for rev in revs {
            ui.write(format!("{}\n", view.changelog().node(*rev)))?;
        }
    }
    Ok(())
}

/// How it is compressed, where the bundlespec says something about it.
fn print_engine(ui: &mut Ui, setting: StreamSetting) -> Result<(), Abort> {
    let options = [("level", setting.level), ("threads", setting.threads)];
    let given = options
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let mut lines = format!("using compression engine {}\n", setting.engine.name());
    let mut any = false;
    for (name, value) in given {
        lines += &format!("engine option: {name}={value}\n");
        any = true;
    }
    match any && ui.verbosity.debug {
        true => ui.write(lines),
        false => Ok(()),
    }
}

fn print_parts(ui: &mut Ui, plan: &BundlePlan<'_>, setting: StreamSetting) -> Result<(), Abort> {
    let Some(parts) = plan.parts().filter(|_| ui.verbosity.debug) else {
        return Ok(());
    };
    let params = match setting.engine {
        varve_codec::StreamEngine::None => "",
        _ => "(1 params) ",
    };
    let count = parts.len();
    ui.write(format!(
        "bundle2-output-bundle: \"HG20\", {params}{count} parts total\n"
    ))?;
    for part in parts {
        ui.write(line_of(&part))?;
    }
    Ok(())
}

fn line_of(part: &PartOutline) -> String {
    let mut line = format!("bundle2-output-part: \"{}\"", part.name);
    if !part.is_mandatory {
        line += " (advisory)";
    }
    let kinds = part.params.iter().zip(["mandatory", "advisory"]);
    let kinds = kinds.filter(|(count, _)| **count > 0);
    let kinds: Vec<String> = kinds
        .map(|(count, kind)| format!(" {count} {kind}"))
        .collect();
    if !kinds.is_empty() {
        line += &format!(" (params:{})", kinds.concat());
    }
    match part.len {
        Some(len) => line + &format!(" {len} bytes payload\n"),
        None => line + " streamed payload\n",
    }
}

fn after(
    repo: &Repo,
    ui: &mut Ui,
    view: &RepoView,
    choice: &Choice,
    sizes: &SectionSizes,
) -> Result<(), Abort> {
    if ui.verbosity.verbose && !ui.verbosity.debug {
        incoming::note_sizes(ui, sizes)?;
    }
    let first = choice.outgoing.revs.first();
    let node = first.map(|rev| view.changelog().node(*rev).to_hex().to_vec());
    let args = HookArgs::from([
        ("node", node.unwrap_or_default()),
        ("source", b"bundle".to_vec()),
    ]);
    repo.notify_hooks(ui, "outgoing", &args)
}

/// A failed write is printed with the system's message.
pub(crate) fn failed(error: ExchangeError) -> Abort {
    match error {
        ExchangeError::Write(error) if error.kind() == ErrorKind::BrokenPipe => {
            Abort::Output(error)
        }
        ExchangeError::Write(error) => Abort::new(system_words(&error)),
        other => other.into(),
    }
}
