//! `bookmarks`: names that move along with commits.

use crate::arguments::{Flag, Matches, TEMPLATE};
use crate::commands::names;
use crate::context::{Category, Command, Context};
use crate::render::Formatter;
use crate::ui::{Abort, Ui, columns};
use std::collections::BTreeMap;
use std::sync::Arc;
use varve_repo::{LockKind, Node, RepoView, Repository, Rev, ViewFilter};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["bookmarks", "bookmark"],
    options: &[
        Flag::flag('f', "force", "even if the name is taken"),
        Flag::value(
            'r',
            "rev",
            "REV",
            "the changeset instead of that of the working directory",
        ),
        Flag::flag('d', "delete", "remove bookmarks"),
        Flag::value('m', "rename", "OLD", "give a bookmark another name"),
        Flag::flag('i', "inactive", "do not make it the active one"),
        Flag::flag('l', "list", "show bookmarks"),
        TEMPLATE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTIONS]... [NAME]...",
    summary: "create a new bookmark or list existing bookmarks",
    help: "A bookmark is a name of a changeset. The active one, which is marked with a star, \
           moves along with the next commit.\n\nEnds with 0.",
    category: Some(Category::Organization),
    run,
};

/// Where the number of the changeset begins.
const COLUMNS: usize = 25;

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let actions = [
        ("delete", matches.flag("delete")),
        ("rename", matches.value("rename").is_some()),
        ("list", matches.flag("list")),
    ];
    let mut given = actions.iter().filter(|(_, given)| *given);
    let action = given.next().map(|(name, _)| *name);
    if let (Some(one), Some((other, _))) = (action, given.next()) {
        return Err(both(one, other));
    }
    let inactive = matches.flag("inactive");
    match action {
        Some(action) if matches.value("rev").is_some() => return Err(both(action, "rev")),
        Some(action) if inactive && action != "rename" => return Err(both("inactive", action)),
        _ => {}
    }
    let names = matches.arguments();
    if action == Some("list") || action.is_none() && names.is_empty() && !inactive {
        if action.is_none() && matches.value("rev").is_some() {
            return Err(Abort::new("bookmark name required"));
        }
        return list(context, matches, names);
    }
    let repository = context.repo.repository()?;
    let working_copy = context.repo.lock(&mut context.ui, LockKind::WorkingCopy)?;
    context.repo.refresh();
    if action != Some("delete") {
        context.repo.warn_of_disabled_markers(&mut context.ui)?;
    }
    let mut work = Work::begin(context, &repository, matches.flag("force"))?;
    match (action, matches.value("rename")) {
        (Some("delete"), _) => work.delete(names)?,
        (_, Some(old)) => work.rename(old, names)?,
        _ if names.is_empty() => work.deactivate(&mut context.ui)?,
        _ => work.add(context, matches, names, inactive)?,
    }
    work.finish(context, &repository)?;
    drop(working_copy);
    Ok(0)
}

fn both(one: &str, other: &str) -> Abort {
    Abort::new(format!("cannot specify both --{one} and --{other}"))
}

fn unknown(name: &[u8]) -> Abort {
    let shown = String::from_utf8_lossy(name);
    Abort::new(format!("bookmark '{shown}' does not exist"))
}

/// All bookmarks, before and after.
struct Work {
    view: Arc<RepoView>,
    before: BTreeMap<Vec<u8>, Node>,
    after: BTreeMap<Vec<u8>, Node>,
    active_before: Option<Vec<u8>>,
    active: Option<Vec<u8>>,
    parent: Option<Rev>,
    branch: Vec<u8>,
    force: bool,
}

impl Work {
    fn begin(context: &mut Context, repository: &Repository, force: bool) -> Result<Work, Abort> {
        let view = context.repo.view()?;
        let before = repository
            .view_for(ViewFilter::Unfiltered)?
            .bookmarks()
            .clone();
        let active = varve_workdir::active_bookmark(repository)?;
        let active = active.filter(|name| before.contains_key(name));
        let parents = view.working_parents()?;
        Ok(Work {
            after: before.clone(),
            before,
            active_before: active.clone(),
            active,
            parent: parents.first().and_then(|node| view.changelog().rev(node)),
            branch: varve_workdir::branch(repository)?,
            view,
            force,
        })
    }

    fn delete(&mut self, names: &[Vec<u8>]) -> Result<(), Abort> {
        if names.is_empty() {
            return Err(Abort::new("bookmark name required"));
        }
        for name in names {
            let name = name.trim_ascii();
            self.after.remove(name).ok_or_else(|| unknown(name))?;
            self.active.take_if(|active| active == name);
        }
        Ok(())
    }

    fn rename(&mut self, old: &[u8], names: &[Vec<u8>]) -> Result<(), Abort> {
        let new = match names {
            [] => return Err(Abort::new("new bookmark name required")),
            [new] => names::checked(new, "bookmark")?,
            _ => return Err(Abort::new("only one new bookmark name allowed")),
        };
        let node = *self.after.get(old).ok_or_else(|| unknown(old))?;
        self.check(&new, None)?;
        self.after.insert(new.clone(), node);
        if self.active.as_deref() == Some(old) {
            self.active = Some(new);
        }
        self.after.remove(old);
        Ok(())
    }

