//! `tag`: names of changesets that stay where they are.

use crate::arguments::{Flag, Matches};
use crate::commands::local::commit::metadata;
use crate::commands::names;
use crate::context::{Category, Command, Context, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeMap;
use varve_repo::hooks::HookArgs;
use varve_repo::{LockKind, Node, Phase, Repository};
use varve_workdir::{CommitContext, CommitMetadata, Dirstate, Status, Tree, WorkingFiles, message};

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
        metadata::MESSAGE,
        metadata::DATE,
        metadata::USER,
    ],
    arguments: 1..=usize::MAX,
    synopsis: "[-f] [-l] [-m TEXT] [-d DATE] [-u USER] [-r REV] NAME...",
    summary: "add one or more tags for the current or given revision",
    help: "Tags stand in the file .hgtags, which is committed at once. Local ones stand in \
           .hg/localtags, which others do not see.\n\nEnds with 0.",
    category: Some(Category::Organization),
    run,
};

const TAGS: &[u8] = b".hgtags";

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let repository = context.repo.repository()?;
    let _working_copy = context.repo.lock(&mut context.ui, LockKind::WorkingCopy)?;
    context.repo.warn_of_disabled_markers(&mut context.ui)?;
    context.repo.refresh();
    let (local, removes) = (matches.flag("local"), matches.flag("remove"));
    let tags = typed_tags(&context.ui, matches)?;
    if removes && matches.value("rev").is_some() {
        return Err(Abort::new("cannot specify both --remove and --rev"));
    }
    let view = context.repo.view()?;
    let known = view.tags()?;
    let force = matches.flag("force");
    check_known(&mut context.repo, &tags, &known, (local, removes), force)?;
    let mut dirstate = Dirstate::read(&repository)?;
    if !local {
        check_place(&mut context.repo, &dirstate, force)?;
    }
    let node = if removes {
        Node::NULL
    } else {
        let rev = context
            .repo
            .revision(&mut context.ui, matches.value("rev"))?;
        let node = view.changelog().node_or_null(rev);
        if node.is_null() {
            return Err(Abort::new("cannot tag null revision"));
        }
        node
    };
    let branches = view.branchmap()?;
    for tag in tags.iter().filter(|tag| branches.contains_key(*tag)) {
        let tag = String::from_utf8_lossy(tag);
        context.ui.warn(format!(
            "warning: tag {tag} conflicts with existing branch name\n"
        ))?;
    }
    let date = metadata::date(&context.config, matches)?;
    for tag in &tags {
        context
            .repo
            .run_hooks(&mut context.ui, "pretag", &facts(tag, &node, local))?;
    }
    if local {
        let path = repository.root().join(".hg/localtags");
        let old = std::fs::read(&path).unwrap_or_default();
        let text = with_lines(old, &tags, &node, &known);
        std::fs::write(&path, text).map_err(|error| Abort::file(&error, &path))?;
        report(&mut context.repo, &mut context.ui, &tags, &node, local)?;
        return Ok(0);
    }
    let said = (metadata::user(&mut context.ui, matches)?, date);
    let status = write_tags(&repository, &mut dirstate, &tags, &node, &known)?;
    let description = match matches.value("message").filter(|text| !text.is_empty()) {
        Some(text) => message::tidy(text),
        None => described(&tags, &node),
    };
    commit(
        context,
        said,
        &repository,
        &mut dirstate,
        &status,
        &description,
    )?;
    report(&mut context.repo, &mut context.ui, &tags, &node, local)?;
    Ok(0)
}

fn typed_tags(ui: &Ui, matches: &Matches) -> Result<Vec<Vec<u8>>, Abort> {
    let mut tags: Vec<Vec<u8>> = Vec::new();
    for name in matches.arguments() {
        let name = names::checked(&ui.decode(name)?, "tag")?;
        if tags.contains(&name) {
            return Err(Abort::new("tag names must be unique"));
        }
        tags.push(name);
    }
    Ok(tags)
}

/// Arguments of hooks for a tag.
fn facts(tag: &[u8], node: &Node, local: bool) -> HookArgs {
    HookArgs::from([
        ("tag", tag.to_vec()),
        ("node", node.to_hex().to_vec()),
        ("local", vec![b'0' + u8::from(local)]),
    ])
}

fn report(
    repo: &mut Repo,
    ui: &mut Ui,
    tags: &[Vec<u8>],
    node: &Node,
    local: bool,
) -> Result<(), Abort> {
    let mut tags = tags.iter();
    tags.try_for_each(|tag| repo.notify_hooks(ui, "tag", &facts(tag, node, local)))
}

fn described(tags: &[Vec<u8>], node: &Node) -> Vec<u8> {
    let names = tags.join(&b", "[..]);
    if node.is_null() {
        return [b"Removed tag ", &names[..]].concat();
    }
    let hex = node.to_string();
    [
        b"Added tag ",
        &names[..],
        b" for changeset ",
        &hex.as_bytes()[..12],
    ]
    .concat()
}

