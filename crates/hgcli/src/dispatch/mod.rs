//! From the process's arguments to a command that has run, and to the exit code.

mod alias;
mod alias_help;
mod command_hooks;
mod extensions;
mod stdio_form;
mod typed_names;

pub use stdio_form::check_stdio_form;

/// The code of a `!` alias that a signal ended.
const FAILED_SHELL: u8 = 255;

use crate::arguments::global::{EarlyOptions, EarlyPlace, GLOBAL};
use crate::arguments::options::{self, Order};
use crate::arguments::{INSECURE, Matches, REMOTECMD, SSH};
use crate::commands::history::extdiff;
use crate::commands::{self, usage};
use crate::context::layers::{Layered, Layers};
use crate::context::{
    Command, CommandTable, Context, Program, Repo, RepoLocation, Session, location,
};
use crate::remote::queried;
use crate::ui::encoding::LocalEncoding;
use crate::ui::paint::Painter;
use crate::ui::signals::WatchedCall;
use crate::ui::{Abort, ExitCodes, FAILED, Ui, Verbosity, encoding, environment, pager};
use alias::ResolvedCommand;
use command_hooks::{HookedCommand, run_with_hooks};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use typed_names::decode_names;
use varve_config::hgrc::{Hgrc, HgrcError};

/// Runs the program.
pub fn main(program: &Program, arguments: &[Vec<u8>]) -> u8 {
    let session = Session::of_process(program.name, commands::table(program));
    run_call(&Arc::new(session), arguments)
}

/// Runs one call, and gives its exit code. The current directory of the process may be another one afterwards.
pub fn run_call(session: &Arc<Session>, arguments: &[Vec<u8>]) -> u8 {
    let mut reporting = Reporting {
        codes: Ok(ExitCodes::Coarse),
        painter: Painter::default(),
    };
    match run(session, arguments, &mut reporting) {
        Ok(code) => code,
        Err(abort) => {
            let Reporting { codes, painter } = reporting;
            report(session, &painter, &abort);
            codes.map_or_else(
                |wrong| {
                    report(session, &painter, &Abort::Setting(wrong));
                    FAILED
                },
                |codes| abort.code(codes),
            )
        }
    }
}

/// Places in which options count before the command is known, as `HGPLAIN` says.
fn early_place() -> EarlyPlace {
    match environment::has_strict_flags() {
        true => EarlyPlace::First,
        false => EarlyPlace::Anywhere,
    }
}

/// How a failure is to be told, as far as the configuration was read before it.
struct Reporting {
    codes: Result<ExitCodes, HgrcError>,
    painter: Painter,
}

fn report(session: &Session, painter: &Painter, abort: &Abort) {
    let (program, streams) = (&session.program, &session.streams);
    if abort.is_broken_pipe() {
        return;
    }
    let mut text = match abort {
        Abort::Undecodable { message } => [b"abort: ", &message[..], b"\n"].concat(),
        _ => format!("{abort}\n").into_bytes(),
    };
    if let Some(rest) = text.strip_prefix(b"hg: ") {
        text = [program.as_bytes(), b": ", rest].concat();
    }
    if let Some(mut hint) = abort.hint_text() {
        if let Abort::GlobalUsage(_) | Abort::UnknownCommand { .. } = abort {
            hint = hint.replace("'hg help", &format!("'{program} help"));
        }
        text.extend_from_slice(format!("({hint})\n").as_bytes());
    }
    let is_about_words = matches!(
        abort,
        Abort::GlobalUsage(_) | Abort::UnknownCommand { .. } | Abort::Usage { .. }
    );
    let text = match is_about_words {
        true => text,
        false => painter.paint(" ui.error", &text),
    };
    // Nothing is left to do if even standard error is gone.
    let _ = streams.err().write_all(&text);
    if let Abort::OfExtension {
        name,
        extension,
        description,
    } = abort
    {
        let words = extensions::provided_by(name, extension, description);
        let _ = streams.out().write_all(words.as_bytes());
    }
    if let Abort::Usage { command, .. } = abort
        && let Some(command) = commands::known(&session.commands, command)
    {
        let words = usage::short(program, command);
        let _ = streams.out().write_all(words.as_bytes());
    }
}

