//! Hooks around each command: `pre-NAME`, then `post-NAME` or `fail-NAME`.

use crate::arguments::Matches;
use crate::arguments::flag::FlagKind;
use crate::context::{Command, Context};
use crate::hooks::refused;
use crate::ui::Abort;
use std::collections::BTreeMap;
use std::io::Write;
use varve_repo::hooks::{HookArgs, Hooks, python};

/// A command as hooks see it.
pub(crate) struct HookedCommand<'a> {
    /// Its name or that of the alias.
    pub(crate) name: &'a str,
    /// All that was typed.
    pub(crate) typed: &'a [Vec<u8>],
    /// The command and its arguments; `None` for a line for the shell.
    pub(crate) command: Option<(&'static Command, &'a Matches)>,
}

impl HookedCommand<'_> {
    fn hook_args(&self) -> HookArgs {
        let (mut patterns, mut options) = ("[]".to_owned(), "{}".to_owned());
        let mut typed = self.typed;
        match self.command {
            Some((command, matches)) => {
                patterns = python::list(matches.arguments().iter().map(Vec::as_slice));
                options = options_of(command, matches);
            }
            None => typed = &typed[..typed.len().min(1)],
        }
        HookArgs::from([
            ("args", typed.join(&b' ')),
            ("pats", patterns.into_bytes()),
            ("opts", options.into_bytes()),
        ])
    }
}

/// Runs a command between its hooks.
pub(crate) fn run_with_hooks(
    context: &mut Context,
    called: &HookedCommand<'_>,
    run: impl FnOnce(&mut Context) -> Result<u8, Abort>,
) -> Result<u8, Abort> {
    let kinds = ["pre", "post", "fail"].map(|when| format!("{when}-{}", called.name));
    let hooks = context.repo.hooks.clone();
    let listens = kinds.iter().any(|kind| hooks.has_hook(kind));
    let mut args = HookArgs::new();
    if listens {
        args = called.hook_args();
        context.ui.out.flush()?;
        kinds
            .iter()
            .try_for_each(|kind| hooks.check(kind))
            .map_err(refused)?;
        hooks.run(&kinds[0], &args, false).map_err(refused)?;
    }
    let done = run(context);
    context.repo.run_queued_hooks(&mut context.ui)?;
    let told = context.ui.print_traffic();
    let done = done.and_then(|code| told.map(|()| code));
    if listens {
        context.ui.out.flush()?;
        match &done {
            Ok(code) => {
                args.insert("result", code.to_string().into_bytes());
                hooks.notify(&kinds[1], &args);
            }
            Err(_) => hooks.notify(&kinds[2], &args),
        }
    }
    done
}

/// All options of a command as a dictionary of Python, with their values.
fn options_of(command: &Command, matches: &Matches) -> String {
    let mut pairs: BTreeMap<String, String> = BTreeMap::new();
    let own = DEFAULTS.iter().find(|(name, _)| *name == command.name());
    for (name, value) in own
        .iter()
        .flat_map(|(_, pairs)| pairs.split(' '))
        .filter_map(|p| p.split_once('='))
    {
        pairs.insert(name.to_owned(), value.to_owned());
    }
    for flag in command.options {
        let value = match flag.kind {
            FlagKind::Flag => matches
                .switch(flag.long)
                .map(|on| if on { "True" } else { "False" }.to_owned()),
            FlagKind::Value(_) => matches.value(flag.long).map(python::string),
            FlagKind::List(_) => Some(python::list(matches.list(flag.long))),
        };
        let default = if flag.kind == FlagKind::Flag {
            "None"
        } else {
            "''"
        };
        let name = flag.long.replace('-', "_");
        match value {
            Some(value) => drop(pairs.insert(name, value)),
            None if OWN.contains(&(command.name(), flag.long)) => {}
            None => drop(pairs.entry(name).or_insert_with(|| default.to_owned())),
        }
    }
    let pairs: Vec<String> = pairs
        .into_iter()
        .map(|(name, value)| format!("'{name}': {value}"))
        .collect();
    format!("{{{}}}", pairs.join(", "))
}

/// Options that Mercurial's commands do not have: hooks see them where they are given.
const OWN: &[(&str, &str)] = &[("verify", "salvage"), ("verify", "cut-off")];

/// Values of options that are not given, where that is neither `None` nor empty; and those of
/// Mercurial that cannot be given here, because hooks expect them all the same.
const DEFAULTS: &[(&str, &str)] = &[
    (
        "bookmarks",
        "delete=False force=False inactive=False list=False",
    ),
    ("branch", "rev=[]"),
    ("branches", "active=False closed=False"),
    ("cat", "decode=None"),
    ("clone", "uncompressed=None"),
    (
        "commit",
        "amend=None force_close_branch=None interactive=None subrepos=None",
    ),
    (
        "config",
        "exp_all_known=None non_shared=None shared=None untrusted=None",
    ),
    ("copy", "at_rev=''"),
    ("debugdata", "changelog=False dir='' manifest=False"),
    (
        "debugdeltachain",
        "all_info=False changelog=False dir='' manifest=False rev=[]",
    ),
    (
        "debugrevlog",
        "changelog=False dir='' dump=False manifest=False",
    ),
    (
        "debugupgraderepo",
        "backup=True changelog=None filelogs=None manifest=None optimize=[] run=False",
    ),
    (
        "diff",
        "binary=None ignore_changes_from_ancestors=False root='' subrepos=None",
    ),
    ("files", "subrepos=None"),
    ("forget", "interactive=None"),
    ("heads", "active=False closed=False style='' topo=False"),
    ("help", "command=None extension=None keyword=None system=[]"),
    (
        "log",
        "bookmark=[] follow_first=None graph=None line_range=[] style=''",
    ),
    ("manifest", "all=False"),
    ("parents", "style=''"),
    ("phase", "draft=False force=False public=False secret=False"),
    ("push", "new_branch=False publish=False pushvars=[]"),
    ("recover", "verify=False"),
    ("rename", "at_rev=''"),
    ("revert", "date='' interactive=None"),
    ("status", "terse='nothing'"),
    ("summary", "remote=None"),
    ("tag", "edit=None"),
    ("tip", "git=None patch=None style=''"),
    ("update", "date='' tool=''"),
    ("verify", "full=False"),
];
