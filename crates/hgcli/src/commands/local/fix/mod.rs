//! `fix`: configured tools rewrite files of changesets and of the working directory.

mod finish;
mod metadata;
mod places;
mod run;
mod tools;

use crate::arguments::{Flag, Matches};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::ui::{Abort, Ui};
use places::{ALL, BASE, REV, SOURCE, WORKING};
use std::collections::BTreeMap;
use varve_repo::{LockKind, ViewFilter};
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{
    Dirstate, FixPlace, FixScope, FixedFiles, IgnoreFiles, PathAuditor, fix_items,
};

/// See [`Command`]. The extension `fix` switches it on.
pub(crate) const COMMAND: Command = Command {
    names: &["fix"],
    options: &[
        ALL,
        BASE,
        REV,
        SOURCE,
        WORKING,
        Flag::long_flag("whole", "fix all lines, not only changed ones"),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "rewrite file content in changesets or working directory",
    help: "Runs the tools of the section [fix] on changed files, and takes what they write as the new content. Of a \
           file only the changed lines are fixed, where its tool can be told them; --whole has all lines fixed. \
           With FILE, these files are fixed whether they have changed or not.\n\n\
           With --source, the changesets and their descendants are replaced by such with fixed files, without any \
           merge. The working directory is fixed and moves along if its parent is one of them. What counts as \
           changed is the difference to the nearest ancestors that are not fixed, or to those that --base names. \
           With --rev only the named changesets are replaced; what follows them is orphaned.\n\n\
           With --working-dir, changed files of the working directory are fixed. No backups are made.\n\n\
           The key NAME:command of [fix] is the line for the shell that runs the tool NAME, where {rootpath} is the path \
           of the file and {basename} its last part; NAME:pattern says which files it fixes. NAME:linerange is added to \
           the line for each run of changed lines, from {first} to {last}; a file without any is skipped, unless \
           NAME:skipclean says no. Tools with a higher NAME:priority run first. NAME:metadata is set for a tool that \
           writes JSON and a zero byte before the content, for hooks. NAME:enabled switches it off.\n\n\
           It runs in the root of the repository, reads the content from its standard input and writes the new one \
           to its standard output. One that fails changes nothing; with fix.failure = abort, nothing is changed at \
           all then. Files of more than fix.maxfilesize bytes are left alone. Tools are looked for in \
           fix.extra-bin-paths first. The hooks postfixfile and postfix are \
           run for each file and at the end.\n\n\
           Ends with 0.",
    category: Some(Category::Contents),
    run,
};

/// Files that are larger are left alone where `fix.maxfilesize` does not say.
const MAX_FILE_SIZE: u64 = 2 << 20;

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    places::check_options(matches)?;
    let repository = repo.repository()?;
    let working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    repo.refresh();
    let mut dirstate = Dirstate::read(&repository)?;
    let plan = places::plan((repo, ui, config), matches, &repository, &dirstate)?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let auditor = PathAuditor::new(repo.root()?);
    let arguments = matches.arguments();
    let matcher = repo.matcher_with(matches, arguments, &auditor, FilesetTarget::Working)?;
    if plan.has_working_copy() && !arguments.is_empty() {
        repo.warn_of_missing_files(ui, &matcher, &dirstate)?;
    }
    let tools = tools::read(ui, config)?;
    let files = IgnoreFiles::read(repository.root(), &repo.ignore_files()?)?;
    let scope = FixScope {
        repository: &repository,
        view: &view,
        dirstate: &dirstate,
        ignore: &files.ignore,
        matcher: &matcher,
        is_named: !arguments.is_empty(),
        stop: &ui.stop.clone(),
    };
    let items = fix_items(&scope, &plan)?;
    let session = run::FixRun {
        tools: &tools,
        scope: &scope,
        whole: matches.flag("whole"),
        max_size: config.bytes("fix", "maxfilesize")?.unwrap_or(MAX_FILE_SIZE),
        extra_directories: tools::extra_directories(config, repository.root()),
    };
    let fixed = fix_all((repo, ui, config), &session, &items)?;
    let revs: Vec<_> = plan.revs().collect();
    finish::carry_out(
        (repo, ui, config),
        (&repository, &view, &mut dirstate),
        (&revs, &plan, fixed),
    )?;
    drop(working_copy);
    Ok(0)
}

/// New contents, and what the tools have told.
#[derive(Default)]
struct Fixed {
    revs: FixedFiles,
    working: BTreeMap<Vec<u8>, Vec<u8>>,
    /// By tool, in the order in which they ran.
    metadata: BTreeMap<Vec<u8>, Vec<Option<serde_json::Value>>>,
}

/// Runs the tools on all files, and the hook after each file that has changed.
fn fix_all(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    session: &run::FixRun<'_>,
    items: &[varve_workdir::FixItem],
) -> Result<Fixed, Abort> {
    let mut fixed = Fixed::default();
    let mut matchers = tools::Matchers::default();
    let total = u64::try_from(items.len()).ok();
    ui.progress.begin("fixing", varve_base::Unit::Items, total);
    for item in items {
        ui.stop.check().map_err(varve_workdir::WorkdirError::from)?;
        ui.progress.advance(1);
        let Some(outcome) = session.fix((repo, ui, config), &mut matchers, item)? else {
            continue;
        };
        for (tool, value) in &outcome.metadata {
            let all = fixed.metadata.entry(tool.clone()).or_default();
            all.extend(item.places.iter().map(|_| value.clone()));
        }
        let Some(content) = outcome.content else {
            continue;
        };
        for place in &item.places {
            finish::run_file_hook((repo, ui), (*place, &item.path), &outcome.metadata)?;
            let files = match place {
                FixPlace::Rev(rev) => fixed.revs.entry(*rev).or_default(),
                FixPlace::Working => &mut fixed.working,
            };
            files.insert(item.path.clone(), content.clone());
        }
    }
    ui.progress.end();
    Ok(fixed)
}
