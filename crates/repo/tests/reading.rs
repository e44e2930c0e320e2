//! Every kind of repository that a stock `hg` makes is read as it reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use varve_base::DiskStorage;
use varve_repo::{LookupError, Node, Phase, RepoView, Repository, Rev, ViewFilter};
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos;

fn open(directory: &Path) -> Repository {
    Repository::open(Arc::new(DiskStorage::new(directory)), Path::new("")).unwrap()
}

/// The lines that a template gives for the changesets of a set, oldest first.
fn log(hg: &Hg, directory: &Path, set: &str, template: &str) -> Vec<String> {
    let template = format!("{template}\\n");
    let set = format!("sort({set}, rev)");
    let out = hg.ok(directory, &["log", "--hidden", "-r", &set, "-T", &template]);
    out.lines().map(str::to_owned).collect()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A changeset as `hg log` with [`TEMPLATE`] describes it.
fn described(view: &RepoView, rev: Rev) -> String {
    let changelog = view.changelog();
    let [p1, p2] = changelog
        .parents(rev)
        .map(|parent| changelog.node_or_null(parent));
    let phase = match view.phases().of(rev) {
        Phase::Public => "public",
        Phase::Draft => "draft",
        Phase::Secret => "secret",
    };
    view.with_changeset(rev, |changeset| {
        let files: Vec<_> = changeset.files().map(text).collect();
        format!(
            "{rev} {} {p1} {p2} {} {} {} {} {} [{}] {}",
            changelog.node(rev),
            changeset.manifest,
            text(changeset.user),
            changeset.time,
            text(&changeset.branch()),
            phase,
            files.join("|"),
            text(changeset.description).replace('\n', "~"),
        )
    })
    .unwrap()
}

const TEMPLATE: &str = "{rev} {node} {p1node} {p2node} {manifest_node} {author} \
    {word(0, '{date|hgdate}')} {branch} {phase} [{join(files, '|')}] \
    {sub('\\n', '~', desc)}";

fn check_changesets(hg: &Hg, directory: &Path, view: &RepoView) {
    let template = TEMPLATE.replace("{manifest_node}", "{manifest % '{node}'}");
    let expected = log(hg, directory, "all()", &template);
    let found: Vec<_> = view
        .changelog()
        .revs()
        .map(|rev| described(view, rev))
        .collect();
    assert_eq!(found, expected);
}

/// Texts are compared by their hashes, which are in the index that hg wrote.
fn check_all_texts(hg: &Hg, directory: &Path, view: &RepoView) {
    let manifest = view.manifest().unwrap();
    for rev in manifest.revs() {
        manifest.text(rev).unwrap();
    }
    let tracked = view.tracked_files().unwrap();
    let listed = hg.ok(directory, &["--hidden", "manifest", "--all"]);
    let mut listed: Vec<_> = listed
        .lines()
        .map(|line| line.as_bytes().to_vec())
        .collect();
    listed.sort();
    assert_eq!(tracked, listed);
    let mut split = 0;
    for file in tracked {
        let filelog = view.filelog(&file).unwrap();
        split += usize::from(!filelog.header().inline);
        for rev in filelog.revs().rev() {
            filelog.text(rev).unwrap();
        }
    }
    assert!(split > 0, "no split filelog was read");
}

fn check_names(hg: &Hg, directory: &Path, view: &RepoView) {
    let nodes = |set: &str| log(hg, directory, set, "{node}");
    let node = |rev: &Rev| view.changelog().node(*rev).to_string();
    let mut heads: Vec<_> = view.heads().iter().map(node).collect();
    heads.reverse();
    assert_eq!(heads, nodes("heads(not secret())"));

    let bookmarks = hg.ok(directory, &["bookmarks", "-T", "{bookmark}={node}\n"]);
    let shown = |names: &BTreeMap<Vec<u8>, Node>| -> BTreeSet<String> {
        let line = |(name, node): (&Vec<u8>, &Node)| format!("{}={node}", text(name));
        names.iter().map(line).collect()
    };
    assert_eq!(
        shown(view.bookmarks()),
        bookmarks.lines().map(str::to_owned).collect()
    );
    let tags = hg.ok(directory, &["tags", "-T", "{tag}={node}\n"]);
    let tags = tags.lines().filter(|line| !line.starts_with("tip="));
    assert_eq!(
        shown(&view.tags().unwrap()),
        tags.map(str::to_owned).collect()
    );
    let branches = view.branchmap().unwrap();
    assert!(branches.len() >= 3, "{branches:?}");
    for (name, branch) in branches {
        let name = text(name);
        let set = format!("head() and branch('literal:{name}') and not secret()");
        assert_eq!(
            branch.heads.iter().map(node).collect::<Vec<_>>(),
            nodes(&set),
            "{name}"
        );
        let closed = format!("({set}) and closed()");
        assert_eq!(
            branch.closed.iter().map(node).collect::<Vec<_>>(),
            nodes(&closed),
            "{name}"
        );
    }
}

fn check_lookup(hg: &Hg, directory: &Path, view: &RepoView, secret: &str) {
    let branch = "br\u{e4}nch with spaces";
    let first = log(hg, directory, "0", "{node}").remove(0);
    let keys = [
        "v1.0",
        "only here",
        "stable",
        "default",
        branch,
        "@",
        "0",
        "-2",
    ];
    for key in keys
        .into_iter()
        .chain([&first[..], &first[..9], "null", "."])
    {
        let set = match key {
            "default" => "max(branch(default) - secret())".to_owned(),
            _ => format!("'{key}'"),
        };
        let expected = match key {
            // The secret changeset is the newest one and the working directory's parent.
            "-2" => view
                .changelog()
                .node(Rev(view.changelog().len() as u32 - 2))
                .to_string(),
            "." => continue,
            _ => hg.ok(directory, &["log", "-r", &set, "-T", "{node}"]),
        };
        let found = view
            .lookup(key.as_bytes())
            .unwrap_or_else(|e| panic!("{key}: {e}"));
        assert_eq!(found.to_string(), expected, "{key}");
    }
    for key in [secret, &secret[..12], ".", "-1"] {
        let error = view.lookup(key.as_bytes()).unwrap_err();
        assert!(
            matches!(error, LookupError::Hidden { .. }),
            "{key}: {error}"
        );
    }
    // This bookmark moved on to the secret changeset.
    let error = view.lookup(b"feature").unwrap_err();
    assert!(matches!(error, LookupError::Unknown(_)), "{error}");
    let unknown = view.lookup(b"no such thing").unwrap_err();
    assert_eq!(unknown.to_string(), "unknown revision 'no such thing'");
}

/// The names are those that `hg` itself lists, and the lengths those of the files.
fn check_store_files(directory: &Path, repository: &Repository) {
    let files = repository.store_files().unwrap();
    let store = directory.join(".hg/store");
    let mut on_disk = 0;
    let mut directories = vec![store.clone()];
    while let Some(at) = directories.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|end| end == "i" || end == "d")
                && !path.starts_with(store.join("undo.backup"))
            {
                on_disk += 1;
            }
        }
    }
    assert_eq!(files.len(), on_disk);
    for file in &files {
        let len = std::fs::metadata(directory.join(&file.path)).unwrap().len();
        assert_eq!(file.len, len, "{file:?}");
    }
    assert_eq!(files.last().unwrap().name, b"00changelog.i");
}