/// `--traceback`. Mercurial prints its stack here, which means something only to its authors.
fn print_traceback(ui: &mut Ui, command: &str, abort: &Abort) -> Result<(), Abort> {
    let (kind, own) = (abort.kind().name(), env!("CARGO_PKG_VERSION"));
    ui.warn(format!("{command} failed in Varve {own}: {kind}\n"))
}

/// Runs the command; leaves in `reporting` what the configuration asks for. A wrong value there
/// is no error before something fails.
fn run(
    session: &Arc<Session>,
    arguments: &[Vec<u8>],
    reporting: &mut Reporting,
) -> Result<u8, Abort> {
    let begun = Instant::now();
    if let [.., serve, stdio] = arguments
        && (&serve[..], &stdio[..]) == (b"serve", b"--stdio")
    {
        // Before anything is read that the other words may name.
        check_stdio_form(arguments)?;
    }
    let early = EarlyOptions::scan(arguments, early_place());
    let (mut context, with_untrusted) = begin(session, &early, reporting)?;
    let commands = Arc::new(commands::with_extensions(
        &session.commands,
        &context.config,
    ));
    let (target, global) = find_target(arguments, &context.config, &commands)?;
    context.commands = commands;
    let is_bare =
        global.arguments().is_empty() && !["help", "version"].iter().any(|flag| global.flag(flag));
    let signal_codes = reporting
        .codes
        .as_ref()
        .copied()
        .unwrap_or(ExitCodes::Coarse);
    watch_signals(&context, signal_codes);
    for warning in extensions::warnings(&context.config) {
        context.ui.warn(warning)?;
    }
    let mut shows_time = false;
    let done = match target {
        ResolvedCommand::Shell { script, words } => {
            context.read_hooks(with_untrusted.as_ref())?;
            let called = HookedCommand {
                name: &String::from_utf8_lossy(&words[0]),
                typed: &words,
                command: None,
            };
            run_with_hooks(&mut context, &called, |context| {
                alias::run_shell(&context.ui.streams, &script, &words)
            })
        }
        ResolvedCommand::Command(command, name, words) => {
            let mut matches = parse_command(command, &name, &words, global)?;
            if let Some(root) = inferred_repository(&context.repo, command, &matches) {
                let named = [&[b"--repository".to_vec(), root], arguments].concat();
                return run(session, &named, reporting);
            }
            early.check(&matches)?;
            apply_global(&mut context, &matches)?;
            reporting.painter = context.ui.painter.clone();
            decode_names(&context.ui, command, &mut matches)?;
            shows_time = matches.flag("time");
            context.read_hooks(with_untrusted.as_ref())?;
            let pager = pager::start(&mut context.ui, command.name(), matches.value("pager"))?;
            let done = match is_bare {
                true => print_basic_help(&mut context),
                false => run_command(command, (&name, arguments), &mut context, &matches),
            };
            if let Some(pager) = pager {
                pager.finish(&mut context.ui);
            }
            if let (Err(abort), true) = (&done, matches.flag("traceback")) {
                print_traceback(&mut context.ui, command.name(), abort)?;
            }
            done
        }
    };
    let code = finish(&mut context.ui, done)?;
    if shows_time {
        print_time(&mut context.ui, begun)?;
    }
    Ok(code)
}

/// From now on signals are about this call.
fn watch_signals(context: &Context, codes: ExitCodes) {
    context.session.signals.watch(WatchedCall {
        stop: context.ui.stop.clone(),
        guard: context.ui.guard.clone(),
        codes,
        is_of_client: context.session.is_of_client(),
    });
}

/// Prints what is left; the code of a command that is `done`, or the signal that ended it.
fn finish(ui: &mut Ui, done: Result<u8, Abort>) -> Result<u8, Abort> {
    let flushed = ui.print_peer_trace().and_then(|()| ui.out.flush());
    let code = match (done, ui.guard.words()) {
        (Err(_), Some(words)) => return Err(Abort::Stopped(words)),
        (done, _) => done?,
    };
    flushed?;
    Ok(code)
}

