//! The notice that goes with the program: packages that are linked into it, with their licences.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Beginnings of the names of files with the text of a licence or a notice, in small letters.
const FILES: &[&str] = &[
    "license",
    "licence",
    "copying",
    "copyright",
    "notice",
    "unlicense",
];

/// A package that is linked into the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Linked {
    /// Name and version.
    pub name: String,
    /// SPDX expression.
    pub licence: String,
    /// Where its sources are published; empty if it does not say.
    pub home: String,
    /// Directory of its sources.
    pub sources: PathBuf,
}

/// Packages of others that `root` is made from, in order of their names; `metadata` is the output of `cargo metadata`.
/// Those that only tests or builds use are left out.
pub fn linked(metadata: &Value, root: &str) -> Vec<Linked> {
    let nodes = list(&metadata["resolve"]["nodes"]);
    let nodes: BTreeMap<&str, &Value> = nodes.map(|node| (text(&node["id"]), node)).collect();
    let packages: BTreeMap<&str, &Value> = list(&metadata["packages"])
        .map(|package| (text(&package["id"]), package))
        .collect();
    let is_root = |id: &&&str| text(&packages[**id]["name"]) == root;
    let mut waiting: Vec<&str> = packages.keys().filter(is_root).copied().collect();
    let mut reached = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if reached.insert(id) {
            let linked = list(&nodes[id]["deps"]).filter(|dependency| is_linked(dependency));
            waiting.extend(linked.map(|dependency| text(&dependency["pkg"])));
        }
    }
    let found = reached.into_iter().map(|id| packages[id]);
    // Packages of this workspace come from no registry.
    let mut found: Vec<Linked> = found
        .filter(|package| !package["source"].is_null())
        .map(describe)
        .collect();
    found.sort();
    found
}

/// The whole notice: a list of all packages, then each text once with the packages that it is for.
pub fn notice(packages: &[Linked]) -> String {
    let mut out = String::from("Varve is made with these packages of others.\n\n");
    let mut texts = BTreeMap::<String, Vec<&str>>::new();
    for package in packages {
        let _ = writeln!(
            out,
            "{}  {}  {}",
            package.name, package.licence, package.home
        );
        for text in licence_texts(&package.sources) {
            texts.entry(text).or_default().push(&package.name);
        }
    }
    for (text, names) in &texts {
        let _ = write!(
            out,
            "\n{}\n{}:\n\n{text}\n",
            "=".repeat(80),
            names.join(", ")
        );
    }
    out
}

/// Texts of the licences in a package's directory, and in those directly below it: C sources that a package carries
/// have theirs there.
pub fn licence_texts(sources: &Path) -> Vec<String> {
    let mut files = entries(sources);
    files.extend(entries(sources).iter().flat_map(|below| entries(below)));
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_lowercase();
        path.is_file() && FILES.iter().any(|begin| name.starts_with(begin))
    });
    let texts = files.iter().map(|path| std::fs::read(path).unwrap());
    let texts = texts.map(|bytes| String::from_utf8_lossy(&bytes).replace("\r\n", "\n"));
    texts.map(|text| text.trim().to_owned()).collect()
}

/// The entries of a directory, in order of names; none for a file.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn is_linked(dependency: &Value) -> bool {
    list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null())
}

fn describe(package: &Value) -> Linked {
    let manifest = Path::new(text(&package["manifest_path"]));
    Linked {
        name: format!("{} {}", text(&package["name"]), text(&package["version"])),
        licence: text(&package["license"]).to_owned(),
        home: text(&package["repository"]).to_owned(),
        sources: manifest.parent().unwrap_or(manifest).to_owned(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
