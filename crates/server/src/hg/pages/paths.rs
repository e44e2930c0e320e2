//! hgweb's space of URLs behind a repository's own: `[STYLE-]COMMAND[/REVISION[/PATH]]`, and the older
//! `?cmd=COMMAND&node=REVISION&file=PATH`, which take the same place where no path is given.

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Html,
    Json,
    Raw,
    Atom,
    Rss,
}

impl Style {
    /// The style of this name. Mercurial's looks of HTML are all the one of here.
    pub(super) fn named(name: &str) -> Option<Style> {
        Some(match name {
            "json" => Style::Json,
            "raw" => Style::Raw,
            "atom" => Style::Atom,
            "rss" => Style::Rss,
            "paper" | "coal" | "gitweb" | "monoblue" | "spartan" => Style::Html,
            _ => return None,
        })
    }

    /// The page of an address that names none.
    fn front(self) -> Command {
        match self {
            Style::Html => Command::Summary,
            Style::Json | Style::Raw => Command::Shortlog,
            Style::Atom | Style::Rss => Command::Changelog,
        }
    }
}

/// The content of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Annotate,
    Archive,
    Bookmarks,
    Branches,
    Changelog,
    Changeset,
    Comparison,
    File,
    FileDiff,
    FileLog,
    Graph,
    Help,
    Log,
    Manifest,
    Search,
    Shortlog,
    Static,
    /// Not one of Mercurial's.
    Statistics,
    Summary,
    Tags,
}

impl Command {
    fn named(name: &str) -> Option<Command> {
        Some(match name {
            "annotate" => Command::Annotate,
            "archive" => Command::Archive,
            "bookmarks" => Command::Bookmarks,
            "branches" => Command::Branches,
            "changelog" => Command::Changelog,
            "changeset" | "rev" => Command::Changeset,
            "comparison" => Command::Comparison,
            "diff" | "filediff" => Command::FileDiff,
            "file" => Command::File,
            "filelog" => Command::FileLog,
            "graph" => Command::Graph,
            "help" => Command::Help,
            "log" => Command::Log,
            "manifest" => Command::Manifest,
            "shortlog" => Command::Shortlog,
            "static" => Command::Static,
            "statistics" => Command::Statistics,
            "summary" => Command::Summary,
            "tags" => Command::Tags,
            _ => return None,
        })
    }

    /// The name of its template in Mercurial, which messages mention.
    pub(super) fn template(self) -> &'static str {
        match self {
            Command::Annotate => "fileannotate",
            Command::Archive => "archive",
            Command::Bookmarks => "bookmarks",
            Command::Branches => "branches",
            Command::Changelog | Command::Log => "changelog",
            Command::Changeset => "changeset",
            Command::Comparison => "filecomparison",
            Command::File => "filerevision",
            Command::FileDiff => "filediff",
            Command::FileLog => "filelog",
            Command::Graph => "graph",
            Command::Help => "helptopics",
            Command::Manifest => "manifest",
            Command::Search => "search",
            Command::Shortlog => "shortlog",
            Command::Static => "static",
            Command::Statistics => "statistics",
            Command::Summary => "summary",
            Command::Tags => "tags",
        }
    }
}

/// Returns whether `?cmd=` of this value is a page. `branches` is not: the wire protocol has a command of that name.
pub(in crate::hg) fn is_page_command(name: &str) -> bool {
    name == "rawfile" || (name != "branches" && Command::named(name).is_some())
}

/// Command, style, revision and path of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageAddress {
    pub(super) style: Style,
    /// Set if the address names the style; else it is the usual one.
    pub(super) names_style: bool,
    /// `None` for a name that no command has.
    pub(super) command: Option<Command>,
    /// As typed; `None` for the tip.
    pub(super) rev: Option<String>,
    /// Of a file or directory, without a slash at either end; of others, what stands behind the revision.
    pub(super) path: String,
}