/// `--time`: the time since `begun`, and that of the processor.
fn print_time(ui: &mut Ui, begun: Instant) -> Result<(), Abort> {
    let real = begun.elapsed().as_secs_f64();
    let [user, system, of_children_user, of_children_system] = processor_times();
    ui.warn(format!(
        "time: real {real:.3} secs (user {user:.3}+{of_children_user:.3} \
         sys {system:.3}+{of_children_system:.3})\n"
    ))
}

/// Commands that work, outside of any repository, on the one that all their arguments lie in.
const INFERRING: &[&str] = &[
    "add",
    "addremove",
    "annotate",
    "cat",
    "commit",
    "debugwalk",
    "diff",
    "forget",
    "log",
    "parents",
    "remove",
    "resolve",
    "status",
];

/// The repository that all arguments lie in, if there is none here and the command looks for one.
fn inferred_repository(repo: &Repo, command: &Command, matches: &Matches) -> Option<Vec<u8>> {
    if *repo.location() != RepoLocation::None || !INFERRING.contains(&command.name()) {
        return None;
    }
    let roots = matches.arguments().iter().map(|argument| {
        let mut above = Path::new(OsStr::from_bytes(argument)).ancestors();
        above.find(|path| repo.cwd.join(path).join(".hg").is_dir())
    });
    let mut roots = roots.collect::<Option<Vec<_>>>()?.into_iter();
    let root = roots.next()?;
    let root = roots.all(|other| other == root).then_some(root)?;
    Some(root.as_os_str().as_bytes().to_vec())
}

/// Reads the configuration; gives also the configuration with untrusted files, if there are any.
fn begin(
    session: &Arc<Session>,
    early: &EarlyOptions,
    reporting: &mut Reporting,
) -> Result<(Context, Option<Hgrc>), Abort> {
    let mut layers = Layers {
        user: environment::user_layers()?,
        arguments: session.arguments.clone(),
    };
    reporting.codes = ExitCodes::read(&layers.user);
    let files_read = layers.user.files_read().to_vec();
    for file in &early.files {
        layers.add_argument_file(file)?;
    }
    for argument in &early.config {
        layers.arguments.add_argument(argument)?;
    }
    let started_in = std::env::current_dir().ok();
    let cwd = change_directory(early.cwd.as_deref())?;
    let mut config = layers.user.clone();
    config.add_all(&layers.arguments);
    reporting.codes = ExitCodes::read(&config);
    let main = location::configured(config.get("bundle", "mainreporoot"), &cwd);
    let stays = early.repository.is_none() && early.cwd.is_none();
    let location = match session.location.as_ref().filter(|_| stays) {
        Some(location) => location.clone(),
        None => RepoLocation::find(early.repository.as_deref(), &cwd, main.as_deref()),
    };
    let layered = layers.with(location.root())?;
    let mut context = Context::new(session, cwd, Arc::new(layers), location);
    context.config.files_read = files_read;
    context.started_in = started_in;
    warn_of_untrusted(
        &context.repo,
        &mut context.ui,
        &layered,
        early.repository.as_deref(),
    )?;
    let with_tools = extdiff::with_tool_aliases(&layered.config);
    context.set_config(with_tools.unwrap_or(layered.config));
    context.config.untrusted = layered.untrusted;
    context.config.with_untrusted = layered.with_untrusted.clone().map(Arc::new);
    Ok((context, layered.with_untrusted))
}

/// Warns of configuration files that do not count, with the repository's path as it was typed.
fn warn_of_untrusted(
    repo: &Repo,
    ui: &mut Ui,
    layered: &Layered,
    typed: Option<&[u8]>,
) -> Result<(), Abort> {
    let typed = typed.filter(|typed| !typed.is_empty());
    let typed = typed.map(|typed| Path::new(OsStr::from_bytes(typed)).to_owned());
    let root = typed.or_else(|| repo.location().root().map(Path::to_owned));
    for untrusted in &layered.untrusted {
        ui.warn(untrusted.warning(root.as_deref().unwrap_or(Path::new(""))))?;
    }
    Ok(())
}

