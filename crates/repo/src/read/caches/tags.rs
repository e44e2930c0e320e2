//! `tags2-…`: the tags of the tracked files, those of all heads taken together.
//!
//! ```text
//! key                  see [`TagsKey`]
//! node tag             all nodes that a tag had, oldest first; sorted by tag
//! ```
//!
//! Its tags are never read; it only cross-checks another cache.

use super::{CacheFilter, Key, TagsKey};
use crate::format::tags::TagHistory;
use crate::read::{RepoView, ViewFilter};

const CACHE: &str = "tags2";

/// Whether the cache says the same.
pub(crate) fn has_tags(view: &RepoView, tags: &TagHistory) -> bool {
    let (directory, file) = (view.caches(), CacheFilter::of(view.filter()).file(CACHE));
    let Some(expected) = encode(view, tags) else {
        return false;
    };
    expected.len() as u64 == directory.len(&file)
        && expected == directory.read(&file, expected.len())
}

/// Writes the cache.
pub(crate) fn keep_tags(view: &RepoView, tags: &TagHistory) {
    if let Some(bytes) = encode(view, tags) {
        let file = CacheFilter::of(view.filter()).file(CACHE);
        view.caches().replace(&file, &bytes);
    }
}

/// The whole file; `None` where Mercurial's would have an incomplete key.
fn encode(view: &RepoView, tags: &TagHistory) -> Option<Vec<u8>> {
    let tip = view.changelog().tip()?;
    if view.filter() == ViewFilter::Served || !view.is_visible(tip) {
        return None;
    }
    // A tag with a newline would be two lines.
    if tags.keys().any(|tag| tag.contains(&b'\n')) {
        return None;
    }
    let mut bytes = TagsKey(Key::of(view, view.hidden(), tip)).encode();
    for (tag, nodes) in tags {
        for node in nodes {
            bytes.extend_from_slice(&node.to_hex());
            bytes.push(b' ');
            bytes.extend_from_slice(tag);
            bytes.push(b'\n');
        }
    }
    Some(bytes)
}
