//! Templates that others name: entries of a map file, or of the section `templates`.
//!
//! A word that is no keyword stands for the template of its name, and `list % name` fills it for each member. A list that is
//! printed as it is takes the templates of its name: `no_files`, or `start_files`, `file` for each member, `last_file` for the last
//! one, and `end_files`.

use super::aliases::TemplateAliases;
use super::eval::{Keywords, evaluate, text};
use super::grammar::{Expr, parse};
use super::member::with_member;
use crate::render::formatter::Value;
use crate::ui::{Abort, FailureKind};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The templates by name, as far as another one leads to them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fragments(BTreeMap<String, Fragment>);

#[derive(Clone, Debug, PartialEq)]
enum Fragment {
    Read(Expr),
    /// Its text does not follow the grammar, which is an error only where it is filled.
    Wrong(Vec<u8>),
}

impl Fragments {
    /// Reads templates by name and text.
    ///
    /// # Errors
    /// An alias in one of them is wrong.
    pub(crate) fn read<'t>(
        texts: impl Iterator<Item = (String, &'t [u8])>,
        aliases: &TemplateAliases,
    ) -> Result<Fragments, Abort> {
        let read = texts.map(|(name, text)| {
            let fragment = match parse(text) {
                Ok(expr) => Fragment::Read(aliases.expand(&expr)?),
                Err(_) => Fragment::Wrong(text.to_vec()),
            };
            Ok((name, fragment))
        });
        Ok(Fragments(read.collect::<Result<_, Abort>>()?))
    }

    /// Those that a template leads to, directly or by way of others; `None` if there are none.
    pub(super) fn reachable_from(&self, template: &Expr) -> Option<Fragments> {
        if self.0.is_empty() {
            return None;
        }
        let mut reached = BTreeMap::new();
        let mut waiting = self.named_in(template);
        while let Some(name) = waiting.pop() {
            let Some((name, fragment)) = self.0.get_key_value(&name) else {
                continue;
            };
            if reached.insert(name.clone(), fragment.clone()).is_none()
                && let Fragment::Read(expr) = fragment
            {
                waiting.extend(self.named_in(expr));
            }
        }
        (!reached.is_empty()).then_some(Fragments(reached))
    }

    /// Words of a template, and the names of the templates that its lists may take.
    fn named_in(&self, template: &Expr) -> Vec<String> {
        let mut words = BTreeSet::new();
        template.push_names(&mut words);
        if template.calls(REVSET) {
            words.insert(REVISIONS);
        }
        let of_lists = words.iter().flat_map(|word| {
            let list = ListNames::of(word);
            [
                list.none(),
                list.start(),
                list.each(),
                list.last(),
                list.end(),
            ]
        });
        let words = words.iter().map(|word| (*word).to_owned());
        words.chain(of_lists).collect()
    }

    /// The trees of all.
    pub(super) fn trees(&self) -> impl Iterator<Item = &Expr> {
        self.0.values().filter_map(|fragment| match fragment {
            Fragment::Read(expr) => Some(expr),
            Fragment::Wrong(_) => None,
        })
    }
}

/// Function whose list takes templates, too, and the name of that list.
const REVSET: &str = "revset";
const REVISIONS: &str = "revisions";

/// Names of the templates that a list takes.
struct ListNames<'w> {
    list: &'w str,
    member: &'w str,
}

impl<'w> ListNames<'w> {
    fn of(list: &'w str) -> ListNames<'w> {
        let member = match list {
            "children" => "child",
            "branches" => "branch",
            "file_copies" | "file_copies_switch" => "file_copy",
            other => other.strip_suffix('s').unwrap_or(other),
        };
        ListNames { list, member }
    }

    fn none(&self) -> String {
        format!("no_{}", self.list)
    }

    fn start(&self) -> String {
        format!("start_{}", self.list)
    }

    fn each(&self) -> String {
        self.member.to_owned()
    }

    fn last(&self) -> String {
        format!("last_{}", self.member)
    }

    fn end(&self) -> String {
        format!("end_{}", self.list)
    }
}

/// Keywords that fragments stand behind.
pub(super) struct WithFragments<'a> {
    pub(super) keywords: &'a dyn Keywords,
    pub(super) scope: FragmentScope<'a>,
}