/// Seconds of user and system time of this process, then of those it has waited for; zeros where
/// the system has no answer.
fn processor_times() -> [f64; 4] {
    /// Clock ticks of a second, as Linux counts them for programs.
    const TICKS: f64 = 100.0;
    /// Place of the user time among the words behind the program's name.
    const USER: usize = 11;
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind = text.rsplit(')').next().unwrap_or_default();
    let mut words = behind.split_whitespace().skip(USER);
    let mut next = || words.next().and_then(|word| word.parse::<f64>().ok());
    std::array::from_fn(|_| next().unwrap_or(0.0) / TICKS)
}

/// Goes to the directory of `--cwd`; gives the directory that the process is in then.
fn change_directory(cwd: Option<&[u8]>) -> Result<PathBuf, Abort> {
    if let Some(cwd) = cwd.filter(|cwd| !cwd.is_empty()) {
        let path = Path::new(OsStr::from_bytes(cwd));
        std::env::set_current_dir(path).map_err(|error| Abort::file(&error, path))?;
    }
    let current = std::env::current_dir();
    current.map_err(|error| Abort::new(format!("error getting current working directory: {error}")))
}

fn print_basic_help(context: &mut Context) -> Result<u8, Abort> {
    let (commands, program) = (&context.commands, &context.program);
    commands::help::basic(&mut context.ui, &context.config, commands, program)
}

/// The name that `help` is asked about, if it may be an alias.
fn asked_alias(command: &Command, matches: &Matches) -> Option<String> {
    let [name] = matches.arguments() else {
        return None;
    };
    let name = String::from_utf8_lossy(name).into_owned();
    let is_help = command.name() == commands::help::COMMAND.name();
    let may_be = is_help && !matches.flag("keyword") && !matches.flag("extension");
    let is_topic = || !matches.flag("command") && commands::help::is_topic(&name);
    (may_be && !is_topic()).then_some(name)
}

/// Prints the help of an alias; false if there is none of this name.
fn prints_alias(context: &mut Context, name: &str) -> Result<bool, Abort> {
    let known = (&*context.commands, &*context.program);
    alias_help::print(&mut context.ui, &context.config, known, name)
}

/// The command, with the global options that stand before it.
fn find_target(
    arguments: &[Vec<u8>],
    config: &Hgrc,
    known: &CommandTable,
) -> Result<(ResolvedCommand, Matches), Abort> {
    let global = options::parse(&[GLOBAL], arguments, Order::CommandFirst);
    let global = global.map_err(Abort::GlobalUsage)?;
    let special = if global.flag("version") {
        Some(&commands::version::COMMAND)
    } else if global.arguments().is_empty() || global.flag("help") {
        Some(&commands::help::COMMAND)
    } else {
        None
    };
    let target = match (special, global.arguments()) {
        (Some(command), words) => {
            ResolvedCommand::Command(command, command.name().to_owned(), words.to_vec())
        }
        (None, [name, rest @ ..]) => alias::resolve(name, rest, config, known)?,
        (None, []) => {
            let help = &commands::help::COMMAND;
            ResolvedCommand::Command(help, help.name().to_owned(), Vec::new())
        }
    };
    Ok((target, global))
}

fn parse_command(
    command: &'static Command,
    name: &str,
    words: &[Vec<u8>],
    global: Matches,
) -> Result<Matches, Abort> {
    let wrong = |message| Abort::Usage {
        command: command.name(),
        name: name.to_owned(),
        message,
    };
    let parsed = options::parse(&[command.options, GLOBAL], words, Order::Anywhere);
    let mut matches = parsed.map_err(wrong)?;
    matches.precede_with(global);
    Ok(matches)
}

/// Commands that do not look at the repository that they are called in.
const NO_REPOSITORY: &[&str] = &[
    "clone",
    "debugbundle",
    "debugcapabilities",
    "debugcommands",
    "debugcomplete",
    "debugdate",
    "debugknown",
    "debugpeer",
    "debugpushkey",
    "debuguiprompt",
    "debugwireargs",
    "help",
    "init",
    "version",
];

