//! The functions of filesets.

use super::content::{Content, Encoding, Eol};
use super::test::Test;
use super::{FileList, FileSource, size};
use crate::format::unportable;
use std::sync::Arc;
use varve_lang::did_you_mean;
use varve_lang::fileset::{Expr, FilesetError};
use varve_lang::patterns::{CompilePattern, PathPredicate, PatternError, PythonRegex};

/// Names of all functions, for suggestions.
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

const LISTS: &[(&str, FileList)] = &[
    ("added", FileList::Added),
    ("clean", FileList::Clean),
    ("copied", FileList::Copied),
    ("deleted", FileList::Deleted),
    ("ignored", FileList::Ignored),
    ("missing", FileList::Deleted),
    ("modified", FileList::Modified),
    ("removed", FileList::Removed),
    ("resolved", FileList::Resolved),
    ("tracked", FileList::Tracked),
    ("unknown", FileList::Unknown),
    ("unresolved", FileList::Unresolved),
];

/// Evaluation of one expression.
pub(super) struct Evaluation<'e> {
    pub(super) source: &'e Arc<dyn FileSource>,
    pub(super) compile: &'e CompilePattern<'e>,
}

type TestResult = Result<Test, PatternError>;

impl Evaluation<'_> {
    /// Compiles an expression, whose depth the parser bounds.
    pub(super) fn test(&self, expr: &Expr) -> TestResult {
        let patterns = |kind, text| Ok(Test::Patterns(Arc::new((self.compile)(kind, text)?)));
        match expr {
            Expr::Symbol(text) | Expr::Text(text) => patterns(None, text),
            Expr::Kind(kind, text) => patterns(Some(&kind[..]), text),
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
                    ..FilesetError::new(message)
                }
                .into())
            }
            Expr::Negative => {
                let message = "can't use negate operator in this context";
                Err(FilesetError::new(message).into())
            }
        }
    }

    fn call(&self, name: &[u8], arguments: &[Expr]) -> TestResult {
        let shown = String::from_utf8_lossy(name);
        if let Some((name, list)) = LISTS.iter().find(|(known, _)| **known == shown) {
            no_arguments(name, arguments)?;
            return Ok(Test::Listed(self.source.list(*list)?));
        }
        let content = |content| Ok(Test::Content(self.source.clone(), Arc::new(content)));
        match &*shown {
            "binary" => no_arguments(&shown, arguments).and_then(|()| content(Content::Binary)),
            "exec" => no_arguments(&shown, arguments).and_then(|()| content(Content::Executable)),
            "symlink" => no_arguments(&shown, arguments).and_then(|()| content(Content::Symlink)),
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
                no_arguments(&shown, arguments)?;
                Ok(Test::Path(self.source.ignored()?))
            }
            "portable" => {
                no_arguments(&shown, arguments)?;
                Ok(Test::Path(PathPredicate::new(|path| {
                    unportable(path).is_none()
                })))
            }
            "revs" => self.revs(arguments),
            "status" => self.status(arguments),
            "subrepo" => Err(FilesetError::new("subrepo() is not supported").into()),
            _ => {
                let unknown = FilesetError::new(format!("unknown identifier: {shown}"));
                let hint = did_you_mean(&shown, NAMES.iter().copied());
                Err(FilesetError { hint, ..unknown }.into())
            }
        }
    }

    /// Evaluates an expression in other changesets.
    fn revs(&self, arguments: &[Expr]) -> TestResult {
        let wrong = "revs takes two arguments";
        let [query, expr] = arguments else {
            return Err(FilesetError::new(wrong).into());
        };
        let query = word(query, "first argument to revs must be a revision")?;
        let mut all = Vec::new();
        for source in self.source.at_query(&query)? {
            let (source, compile) = (&source, self.compile);
            all.push(Evaluation { source, compile }.test(expr)?);
        }
        Ok(Test::Or(all))
    }

    /// Evaluates an expression between two changesets.
    fn status(&self, arguments: &[Expr]) -> TestResult {
        let [base, query, expr] = arguments else {
            return Err(FilesetError::new("status takes three arguments").into());
        };
        let base = word(base, "first argument to status must be a revision")?;
        let query = word(query, "second argument to status must be a revision")?;
        let source = &self.source.between(&base, &query)?;
        let compile = self.compile;
        Evaluation { source, compile }.test(expr)
    }
}

fn no_arguments(name: &str, arguments: &[Expr]) -> Result<(), PatternError> {
    if arguments.is_empty() {
        return Ok(());
    }
    Err(FilesetError::new(format!("{name} takes no arguments")).into())
}

/// The one string that a function takes.
fn string(arguments: &[Expr], wrong: &str) -> Result<String, PatternError> {
    match arguments {
        [one] => Ok(String::from_utf8_lossy(&word(one, wrong)?).into_owned()),
        _ => Err(FilesetError::new(wrong).into()),
    }
}

fn word(expr: &Expr, wrong: &str) -> Result<Vec<u8>, PatternError> {
    match expr {
        Expr::Symbol(text) | Expr::Text(text) => Ok(text.clone()),
        _ => Err(FilesetError::new(wrong).into()),
    }
}

fn regex(arguments: &[Expr]) -> Result<PythonRegex, PatternError> {
    let wrong = "grep requires a pattern";
    let [pattern] = arguments else {
        return Err(FilesetError::new(wrong).into());
    };
    let text = word(pattern, wrong)?;
    PythonRegex::new(&text).map_err(|_| {
        let shown = String::from_utf8_lossy(&text);
        FilesetError::new(format!("invalid match pattern: {shown}")).into()
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