    fn deactivate(&mut self, ui: &mut Ui) -> Result<(), Abort> {
        if self.before.is_empty() {
            return ui.status("no bookmarks set\n");
        }
        match self.active.take() {
            Some(_) => Ok(()),
            None => ui.status("no active bookmark\n"),
        }
    }

    fn add(
        &mut self,
        context: &mut Context,
        matches: &Matches,
        names: &[Vec<u8>],
        inactive: bool,
    ) -> Result<(), Abort> {
        let target = match matches.value("rev") {
            Some(spec) => context.repo.revision(&mut context.ui, Some(spec))?,
            None => self.parent,
        };
        let node = self.view.changelog().node_or_null(target);
        let mut first = None;
        for name in names {
            let name = names::checked(&context.ui.decode(name)?, "bookmark")?;
            if inactive && self.active.as_ref() == Some(&name) {
                self.active = None;
                return Ok(());
            }
            if let Some(from) = self.check(&name, Some(target))? {
                let (shown, from) = (String::from_utf8_lossy(&name), from.to_string());
                let from = &from[..12];
                context
                    .ui
                    .status(format!("moving bookmark '{shown}' forward from {from}\n"))?;
            }
            self.after.insert(name.clone(), node);
            first.get_or_insert(name);
        }
        if !inactive && matches.value("rev").is_none() {
            self.active = first;
        } else if target != self.parent && first.is_some() && first == self.active {
            self.active = None;
        }
        Ok(())
    }

    /// Refuses a name that is taken. A bookmark may move forward; then gives where it was.
    fn check(&self, name: &[u8], target: Option<Option<Rev>>) -> Result<Option<Node>, Abort> {
        if self.force {
            return Ok(None);
        }
        let shown = String::from_utf8_lossy(name);
        if let Some(node) = self.after.get(name) {
            let at = self.view.changelog().rev(node);
            match target {
                Some(target) if at == target && target == self.parent => return Ok(None),
                Some(Some(target)) if at.is_none_or(|at| self.follows(target, at)) => {
                    return Ok(Some(*node));
                }
                _ => {}
            }
            let message = format!("bookmark '{shown}' already exists (use -f to force)");
            return Err(Abort::new(message));
        }
        if self.branch == name || self.view.branchmap()?.contains_key(name) {
            let message = "a bookmark cannot have the name of an existing branch";
            return Err(Abort::new(message));
        }
        Ok(None)
    }

    /// Whether `new` descends from `old` and is another.
    fn follows(&self, new: Rev, old: Rev) -> bool {
        let mut wanted = vec![new];
        let mut seen = std::collections::HashSet::new();
        while let Some(rev) = wanted.pop() {
            let parents = self.view.changelog().parents(rev).into_iter().flatten();
            for parent in parents.filter(|parent| *parent >= old) {
                if parent == old {
                    return true;
                }
                if seen.insert(parent) {
                    wanted.push(parent);
                }
            }
        }
        false
    }

    fn finish(self, context: &mut Context, repository: &Repository) -> Result<(), Abort> {
        // Before the transaction, as hooks of that may look at it.
        if self.active != self.active_before {
            varve_workdir::set_active_bookmark(repository, self.active.as_deref())?;
        }
        if self.after != self.before {
            let lock = context.repo.lock(&mut context.ui, LockKind::Store)?;
            let mut transaction = repository.transaction(lock, "bookmark")?;
            transaction.set_bookmarks(&self.after)?;
            transaction.finish()?;
            context.repo.refresh();
        }
        Ok(())
    }
}

fn list(context: &mut Context, matches: &Matches, names: &[Vec<u8>]) -> Result<u8, Abort> {
    let view = context.repo.view()?;
    let repository = context.repo.repository()?;
    let active = varve_workdir::active_bookmark(&repository)?;
    let all = view.bookmarks();
    if let Some(name) = names.iter().find(|name| !all.contains_key(*name)) {
        return Err(unknown(name));
    }
    let quiet = context.ui.verbosity.quiet;
    let mut out = Formatter::new(context, matches, "bookmarks")?;
    if all.is_empty() && out.is_plain() {
        context.ui.status("no bookmarks set\n")?;
    }
    for (name, node) in all
        .iter()
        .filter(|(name, _)| names.is_empty() || names.contains(name))
    {
        let is_active = active.as_ref() == Some(name);
        let rev = view
            .changelog()
            .rev(node)
            .map_or(-1, |rev| i64::from(rev.0));
        out.item(context)?;
        if !quiet {
            out.plain(&mut context.ui, if is_active { " * " } else { "   " })?;
        }
        out.data("active", is_active);
        out.field(&mut context.ui, "bookmark", name, name)?;
        out.data("rev", rev);
        out.data("node", *node);
        if !quiet {
            let (pad, hex) = (columns::padding(name, COLUMNS), context.ui.hex(node));
            out.plain(&mut context.ui, format!("{pad} {rev}:{hex}"))?;
        }
        out.plain(&mut context.ui, "\n")?;
    }
    out.end(context)?;
    Ok(0)
}
