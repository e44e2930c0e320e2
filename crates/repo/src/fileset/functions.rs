//! The functions of the language.

use super::content::{Content, Encoding, Eol};
use super::parse::Expr;
use super::test::{Fileset, Test};
use super::{Compile, FileSource, FilesetError, List, size};
use crate::patterns::{PatternError, search_regex};
use crate::{similar, unportable};
use std::sync::Arc;

/// Names of all functions, for those who mistype one.
const NAMES: &[&str] = &[
    "added",
    "binary",
    "clean",
    "copied",
    "deleted",
    "encoding",
    "eol",
    "exec",
    "grep",
    "hgignore",
    "ignored",
    "missing",
    "modified",
    "portable",
    "removed",
    "resolved",
    "revs",
    "size",
    "status",
    "subrepo",
    "symlink",
    "tracked",
    "unknown",
    "unresolved",
];

const LISTS: &[(&str, List)] = &[
    ("added", List::Added),
    ("clean", List::Clean),
    ("copied", List::Copied),
    ("deleted", List::Deleted),
    ("ignored", List::Ignored),
    ("missing", List::Deleted),
    ("modified", List::Modified),
    ("removed", List::Removed),
    ("resolved", List::Resolved),
    ("tracked", List::Tracked),
    ("unknown", List::Unknown),
    ("unresolved", List::Unresolved),
];

/// Answers parts of an expression.
pub(super) struct Evaluator<'e> {
    pub(super) source: &'e Arc<dyn FileSource>,
    pub(super) patterns: Compile<'e>,
}

type Found = Result<Test, PatternError>;

impl Evaluator<'_> {
    /// What an expression means. Its depth is bounded by the parser.
    pub(super) fn evaluate(&self, expr: &Expr) -> Result<Fileset, PatternError> {
        Ok(Fileset(self.test(expr)?))
    }

    fn test(&self, expr: &Expr) -> Found {
        match expr {
            Expr::Symbol(text) | Expr::Text(text) => Ok((self.patterns)(None, text)?.0),
            Expr::Kind(kind, text) => Ok((self.patterns)(Some(kind), text)?.0),
            Expr::Call(name, arguments) => self.call(name, arguments),
            Expr::Not(inner) => Ok(Test::Not(Box::new(self.test(inner)?))),
            Expr::And(left, right) => Ok(self.test(left)?.and(self.test(right)?)),
            Expr::Minus(left, right) => {
                let without = Test::Not(Box::new(self.test(right)?));
                Ok(self.test(left)?.and(without))
            }
            Expr::Or(all) => {
                let all: Result<Vec<Test>, _> = all.iter().map(|one| self.test(one)).collect();
                Ok(Test::Or(all?))
            }
            Expr::List(_) => {
                let message = "can't use a list in this context";
                Err(FilesetError {
                    hint: Some("see 'hg help \"filesets.x or y\"'".to_owned()),
                    ..FilesetError::plain(message)
                }
                .into())
            }
            Expr::Negative => {
                let message = "can't use negate operator in this context";
                Err(FilesetError::plain(message).into())
            }
        }
    }

    fn call(&self, name: &[u8], arguments: &[Expr]) -> Found {
        let shown = String::from_utf8_lossy(name);
        if let Some((name, list)) = LISTS.iter().find(|(known, _)| **known == shown) {
            none(name, arguments)?;
            return Ok(Test::Listed(self.source.list(*list)?));
        }
        let content = |content| Ok(Test::Content(self.source.clone(), Arc::new(content)));
        match &*shown {
            "binary" => none(&shown, arguments).and_then(|()| content(Content::Binary)),
            "exec" => none(&shown, arguments).and_then(|()| content(Content::Executable)),
            "symlink" => none(&shown, arguments).and_then(|()| content(Content::Symlink)),
            "size" => {
                let text = string(arguments, "size requires an expression")?;
                content(Content::Size(size::sizes(&text)?))
            }
            "grep" => content(Content::Grep(regex(arguments)?)),
            "encoding" => content(Content::Encoding(encoding(arguments)?)),
            "eol" => match &*string(arguments, "eol requires a style name")? {
                "dos" => content(Content::Eol(Eol::Dos)),
                "unix" => content(Content::Eol(Eol::Unix)),
                "mac" => content(Content::Eol(Eol::Mac)),
                _ => Ok(Test::Never),
            },
            "hgignore" => {
                none(&shown, arguments)?;
                Ok(Test::Path(self.source.ignored()?))
            }
            "portable" => {
                none(&shown, arguments)?;
                Ok(Test::Path(Arc::new(|path| unportable(path).is_none())))
            }
            "revs" => self.revs(arguments),
            "status" => self.status(arguments),
            "subrepo" => Err(FilesetError::plain("subrepo() is not supported").into()),
            _ => {
                let unknown = FilesetError::plain(format!("unknown identifier: {shown}"));
                let hint = similar(&shown, NAMES.iter().copied());
                Err(FilesetError { hint, ..unknown }.into())
            }
        }
    }

    /// What an expression means in other changesets.
    fn revs(&self, arguments: &[Expr]) -> Found {
        let wrong = "revs takes two arguments";
        let [query, expr] = arguments else {
            return Err(FilesetError::plain(wrong).into());
        };
        let query = word(query, "first argument to revs must be a revision")?;
        let mut all = Vec::new();
        for source in self.source.at(&query)? {
            let patterns = self.patterns;
            let source = &source;
            all.push(Evaluator { source, patterns }.test(expr)?);
        }
        Ok(Test::Or(all))
    }

    /// What an expression means between two changesets.
    fn status(&self, arguments: &[Expr]) -> Found {
        let [base, query, expr] = arguments else {
            return Err(FilesetError::plain("status takes three arguments").into());
        };
        let base = word(base, "first argument to status must be a revision")?;
        let query = word(query, "second argument to status must be a revision")?;
        let source = &self.source.between(&base, &query)?;
        let patterns = self.patterns;
        Evaluator { source, patterns }.test(expr)
    }
}

