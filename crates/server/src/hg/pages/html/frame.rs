//! The frame of all pages of a repository: head, navigation and foot.

use super::STYLE_SHEET;
use crate::hg::pages::Page;
use crate::hg::pages::page::PageLimits;
use crate::hg::pages::read::diff::short;
use crate::http::IN_PATH;
use percent_encoding::percent_encode;
use varve_repo::{Node, Rev};

/// An entry of a navigation.
#[derive(Clone, Debug)]
pub(super) struct Tab {
    pub(super) name: &'static str,
    pub(super) url: String,
    pub(super) is_current: bool,
}

/// A link to a feed.
#[derive(Clone, Debug)]
pub(super) struct FeedLink {
    pub(super) media: &'static str,
    pub(super) title: &'static str,
    pub(super) url: String,
}

/// A link with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) url: String,
    pub(super) text: String,
}

/// Header and footer.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) title: String,
    pub(super) repository: String,
    pub(super) contact: Option<String>,
    /// Path of the repository's URL, without a slash at its end.
    pub(super) root: String,
    /// The same as a link.
    pub(super) home: String,
    pub(super) index: Option<String>,
    pub(super) style_sheet: String,
    pub(super) query: String,
    pub(super) tabs: Vec<Tab>,
    pub(super) feeds: Vec<FeedLink>,
    /// For programs that collect pages: those of old changesets are too many.
    pub(super) robots: &'static str,
}

impl Frame {
    /// `current` is the command of the tab that the page belongs to.
    pub(super) fn new(page: &Page<'_>, title: String, current: Option<&str>) -> Frame {
        let root = &page.root;
        let tab = |(name, place): (&'static str, &str)| Tab {
            name,
            url: format!("{root}/{place}"),
            is_current: current == Some(place),
        };
        let feed = |media, title, place| FeedLink {
            media,
            title,
            url: format!("{root}/{place}"),
        };
        let base = static_url(page).unwrap_or_else(|| format!("{root}/static/"));
        Frame {
            title,
            repository: page.about.name.clone(),
            contact: page.about.contact.clone(),
            root: root.clone(),
            home: format!("{root}/"),
            index: page.index.clone(),
            style_sheet: format!("{base}{STYLE_SHEET}"),
            query: page.query("rev").unwrap_or_default().to_owned(),
            tabs: [
                ("Summary", "summary"),
                ("Log", "shortlog"),
                ("Graph", "graph"),
                ("Files", "file/tip"),
                ("Branches", "branches"),
                ("Tags", "tags"),
                ("Bookmarks", "bookmarks"),
                ("Statistics", "statistics"),
                ("Help", "help"),
            ]
            .into_iter()
            .filter(|(_, place)| *place != "statistics" || page.database.is_some())
            .map(tab)
            .collect(),
            feeds: vec![
                feed("application/atom+xml", "Changesets (Atom)", "atom-log"),
                feed("application/rss+xml", "Changesets (RSS)", "rss-log"),
            ],
            robots: match page.address.rev {
                None => "index, nofollow",
                Some(_) => "noindex, nofollow",
            },
        }
    }
}

/// `web.staticurl`, with a slash at its end.
pub(super) fn static_url(page: &Page<'_>) -> Option<String> {
    let url = page.config.text("web", "staticurl");
    let url = url.filter(|url| !url.is_empty())?;
    Some(format!("{}/", url.trim_end_matches('/')))
}

/// Addresses of pages.
#[derive(Clone, Debug)]
pub(super) struct Links {
    root: String,
}

impl Links {
    pub(super) fn new(page: &Page<'_>) -> Links {
        Links {
            root: page.root.clone(),
        }
    }

    /// A page about a changeset.
    pub(super) fn of(&self, command: &str, node: &Node) -> String {
        format!("{}/{command}/{}", self.root, short(node))
    }

    /// A page about a file in a changeset.
    pub(super) fn file(&self, command: &str, node: &Node, path: &[u8]) -> String {
        let path = percent_encode(path, IN_PATH);
        format!("{}/{command}/{}/{path}", self.root, short(node))
    }

    /// A page about a changeset by a name of it: a slash in the name is escaped twice, as servers in front may undo it once.
    pub(super) fn named(&self, command: &str, name: &[u8]) -> String {
        let name = percent_encode(name, IN_PATH).to_string();
        format!("{}/{command}/{}", self.root, name.replace('/', "%252F"))
    }

    /// A page that needs nothing else.
    pub(super) fn plain(&self, place: &str) -> String {
        format!("{}/{place}", self.root)
    }

    /// Links to older and newer changesets from a list of so many.
    pub(super) fn pages(
        &self,
        page: &Page<'_>,
        command: &str,
        (newest, oldest): (Option<Rev>, Option<Rev>),
        count: usize,
    ) -> Vec<Link> {
        let view = page.reader.view;
        let step = u32::try_from(count).unwrap_or(u32::MAX);
        let tip = view.tip();
        let newer = newest.zip(tip).and_then(|(newest, tip)| {
            let first = newest.0.saturating_add(step).min(tip.0);
            let mut later = (first..=tip.0).map(Rev);
            later.find(|rev| newest < *rev && view.is_visible(*rev))
        });
        let before = oldest.and_then(|oldest| oldest.0.checked_sub(1));
        let older = before.and_then(|before| page.reader.downward(Some(Rev(before))).next());
        let ends = [(newer, "Newer"), (older, "Older")];
        let ends = ends
            .into_iter()
            .filter_map(|(rev, text)| Some((rev?, text)));
        ends.map(|(rev, text)| Link {
            url: format!("{}/{command}/{}", self.root, rev.0),
            text: text.to_owned(),
        })
        .collect()
    }
}

/// So many items of a short list.
pub(super) fn short_list(limits: &PageLimits) -> usize {
    limits.files.max(1)
}
