//! FilePattern that changesets touch or have.

use super::arguments;
use crate::bitset::BitSet;
use crate::set::Predicate;
use crate::tree::Expr;
use crate::{Engine, Member, RevsetError, Set, WORKING_COPY, follow};
use std::borrow::Cow;
use varve_lang::patterns::{
    FileResolver, MatchRequest, Matcher, NameCheck, Pattern, PatternKind, RegexEngine,
};
use varve_repo::fileset::FilesetEvaluator;
use varve_repo::{Changeset, Rev};

/// A pattern that is the same for all changesets, or a fileset, which is evaluated in each.
enum FilePattern {
    Same(Box<Matcher>),
    Each(Vec<u8>, PatternKind),
}

impl FilePattern {
    fn new(
        engine: &Engine<'_>,
        pattern: &[u8],
        default: PatternKind,
    ) -> Result<FilePattern, RevsetError> {
        // An error in a fileset is reported before any changeset is read.
        let matcher = matcher(engine, pattern, default, None)?;
        Ok(match Pattern::parse(pattern, default).kind {
            PatternKind::Set => FilePattern::Each(pattern.to_vec(), default),
            _ => FilePattern::Same(Box::new(matcher)),
        })
    }

    /// The matcher for a changeset.
    fn of(&self, engine: &Engine<'_>, rev: Rev) -> Result<Cow<'_, Matcher>, RevsetError> {
        Ok(match self {
            FilePattern::Same(matcher) => Cow::Borrowed(matcher),
            FilePattern::Each(pattern, default) => {
                Cow::Owned(matcher(engine, pattern, *default, Some(rev))?)
            }
        })
    }
}

/// Compiles a pattern; a fileset is evaluated over the files of `rev`.
pub(super) fn matcher(
    engine: &Engine<'_>,
    pattern: &[u8],
    default: PatternKind,
    rev: Member,
) -> Result<Matcher, RevsetError> {
    let context = engine.context();
    let files = context.files.as_ref();
    let files = files.map(|files| FilesetEvaluator::new(files.at_rev(rev)));
    let request = MatchRequest {
        root: &context.root,
        cwd: &context.cwd,
        patterns: &[pattern.to_vec()],
        include: &[],
        exclude: &[],
        default,
        engine: RegexEngine::Linear,
        files: files.as_ref().map(|files| files as &dyn FileResolver),
    };
    Ok(Matcher::new(&request, &NameCheck)?)
}

/// Changesets whose list of files has one that matches.
pub(super) fn file(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let pattern = arguments::string(arguments, "file requires a pattern")?;
    let files = FilePattern::new(engine, pattern, PatternKind::Glob)?;
    let FilePattern::Same(matcher) = files else {
        let test = move |engine: &Engine<'_>, rev: Rev| {
            let matcher = files.of(engine, rev)?;
            engine.with_changeset(rev, |changeset| {
                changeset.files().any(|file| matcher.matches(file))
            })
        };
        return Ok(engine.everything().filter(Predicate::Rev(Box::new(test))));
    };
    let test = move |_: Rev, changeset: &Changeset<'_>| {
        Ok(changeset.files().any(|file| matcher.matches(file)))
    };
    Ok(engine.everything().filter(Predicate::Text(Box::new(test))))
}

/// `adds`, `modifies` and `removes`: changesets that changed a matching file so, against the first parent.
pub(super) fn with_file_change(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let pattern = arguments::string(arguments, &format!("{name} requires a pattern"))?;
    let patterns = FilePattern::new(engine, pattern, PatternKind::Glob)?;
    let wanted = match name {
        "adds" => (false, true),
        "removes" => (true, false),
        _ => (true, true),
    };
    let test = move |engine: &Engine<'_>, rev: Rev| {
        let matcher = patterns.of(engine, rev)?;
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
    Ok(engine.everything().filter(Predicate::Rev(Box::new(test))))
}

/// Changesets whose manifest has a file that matches.
pub(super) fn contains(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let pattern = arguments::string(arguments, "contains requires a pattern")?;
    let files = FilePattern::new(engine, pattern, PatternKind::RelPath)?;
    // A name without a kind is one file, and never a directory.
    let has_kind = Pattern::parse(pattern, PatternKind::RelPath).text != pattern;
    let exact = match &files {
        FilePattern::Same(matcher) if !has_kind => matcher.named().first().cloned(),
        _ => None,
    };
    let test = move |engine: &Engine<'_>, rev: Rev| {
        let view = engine.view();
        let text = view.manifest_text(Some(rev))?;
        if let Some(path) = &exact {
            return Ok(view.find_in_manifest(&text, path)?.is_some());
        }
        let matcher = files.of(engine, rev)?;
        for entry in view.manifest_entries(&text) {
            if matcher.matches(entry?.path) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    Ok(engine.everything().filter(Predicate::Rev(Box::new(test))))
}

/// The history of the working copy's parent, or of one file in it, along its copies.
pub(super) fn follow(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let [file, start] = arguments::keyed(name, ["file", "startrev"], arguments)?;
    let start: Vec<Member> = match start {
        Some(start) => {
            let start = engine.evaluate(start)?;
            start.members(engine).collect::<Result<_, _>>()?
        }
        None => vec![engine.context().parents.first().copied()],
    };
    let Some(file) = file else {
        return engine.ancestors_of(&Set::list(start));
    };
    if start.contains(&Some(WORKING_COPY)) {
        return Err(RevsetError::WorkingCopy);
    }
    let pattern = arguments::word(file, "follow expected a pattern")?;
    let mut found = BitSet::default();
    for start in start {
        let matcher = matcher(engine, pattern, PatternKind::Path, start)?;
        let text = engine.view().manifest_text(start)?;
        let mut files = Vec::new();
        for entry in engine.view().manifest_entries(&text) {
            let entry = entry?;
            if matcher.matches(entry.path) {
                files.push((entry.path.to_vec(), entry.node));
            }
        }
        let parents = follow::FollowedParents::All;
        for rev in follow::history(engine.view(), start, files, parents)?.into_keys() {
            found.insert(Some(rev));
        }
    }
    Ok(Set::bits(found))
}

/// Changesets that made the revisions of files with this name or pattern.
pub(super) fn filelog(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let pattern = arguments::string(arguments, "filelog requires a pattern")?;
    let matcher = matcher(engine, pattern, PatternKind::RelPath, None)?;
    let view = engine.view();
    let mut found = BitSet::default();
    for file in view.files_with_history()? {
        if !matcher.matches(&file) {
            continue;
        }
        let filelog = view.filelog(&file)?;
        for rev in view.changesets_of_file(&file, &filelog)? {
            found.insert(Some(rev));
        }
    }
    Ok(Set::bits(found))
}
