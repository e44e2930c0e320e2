//! Files that changesets touch or have.

use super::arguments;
use crate::set::Test;
use crate::tree::Expr;
use crate::{Engine, Member, RevsetError, Set, follow};
use varve_repo::patterns::{Kind, Matcher, NamesOnly, Request};
use varve_repo::{Changeset, Rev};

fn matcher(engine: &Engine<'_>, pattern: &[u8], default: Kind) -> Result<Matcher, RevsetError> {
    let context = engine.context();
    let request = Request {
        root: &context.root,
        cwd: &context.cwd,
        patterns: &[pattern.to_vec()],
        include: &[],
        exclude: &[],
        default,
    };
    Ok(Matcher::new(&request, &NamesOnly)?)
}

/// Changesets whose list of files has one that matches.
pub(super) fn file(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let pattern = arguments::string(arguments, "file requires a pattern")?;
    let matcher = matcher(engine, pattern, Kind::Glob)?;
    let test = move |_: Rev, changeset: &Changeset<'_>| {
        Ok(changeset.files().any(|file| matcher.matches(file)))
    };
    Ok(engine.all().filter(Test::Text(Box::new(test))))
}

/// `adds`, `modifies` and `removes`: what became of a file that matches, against the first parent.
pub(super) fn touched(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let pattern = arguments::string(arguments, &format!("{name} requires a pattern"))?;
    let matcher = matcher(engine, pattern, Kind::Glob)?;
    let wanted = match name {
        "adds" => (false, true),
        "removes" => (true, false),
        _ => (true, true),
    };
    let test = move |engine: &Engine<'_>, rev: Rev| {
        let files = engine.with_changeset(rev, |changeset| {
            let files = changeset.files().filter(|file| matcher.matches(file));
            files.map(<[u8]>::to_vec).collect::<Vec<_>>()
        })?;
        if files.is_empty() {
            return Ok(false);
        }
        let view = engine.view();
        let after = view.manifest_text(Some(rev))?;
        let before = view.manifest_text(engine.changelog().parents(rev)[0])?;
        for file in files {
            let (old, new) = (
                view.find_in_manifest(&before, &file)?,
                view.find_in_manifest(&after, &file)?,
            );
            if (old.is_some(), new.is_some()) == wanted && old != new {
                return Ok(true);
            }
        }
        Ok(false)
    };
    Ok(engine.all().filter(Test::Rev(Box::new(test))))
}

/// Changesets whose manifest has a file that matches.
pub(super) fn contains(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let pattern = arguments::string(arguments, "contains requires a pattern")?;
    let matcher = matcher(engine, pattern, Kind::RelPath)?;
    // A name without a kind is one file, and never a folder.
    let exact = (!matcher.is_wild()).then(|| matcher.named().first().cloned());
    let exact = exact.flatten();
    let test = move |engine: &Engine<'_>, rev: Rev| {
        let view = engine.view();
        let text = view.manifest_text(Some(rev))?;
        if let Some(path) = &exact {
            return Ok(view.find_in_manifest(&text, path)?.is_some());
        }
        for entry in view.manifest_entries(&text) {
            if matcher.matches(entry?.path) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    Ok(engine.all().filter(Test::Rev(Box::new(test))))
}

/// The history of the working folder's parent, or of one file in it, along its copies.
pub(super) fn follow(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let [file, start] = arguments::keyed(name, ["file", "startrev"], arguments)?;
    let start: Member = match start {
        Some(start) => engine
            .evaluate(start)?
            .last(engine)?
            .ok_or(RevsetError::Empty)?,
        None => engine.context().parents.first().copied(),
    };
    let Some(file) = file else {
        return engine.ancestors_of(&Set::list(vec![start]));
    };
    let pattern = arguments::word(file, "follow expected a pattern")?;
    let matcher = matcher(engine, pattern, Kind::Path)?;
    let text = engine.view().manifest_text(start)?;
    let mut files = Vec::new();
    for entry in engine.view().manifest_entries(&text) {
        let entry = entry?;
        if matcher.matches(entry.path) {
            files.push((entry.path.to_vec(), entry.node));
        }
    }
    Ok(Set::bits(follow::history(engine.view(), start, files)?))
}
