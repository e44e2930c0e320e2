//! `identify`: names of the working copy or of a changeset.

use crate::arguments::{Flag, INSECURE, Matches, REMOTECMD, SSH, TEMPLATE};
use crate::context::{Category, Command, Config, Context, OtherRepository, Repo, TypedRevision};
use crate::remote::peers;
use crate::render::Formatter;
use crate::ui::{Abort, Ui};
use std::io::Write;
use varve_repo::{DEFAULT_BRANCH, Node, RepoView, Repository, Rev, ViewFilter};
use varve_revset::WORKING_COPY;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["identify", "id"],
    options: &[
        Flag::value('r', "rev", "REV", "identify this changeset"),
        Flag::flag('n', "num", "the number"),
        Flag::flag('i', "id", "the id"),
        Flag::flag('b', "branch", "the branch"),
        Flag::flag('t', "tags", "the tags"),
        Flag::flag('B', "bookmarks", "the bookmarks"),
        SSH,
        REMOTECMD,
        INSECURE,
        TEMPLATE,
    ],
    arguments: 0..=1,
    synopsis: "[-nibtB] [-r REV] [SOURCE]",
    summary: "identify the working directory or a changeset",
    help: "Prints the id of each parent of the working directory, a + if files are changed, the \
           branch if it is not default, tags and bookmarks. SOURCE is another repository, see \
           'hg help pull'.\n\nEnds with 0.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// The identified changeset or working copy.
struct Subject {
    /// `None` stands for the null revision; a merge in the working copy has two.
    revs: Vec<Option<Rev>>,
    branch: Vec<u8>,
    /// `+` if files are changed.
    dirty: &'static str,
    /// Whether it is the working copy, which is no changeset itself.
    working: bool,
    tags: Vec<Vec<u8>>,
    bookmarks: Vec<Vec<u8>>,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    match matches.arguments().first() {
        Some(source) => of_source(repo, ui, config, matches, source),
        None => of_repository(repo, ui, config, matches),
    }
}

/// The changeset of `--rev`, if it says anything.
fn wanted(matches: &Matches) -> Option<&[u8]> {
    matches.value("rev").filter(|rev| !rev.is_empty())
}

/// Identifies the working copy of `repo` or one of its changesets.
fn of_repository(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
) -> Result<u8, Abort> {
    repo.warn_of_disabled_markers(ui)?;
    let view = repo.view()?;
    let subject = match wanted(matches) {
        Some(rev) => match repo.revision_or_working(ui, rev)? {
            TypedRevision::Stored(rev) => of_changeset(&view, rev)?,
            TypedRevision::Working => of_working_directory(repo, &view)?,
        },
        None => of_working_directory(repo, &view)?,
    };
    let mut out = Formatter::new(ui, config, matches, "identify")?.within(repo, config)?;
    out.item(ui)?;
    out.about_changeset(match subject.working {
        true => Some(WORKING_COPY),
        false => subject.revs.first().copied().flatten(),
    });
    print(ui, out, matches, &view, &subject)
}

fn of_changeset(view: &RepoView, rev: Option<Rev>) -> Result<Subject, Abort> {
    let branch = match rev {
        Some(rev) => view.with_changeset(rev, |changeset| changeset.branch().into_owned())?,
        None => DEFAULT_BRANCH.to_vec(),
    };
    let nodes = [view.changelog().node_or_null(rev)];
    Ok(Subject {
        tags: tags(view, &nodes)?,
        bookmarks: bookmarks(view, &nodes),
        revs: vec![rev],
        branch,
        dirty: "",
        working: false,
    })
}

fn of_working_directory(repo: &mut Repo, view: &RepoView) -> Result<Subject, Abort> {
    let parents = repo.working_parents()?;
    let status = repo.working_changes()?;
    let nodes: Vec<Node> = parents
        .iter()
        .map(|rev| view.changelog().node(*rev))
        .collect();
    let mut revs: Vec<Option<Rev>> = parents.into_iter().map(Some).collect();
    if revs.is_empty() {
        revs.push(None);
    }
    Ok(Subject {
        tags: match view.changelog().is_empty() {
            true => vec![b"tip".to_vec()],
            false => tags(view, &nodes)?,
        },
        bookmarks: bookmarks(view, &nodes),
        revs,
        branch: repo.working_branch()?,
        dirty: if status.is_unchanged() { "" } else { "+" },
        working: true,
    })
}

/// Names of the tags of these changesets, sorted.
fn tags(view: &RepoView, nodes: &[Node]) -> Result<Vec<Vec<u8>>, Abort> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    let tip = view.tip().map(|rev| view.changelog().node(rev));
    let tags = view.tags()?;
    for node in nodes {
        let of_node = tags.iter().filter(|(_, tagged)| *tagged == node);
        let mut here: Vec<Vec<u8>> = of_node.map(|(name, _)| name.clone()).collect();
        if tip == Some(*node) {
            here.push(b"tip".to_vec());
        }
        here.sort_unstable();
        names.append(&mut here);
    }
    Ok(names)
}

fn bookmarks(view: &RepoView, nodes: &[Node]) -> Vec<Vec<u8>> {
    let names = |node: &Node| {
        let node = *node;
        view.bookmarks().iter().filter(move |(_, at)| **at == node)
    };
    let names = nodes.iter().flat_map(names);
    names.map(|(name, _)| name.clone()).collect()
}

