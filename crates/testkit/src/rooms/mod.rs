//! The rule for rooms: inside a crate, imports go downward only.
//!
//! A room is a module at the root of a crate. [`FLOORS`] lists the rooms of a crate from the ground up; rooms
//! on one floor do not know each other. An import against the order is upward, and `upward_imports.txt`
//! keeps how many each crate has left. The count may only fall.

mod floors;

pub use floors::FLOORS;

use crate::workspace_root;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree};

/// Rooms that may not import each other.
pub type Floor = &'static [&'static str];

/// An import from a room into one that is not below it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpwardImport {
    /// The importing file, relative to the crate's `src`.
    pub file: PathBuf,
    /// The room of that file.
    pub from: String,
    /// The imported room.
    pub to: String,
}

/// All upward imports of one crate. Code that is compiled for tests only is left out.
///
/// # Panics
/// If a file cannot be read or parsed, or a room has no line in the table.
pub fn upward_imports(name: &str, floors: &[Floor]) -> Vec<UpwardImport> {
    let root = workspace_root().join("crates").join(name).join("src");
    let mut files = BTreeMap::new();
    read_sources(&root, &root, &mut files);
    upward_among(&files, floors)
}

/// [`upward_imports`] of sources that are given as text, by path relative to `src`.
pub fn upward_among(files: &BTreeMap<PathBuf, String>, floors: &[Floor]) -> Vec<UpwardImport> {
    let root = ["lib.rs", "main.rs"].map(|name| files.get(Path::new(name)));
    let library = root.into_iter().flatten().next();
    let names = library.map(|text| root_names(text)).unwrap_or_default();
    let rooms = files
        .keys()
        .filter_map(|path| module_of(path).first().cloned());
    let rooms: BTreeSet<String> = rooms.collect();
    let mut found = Vec::new();
    for (path, text) in files {
        let module = module_of(path);
        let Some(from) = module.first() else { continue };
        let from_floor = floor_of(from, floors);
        for to in imported_rooms(text, &module, (&rooms, &names)) {
            if to == *from {
                continue;
            }
            if floor_of(&to, floors) >= from_floor {
                found.push(UpwardImport {
                    file: path.clone(),
                    from: from.clone(),
                    to,
                });
            }
        }
    }
    found.sort();
    found
}

/// # Panics
/// If no floor has the room: each room of a listed crate has its place.
fn floor_of(room: &str, floors: &[Floor]) -> usize {
    let floor = floors.iter().position(|floor| floor.contains(&room));
    floor.unwrap_or_else(|| panic!("the room {room:?} is on no floor of its crate's table"))
}

fn read_sources(root: &Path, directory: &Path, files: &mut BTreeMap<PathBuf, String>) {
    for entry in std::fs::read_dir(directory).expect("sources can be listed") {
        let path = entry.expect("sources can be listed").path();
        let is_for_tests = path.file_stem().is_some_and(|stem| stem == "tests");
        if is_for_tests {
            continue;
        }
        if path.is_dir() {
            read_sources(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("sources can be read");
            let relative = path.strip_prefix(root).expect("sources lie below the root");
            files.insert(relative.to_owned(), text);
        }
    }
}

/// The module path of a file: none for `lib.rs`, `["a", "b"]` for `a/b.rs` and for `a/b/mod.rs`.
fn module_of(path: &Path) -> Vec<String> {
    let path = path.with_extension("");
    let parts = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    let mut parts: Vec<String> = parts.collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    match parts.as_slice() {
        [only] if only == "lib" || only == "main" => Vec::new(),
        _ => parts,
    }
}

/// Names that `lib.rs` re-exports, each with the room that it comes from.
fn root_names(text: &str) -> BTreeMap<String, String> {
    let file = syn::parse_file(text).expect("sources parse");
    let mut names = BTreeMap::new();
    for item in &file.items {
        let Item::Use(ItemUse { tree, .. }) = item else {
            continue;
        };
        let mut paths = Vec::new();
        flatten(tree, &mut Vec::new(), &mut paths);
        for mut path in paths {
            if matches!(path.first().map(String::as_str), Some("crate" | "self")) {
                path.remove(0);
            }
            if let [room, .., name] = path.as_slice() {
                names.insert(name.clone(), room.clone());
            }
        }
    }
    names
}

/// The names that a use tree brings into scope, each with its whole path; a renamed one under the new name.
fn flatten(tree: &UseTree, prefix: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, paths);
            prefix.pop();
        }
        UseTree::Name(name) => paths.push([&prefix[..], &[name.ident.to_string()]].concat()),
        UseTree::Rename(name) => {
            let both = [name.ident.to_string(), name.rename.to_string()];
            paths.push([&prefix[..], &both].concat());
        }
        UseTree::Glob(_) => paths.push([&prefix[..], &["*".to_owned()]].concat()),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, prefix, paths);
            }
        }
    }
}

