//! Feeds for readers of news: `atom-log`, `rss-log`, `atom-tags`, `rss-branches` and others, in the markup of `hg serve`, whose
//! ids readers know.

use super::error::PageError;
use super::paths::{Command, Style};
use super::people;
use super::raw::no_template;
use super::read::changesets::ChangesetEntry;
use super::read::diff::short;
use super::read::labels::Label;
use super::{Page, PageBody};
use crate::hg::page::escape;
use crate::http::IN_PATH;
use percent_encoding::utf8_percent_encode;
use std::fmt::Write;
use varve_lang::date::Date;

const ATOM: &str = "application/atom+xml; charset=UTF-8";
const RSS: &str = "text/xml; charset=UTF-8";
const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const ATOM_NAMESPACE: &str = "http://www.w3.org/2005/Atom";
/// The head of each RSS feed, up to the URL of the repository.
const CHANNEL: &str = "<rss version=\"2.0\">\n  <channel>\n    <link>";

/// A feed that says what is wrong.
pub(super) fn failure(style: Style, base: &str, message: &str) -> (&'static str, Vec<u8>) {
    let (base, message) = (escape(base), escape(message));
    match style {
        Style::Atom => {
            let text = format!(
                "{XML}<feed xmlns=\"{ATOM_NAMESPACE}\">\n <!-- Error -->\n <id>{base}</id>\n \
                 <link rel=\"self\" href=\"{base}atom-log\"/>\n <link rel=\"alternate\" href=\"{base}\"/>\n \
                 <title>Error</title>\n <updated>1970-01-01T00:00:00+00:00</updated>\n <entry>\n  \
                 <title>Error</title>\n  <id>https://mercurial-scm.org/#error</id>\n  <author>\n    \
                 <name>mercurial</name>\n  </author>\n  <updated>1970-01-01T00:00:00+00:00</updated>\n  \
                 <content type=\"text\">{message}</content>\n </entry>\n</feed>\n"
            );
            (ATOM, text.into_bytes())
        }
        _ => {
            let text = format!(
                "{XML}{CHANNEL}{base}</link>\n    <language>en-us</language>\n\n    <title>Error</title>\n    \
                 <description>Error</description>\n    <item>\n      <title>Error</title>\n      \
                 <description>{message}</description>\n      <guid>https://mercurial-scm.org/#error</guid>\n    \
                 </item>\n  </channel>\n</rss>\n"
            );
            (RSS, text.into_bytes())
        }
    }
}

/// The page as a feed.
///
/// # Errors
/// 403 for pages that have no such form.
pub(super) fn render(page: &Page<'_>, command: Command) -> Result<PageBody, PageError> {
    let feed = Feed {
        page,
        is_atom: page.address.style == Style::Atom,
        base: escape(&page.absolute("")),
        name: escape(&page.about.name),
    };
    let text = match command {
        Command::Log | Command::Changelog => feed.log()?,
        Command::FileLog => feed.file_log()?,
        Command::Tags => {
            let mut tags = page.reader.all_tags()?;
            tags.retain(|tag| tag.name != b"tip");
            feed.labels(("tags", "tag"), &tags)
        }
        Command::Bookmarks => feed.labels(("bookmarks", "bookmark"), &page.reader.all_bookmarks()?),
        Command::Branches => feed.labels(("branches", "branch"), &page.reader.all_branches()?),
        other => {
            if other == Command::Annotate {
                // As in stock, a wrong setting comes before the missing template.
                page.annotation_blanks()?;
            }
            return Err(no_template(page, other));
        }
    };
    let media = if feed.is_atom { ATOM } else { RSS };
    Ok(PageBody::whole(media, text.into_bytes()))
}

/// Parts that all feeds of a repository have in common.
struct Feed<'p> {
    page: &'p Page<'p>,
    is_atom: bool,
    /// URL of the repository with a slash at its end, escaped.
    base: String,
    /// Name of the repository, escaped.
    name: String,
}

