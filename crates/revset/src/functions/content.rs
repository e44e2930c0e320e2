//! Functions over the metadata of changesets: user, description, date, extras.

use super::arguments;
use crate::text::{TextMatcher, contains, lower, regex_of};
use crate::tree::Expr;
use crate::{Engine, RevsetError, Set};
use varve_lang::date::DateRange;

pub(super) fn user(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let pattern = arguments::string(arguments, "author requires a string")?;
    let matcher = TextMatcher::new(pattern, false)?;
    Ok(engine.where_text(move |_, changeset| matcher.is_in(changeset.user)))
}

pub(super) fn description(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let pattern = arguments::string(arguments, "desc requires a string")?;
    let matcher = TextMatcher::new(pattern, false)?;
    Ok(engine.where_text(move |_, changeset| matcher.is_in(changeset.description)))
}

pub(super) fn keyword(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let word = lower(arguments::string(arguments, "keyword requires a string")?);
    Ok(engine.where_text(move |_, changeset| {
        let texts = [changeset.user, changeset.description];
        let mut texts = changeset.files().chain(texts);
        texts.any(|text| contains(&lower(text), &word))
    }))
}

pub(super) fn grep(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let pattern = arguments::string(arguments, "grep requires a string")?;
    let regex = regex_of(pattern, true)?;
    Ok(engine.where_text(move |_, changeset| {
        let texts = [changeset.user, changeset.description];
        let mut texts = changeset.files().chain(texts);
        texts.any(|text| regex.is_match(text))
    }))
}

pub(super) fn date(engine: &Engine<'_>, _: &str, arguments: &[Expr]) -> Result<Set, RevsetError> {
    let text = arguments::string(arguments, "date requires a string")?;
    let text = String::from_utf8_lossy(text);
    let range = DateRange::parse(&text, &engine.context().clock)?;
    Ok(engine.where_text(move |_, changeset| range.contains(changeset.time)))
}

pub(super) fn closed(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    Ok(engine.where_text(|_, changeset| changeset.closes_branch()))
}

pub(super) fn extra(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let [label, value] = arguments::keyed(name, ["label", "value"], arguments)?;
    let label = label.ok_or_else(|| RevsetError::parse("extra takes at least 1 argument"))?;
    let label = arguments::word(label, "first argument to extra must be a string")?.to_vec();
    let wrong = "second argument to extra must be a string";
    let value = value
        .map(|value| arguments::word(value, wrong))
        .transpose()?;
    let matcher = value
        .map(|value| TextMatcher::new(value, true))
        .transpose()?;
    Ok(engine.where_text(move |_, changeset| {
        let mut extras = changeset.extras();
        let found = extras.find(|(key, _)| key.as_ref() == label);
        let value = match found {
            Some((_, value)) => value.into_owned(),
            // A changeset of the branch that is not written down has this extra all the same.
            None if label == b"branch" => changeset.branch().into_owned(),
            None => return false,
        };
        matcher
            .as_ref()
            .is_none_or(|matcher| matcher.is_match(&value))
    }))
}
