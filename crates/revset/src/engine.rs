//! Evaluation of queries over one view of a repository.

use crate::bits::{self, Bits};
use crate::set::{Set, Test};
use crate::tree::{Expr, Infix, Postfix, Prefix, Range};
use crate::{Member, RevsetError, functions, parse};
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use varve_lang::date::Clock;
use varve_repo::fileset::FileSource;
use varve_repo::{Changeset, Node, RepoView, Rev};
use varve_revlog::{Reader, Revlog};

/// What a query is about.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// The repository.
    pub view: &'a RepoView,
    /// Parents of the working folder: none, one, or two in a merge.
    pub parents: Vec<Rev>,
    /// The repository's folder, absolute.
    pub root: PathBuf,
    /// The folder that patterns count from, absolute.
    pub cwd: PathBuf,
    /// The present.
    pub clock: Clock,
    /// What filesets in patterns are about; without it they are refused.
    pub files: Option<Arc<dyn FileSource>>,
}

/// Answers queries.
pub struct Engine<'a> {
    context: Context<'a>,
    reader: RefCell<Reader<'a>>,
}

impl<'a> Engine<'a> {
    /// Gets ready; reads nothing.
    pub fn new(context: Context<'a>) -> Engine<'a> {
        let reader = RefCell::new(context.view.changelog().reader());
        Engine { context, reader }
    }

    /// What queries are about.
    pub fn context(&self) -> &Context<'a> {
        &self.context
    }

