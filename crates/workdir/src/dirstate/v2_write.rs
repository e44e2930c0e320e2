//! The second format of the dirstate, part two: writing it.
//!
//! The data file is always written anew under another name: with 44 bytes per file that is one
//! short write, nothing in it is ever unused, and a reader of the old one is not disturbed.

use super::Parents;
use super::entry::DirstateEntry;
use super::table::Table;
use super::v2::{MAGIC, at, flag, flags, node};

/// The content of both files.
#[derive(Debug)]
pub(super) struct Encoded {
    pub docket: Vec<u8>,
    pub data: Vec<u8>,
}

/// One directory or file of the tree.
struct Child<'a> {
    path: &'a [u8],
    /// Where the directory's children are in the data; none for a file.
    children: (usize, usize),
    counts: Counts,
    entry: Option<DirstateEntry>,
    source: Option<&'a [u8]>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    files: u32,
    tracked: u32,
}

/// A directory whose children are being collected.
struct OpenDirectory<'a> {
    path: &'a [u8],
    children: Vec<Child<'a>>,
}

impl<'a> OpenDirectory<'a> {
    fn new(path: &'a [u8]) -> OpenDirectory<'a> {
        OpenDirectory {
            path,
            children: Vec::new(),
        }
    }

    /// Whether `path` lies in this directory.
    fn holds(&self, path: &[u8]) -> bool {
        self.path.is_empty()
            || (path.starts_with(self.path) && path.get(self.path.len()) == Some(&b'/'))
    }
}

/// `None` if a path or the whole is too long for its number.
pub(super) fn encode(parents: &Parents, table: &Table, id: &[u8]) -> Option<Encoded> {
    let mut data = Vec::with_capacity(table.text().len() + 1024);
    // From the root down to the directory of the entry before.
    let mut open = vec![OpenDirectory::new(b"")];
    let mut files = 0_u32;
    for (path, entry) in table.iter() {
        files += 1;
        while open.len() > 1 && !open[open.len() - 1].holds(path) {
            close(&mut open, &mut data)?;
        }
        let above = open[open.len() - 1].path;
        let skip = if above.is_empty() { 0 } else { above.len() + 1 };
        let slashes = path[skip..].iter().enumerate();
        for (place, _) in slashes.filter(|(_, byte)| **byte == b'/') {
            open.push(OpenDirectory::new(&path[..skip + place]));
        }
        let source = table.copies.get(path).map(Vec::as_slice);
        let directory = open.last_mut()?;
        directory.children.push(Child {
            path,
            children: (0, 0),
            counts: Counts::default(),
            entry: Some(entry),
            source,
        });
    }
    while open.len() > 1 {
        close(&mut open, &mut data)?;
    }
    let roots = open.pop()?.children;
    let copies = table
        .iter()
        .filter(|(path, _)| table.copies.contains_key(*path))
        .count();
    let (start, count) = push_nodes(roots, &mut data)?;
    Some(Encoded {
        docket: docket(
            parents,
            [start, count, files as usize, copies],
            data.len(),
            id,
        )?,
        data,
    })
}

/// Writes the children of the innermost directory and makes it a child of the one above.
fn close(open: &mut Vec<OpenDirectory<'_>>, data: &mut Vec<u8>) -> Option<()> {
    let directory = open.pop()?;
    let mut counts = Counts::default();
    for child in &directory.children {
        counts.files += child.counts.files + u32::from(child.entry.is_some());
        let tracked = child.entry.is_some_and(|entry| entry.is_tracked());
        counts.tracked += child.counts.tracked + u32::from(tracked);
    }
    let place = push_nodes(directory.children, data)?;
    let above = &mut open.last_mut()?.children;
    // A removed file may have the path of a directory that came in its place: one node is both.
    match above.iter_mut().rfind(|child| child.path == directory.path) {
        Some(same) => (same.children, same.counts) = (place, counts),
        None => above.push(Child {
            path: directory.path,
            children: place,
            counts,
            entry: None,
            source: None,
        }),
    }
    Some(())
}

/// Writes paths, then nodes; says where the nodes are and how many.
fn push_nodes(mut children: Vec<Child<'_>>, data: &mut Vec<u8>) -> Option<(usize, usize)> {
    children.sort_by(|a, b| a.path.cmp(b.path));
    let mut nodes = Vec::with_capacity(children.len() * node::LEN);
    for child in &children {
        push_node(child, data, &mut nodes)?;
    }
    let start = data.len();
    data.extend_from_slice(&nodes);
    Some((start, children.len()))
}

fn push_node(child: &Child<'_>, data: &mut Vec<u8>, nodes: &mut Vec<u8>) -> Option<()> {
    let entry = child.entry.unwrap_or_default();
    let slash = child.path.iter().rposition(|byte| *byte == b'/');
    let base = slash.map_or(0, |slash| slash + 1);
    let path = push_path(child.path, data)?;
    let copy = child
        .source
        .map_or(Some((0, 0)), |source| push_path(source, data))?;
    let directory = if child.entry.is_none() {
        flag::DIRECTORY
    } else {
        0
    };
    let (start, count) = child.children;
    let mut bytes = [0; node::LEN];
    let mut long = |place: usize, number: u32| {
        bytes[place..place + 4].copy_from_slice(&number.to_be_bytes());
    };
    long(node::PATH, path.0);
    long(node::COPY, copy.0);
    long(node::CHILDREN, u32::try_from(start).ok()?);
    long(node::CHILD_COUNT, u32::try_from(count).ok()?);
    long(node::FILES_BELOW, child.counts.files);
    long(node::TRACKED_BELOW, child.counts.tracked);
    long(node::SIZE, entry.size);
    long(node::SECONDS, entry.seconds);
    long(node::NANOS, entry.nanos);
    let mut short = |place: usize, number: u16| {
        bytes[place..place + 2].copy_from_slice(&number.to_be_bytes());
    };
    short(node::PATH_LEN, path.1);
    short(node::BASE, u16::try_from(base).ok()?);
    short(node::COPY_LEN, copy.1);
    short(node::FLAGS, flags(&entry) | directory);
    nodes.extend_from_slice(&bytes);
    Some(())
}

fn push_path(path: &[u8], data: &mut Vec<u8>) -> Option<(u32, u16)> {
    let place = (
        u32::try_from(data.len()).ok()?,
        u16::try_from(path.len()).ok()?,
    );
    data.extend_from_slice(path);
    Some(place)
}

fn docket(parents: &Parents, tree: [usize; 4], used: usize, id: &[u8]) -> Option<Vec<u8>> {
    let mut out = MAGIC.to_vec();
    for (parent, end) in parents.iter().zip([at::PARENT2, at::TREE]) {
        out.extend_from_slice(&parent.0);
        out.resize(end, 0);
    }
    for number in tree {
        out.extend_from_slice(&u32::try_from(number).ok()?.to_be_bytes());
    }
    // Nothing is unused, and no hash of ignore patterns is recorded.
    out.resize(at::USED, 0);
    out.extend_from_slice(&u32::try_from(used).ok()?.to_be_bytes());
    out.push(u8::try_from(id.len()).ok()?);
    out.extend_from_slice(id);
    Some(out)
}
