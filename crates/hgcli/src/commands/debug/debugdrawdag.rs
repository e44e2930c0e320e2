//! `debugdrawdag`: commits the changesets of a drawing.

use crate::arguments::Matches;
use crate::commands::local::commit::metadata::write_options;
use crate::commands::local::instabilities;
use crate::commands::local::rewrite::{RewrittenBy, add_markers};
use crate::context::{Command, Config, Context, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeMap;
use std::io::Read;
use varve_repo::{LockKind, Node, Repository, ViewFilter};
use varve_workdir::{Drawing, Remark, TagChange, commit_drawing, write_local_tags};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugdrawdag"],
    options: &[],
    arguments: 0..=0,
    synopsis: "",
    summary: "commit the changesets of a drawing",
    help: "The standard input draws changesets by their names, with lines of | / \\ - + down to their \
           parents, as log -G does; an o stands for the name to its right. Each changeset gets a \
           file and a local tag of its name. What is at the bottom may be a query for a changeset \
           that exists.\n\n\
           Behind # may stand NAME/FILE=CONTENT for further files, and what replaces \
           what: amend: A -> B, rebase: A -> B, replace: A -> B -> C, split: A -> B, C, prune: A, \
           B.\n\nEnds with 0.",
    category: None,
    run,
};

/// Most bytes of a drawing.
const MOST: u64 = 16 << 20;

fn run(context: &mut Context, _: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let mut text = Vec::new();
    ui.streams.input().take(MOST).read_to_end(&mut text)?;
    let drawing = Drawing::parse(&text);
    let _working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    let lock = repo.lock(ui, LockKind::Store)?;
    let repository = repo.repository()?;
    let mut known = BTreeMap::new();
    for (name, parents) in &drawing.parents {
        if parents.is_empty()
            && let Some(node) = existing(repo, name)?
        {
            known.insert(name.clone(), node);
        }
    }
    let user = ui.username()?;
    let mut batch = repository.begin_locked(lock, write_options(config, &repository)?)?;
    let made = commit_drawing(&mut batch, &drawing, &known, &user)?;
    batch.finish()?;
    repo.refresh();
    for (name, node) in &made {
        let known = repository.view_for(ViewFilter::Unfiltered)?;
        let known = known.tags()?;
        write_local_tags(
            &repository,
            &TagChange {
                names: std::slice::from_ref(name),
                node: *node,
                known: &known,
            },
        )?;
    }
    let nodes = known.into_iter().chain(made).collect();
    rewrite((repo, ui, config), &repository, &drawing, &nodes)?;
    Ok(0)
}

/// The changeset that a name at the bottom means, if it is there.
fn existing(repo: &mut Repo, name: &[u8]) -> Result<Option<Node>, Abort> {
    let view = repo.repository()?.view_for(ViewFilter::Unfiltered)?;
    let engine = repo.engine(&view)?;
    let found = engine.single(name).ok().flatten();
    Ok(found.map(|rev| view.changelog().node(rev)))
}

/// Adds the markers that the remarks ask for.
fn rewrite(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    drawing: &Drawing,
    nodes: &BTreeMap<Vec<u8>, Node>,
) -> Result<(), Abort> {
    let node = |name: &Vec<u8>| {
        let found = nodes.get(name).copied();
        let shown = String::from_utf8_lossy(name).into_owned();
        found.ok_or_else(|| Abort::input(format!("the drawing has no changeset '{shown}'")))
    };
    let mut rewrites = Vec::new();
    for remark in &drawing.remarks {
        if let Remark::Rewrite {
            operation,
            old,
            new,
        } = remark
        {
            let operation = String::from_utf8_lossy(operation).into_owned();
            let new = new.iter().map(node).collect::<Result<Vec<_>, _>>()?;
            rewrites.push((operation, node(old)?, new));
        }
    }
    if rewrites.is_empty() {
        return Ok(());
    }
    let unstable = repository
        .view_for(ViewFilter::Unfiltered)?
        .instabilities()?;
    let rewrites: Vec<RewrittenBy<'_>> = rewrites
        .iter()
        .map(|(operation, old, new)| RewrittenBy {
            operation,
            old: *old,
            new,
        })
        .collect();
    add_markers(
        (repo, ui, config),
        repository,
        ("drawdag", (0, 0)),
        &rewrites,
    )?;
    repo.refresh();
    instabilities::report(ui, repository, &unstable)
}
