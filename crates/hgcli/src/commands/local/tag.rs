//! `tag`: names of changesets that stay where they are.

use crate::arguments::{Flag, Matches};
use crate::commands::local::commit::metadata::DescriptionDraft;
use crate::commands::local::commit::{before, commit_changes, metadata, options};
use crate::commands::local::instabilities;
use crate::commands::names;
use crate::context::{Category, Command, Context, Repo};
use crate::ui::{Abort, Ui};
use varve_repo::hooks::HookArgs;
use varve_repo::{LockKind, Node, RepoView};
use varve_workdir::{
    CommitMetadata, Dirstate, Status, TagChange, TagOptions, check_tag_parent, check_tags, message,
    tag_description, write_local_tags, write_tags,
};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["tag"],
    options: &[
        Flag::flag('f', "force", "even if the tag is there, or this is no head"),
        Flag::flag('l', "local", "only for this repository"),
        Flag::value(
            'r',
            "rev",
            "REV",
            "the changeset instead of that of the working directory",
        ),
        Flag::long_flag("remove", "take tags away"),
        options::EDIT,
        metadata::MESSAGE,
        metadata::DATE,
        metadata::USER,
    ],
    arguments: 1..=usize::MAX,
    synopsis: "[-f] [-l] [-e] [-m TEXT] [-d DATE] [-u USER] [-r REV] NAME...",
    summary: "add one or more tags for the current or given revision",
    help: "Tags stand in the file .hgtags, which is committed at once. Local ones stand in \
           .hg/localtags, which others do not see.\n\nEnds with 0.",
    category: Some(Category::Organization),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let repository = repo.repository()?;
    let _working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    repo.warn_of_disabled_markers(ui)?;
    repo.refresh();
    let options = options_of(matches);
    let names = typed_names(ui, matches)?;
    if options.removes && matches.value("rev").is_some() {
        return Err(Abort::input("cannot specify both --remove and --rev"));
    }
    let view = repo.view()?;
    let known = view.tags()?;
    check_tags(&view, &names, &known, options)?;
    let mut dirstate = Dirstate::read(&repository)?;
    if !options.local {
        check_tag_parent(&view, &dirstate, options.force)?;
    }
    let node = match options.removes {
        true => Node::NULL,
        false => tagged_changeset(repo, ui, matches)?,
    };
    warn_of_branches(ui, &view, &names)?;
    let date = metadata::date(config, matches)?;
    let change = TagChange {
        names: &names,
        node,
        known: &known,
    };
    for name in &names {
        repo.run_hooks(ui, "pretag", &hook_args(name, &node, options.local))?;
    }
    if options.local {
        write_local_tags(&repository, &change)?;
    } else {
        let user = metadata::user(ui, matches)?;
        let status = write_tags(&repository, &mut dirstate, &change)?;
        let typed = match matches.value("message").filter(|text| !text.is_empty()) {
            Some(text) => message::tidy(text),
            None => {
                let shown: Vec<Vec<u8>> = names.iter().map(|name| ui.local(name)).collect();
                tag_description(&shown, &node)
            }
        };
        let description = edited(
            (repo, ui),
            matches,
            (&mut dirstate, &status),
            (&user, typed),
        )?;
        let words = CommitMetadata {
            user: &user,
            date,
            branch: &varve_workdir::branch(&repository)?,
            extras: &[],
            description: &description,
            phase: metadata::new_phase(config)?,
        };
        let whom = (&mut *repo, &mut *ui, &*config);
        let (made, _) = commit_changes(whom, &mut dirstate, (&status, None), &words)?;
        instabilities::report_orphans(ui, &repository, &[made])?;
    }
    for name in &names {
        repo.notify_hooks(ui, "tag", &hook_args(name, &node, options.local))?;
    }
    Ok(0)
}

fn options_of(matches: &Matches) -> TagOptions {
    TagOptions {
        local: matches.flag("local"),
        removes: matches.flag("remove"),
        force: matches.flag("force"),
    }
}

/// The description, after the user's editor if that is wanted.
fn edited(
    (repo, ui): (&mut Repo, &mut Ui),
    matches: &Matches,
    (dirstate, status): (&mut Dirstate, &Status),
    (user, typed): (&[u8], Vec<u8>),
) -> Result<Vec<u8>, Abort> {
    if !matches.flag("edit") {
        return Ok(typed);
    }
    let repository = repo.repository()?;
    // The tags stay in the file if the user gives up.
    dirstate.write(&repository)?;
    let base = before::read_base(repo, ui, &repository, dirstate)?;
    let notes = message::EditorNotes {
        user,
        branch: base.branch(),
        is_merge: base.is_merge(),
        bookmark: base.bookmark(),
        status,
    };
    let draft = DescriptionDraft {
        typed,
        edits: true,
        form: match matches.flag("remove") {
            true => "tag.remove",
            false => "tag.add",
        },
    };
    metadata::edited(ui, draft, &notes)
}

fn typed_names(ui: &Ui, matches: &Matches) -> Result<Vec<Vec<u8>>, Abort> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    for name in matches.arguments() {
        let name = names::checked(&ui.decode(name)?, "tag")?;
        if found.contains(&name) {
            return Err(Abort::input("tag names must be unique"));
        }
        found.push(name);
    }
    Ok(found)
}

/// The changeset of `--rev`, or the first parent of the working copy.
fn tagged_changeset(repo: &mut Repo, ui: &mut Ui, matches: &Matches) -> Result<Node, Abort> {
    let rev = repo.revision(ui, matches.value("rev"))?;
    let node = repo.view()?.changelog().node_or_null(rev);
    match node.is_null() {
        true => Err(Abort::input("cannot tag null revision")),
        false => Ok(node),
    }
}

fn warn_of_branches(ui: &mut Ui, view: &RepoView, names: &[Vec<u8>]) -> Result<(), Abort> {
    let branches = view.branchmap()?;
    for name in names.iter().filter(|name| branches.contains_key(*name)) {
        let name = String::from_utf8_lossy(name);
        ui.warn(format!(
            "warning: tag {name} conflicts with existing branch name\n"
        ))?;
    }
    Ok(())
}

fn hook_args(tag: &[u8], node: &Node, local: bool) -> HookArgs {
    HookArgs::from([
        ("tag", tag.to_vec()),
        ("node", node.to_hex().to_vec()),
        ("local", vec![b'0' + u8::from(local)]),
    ])
}