impl PageAddress {
    /// Reads the segments behind the repository's, and the query. Names that no style has mean the usual one.
    pub(super) fn parse(
        segments: &[&str],
        query: &[(String, String)],
        usual: Style,
    ) -> PageAddress {
        let value = |name: &str| {
            let pair = query.iter().find(|(key, _)| key == name);
            pair.map(|(_, value)| value.as_str())
        };
        let asked = value("style").and_then(Style::named);
        let Some((first, rest)) = segments.split_first() else {
            return PageAddress::of_query((asked, usual), &value);
        };
        let (asked, name) = match first.rsplit_once('-') {
            Some((style, name)) => (Style::named(style), name),
            None if *first == "rawfile" => (Some(Style::Raw), "file"),
            None => (asked, *first),
        };
        let (style, names_style) = (asked.unwrap_or(usual), asked.is_some());
        let command = match name {
            "" => Some(style.front()),
            // A page of Varve's own: in other styles there is no such command, as in Mercurial.
            "search" if style == Style::Html => Some(Command::Log),
            name => Command::named(name),
        };
        if matches!(command, Some(Command::Static | Command::Help)) {
            return PageAddress {
                style,
                names_style,
                command,
                rev: None,
                path: rest.join("/"),
            };
        }
        // A slash within the name of a branch is escaped twice.
        let rev = rest.first().map(|rev| rev.replace("%2F", "/"));
        let path = rest.get(1..).unwrap_or_default().join("/");
        let command = match command {
            Some(Command::Log) if !path.is_empty() => Some(Command::FileLog),
            other if rev.is_none() && value("rev").is_some() => searching(other),
            other => other,
        };
        PageAddress {
            style,
            names_style,
            command,
            rev,
            path,
        }
    }

    fn of_query<'q>(
        (asked, usual): (Option<Style>, Style),
        value: &dyn Fn(&str) -> Option<&'q str>,
    ) -> PageAddress {
        let style = asked.unwrap_or(usual);
        let rev = ["node", "filenode"]
            .into_iter()
            .find_map(value)
            .filter(|rev| !rev.is_empty());
        let path = value("file").unwrap_or_default().trim_matches('/');
        let (style, command) = match value("cmd") {
            None | Some("") => (style, Some(style.front())),
            Some("rawfile") => (Style::Raw, Some(Command::File)),
            Some(name) => (style, Command::named(name)),
        };
        let has_query = value("rev").is_some() && rev.is_none();
        let command = match command {
            Some(Command::Log) if !path.is_empty() => Some(Command::FileLog),
            Some(Command::Summary) if has_query && value("cmd").is_none() => Some(Command::Search),
            other if has_query => searching(other),
            other => other,
        };
        let is_raw_file = value("cmd") == Some("rawfile");
        let archive = match value("type") {
            _ if command != Some(Command::Archive) => "",
            Some("gz") => ".tar.gz",
            Some("bz2") => ".tar.bz2",
            Some("zip") => ".zip",
            _ => "",
        };
        PageAddress {
            style,
            names_style: asked.is_some() || is_raw_file,
            command,
            rev: rev.map(|rev| format!("{rev}{archive}")),
            path: path.to_owned(),
        }
    }
}

