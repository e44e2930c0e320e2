//! Styles that come with the program, as templates.

use crate::ui::Verbosity;

/// Names of all styles.
pub(super) const NAMES: &[&str] = &[
    "bisect",
    "changelog",
    "compact",
    "default",
    "phases",
    "show",
    "status",
    "xml",
];

/// The templates of a style.
pub(super) struct Texts {
    /// Of each changeset, in pieces.
    pub(super) body: &'static [&'static str],
    /// Before the first one.
    pub(super) header: &'static str,
    /// Behind the last one.
    pub(super) footer: &'static str,
}

const COMPACT_NAME: &str = "{rev}{if(tags, '[{join(tags, \",\")}]')}";
const COMPACT_MARKS: &str = "{if(bookmarks, '[{join(bookmarks, \",\")}]')}";
const COMPACT_HEAD: &str = "{parents % '{ifeq(index, 0, \":\", \",\")}{rev}'}   \
    {node|short}   {date|isodate}   ";
const COMPACT: &[&str] = &[
    COMPACT_NAME,
    COMPACT_MARKS,
    COMPACT_HEAD,
    "{author|user}\\n  {desc|firstline}\\n\\n",
];
const COMPACT_VERBOSE: &[&str] = &[COMPACT_NAME, COMPACT_HEAD, "{author}\\n  {desc}\\n\\n"];
const COMPACT_QUIET: &[&str] = &["{rev}:{node|short}\\n"];

const PERSON: &str = "  {author|person}  <{author|email}>";
const NAMES_OF: &str = "{tags % ' [{tag}]'}{branches % ' <{branch}>'}";
const SAID: &str = "\\t* {if(files, '{\"{join(files, \", \")}:\"|fill68|tabindent}\\n\\t')}\
    {desc|fill68|tabindent}\\n";
const CHANGELOG: &[&str] = &[
    "{date|shortdate}",
    PERSON,
    "\\n\\n",
    SAID,
    "\\t[{node|short}]",
    NAMES_OF,
    "\\n\\n",
];
const CHANGELOG_VERBOSE: &[&str] = &[
    "{date|isodate}",
    PERSON,
    "  ({node|short}",
    NAMES_OF,
    ")\\n\\n",
    "{if(file_adds, '\\t* {\"{join(file_adds, \", \")}: new file.\"|fill68|tabindent}\\n')}",
    "{if(file_dels, '\\t* {\"{join(file_dels, \", \")}: deleted file.\"|fill68|tabindent}\\n')}",
    SAID,
    "\\n",
];
const CHANGELOG_QUIET: &[&str] = &[
    "{date|shortdate}",
    PERSON,
    "\\n\\n\\t* {desc|firstline}\\n\\n",
];

const XML_HEADER: &str = "<?xml version=\"1.0\"?>\\n<log>\\n";
const XML_FOOTER: &str = "</log>\\n";
const XML_END: &str = "</logentry>\\n";
const XML_ENTRY: &str = "<logentry revision=\"{rev}\" node=\"{node}\">\\n\
    {branches % '<branch>{branch|escape}</branch>\\n'}\
    {bookmarks % '<bookmark>{bookmark|escape}</bookmark>\\n'}\
    {tags % '<tag>{tag|escape}</tag>\\n'}\
    {parents % '<parent revision=\"{rev}\" node=\"{node}\" />\\n'}\
    <author email=\"{author|email|escape}\">{author|person|escape}</author>\\n\
    <date>{date|rfc3339date}</date>\\n\
    <msg xml:space=\"preserve\">{desc|escape}</msg>\\n";
const XML_PATHS: &str = "<paths>\\n\
    {file_adds % '<path action=\"A\">{file|escape}</path>\\n'}\
    {file_dels % '<path action=\"R\">{file|escape}</path>\\n'}\
    {file_mods % '<path action=\"M\">{file|escape}</path>\\n'}\
    </paths>\\n";
const XML: &[&str] = &[XML_ENTRY, XML_END];
const XML_COPIES: &str = "{if(file_copies, '<copies>\\n\
    {file_copies % \"<copy source=\\\"{source|escape}\\\">{name|escape}</copy>\\n\"}\
    </copies>\\n')}";
const XML_VERBOSE: &[&str] = &[XML_ENTRY, XML_PATHS, XML_COPIES, XML_END];
const XML_EXTRAS: &str = "{extras % '<extra key=\"{key|escape}\">{value|escape}</extra>\\n'}";
const XML_DEBUG: &[&str] = &[XML_ENTRY, XML_PATHS, XML_COPIES, XML_EXTRAS, XML_END];

/// A style's templates at a verbosity; `None` if there is no style of this name made of templates.
pub(super) fn texts(name: &[u8], verbosity: Verbosity) -> Option<Texts> {
    let pick = |plain, verbose, quiet| match (verbosity.verbose, verbosity.quiet) {
        (true, _) => verbose,
        (false, true) => quiet,
        _ => plain,
    };
    let (body, header, footer) = match name {
        b"compact" => (pick(COMPACT, COMPACT_VERBOSE, COMPACT_QUIET), "", ""),
        b"changelog" => (pick(CHANGELOG, CHANGELOG_VERBOSE, CHANGELOG_QUIET), "", ""),
        b"xml" if verbosity.debug => (XML_DEBUG, XML_HEADER, XML_FOOTER),
        b"xml" => (pick(XML, XML_VERBOSE, XML), XML_HEADER, XML_FOOTER),
        _ => return None,
    };
    Some(Texts {
        body,
        header,
        footer,
    })
}