/// Refuses to add existing tags and to remove missing ones.
fn check_known(
    repo: &mut Repo,
    tags: &[Vec<u8>],
    known: &BTreeMap<Vec<u8>, Node>,
    (local, removes): (bool, bool),
    force: bool,
) -> Result<(), Abort> {
    let locals = repo.view()?.local_tag_names()?;
    for tag in tags {
        let (is_known, shown) = (known.contains_key(tag), String::from_utf8_lossy(tag));
        let fail = |words: String| Err(Abort::new(format!("tag '{shown}' {words}")));
        if removes && !is_known {
            return fail("does not exist".to_owned());
        }
        if removes && locals.contains(tag) != local {
            let kind = if local { "local" } else { "global" };
            return fail(format!("is not a {kind} tag"));
        }
        if !removes && !force && is_known {
            return fail("already exists (use -f to force)".to_owned());
        }
    }
    Ok(())
}

/// A tag is committed on the first parent, which should be a head of its branch.
fn check_place(repo: &mut Repo, dirstate: &Dirstate, force: bool) -> Result<(), Abort> {
    let [p1, p2] = dirstate.parents();
    if !p2.is_null() {
        return Err(Abort::new("uncommitted merge"));
    }
    let view = repo.view()?;
    let branches = view.branchmap()?;
    let at = view.changelog().rev(&p1);
    let mut heads = branches.values().flat_map(|branch| &branch.heads);
    if !force && !branches.is_empty() && !heads.any(|head| Some(*head) == at) {
        let message = "working directory is not at a branch head (use -f to force)";
        return Err(Abort::new(message));
    }
    Ok(())
}

/// The lines of tags with new ones; a name that is there is first said to be where it was.
fn with_lines(
    mut text: Vec<u8>,
    tags: &[Vec<u8>],
    node: &Node,
    known: &BTreeMap<Vec<u8>, Node>,
) -> Vec<u8> {
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    for tag in tags {
        let line = |node: &Node| [&node.to_hex()[..], b" ", tag, b"\n"].concat();
        let was_named = text
            .split(|byte| *byte == b'\n')
            .any(|line| line.get(2 * Node::LEN + 1..) == Some(tag));
        if was_named || known.contains_key(tag) {
            let old = known.get(tag).copied().unwrap_or(Node::NULL);
            text.extend_from_slice(&line(&old));
        }
        text.extend_from_slice(&line(node));
    }
    text
}

fn write_tags(
    repository: &Repository,
    dirstate: &mut Dirstate,
    tags: &[Vec<u8>],
    node: &Node,
    known: &BTreeMap<Vec<u8>, Node>,
) -> Result<Status, Abort> {
    let view = repository.view_for(varve_repo::ViewFilter::Unfiltered)?;
    let parent = Tree::of(&view, view.changelog().rev(&dirstate.parents()[0]))?;
    let files = WorkingFiles::new(repository.root());
    let standing = varve_workdir::local_state(TAGS, dirstate, &parent, &files)?;
    let is_there = files.look(TAGS)?.is_some();
    match standing {
        varve_workdir::LocalState::Clean => {}
        varve_workdir::LocalState::Unknown if !is_there => {}
        _ => {
            return Err(Abort::new("working copy of .hgtags is changed")
                .hint("please commit .hgtags manually"));
        }
    }
    let old = if is_there {
        files.read(TAGS)?.0
    } else {
        Vec::new()
    };
    let text = with_lines(old, tags, node, known);
    files.write(TAGS, &text, varve_repo::FileKind::Plain)?;
    dirstate.add(TAGS);
    let list = vec![TAGS.to_vec()];
    Ok(match is_there {
        true => Status {
            modified: list,
            ..Status::default()
        },
        false => Status {
            added: list,
            ..Status::default()
        },
    })
}

fn commit(
    context: &mut Context,
    (user, date): (Vec<u8>, (i64, i32)),
    repository: &Repository,
    dirstate: &mut Dirstate,
    status: &Status,
    description: &[u8],
) -> Result<(), Abort> {
    let branch = varve_workdir::branch(repository)?;
    let phase: Phase = metadata::new_phase(&context.config)?;
    let parents = dirstate.parents();
    context.repo.before_commit(&mut context.ui, &parents)?;
    let lock = context.repo.lock(&mut context.ui, LockKind::Store)?;
    // Another process may have committed before.
    context.repo.refresh();
    let place = CommitContext {
        repository,
        lock,
        seen: &*context.repo.view()?,
        options: metadata::write_options(&context.config, repository)?,
        stop: &context.ui.stop.clone(),
    };
    let words = CommitMetadata {
        user: &user,
        date,
        branch: &branch,
        extras: &[],
        description,
        phase,
    };
    let (user, description) = metadata::texts(&mut context.ui, &words)?;
    let words = CommitMetadata {
        user: &user,
        description: &description,
        ..words
    };
    let made = varve_workdir::commit(place, dirstate, status, &words)?;
    context.repo.after_commit(&made, &parents);
    context.repo.refresh();
    Ok(())
}