#[test]
fn every_variant_is_read_as_hg_reads_it() {
    for variant in repos::VARIANTS {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("repo");
        let hg = hg().with_config(variant.config);
        repos::make(&hg, &path, *variant);
        hg.ok(&path, &["tag", "--local", "-r", "0", "only here"]);
        let repository = open(&path);
        let before = repository.view().unwrap();
        check_names(&hg, &path, &before);
        let secret = repos::add_secret(&hg, &path);
        let view = repository.view().unwrap();
        assert_eq!(view.changelog().len(), before.changelog().len() + 1);
        assert!(view.hides_anything() && !before.hides_anything());
        check_changesets(&hg, &path, &view);
        check_all_texts(&hg, &path, &view);
        check_lookup(&hg, &path, &view, &secret);
        check_store_files(&path, &repository);
    }
}

#[test]
fn an_empty_repository_is_empty() {
    let directory = tempfile::tempdir().unwrap();
    hg().ok(directory.path(), &["init"]);
    let repository = open(directory.path());
    let view = repository.view().unwrap();
    assert!(view.changelog().is_empty() && view.heads().is_empty());
    assert!(view.manifest().unwrap().is_empty());
    assert!(view.branchmap().unwrap().is_empty() && view.tags().unwrap().is_empty());
    assert_eq!(view.lookup(b"tip").unwrap(), Node::NULL);
    for null in [&b"0"[..], b"000", &[b'0'; 40]] {
        assert_eq!(view.lookup(null).unwrap(), Node::NULL);
    }
    for unknown in [&b"-1"[..], b"1", &[b'0'; 41]] {
        let error = view.lookup(unknown).unwrap_err();
        assert!(matches!(error, LookupError::Unknown(_)), "{error}");
    }
    assert!(repository.store_files().unwrap().is_empty());
}

