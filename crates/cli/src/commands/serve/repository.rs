//! `serve` as Mercurial's users call it: about one repository.

use super::{alone, command_server, stdio};
use std::os::unix::ffi::OsStringExt;
use varve_hgcli::arguments::{Flag, Matches};
use varve_hgcli::check_stdio_form;
use varve_hgcli::context::{Category, Command, Context};
use varve_hgcli::ui::Abort;

/// Options, among them those of Mercurial that are refused by name.
const OPTIONS: &[Flag] = &[
    Flag::value('A', "accesslog", "FILE", "write the log of requests here"),
    Flag::flag('d', "daemon", "serve in the background"),
    Flag::long_list("daemon-postexec", "VALUE", "(not supported)"),
    Flag::value('E', "errorlog", "FILE", "write faults of the server here"),
    Flag::value(
        'p',
        "port",
        "PORT",
        "listen on this port; usually 8000, 0 for any free one",
    ),
    Flag::value(
        'a',
        "address",
        "ADDR",
        "listen on this address; usually on all of them",
    ),
    Flag::long_value(
        "prefix",
        "PREFIX",
        "path below which the repository is; usually the root",
    ),
    Flag::value(
        'n',
        "name",
        "NAME",
        "what pages call the repository; usually as its directory",
    ),
    Flag::long_value(
        "web-conf",
        "FILE",
        "serve the repositories that [paths] of this file names",
    ),
    Flag::long_value("webdir-conf", "FILE", "old name of --web-conf"),
    Flag::long_value(
        "pid-file",
        "FILE",
        "write the number of the server's process here",
    ),
    Flag::long_flag(
        "stdio",
        "talk to a client over the standard streams, as ssh connects them",
    ),
    Flag::long_value(
        "cmdserver",
        "MODE",
        "run many commands of one client; 'pipe', or 'unix' with --address",
    ),
    Flag::value('t', "templates", "TEMPLATE", "(not supported)"),
    Flag::long_value(
        "style",
        "STYLE",
        "the style of pages whose address names none",
    ),
    Flag::flag('6', "ipv6", "listen with IPv6 instead of IPv4"),
    Flag::long_value(
        "certificate",
        "FILE",
        "certificate and key in PEM: with it all is TLS",
    ),
    Flag::long_flag("print-url", "print the URL and nothing else"),
    Flag::flag('S', "subrepos", "(not supported)"),
];

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["serve"],
    options: OPTIONS,
    arguments: 0..=0,
    synopsis: "[OPTION]...",
    summary: "let others read and write a repository",
    help: "Serves the repository over HTTP until Ctrl-C or SIGTERM. Everyone may read it; pushes are \
           refused unless 'web.allow-push' and the other settings of [web] let them in. Clients have \
           no names here, so that settings which name users let no one in. The \
           settings 'web.port', 'web.address', 'web.ipv6', 'web.prefix', 'web.name', \
           'web.accesslog', 'web.errorlog' and 'web.certificate' stand for the options.\n\n\
           Requests are noted on the standard output, faults on the standard error, unless files \
           are named for them. In the background only files are written. The address is printed \
           with port 0 or with --verbose.\n\n\
           With --stdio a client of Mercurial is answered over the standard input and output, until \
           it goes. Clients start this over ssh, just in the form 'hg -R PATH serve --stdio'; any \
           other form is refused.\n\n\
           With --cmdserver pipe a program runs many commands in one process: it sends requests to the \
           standard input, and gets output, questions and exit codes from the standard output, in the \
           protocol of Mercurial's command server. With --cmdserver unix --address PATH each connection \
           to the socket PATH gets such a process.\n\n\
           With --web-conf many repositories are served, each at its own path. [paths] of the file has \
           lines 'PATH = DIR' for one repository, 'PATH = DIR/*' for all below a directory and \
           'PATH = DIR/**' for those inside of others, too. The file is read again, and the \
           directories are looked through, after 'web.refreshinterval' seconds, usually 20. Its other \
           sections are settings for all of its repositories.\n\n\
           A directory with repositories and databases is served by 'varve serve DIR'.\n\n\
           Ends with 0, or with 255 when a signal ends it.",
    category: Some(Category::Exchange),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    if context.session.is_of_client() {
        return Err(Abort::new("a command server does not start servers"));
    }
    if matches
        .value("cmdserver")
        .is_some_and(|mode| !mode.is_empty())
    {
        check_cmdserver(matches)?;
        return command_server::run(context, matches);
    }
    let Context {
        repo,
        ui,
        config,
        started_in,
        ..
    } = context;
    if !matches.flag("stdio") {
        return alone::run(repo, ui, config, started_in.as_deref(), matches);
    }
    let typed = std::env::args_os().skip(1).map(OsStringExt::into_vec);
    // An alias may lead here, too.
    check_stdio_form(&typed.collect::<Vec<_>>())?;
    stdio::run(repo, ui, config)
}

/// Refuses `--cmdserver` together with `--stdio`.
fn check_cmdserver(matches: &Matches) -> Result<(), Abort> {
    match matches.flag("stdio") {
        true => Err(Abort::input("cannot use --stdio with --cmdserver")),
        false => Ok(()),
    }
}