/// The fragments of one filling, and those that are being filled.
pub(crate) struct FragmentScope<'a> {
    fragments: &'a Fragments,
    under_way: RefCell<Vec<String>>,
}

impl<'a> FragmentScope<'a> {
    pub(super) fn new(fragments: &'a Fragments) -> FragmentScope<'a> {
        FragmentScope {
            fragments,
            under_way: RefCell::default(),
        }
    }

    /// Fills the fragment of a name; `None` if there is none.
    fn fill(
        &self,
        name: &str,
        keywords: &dyn Keywords,
        recursion: FailureKind,
    ) -> Result<Option<Vec<u8>>, Abort> {
        let expr = match self.fragments.0.get(name) {
            None => return Ok(None),
            Some(Fragment::Read(expr)) => expr,
            Some(Fragment::Wrong(text)) => return parse(text).map(|_| None),
        };
        if self.under_way.borrow().iter().any(|other| other == name) {
            let words = format!("recursive reference '{name}' in template");
            return Err(Abort::of_kind(recursion, words));
        }
        self.under_way.borrow_mut().push(name.to_owned());
        let filled = evaluate(expr, keywords);
        self.under_way.borrow_mut().pop();
        Ok(Some(text(&filled?)))
    }
}

impl Keywords for WithFragments<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, Abort> {
        self.keywords.value(name)
    }

    fn source(&self) -> Option<&dyn super::source::TemplateData> {
        self.keywords.source()
    }

    fn fragments(&self) -> Option<&FragmentScope<'_>> {
        Some(&self.scope)
    }
}

/// True if a word is neither a keyword nor the name of a fragment.
pub(super) fn is_nothing(name: &str, keywords: &dyn Keywords) -> Result<bool, Abort> {
    let names = |scope: &FragmentScope<'_>| scope.fragments.0.contains_key(name);
    Ok(keywords.value(name)?.is_none() && !keywords.fragments().is_some_and(names))
}

/// The text that a word stands for which is no keyword; `None` if it stands for nothing.
pub(super) fn of_word(name: &str, keywords: &dyn Keywords) -> Result<Option<Value>, Abort> {
    let Some(scope) = keywords.fragments() else {
        return Ok(None);
    };
    let filled = scope.fill(name, keywords, FailureKind::Other)?;
    Ok(filled.map(Value::Text))
}

/// The fragment that the right side of `%` names, filled; `None` if it names none.
pub(super) fn of_member(template: &Expr, keywords: &dyn Keywords) -> Result<Option<Value>, Abort> {
    let (Expr::Symbol(name), Some(scope)) = (template, keywords.fragments()) else {
        return Ok(None);
    };
    let filled = scope.fill(name, keywords, FailureKind::Input)?;
    Ok(filled.map(Value::Text))
}

/// A list as its templates print it; `None` if there are none for it.
pub(super) fn of_list(
    expr: &Expr,
    value: &Value,
    keywords: &dyn Keywords,
) -> Result<Option<Vec<u8>>, Abort> {
    let (Some(scope), Value::List(members)) = (keywords.fragments(), value) else {
        return Ok(None);
    };
    let names = match expr {
        Expr::Symbol(name) => ListNames::of(name),
        Expr::Call(name, _) if name == REVSET => ListNames::of(REVISIONS),
        _ => return Ok(None),
    };
    let fill = |name: &str, keywords: &dyn Keywords| scope.fill(name, keywords, FailureKind::Other);
    if members.is_empty() {
        return fill(&names.none(), keywords);
    }
    let fragments = &scope.fragments.0;
    if !fragments.contains_key(&names.each()) {
        return Ok(None);
    }
    let mut out = fill(&names.start(), keywords)?.unwrap_or_default();
    for (index, member) in members.iter().enumerate() {
        let is_last = index + 1 == members.len() && fragments.contains_key(&names.last());
        let name = if is_last { names.last() } else { names.each() };
        with_member((member, index), (keywords, names.member), &mut |inner| {
            out.extend(fill(&name, inner)?.unwrap_or_default());
            Ok(())
        })?;
    }
    out.extend(fill(&names.end(), keywords)?.unwrap_or_default());
    Ok(Some(out))
}