fn none(name: &str, arguments: &[Expr]) -> Result<(), PatternError> {
    if arguments.is_empty() {
        return Ok(());
    }
    Err(FilesetError::plain(format!("{name} takes no arguments")).into())
}

/// The one string that a function takes.
fn string(arguments: &[Expr], wrong: &str) -> Result<String, PatternError> {
    match arguments {
        [one] => Ok(String::from_utf8_lossy(&word(one, wrong)?).into_owned()),
        _ => Err(FilesetError::plain(wrong).into()),
    }
}

fn word(expr: &Expr, wrong: &str) -> Result<Vec<u8>, PatternError> {
    match expr {
        Expr::Symbol(text) | Expr::Text(text) => Ok(text.clone()),
        _ => Err(FilesetError::plain(wrong).into()),
    }
}

fn regex(arguments: &[Expr]) -> Result<regex::bytes::Regex, PatternError> {
    let wrong = "grep requires a pattern";
    let [pattern] = arguments else {
        return Err(FilesetError::plain(wrong).into());
    };
    let text = word(pattern, wrong)?;
    search_regex(&text).ok_or_else(|| {
        let shown = String::from_utf8_lossy(&text);
        FilesetError::plain(format!("invalid match pattern: {shown}")).into()
    })
}

fn encoding(arguments: &[Expr]) -> Result<Encoding, PatternError> {
    let name = string(arguments, "encoding requires an encoding name")?;
    if let Some(encoding) = Encoding::of_name(&name) {
        return Ok(encoding);
    }
    Err(PatternError::Files(match Encoding::is_family(&name) {
        true => format!("encoding '{name}' is not supported"),
        false => format!("unknown encoding '{name}'"),
    }))
}
