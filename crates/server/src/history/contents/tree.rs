//! The entries of a directory.

use super::{RequestedPath, internal, lossy, missing};
use crate::Failure;
use varve_json::{Object, Value};
use varve_repo::{FileKind, ManifestEntry};

/// `{"changeset": …, "path": …, "entries": […]}`, in the order of the manifest.
///
/// # Errors
/// 404 if the changeset has no file below the path.
pub(super) fn listing(directory: &RequestedPath<'_>) -> Result<Object, Failure> {
    let manifest = directory.manifest()?;
    let prefix = match directory.path.as_str() {
        "" => Vec::new(),
        path => format!("{path}/").into_bytes(),
    };
    let mut entries = Vec::new();
    let mut last: Option<Vec<u8>> = None;
    for entry in directory.view.manifest_entries(&manifest) {
        let entry = entry.map_err(internal)?;
        let Some(rest) = entry.path.strip_prefix(prefix.as_slice()) else {
            continue;
        };
        match rest.iter().position(|byte| *byte == b'/') {
            None => entries.push(of_file(rest, &entry)),
            Some(end) if last.as_deref() == Some(&rest[..end]) => {}
            Some(end) => {
                last = Some(rest[..end].to_vec());
                entries.push(of_directory(&rest[..end]));
            }
        }
    }
    if entries.is_empty() && !prefix.is_empty() {
        return Err(missing("directory"));
    }
    let mut listing = Object::new();
    listing.insert("changeset", directory.node());
    listing.insert("path", directory.path.as_str());
    listing.insert("entries", entries);
    Ok(listing)
}

fn of_directory(name: &[u8]) -> Value {
    let mut object = Object::new();
    object.insert("name", lossy(name));
    object.insert("type", "directory");
    object.into()
}

fn of_file(name: &[u8], entry: &ManifestEntry<'_>) -> Value {
    let flags = match entry.kind {
        FileKind::Plain => "",
        FileKind::Executable => "x",
        FileKind::Symlink => "l",
    };
    let mut object = Object::new();
    object.insert("name", lossy(name));
    object.insert("type", "file");
    object.insert("flags", flags);
    object.insert("node", entry.node.to_string());
    object.into()
}