/// Prints the item that has begun.
fn print(
    ui: &mut Ui,
    mut out: Formatter,
    matches: &Matches,
    view: &RepoView,
    subject: &Subject,
) -> Result<u8, Abort> {
    let nodes: Vec<Node> = subject
        .revs
        .iter()
        .map(|rev| view.changelog().node_or_null(*rev))
        .collect();
    let words = words(ui, matches, subject, &nodes);
    let dirty = subject.dirty;
    let whole = nodes
        .iter()
        .map(|node| String::from_utf8_lossy(&node.to_hex()).into_owned());
    out.data("id", whole.collect::<Vec<_>>().join("+") + dirty);
    if matches.flag("num") {
        out.data("rev", numbers(subject));
    }
    out.data("branch", &subject.branch);
    out.data("tags", subject.tags.clone());
    out.data("bookmarks", subject.bookmarks.clone());
    if subject.working {
        out.data("dirty", dirty);
        out.data("node", WORKING_DIRECTORY);
        out.data("parents", nodes);
    } else {
        out.data("node", nodes.first().copied().unwrap_or(Node::NULL));
    }
    let words = ui.local(&words.join(&b' '));
    out.plain(ui, words)?;
    out.plain(ui, "\n")?;
    out.end(ui)?;
    Ok(0)
}

/// Stands in for the node of the working copy.
const WORKING_DIRECTORY: &str = "ffffffffffffffffffffffffffffffffffffffff";

fn numbers(subject: &Subject) -> String {
    let numbers = subject.revs.iter().map(|rev| match rev {
        Some(rev) => rev.0.to_string(),
        None => "-1".to_owned(),
    });
    numbers.collect::<Vec<_>>().join("+") + subject.dirty
}

/// Words of the text output.
fn words(ui: &Ui, matches: &Matches, subject: &Subject, nodes: &[Node]) -> Vec<Vec<u8>> {
    let asked = |flag| matches.flag(flag);
    let default = !["num", "id", "branch", "tags", "bookmarks"]
        .iter()
        .any(|flag| asked(flag));
    let mut words: Vec<Vec<u8>> = Vec::new();
    if default || asked("id") {
        let ids: Vec<String> = nodes.iter().map(|node| ui.hex(node)).collect();
        words.push((ids.join("+") + subject.dirty).into_bytes());
    }
    if asked("num") {
        words.push(numbers(subject).into_bytes());
    }
    if default && !ui.verbosity.quiet {
        if subject.branch != DEFAULT_BRANCH {
            words.push([b"(", &subject.branch[..], b")"].concat());
        }
        for names in [&subject.tags, &subject.bookmarks] {
            if !names.is_empty() {
                words.push(names.join(&b'/'));
            }
        }
    } else if !default {
        if asked("branch") {
            words.push(subject.branch.clone());
        }
        if asked("tags") {
            words.extend(subject.tags.iter().cloned());
        }
        if asked("bookmarks") {
            words.extend(subject.bookmarks.iter().cloned());
        }
    }
    words
}

/// Identifies another repository, or a changeset of it.
fn of_source(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    source: &[u8],
) -> Result<u8, Abort> {
    let source = peers::sources(repo, ui, config, source)?.remove(0);
    let wanted = wanted(matches);
    if !source.is_elsewhere() {
        let opened = peers::open_local(repo, &source)?;
        if opened.is_bundle {
            return of_bundle(&opened.repository, (ui, config), matches, wanted);
        }
        let mut there = OtherRepository::open(repo, ui, config, opened.repository.root())?;
        there.repo.hidden = repo.hidden;
        let done = of_repository(&mut there.repo, &mut there.ui, &there.config, matches);
        there.ui.out.flush()?;
        return done;
    }
    if ["num", "branch", "tags"]
        .iter()
        .any(|flag| matches.flag(flag))
    {
        let message = "can't query remote revision number, branch, or tags";
        return Err(Abort::input(message));
    }
    let mut remote = peers::connect(repo, ui, config, &source)?;
    let wanted = wanted.or(source.branch.as_deref()).unwrap_or(b"tip");
    let node = remote.lookup(wanted)?;
    let mut bookmarks = Vec::new();
    if !is_json(matches) {
        let all = remote.bookmarks()?.into_iter();
        bookmarks.extend(all.filter(|(_, at)| *at == node).map(|(name, _)| name));
    }
    let subject = Subject {
        revs: Vec::new(),
        branch: DEFAULT_BRANCH.to_vec(),
        dirty: "",
        working: false,
        tags: Vec::new(),
        bookmarks,
    };
    let words = words(ui, matches, &subject, &[node]);
    let mut out = Formatter::new(ui, config, matches, "identify")?;
    out.item(ui)?;
    out.data("id", String::from_utf8_lossy(&node.to_hex()).into_owned());
    if !is_json(matches) {
        out.data("bookmarks", subject.bookmarks.clone());
    }
    out.data("node", node);
    out.plain(ui, words.join(&b' '))?;
    out.plain(ui, "\n")?;
    out.end(ui)?;
    Ok(0)
}

/// Identifies a changeset of a bundle; without a name that of the working copy below it.
fn of_bundle(
    bundle: &Repository,
    (ui, config): (&mut Ui, &Config),
    matches: &Matches,
    wanted: Option<&[u8]>,
) -> Result<u8, Abort> {
    let view = bundle.view_for(ViewFilter::Visible)?;
    let node = match wanted {
        Some(wanted) => Some(view.lookup(wanted)?),
        None => view.working_parents()?.first().copied(),
    };
    let rev = node.and_then(|node| view.changelog().rev(&node));
    let mut out = Formatter::new(ui, config, matches, "identify")?;
    out.item(ui)?;
    print(ui, out, matches, &view, &of_changeset(&view, rev)?)
}

/// Bookmarks are asked for only where they are shown, and `json` does not show them.
fn is_json(matches: &Matches) -> bool {
    matches.value("template") == Some(b"json")
}
