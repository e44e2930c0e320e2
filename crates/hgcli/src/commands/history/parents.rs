//! `parents`: parents of the working copy or of a changeset.

use crate::arguments::{Flag, Matches, STYLE, TEMPLATE};
use crate::context::{Category, Command, Context, Repo};
use crate::render::changesets;
use crate::ui::Abort;
use varve_repo::Rev;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["parents"],
    options: &[
        Flag::value('r', "rev", "REV", "the parents of this changeset"),
        STYLE,
        TEMPLATE,
    ],
    arguments: 0..=1,
    synopsis: "[-r REV] [FILE]",
    summary: "show the parents of the working directory or of a changeset",
    help: "With FILE, the changesets are shown in which the parents have changed it last.\n\n\
           Ends with 0.",
    category: Some(Category::Navigation),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let view = repo.view()?;
    let parents: Vec<Rev> = match matches.value("rev").filter(|rev| !rev.is_empty()) {
        Some(rev) => match repo.revision(ui, Some(rev))? {
            Some(rev) => view
                .changelog()
                .parents(rev)
                .into_iter()
                .flatten()
                .collect(),
            None => Vec::new(),
        },
        None => repo.working_parents()?,
    };
    let shown = match matches.arguments() {
        [] => parents,
        _ => last_changes(repo, matches, &parents)?,
    };
    let shown: Vec<Option<Rev>> = shown.into_iter().map(Some).collect();
    if !shown.is_empty() || matches.value("template").is_some() {
        changesets::show(repo, ui, config, matches, &shown)?;
    }
    Ok(0)
}

/// The changesets in which `parents` have changed the file that the argument names.
fn last_changes(repo: &mut Repo, matches: &Matches, parents: &[Rev]) -> Result<Vec<Rev>, Abort> {
    let view = repo.view()?;
    let matcher = repo.matcher(matches)?;
    let file = match matcher.named() {
        [file] if !matcher.is_wild() => file,
        _ => return Err(Abort::input("can only specify an explicit filename")),
    };
    let mut found = Vec::new();
    for parent in parents {
        let text = view.manifest_text(Some(*parent))?;
        let Some(entry) = view.find_in_manifest(&text, file)? else {
            continue;
        };
        let filelog = view.filelog(file)?;
        let link = filelog.rev(&entry.node).map(|rev| filelog.linkrev(rev));
        found.extend(link.and_then(|link| view.changelog().rev_at(link)));
    }
    if found.is_empty() {
        let file = String::from_utf8_lossy(file);
        return Err(Abort::input(format!("'{file}' not found in manifest")));
    }
    Ok(found)
}