    /// The repository.
    pub fn view(&self) -> &'a RepoView {
        self.context.view
    }

    pub(crate) fn changelog(&self) -> &'a Revlog {
        self.context.view.changelog()
    }

    /// Answers one query.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn query(&self, query: &[u8]) -> Result<Set, RevsetError> {
        self.evaluate(&self.tree(query)?)
    }

    /// Answers several queries, one after the other without repeating.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn queries(&self, queries: &[&[u8]]) -> Result<Set, RevsetError> {
        if let [one] = queries {
            return self.query(one);
        }
        let sets: Result<Vec<Set>, _> = queries.iter().map(|query| self.query(query)).collect();
        Ok(Set::chain(sets?))
    }

    /// The last member of a query's answer, for commands that want one changeset.
    ///
    /// # Errors
    /// [`RevsetError::Empty`], or what is wrong with the query.
    pub fn single(&self, query: &[u8]) -> Result<Member, RevsetError> {
        self.query(query)?.last(self)?.ok_or(RevsetError::Empty)
    }

    fn tree(&self, query: &[u8]) -> Result<Expr, RevsetError> {
        parse(query, &|name| self.context.view.lookup(name).is_ok())
    }

    /// A member by its number, -1 for the null revision; `None` for what is not there or hidden.
    pub(crate) fn member(&self, number: i64) -> Option<Member> {
        if number == -1 {
            return Some(None);
        }
        let rev = self.changelog().rev_at(number)?;
        self.view().is_visible(rev).then_some(Some(rev))
    }

    /// All changesets, ascending.
    pub fn all(&self) -> Set {
        Set::span(0, self.changelog().len() as i64 - 1)
    }

    /// Visible changesets, ascending.
    pub(crate) fn shown(&self, mut bits: Bits) -> Set {
        if self.view().hides_anything() {
            bits.retain(|rev| self.view().is_visible(rev));
        }
        Set::bits(bits)
    }

    /// Gives a changeset's text, taken apart, to `read`.
    pub(crate) fn with_changeset<T>(
        &self,
        rev: Rev,
        read: impl FnOnce(&Changeset<'_>) -> T,
    ) -> Result<T, RevsetError> {
        let mut reader = self.reader.borrow_mut();
        let text = reader.text(rev)?;
        Ok(read(&self.view().parse_changeset(rev, text)?))
    }

    /// The changeset that a name means.
    pub(crate) fn named(&self, name: &[u8]) -> Result<Member, RevsetError> {
        let parents = &self.context.parents;
        match name {
            b"." => Ok(parents.first().copied()),
            _ => Ok(self.member_of(&self.view().lookup(name)?)),
        }
    }

    pub(crate) fn member_of(&self, node: &Node) -> Member {
        self.changelog().rev(node)
    }

    /// The answer to a query, or to a part of one, that is a tree already.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn evaluate(&self, expr: &Expr) -> Result<Set, RevsetError> {
        match expr {
            Expr::Symbol(name) | Expr::Text(name) => Ok(Set::list(vec![self.named(name)?])),
            Expr::Call(name, arguments) => functions::call(self, name, arguments),
            Expr::List(_) => {
                let message = "can't use a list in this context";
                Err(RevsetError::parse(message).hint("see 'hg help \"revsets.x or y\"'"))
            }
            Expr::KeyValue(..) => Err(RevsetError::parse(
                "can't use a key-value pair in this context",
            )),
            Expr::Whole(Range::Numbers) => Ok(self.all()),
            Expr::Whole(Range::Descent) => {
                Err(RevsetError::parse("can't use '::' in this context"))
            }
            Expr::Prefix(prefix, operand) => self.prefix(*prefix, operand),
            Expr::Postfix(postfix, operand) => self.postfix(*postfix, operand),
            Expr::Infix(infix, left, right) => self.infix(*infix, left, right),
            Expr::Or(all) => {
                let sets: Result<Vec<Set>, _> = all.iter().map(|one| self.evaluate(one)).collect();
                Ok(Set::chain(sets?))
            }
        }
    }

    fn prefix(&self, prefix: Prefix, operand: &Expr) -> Result<Set, RevsetError> {
        match prefix {
            Prefix::Not => Ok(self.all().filter(Test::NotIn(self.evaluate(operand)?))),
            Prefix::Minus => match operand {
                Expr::Symbol(number) | Expr::Text(number) => {
                    let name = [b"-", &number[..]].concat();
                    Ok(Set::list(vec![self.named(&name)?]))
                }
                _ => Err(RevsetError::parse("can't negate that")),
            },
            Prefix::Upto(Range::Numbers) => {
                let last = self.evaluate(operand)?.last(self)?;
                Ok(last.map_or_else(Set::empty, |last| Set::span(0, number(last))))
            }
            Prefix::Upto(Range::Descent) => self.ancestors_of(&self.evaluate(operand)?),
        }
    }

    fn postfix(&self, postfix: Postfix, operand: &Expr) -> Result<Set, RevsetError> {
        let set = self.evaluate(operand)?;
        match postfix {
            Postfix::Parent => self.nth_parents(&set, 1),
            Postfix::Only => self.only(&set, None),
            Postfix::From(Range::Descent) => self.descendants(&set),
            Postfix::From(Range::Numbers) => {
                let end = self.changelog().len() as i64 - 1;
                let first = set.first(self)?;
                Ok(first.map_or_else(Set::empty, |first| Set::span(number(first), end)))
            }
        }
    }

    fn infix(&self, infix: Infix, left: &Expr, right: &Expr) -> Result<Set, RevsetError> {
        match infix {
            Infix::And => Ok(self.evaluate(left)?.filter(Test::In(self.evaluate(right)?))),
            Infix::Minus => Ok(self
                .evaluate(left)?
                .filter(Test::NotIn(self.evaluate(right)?))),
            Infix::Only => self.only(&self.evaluate(left)?, Some(&self.evaluate(right)?)),
            Infix::Between(Range::Numbers) => {
                let first = self.evaluate(left)?.first(self)?;
                let last = self.evaluate(right)?.last(self)?;
                let ends = first.zip(last);
                Ok(ends.map_or_else(Set::empty, |(first, last)| {
                    Set::span(number(first), number(last))
                }))
            }
            Infix::Between(Range::Descent) => {
                let (from, to) = (self.evaluate(left)?, self.evaluate(right)?);
                self.between(&from, &to)
            }
            Infix::Parent => {
                let wrong = || RevsetError::parse("^ expects a number 0, 1, or 2");
                let nth = plain_number(right).ok_or_else(wrong)?;
                let nth = u8::try_from(nth).ok().filter(|nth| *nth <= 2);
                self.nth_parents(&self.evaluate(left)?, nth.ok_or_else(wrong)?)
            }
            Infix::Ancestor => {
                let steps = plain_number(right);
                let steps = steps.ok_or_else(|| RevsetError::parse("~ expects a number"))?;
                self.first_line(&self.evaluate(left)?, steps)
            }
            Infix::Concat => {
                let mut name = Vec::new();
                concat(left, &mut name)?;
                concat(right, &mut name)?;
                Ok(Set::list(vec![self.named(&name)?]))
            }
        }
    }

    /// Everything that a set descends from, itself included; ascending.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub fn ancestors_of(&self, set: &Set) -> Result<Set, RevsetError> {
        let of = Bits::clone(&*set.to_bits(self)?);
        Ok(Set::bits(bits::ancestors(self.changelog(), of)))
    }

    /// Those changesets of which `test` is true; ascending.
    pub fn where_text(&self, test: impl Fn(Rev, &Changeset<'_>) -> bool + 'static) -> Set {
        let test = move |rev: Rev, changeset: &Changeset<'_>| Ok(test(rev, changeset));
        self.all().filter(Test::Text(Box::new(test)))
    }

    pub(crate) fn descendants(&self, set: &Set) -> Result<Set, RevsetError> {
        let of = Bits::clone(&*set.to_bits(self)?);
        Ok(self.shown(bits::descendants(self.changelog(), of)))
    }

    /// What descends from one set and is an ancestor of another.
    fn between(&self, from: &Set, to: &Set) -> Result<Set, RevsetError> {
        let from = Bits::clone(&*from.to_bits(self)?);
        let upto = bits::ancestors(self.changelog(), Bits::clone(&*to.to_bits(self)?));
        let mut found = bits::descendants(self.changelog(), from);
        found.retain(|rev| upto.contains(Some(rev)));
        Ok(self.shown(found))
    }

    /// Ancestors of one set that are no ancestors of the other; of all other heads without one.
    pub(crate) fn only(&self, set: &Set, without: Option<&Set>) -> Result<Set, RevsetError> {
        let changelog = self.changelog();
        let included = set.to_bits(self)?;
        let excluded = match without {
            Some(without) => Bits::clone(&*without.to_bits(self)?),
            None => {
                let below = bits::descendants(changelog, Bits::clone(&*included));
                let heads = self.view().heads().into_iter();
                let other = heads.filter(|head| !below.contains(Some(*head)));
                Bits::of(other.map(Some))
            }
        };
        let mut found = bits::ancestors(changelog, Bits::clone(&*included));
        let excluded = bits::ancestors(changelog, excluded);
        found.retain(|rev| !excluded.contains(Some(rev)));
        Ok(self.shown(found))
    }

    fn nth_parents(&self, set: &Set, nth: u8) -> Result<Set, RevsetError> {
        let mut found = Bits::default();
        for member in set.members(self) {
            let Some(rev) = member? else {
                if nth < 2 {
                    found.insert(None);
                }
                continue;
            };
            let [first, second] = self.changelog().parents(rev);
            match nth {
                0 => found.insert(Some(rev)),
                1 => found.insert(first),
                _ if second.is_some() => found.insert(second),
                _ => {}
            }
        }
        Ok(Set::bits(found))
    }

    /// So many steps along first parents; children, if negative.
    fn first_line(&self, set: &Set, steps: i64) -> Result<Set, RevsetError> {
        let mut found = Bits::default();
        for member in set.members(self) {
            let mut at = member?;
            for _ in 0..steps.max(0) {
                let Some(rev) = at else { break };
                at = self.changelog().parents(rev)[0];
            }
            for _ in steps..0 {
                let Some(rev) = at else { break };
                let children = bits::children_from(self.changelog(), rev);
                let shown = children[0]
                    .iter()
                    .filter(|rev| self.view().is_visible(**rev));
                let shown: Vec<Rev> = shown.copied().collect();
                at = match shown[..] {
                    [] => return Ok(Set::empty()),
                    [child] => Some(child),
                    _ => {
                        let message = "revision in set has more than one child";
                        return Err(RevsetError::Missing(message.to_owned()));
                    }
                };
            }
            found.insert(at);
        }
        Ok(Set::bits(found))
    }
}

fn number(member: Member) -> i64 {
    member.map_or(-1, |rev| i64::from(rev.0))
}

/// The number that an argument says.
pub(crate) fn plain_number(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Symbol(text) | Expr::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        Expr::Prefix(Prefix::Minus, operand) => match &**operand {
            Expr::Symbol(_) | Expr::Text(_) => plain_number(operand)?.checked_neg(),
            _ => None,
        },
        _ => None,
    }
}

fn concat(expr: &Expr, name: &mut Vec<u8>) -> Result<(), RevsetError> {
    match expr {
        Expr::Symbol(text) | Expr::Text(text) => {
            name.extend_from_slice(text);
            Ok(())
        }
        Expr::Infix(Infix::Concat, left, right) => {
            concat(left, name)?;
            concat(right, name)
        }
        _ => Err(RevsetError::parse(
            "\"##\" can't concatenate that kind of operand",
        )),
    }
}