/// A list of changesets with `?rev=` is a search.
fn searching(command: Option<Command>) -> Option<Command> {
    match command {
        Some(Command::Log | Command::Changelog | Command::Shortlog) => Some(Command::Search),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(path: &str, query: &str) -> (Style, Option<Command>, Option<String>, String) {
        let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let query = crate::http::parse_query(query).unwrap();
        let address = PageAddress::parse(&segments, &query, Style::Html);
        (address.style, address.command, address.rev, address.path)
    }

    #[test]
    fn paths_name_style_command_revision_and_file() {
        let rev = |rev: &str| Some(rev.to_owned());
        let none = String::new;
        for (path, query, expected) in [
            ("", "", (Style::Html, Some(Command::Summary), None, none())),
            (
                "",
                "style=json",
                (Style::Json, Some(Command::Shortlog), None, none()),
            ),
            (
                "json-rev/1/",
                "style=raw",
                (Style::Json, Some(Command::Changeset), rev("1"), none()),
            ),
            (
                "file/tip/a/b",
                "style=raw",
                (Style::Raw, Some(Command::File), rev("tip"), "a/b".into()),
            ),
            (
                "log/tip/a",
                "rev=1",
                (Style::Html, Some(Command::FileLog), rev("tip"), "a".into()),
            ),
            (
                "log",
                "rev=1",
                (Style::Html, Some(Command::Search), None, none()),
            ),
            (
                "shortlog",
                "rev=1",
                (Style::Html, Some(Command::Search), None, none()),
            ),
            (
                "",
                "rev=1&style=json",
                (Style::Json, Some(Command::Search), None, none()),
            ),
            (
                "log/2",
                "rev=1",
                (Style::Html, Some(Command::Log), rev("2"), none()),
            ),
            (
                "json-raw-file",
                "",
                (Style::Html, Some(Command::File), None, none()),
            ),
            (
                "rev/a%2Fb",
                "",
                (Style::Html, Some(Command::Changeset), rev("a/b"), none()),
            ),
            ("nosuch", "", (Style::Html, None, None, none())),
            (
                "static/x/y",
                "",
                (Style::Html, Some(Command::Static), None, "x/y".into()),
            ),
        ] {
            assert_eq!(parsed(path, query), expected, "{path}?{query}");
        }
        assert!(is_page_command("changelog") && !is_page_command("branches"));
        assert!(!is_page_command("heads") && !is_page_command("capabilities"));
    }

    #[test]
    fn a_search_for_browsers_has_an_address_of_its_own() {
        for (path, query, command) in [
            ("search", "rev=1", Some(Command::Search)),
            ("search", "", Some(Command::Log)),
            ("json-search", "rev=1", None),
        ] {
            assert_eq!(parsed(path, query).1, command, "{path}?{query}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_address_is_read(segments: Vec<String>, query: Vec<(String, String)>) {
            let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
            let address = PageAddress::parse(&segments, &query, Style::Html);
            // No more is taken from an address than stands in it.
            let given = segments.iter().map(|part| part.len() + 1).sum::<usize>();
            let given = given + query.iter().map(|(_, value)| value.len() + 8).sum::<usize>();
            proptest::prop_assert!(address.path.len() <= given);
        }
    }

    #[test]
    fn styles_without_a_name_are_the_usual_one() {
        let front = Some(Command::Shortlog);
        for (path, query, expected) in [
            ("", "", (Style::Raw, false, front)),
            (
                "",
                "cmd=rawfile&node=1&file=f",
                (Style::Raw, true, Some(Command::File)),
            ),
            ("rawfile/1/f", "", (Style::Raw, true, Some(Command::File))),
            ("file/1/f", "", (Style::Raw, false, Some(Command::File))),
            (
                "file/1/f",
                "style=raw",
                (Style::Raw, true, Some(Command::File)),
            ),
            (
                "bogus-file/1/f",
                "style=json",
                (Style::Raw, false, Some(Command::File)),
            ),
            (
                "gitweb-tags",
                "style=json",
                (Style::Html, true, Some(Command::Tags)),
            ),
            (
                "tags",
                "style=bogus",
                (Style::Raw, false, Some(Command::Tags)),
            ),
            (
                "tags",
                "style=coal",
                (Style::Html, true, Some(Command::Tags)),
            ),
            ("json-", "", (Style::Json, true, front)),
            ("atom-", "", (Style::Atom, true, Some(Command::Changelog))),
        ] {
            let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
            let query = crate::http::parse_query(query).unwrap();
            let address = PageAddress::parse(&segments, &query, Style::Raw);
            let found = (address.style, address.names_style, address.command);
            assert_eq!(found, expected, "{path}?{query:?}");
        }
    }

    #[test]
    fn queries_name_them_too() {
        let rev = |rev: &str| Some(rev.to_owned());
        for (path, query, expected) in [
            (
                "",
                "cmd=archive&node=1&type=gz",
                (
                    Style::Html,
                    Some(Command::Archive),
                    rev("1.tar.gz"),
                    String::new(),
                ),
            ),
            (
                "",
                "cmd=changeset&node=1",
                (
                    Style::Html,
                    Some(Command::Changeset),
                    rev("1"),
                    String::new(),
                ),
            ),
            (
                "",
                "cmd=file&filenode=1&file=a",
                (Style::Html, Some(Command::File), rev("1"), "a".into()),
            ),
            (
                "",
                "cmd=rawfile&node=1&file=a",
                (Style::Raw, Some(Command::File), rev("1"), "a".into()),
            ),
        ] {
            assert_eq!(parsed(path, query), expected, "{path}?{query}");
        }
    }
}
