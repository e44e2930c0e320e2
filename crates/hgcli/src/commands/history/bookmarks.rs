//! `bookmarks`: names that move along with commits.

use crate::arguments::{Flag, Matches, TEMPLATE};
use crate::commands::names;
use crate::context::{Category, Command, Config, Context, Repo, TypedRevision};
use crate::render::Formatter;
use crate::ui::{Abort, Ui, columns, short_hex};
use varve_repo::{LockKind, RepoView};
use varve_workdir::{BookmarkEdit, BookmarkRefusal, WorkdirError};

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

/// From this length on, a new name that a changeset has already is taken for a mistake.
const SUSPICIOUS: usize = 4;
/// Where the number of the changeset begins.
const COLUMNS: usize = 25;

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let action = typed_action(matches)?;
    repo.warn_of_malformed_bookmarks(ui)?;
    let inactive = matches.flag("inactive");
    let names = matches.arguments();
    if action == Some("list") || action.is_none() && names.is_empty() && !inactive {
        if action.is_none() && matches.value("rev").is_some() {
            return Err(Abort::input("bookmark name required"));
        }
        return list(repo, ui, config, matches, names);
    }
    let (repo, ui) = (repo, ui);
    let repository = repo.repository()?;
    let _working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    repo.refresh();
    if action != Some("delete") {
        repo.warn_of_disabled_markers(ui)?;
    }
    let mut edit = BookmarkEdit::new(&repository, repo.view()?, matches.flag("force"))?;
    match (action, matches.value("rename")) {
        (Some("delete"), _) => delete(&mut edit, names)?,
        (_, Some(old)) => {
            let (old, new) = (expanded(old, edit.active())?, new_name(names)?);
            edit.rename(&old, &new)?;
            warn_of_changeset(ui, &*repo.view()?, &new, matches)?;
        }
        _ if names.is_empty() => deactivate(&mut edit, ui)?,
        _ => set((repo, ui), matches, &mut edit)?,
    }
    edit.store_active(&repository)?;
    if edit.changes_bookmarks() {
        edit.store(&repository, repo.lock(ui, LockKind::Store)?)?;
        repo.refresh();
    }
    Ok(0)
}

/// The option that says what to do, if there is one and no other contradicts it.
fn typed_action(matches: &Matches) -> Result<Option<&'static str>, Abort> {
    let both = |one: &str, other: &str| {
        Err(Abort::input(format!(
            "cannot specify both --{one} and --{other}"
        )))
    };
    let actions = [
        ("delete", matches.flag("delete")),
        ("rename", matches.value("rename").is_some()),
        ("list", matches.flag("list")),
    ];
    let mut given = actions.iter().filter(|(_, given)| *given);
    let action = given.next().map(|(name, _)| *name);
    if let (Some(one), Some((other, _))) = (action, given.next()) {
        return both(one, other);
    }
    match action {
        Some(action) if matches.value("rev").is_some() => both(action, "rev"),
        Some(action) if matches.flag("inactive") && action != "rename" => both("inactive", action),
        action => Ok(action),
    }
}

/// A typed bookmark; `.` is the active one.
fn expanded(name: &[u8], active: Option<&[u8]>) -> Result<Vec<u8>, Abort> {
    match (name, active) {
        (b".", Some(active)) => Ok(active.to_vec()),
        (b".", None) => Err(Abort::input("no active bookmark")),
        _ => Ok(name.to_vec()),
    }
}

/// Says that a new bookmark has a name that a changeset has already.
fn warn_of_changeset(
    ui: &mut Ui,
    view: &RepoView,
    name: &[u8],
    matches: &Matches,
) -> Result<(), Abort> {
    if name.len() < SUSPICIOUS || matches.flag("force") || view.lookup(name).is_err() {
        return Ok(());
    }
    let words =
        b" matches a changeset hash\n(did you leave a -r out of an 'hg bookmark' command?)\n";
    ui.warn([b"bookmark ", &ui.local(name)[..], words].concat())
}

fn delete(edit: &mut BookmarkEdit, names: &[Vec<u8>]) -> Result<(), Abort> {
    if names.is_empty() {
        return Err(Abort::input("bookmark name required"));
    }
    for name in names {
        let name = expanded(name.trim_ascii(), edit.active())?;
        edit.remove(&name)?;
    }
    Ok(())
}