#[test]
fn stores_without_a_list_of_files_and_without_compression_are_read() {
    for setting in ["format.usefncache=no", "format.revlog-compression=none"] {
        let directory = tempfile::tempdir().unwrap();
        let hg = hg().with_config(&[setting]);
        hg.ok(directory.path(), &["init"]);
        for (name, content) in [("A/b.i/c_d", "1\n".repeat(100)), (".x/\u{e4} ", "2".into())] {
            repos::write(directory.path(), name, content.as_bytes());
        }
        repos::commit(&hg, directory.path(), "Add");
        let repository = open(directory.path());
        let view = repository.view().unwrap();
        let files = view.tracked_files().unwrap();
        assert_eq!(files, [".x/\u{e4} ".as_bytes(), b"A/b.i/c_d"], "{setting}");
        for file in files {
            view.filelog(&file).unwrap().text(Rev(0)).unwrap();
        }
        assert_eq!(repository.store_files().unwrap().len(), 2 + 3, "{setting}");
    }
}

#[test]
fn obsolete_changesets_are_hidden_as_hg_hides_them() {
    let directory = tempfile::tempdir().unwrap();
    let (path, hg) = (
        directory.path(),
        hg().with_config(&["experimental.evolution=all"]),
    );
    hg.ok(path, &["init"]);
    for name in ["a", "b", "c"] {
        repos::write(path, name, name.as_bytes());
        repos::commit(&hg, path, name);
    }
    hg.ok(path, &["update", "1"]);
    repos::write(path, "c", b"better");
    repos::commit(&hg, path, "c again");
    for old in ["2", "0"] {
        let node = log(&hg, path, old, "{node}").remove(0);
        hg.ok(path, &["debugobsolete", &node]);
    }
    let view = open(path).view().unwrap();
    let visible: Vec<_> = view
        .changelog()
        .revs()
        .filter(|rev| view.is_visible(*rev))
        .collect();
    let shown = hg.ok(path, &["log", "-r", "all()", "-T", "{rev} "]);
    assert_eq!(shown, "0 1 3 ");
    assert_eq!(visible, [Rev(0), Rev(1), Rev(3)]);
    assert_eq!(view.heads(), [Rev(3)]);

    hg.ok(path, &["phase", "--force", "--secret", "3"]);
    let heads = |audience| open(path).view_for(audience).unwrap().heads();
    assert_eq!(heads(ViewFilter::Served), [Rev(1)]);
    assert_eq!(heads(ViewFilter::Visible), [Rev(3)]);
    assert_eq!(heads(ViewFilter::Unfiltered), [Rev(3), Rev(2)]);
}

#[test]
fn unknown_requirements_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    hg().ok(
        directory.path(),
        &[
            "init",
            "--config",
            "format.exp-use-changelog-v2=enable-unstable-format-and-corrupt-my-data",
        ],
    );
    let error = Repository::open(Arc::new(DiskStorage::new(directory.path())), Path::new(""));
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("requires features unknown to this Varve: exp-changelog-v2"),
        "{message}"
    );
}