/// The rooms that a file of `module` names, once per mention.
fn imported_rooms(
    text: &str,
    module: &[String],
    (rooms, names): (&BTreeSet<String>, &BTreeMap<String, String>),
) -> Vec<String> {
    let file = syn::parse_file(text).expect("sources parse");
    let mut mentions = Mentions::default();
    mentions.visit_file(&file);
    let paths = mentions.paths.iter();
    paths
        .filter_map(|path| room_of(path, module))
        .map(|room| names.get(&room).cloned().unwrap_or(room))
        // The others are items of `lib.rs` itself.
        .filter(|room| rooms.contains(room))
        .collect()
}

/// The name behind `crate::`, of a path that begins with that or leads there by `super`.
fn room_of(path: &[String], module: &[String]) -> Option<String> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    let first = match path.first()?.as_str() {
        "crate" => path.get(1),
        "super" if supers == module.len() => path.get(supers),
        "super" | "self" => module.first(),
        _ => None,
    };
    first.cloned()
}

/// Collects the paths of a file that begin with `crate` or `super`.
#[derive(Default)]
struct Mentions {
    paths: Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for Mentions {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        // Paths in a module within the file would need one `super` more; only tests have such modules.
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_for_tests(&item.attrs) {
            flatten(&item.tree, &mut Vec::new(), &mut self.paths);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts = path.segments.iter().map(|part| part.ident.to_string());
        self.paths.push(parts.collect());
        visit::visit_path(self, path);
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.meta.require_list();
        let condition = condition.ok().filter(|list| list.path.is_ident("cfg"));
        condition.is_some_and(|list| list.tokens.to_string().contains("test"))
    })
}

/// The rooms of all crates as `ARCHITECTURE.md` shows them: the lowest floor first, `|` between rooms of one floor.
pub fn picture() -> String {
    let width = FLOORS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = FLOORS.iter().map(|(name, floors)| {
        let floors: Vec<String> = floors.iter().map(|floor| floor.join(" | ")).collect();
        format!("{name:width$}  {}\n", wrapped(&floors, width + 2))
    });
    lines.collect()
}

/// Floors with arrows between them, in lines of at most 110 characters.
fn wrapped(floors: &[String], indent: usize) -> String {
    let mut text = String::new();
    let mut length = indent;
    for (at, floor) in floors.iter().enumerate() {
        let arrow = if at == 0 { "" } else { " <- " };
        if length + arrow.len() + floor.len() > 110 {
            text.push_str(&format!("\n{:indent$}", ""));
            length = indent;
        }
        text.push_str(arrow);
        text.push_str(floor);
        length += arrow.len() + floor.len();
    }
    text
}

/// How many upward imports a crate is allowed, by `upward_imports.txt`.
///
/// # Panics
/// If the file cannot be read, or a line is not a crate and a number.
pub fn allowed() -> BTreeMap<String, usize> {
    counts(&workspace_root().join("crates/testkit/upward_imports.txt"))
}

/// The numbers in a file of counts; lines that begin with `#` are comments.
pub(crate) fn counts(path: &Path) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(path).expect("the file of counts can be read");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let entries = lines.map(|line| {
        let (name, count) = line.split_once(' ').expect("a crate and a number");
        (name.to_owned(), count.parse().expect("a number"))
    });
    entries.collect()
}