fn new_name(names: &[Vec<u8>]) -> Result<Vec<u8>, Abort> {
    match names {
        [] => Err(Abort::input("new bookmark name required")),
        [new] => names::checked(new, "bookmark"),
        _ => Err(Abort::input("only one new bookmark name allowed")),
    }
}

fn deactivate(edit: &mut BookmarkEdit, ui: &mut Ui) -> Result<(), Abort> {
    if edit.was_empty() {
        return ui.status("no bookmarks set\n");
    }
    match edit.deactivate() {
        true => Ok(()),
        false => ui.status("no active bookmark\n"),
    }
}

fn set(
    (repo, ui): (&mut Repo, &mut Ui),
    matches: &Matches,
    edit: &mut BookmarkEdit,
) -> Result<(), Abort> {
    let inactive = matches.flag("inactive");
    let spec = matches.value("rev").filter(|spec| !spec.is_empty());
    let named = match spec {
        Some(spec) => repo.revision_or_working(ui, spec)?,
        None => TypedRevision::Working,
    };
    let target = match named {
        TypedRevision::Stored(rev) => rev,
        TypedRevision::Working => edit.working_parent(),
    };
    if spec.is_some() {
        ui.warn(repo.words_about_hidden("bookmarking", target)?)?;
    }
    let mut first = None;
    for name in matches.arguments() {
        let name = names::checked(&ui.decode(name)?, "bookmark")?;
        if inactive && edit.active() == Some(&name) {
            // It stays where it is, whatever --rev says.
            edit.deactivate();
            continue;
        }
        let is_new = !edit.has(&name);
        if let Some(from) = edit.set(&name, target)? {
            let (shown, from) = (String::from_utf8_lossy(&name), short_hex(&from));
            ui.status(format!("moving bookmark '{shown}' forward from {from}\n"))?;
        }
        if is_new {
            warn_of_changeset(ui, &*repo.view()?, &name, matches)?;
        }
        first.get_or_insert(name);
    }
    edit.activate(first, target, !inactive && named == TypedRevision::Working);
    Ok(())
}

fn list(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    names: &[Vec<u8>],
) -> Result<u8, Abort> {
    let view = repo.view()?;
    let repository = repo.repository()?;
    let active = varve_workdir::active_bookmark(&repository)?;
    let all = view.bookmarks();
    let names = names.iter().map(|name| expanded(name, active.as_deref()));
    let names = names.collect::<Result<Vec<_>, Abort>>()?;
    if let Some(name) = names.iter().find(|name| !all.contains_key(*name)) {
        let name = String::from_utf8_lossy(name).into_owned();
        return Err(WorkdirError::from(BookmarkRefusal::Unknown(name)).into());
    }
    let quiet = ui.verbosity.quiet;
    let mut out = Formatter::new(ui, config, matches, "bookmarks")?.within(repo, config)?;
    if all.is_empty() && out.is_plain() {
        ui.status("no bookmarks set\n")?;
    }
    for (name, node) in all
        .iter()
        .filter(|(name, _)| names.is_empty() || names.contains(name))
    {
        let is_active = active.as_ref() == Some(name);
        let known = view.changelog().rev(node);
        let rev = known.map_or(-1, |rev| i64::from(rev.0));
        let label = match is_active {
            true => "bookmarks.active bookmarks.current",
            false => "",
        };
        out.item(ui)?;
        out.about_changeset(known);
        if !quiet {
            out.plain_labelled(ui, label, if is_active { " * " } else { "   " })?;
        }
        out.data("active", is_active);
        let shown = ui.local(name);
        out.labelled(ui, label, ("bookmark", name), &shown)?;
        out.data("rev", rev);
        out.data("node", *node);
        if !quiet {
            let (pad, hex) = (columns::padding(&shown, COLUMNS), ui.hex(node));
            out.plain_labelled(ui, label, format!("{pad} {rev}:{hex}"))?;
        }
        out.plain(ui, "\n")?;
    }
    out.end(ui)?;
    Ok(0)
}