impl Feed<'_> {
    fn log(&self) -> Result<String, PageError> {
        let (page, base, name) = (self.page, &self.base, &self.name);
        let from = page.changeset()?;
        let revs = page.reader.downward(from);
        let entries = page
            .reader
            .entries(revs.take(page.limit(page.limits.changesets)))?;
        let items: String = entries
            .iter()
            .map(|entry| self.changeset(entry, true))
            .collect();
        Ok(match self.is_atom {
            true => format!(
                "{XML}<feed xmlns=\"{ATOM_NAMESPACE}\">\n <!-- Changelog -->\n <id>{base}</id>\n \
                 <link rel=\"self\" href=\"{base}atom-log\"/>\n <link rel=\"alternate\" href=\"{base}\"/>\n \
                 <title>{name} Changelog</title>\n{}\n{items}\n</feed>\n",
                updated(entries.first().map(|entry| entry.date))
            ),
            false => {
                let title = format!("{name} Changelog");
                let feed = self.channel(&title, &title, &items);
                feed.trim_end().to_owned()
            }
        })
    }

    fn channel(&self, title: &str, description: &str, items: &str) -> String {
        let base = &self.base;
        format!(
            "{XML}{CHANNEL}{base}</link>\n    <language>en-us</language>\n\n    <title>{title}</title>\n    \
             <description>{description}</description>\n    {items}\n  </channel>\n</rss>\n"
        )
    }

    fn changeset(&self, entry: &ChangesetEntry, with_files: bool) -> String {
        match self.is_atom {
            true => self.atom_changeset(entry, with_files),
            false => self.rss_changeset(entry),
        }
    }

    fn atom_changeset(&self, entry: &ChangesetEntry, with_files: bool) -> String {
        let base = &self.base;
        let branch = branch_title(entry);
        let user = String::from_utf8_lossy(&entry.user);
        let (short, summary) = (short(&entry.node), xml(entry.summary()));
        let name = escape(&people::person(&entry.user));
        let mail = obfuscated(&people::address(&user));
        let date = iso(entry.date);
        let rows = self.rows(entry, with_files, ("    ", "     ", "text-align:left;"));
        format!(
            " <entry>\n  <title>{branch}{summary}</title>\n  <id>{base}#changeset-{}</id>\n  \
             <link href=\"{base}rev/{short}\"/>\n  <author>\n   <name>{name}</name>\n   <email>{mail}</email>\n  \
             </author>\n  <updated>{date}</updated>\n  <published>{date}</published>\n  <content type=\"xhtml\">\n   \
             <table xmlns=\"http://www.w3.org/1999/xhtml\">\n{rows}   </table>\n  </content>\n </entry>\n",
            entry.node
        )
    }

    fn rss_changeset(&self, entry: &ChangesetEntry) -> String {
        let base = &self.base;
        let (short, summary) = (short(&entry.node), xml(entry.summary()));
        let branch = branch_title(entry);
        let user = obfuscated(&String::from_utf8_lossy(&entry.user));
        let style = "text-align:left;vertical-align:top;";
        let rows = self.rows(entry, true, ("            ", "                ", style));
        let date = rfc_822(entry.date);
        format!(
            "<item>\n    <title>{branch}{summary}</title>\n    <guid isPermaLink=\"true\">{base}rev/{short}</guid>\n    \
             <link>{base}rev/{short}</link>\n    <description>\n    <![CDATA[\n        <table>\n{rows}        </table>\n    \
             ]]>\n    </description>\n    <author>{user}</author>\n    <pubDate>{date}</pubDate>\n</item>\n"
        )
    }

    /// The table of a changeset; `user_style` is that of the author's row.
    fn rows(
        &self,
        entry: &ChangesetEntry,
        with_files: bool,
        (outer, inner, user_style): (&str, &str, &str),
    ) -> String {
        let description = xml(&entry.description).replace('\n', "<br/>\n");
        let most = self.page.limits.files;
        let files = entry.files.iter().filter(|_| with_files).take(most);
        let mut files: String = files.map(|file| format!("{}<br />", xml(file))).collect();
        if with_files && entry.files.len() > most {
            // Stands for the others.
            files.push_str("<br />");
        }
        let user = obfuscated(&String::from_utf8_lossy(&entry.user));
        let plain = "text-align:left;";
        let top = "text-align:left;vertical-align:top;";
        let joined = |names: &[Vec<u8>]| {
            let names = names.iter().map(|name| xml(name));
            names.collect::<String>()
        };
        let branch = shown_branch(entry);
        let mut rows = String::new();
        for (style, name, value) in [
            (plain, "changeset", short(&entry.node)),
            (plain, "branch", branch),
            (plain, "bookmark", joined(&entry.bookmarks)),
            (plain, "tag", joined(&entry.tags)),
            (user_style, "user", user),
            (top, "description", description),
            (top, "files", files),
        ] {
            // Writing to memory does not fail.
            let _ = write!(
                rows,
                "{outer}<tr>\n{inner}<th style=\"{style}\">{name}</th>\n{inner}<td>{value}</td>\n{outer}</tr>\n"
            );
        }
        rows
    }

    fn file_log(&self) -> Result<String, PageError> {
        let (page, base, name) = (self.page, &self.base, &self.name);
        let path = escape(&page.address.path);
        let link = utf8_percent_encode(&page.address.path, IN_PATH).to_string();
        let entries = page.file_log()?;
        if !self.is_atom {
            let items: String = entries
                .iter()
                .map(|(entry, _)| self.rss_of_file(entry, &link))
                .collect();
            let title = format!("{name}: {path} history");
            return Ok(self.channel(&title, &format!("{path} revision history"), &items));
        }
        let items: String = entries
            .iter()
            .map(|(entry, _)| self.changeset(entry, false))
            .collect();
        let newest = entries.first().map(|(entry, _)| entry.date);
        Ok(format!(
            "{XML}<feed xmlns=\"{ATOM_NAMESPACE}\">\n <id>{base}atom-log/tip/{path}</id>\n \
             <link rel=\"self\" href=\"{base}atom-log/tip/{link}\"/>\n <title>{name}: {path} history</title>\n{}\n{items}\n\
             </feed>\n",
            updated(newest)
        ))
    }

    fn rss_of_file(&self, entry: &ChangesetEntry, link: &str) -> String {
        let base = &self.base;
        let user = obfuscated(&String::from_utf8_lossy(&entry.user));
        let (short, summary) = (short(&entry.node), xml(entry.summary()));
        let description = xml(&entry.description).replace('\n', "<br/>\n");
        let date = rfc_822(entry.date);
        format!(
            "<item>\n    <title>{summary}</title>\n    <link>{base}log/{short}/{link}</link>\n    \
             <description><![CDATA[{description}]]></description>\n    <author>{user}</author>\n    \
             <pubDate>{date}</pubDate>\n</item>\n"
        )
    }

    fn labels(&self, (all, one): (&str, &str), labels: &[Label]) -> String {
        let (base, name) = (&self.base, &self.name);
        let items: String = labels.iter().map(|label| self.label(one, label)).collect();
        if !self.is_atom {
            let title = format!("{name}: {all}");
            return self.channel(&title, &format!("{name} {one} history"), &items);
        }
        let newest = labels
            .iter()
            .map(|label| label.date)
            .max_by_key(|date| date.time);
        let first = if all == "branches" { " " } else { "" };
        format!(
            "{XML}<feed xmlns=\"{ATOM_NAMESPACE}\">\n <id>{base}</id>\n <link rel=\"self\" href=\"{base}atom-{all}\"/>\n \
             <link rel=\"alternate\" href=\"{base}{all}\"/>\n <title>{name}: {all}</title>\n \
             <summary>{name} {one} history</summary>\n <author><name>Mercurial SCM</name></author>\n{}\n{first}{items}\n\
             </feed>\n",
            updated(newest.or((all == "bookmarks").then(Date::default)))
        )
    }

    fn label(&self, one: &str, label: &Label) -> String {
        let base = &self.base;
        let (name, short) = (xml(&label.name), short(&label.node));
        match self.is_atom {
            true => {
                let date = iso(label.date);
                format!(
                    " <entry>\n  <title>{name}</title>\n  <link rel=\"alternate\" href=\"{base}rev/{short}\"/>\n  \
                     <id>{base}#{one}-{}</id>\n  <updated>{date}</updated>\n  <published>{date}</published>\n  \
                     <content type=\"text\">{name}</content>\n </entry>\n",
                    label.node
                )
            }
            false => {
                let date = rfc_822(label.date);
                format!(
                    "<item>\n    <title>{name}</title>\n    <link>{base}rev/{short}</link>\n    \
                     <description><![CDATA[{name}]]></description>\n    <pubDate>{date}</pubDate>\n</item>\n"
                )
            }
        }
    }
}