fn run_command(
    command: &'static Command,
    (name, typed): (&str, &[Vec<u8>]),
    context: &mut Context,
    matches: &Matches,
) -> Result<u8, Abort> {
    if matches.flag("version") {
        return (commands::version::COMMAND.run)(context, matches);
    }
    if matches.flag("help") && command.name() != commands::help::COMMAND.name() {
        return match prints_alias(context, name)? {
            true => Ok(0),
            false => commands::help::of_command(&mut context.ui, &context.program, command),
        };
    }
    if let Some(alias) = asked_alias(command, matches)
        && prints_alias(context, &alias)?
    {
        return Ok(0);
    }
    if !command.arguments.contains(&matches.arguments().len()) {
        return Err(Abort::Usage {
            command: command.name(),
            name: name.to_owned(),
            message: "invalid arguments".to_owned(),
        });
    }
    if NO_REPOSITORY.contains(&command.name()) {
        let named = matches.value("repository");
        if named.is_some_and(|name| !name.is_empty()) {
            context.ui.warn("warning: --repository ignored\n")?;
        }
    } else if let Some(root) = context.repo.location().root().map(Path::to_owned) {
        // Mercurial reads the configuration once more together with the repository.
        for untrusted in std::mem::take(&mut context.config.untrusted) {
            context.ui.warn(untrusted.warning(&root))?;
        }
    }
    for way in [SSH, REMOTECMD].map(|flag| flag.long) {
        let is_option = command.options.iter().any(|flag| flag.long == way);
        if let Some(typed) = matches.value(way).filter(|it| is_option && !it.is_empty()) {
            let mut config = Hgrc::clone(&context.config);
            config.add_argument(&[b"ui.", way.as_bytes(), b"=", typed].concat())?;
            context.set_config(config);
        }
    }
    let is_option = |name| command.options.iter().any(|flag| flag.long == name);
    context.config.accepts_any_certificate =
        is_option(INSECURE.long) && matches.flag(INSECURE.long);
    let called = HookedCommand {
        name,
        typed,
        command: Some((command, matches)),
    };
    run_with_hooks(context, &called, |context| (command.run)(context, matches))
}

/// Refuses unsupported global options.
fn check_global(matches: &Matches) -> Result<(), Abort> {
    for option in ["profile", "debugger"] {
        if matches.flag(option) {
            return Err(Abort::new(format!("--{option} is not supported")));
        }
    }
    Ok(())
}

fn apply_global(context: &mut Context, matches: &Matches) -> Result<(), Abort> {
    check_global(matches)?;
    let config = context.config.values();
    let either = |flag: &str| -> Result<bool, Abort> {
        Ok(config.boolean("ui", flag, false)? || matches.flag(flag))
    };
    let debug = either("debug")?;
    let (quiet, verbose) = if debug {
        (false, true)
    } else if matches.flag("verbose") || matches.flag("quiet") {
        // Both together cancel each other.
        let both = matches.flag("verbose") && matches.flag("quiet");
        (
            matches.flag("quiet") && !both,
            matches.flag("verbose") && !both,
        )
    } else {
        let (quiet, verbose) = (either("quiet")?, either("verbose")?);
        (quiet && !verbose, verbose && !quiet)
    };
    context.ui.verbosity = Verbosity {
        quiet,
        verbose,
        debug,
    };
    context.ui.show_progress(&config)?;
    context.ui.unattended = matches.flag("noninteractive");
    context.repo.hidden = matches.flag("hidden");
    queried::answer_queries(&mut context.repo, &context.ui, &context.config);
    let typed = matches.value("color").filter(|value| !value.is_empty());
    let (painter, warnings) = Painter::new(typed, &config)?;
    context.ui.painter = painter;
    for warning in warnings {
        context.ui.warn(warning)?;
    }
    context.ui.encoding = LocalEncoding::of(
        matches.value("encoding"),
        config.get("ui", "fallbackencoding"),
        encoding::Mode::of(matches.value("encodingmode")),
    )?;
    Ok(())
}