/// The branch of a changeset that is its tip, or that is not on the usual one.
fn shown_branch(entry: &ChangesetEntry) -> String {
    match entry.is_branch_tip || entry.branch != varve_repo::DEFAULT_BRANCH {
        true => xml(&entry.branch),
        false => String::new(),
    }
}

fn branch_title(entry: &ChangesetEntry) -> String {
    let branch = shown_branch(entry);
    match branch.is_empty() {
        true => String::new(),
        false => format!("[{branch}] "),
    }
}

fn updated(date: Option<Date>) -> String {
    match date {
        Some(date) => format!(" <updated>{}</updated>\n", iso(date)),
        None => " \n".to_owned(),
    }
}

fn iso(date: Date) -> String {
    date.format("%Y-%m-%dT%H:%M:%S%1:%2")
}

fn rfc_822(date: Date) -> String {
    date.format("%a, %d %b %Y %H:%M:%S %1%2")
}

/// Without zero bytes, which XML cannot express.
fn xml(text: &[u8]) -> String {
    escape(&String::from_utf8_lossy(text).replace('\0', ""))
}

/// Each character as its number, which collectors of addresses are thought not to read.
fn obfuscated(text: &str) -> String {
    text.chars()
        .map(|char| format!("&#{};", u32::from(char)))
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_feed_has_no_zero_bytes() {
        assert_eq!(super::xml(b"a\0b<\0"), "ab&lt;");
    }
}
