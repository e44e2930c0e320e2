//! Ordered sets that are computed lazily.

use crate::bitset::BitSet;
use crate::{Engine, Member, RevsetError, WORKING_COPY};
use std::rc::Rc;
use varve_repo::{Changeset, Rev};

/// The result of a query: members in an order, each once.
#[derive(Clone)]
pub struct Set(SetKind);

#[derive(Clone)]
enum SetKind {
    /// All numbers from the first to the second, or the other way; -1 is the null revision.
    Span(i64, i64),
    /// All changesets in this order; the working copy belongs to it and is not listed.
    Everything(Order),
    /// Ascending, or descending.
    BitSet(Rc<BitSet>, Order),
    /// In this order.
    List(Rc<[Member]>, Rc<BitSet>, ListOrder),
    /// Those of a set that pass.
    Where(Rc<Set>, Rc<Predicate>),
    /// One after the other, without repeating.
    Chain(Rc<[Set]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
}

/// How the members of a list stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListOrder {
    Any,
    Topological,
}

impl Order {
    fn reversed(self) -> Order {
        match self {
            Order::Ascending => Order::Descending,
            Order::Descending => Order::Ascending,
        }
    }

    /// The sign that Mercurial shows it by.
    fn sign(self) -> &'static str {
        match self {
            Order::Ascending => "+",
            Order::Descending => "-",
        }
    }
}

type OfChangeset = dyn Fn(Rev, &Changeset<'_>) -> Result<bool, RevsetError>;
type OfRev = dyn Fn(&Engine<'_>, Rev) -> Result<bool, RevsetError>;

/// A predicate over changesets.
pub(crate) enum Predicate {
    /// Decided by the changeset's text.
    Text(Box<OfChangeset>),
    /// About its place in history or its files; the working copy is refused.
    Rev(Box<OfRev>),
    /// The same for what is known of the working copy too.
    RevOrWorking(Box<OfRev>),
    /// Whether it belongs to a set.
    In(Set),
    /// Whether it does not.
    NotIn(Set),
}

/// The members of a set, one after the other.
pub type Members<'e> = Box<dyn Iterator<Item = Result<Member, RevsetError>> + 'e>;

impl Predicate {
    fn passes(&self, engine: &Engine<'_>, member: Member) -> Result<bool, RevsetError> {
        match (self, member) {
            (Predicate::In(set), _) => set.contains(engine, member),
            (Predicate::NotIn(set), _) => Ok(!set.contains(engine, member)?),
            (_, None) => Ok(false),
            (Predicate::Rev(_), Some(WORKING_COPY)) => Err(RevsetError::WorkingCopy),
            (Predicate::Rev(test) | Predicate::RevOrWorking(test), Some(rev)) => test(engine, rev),
            (Predicate::Text(test), Some(rev)) => {
                engine.with_changeset(rev, |changeset| test(rev, changeset))?
            }
        }
    }
}

impl Set {
    pub(crate) fn empty() -> Set {
        Set::list(Vec::new())
    }

    /// Numbers from the first to the second, in that order.
    pub(crate) fn span(first: i64, last: i64) -> Set {
        Set(SetKind::Span(first, last))
    }

    /// All changesets, ascending.
    pub(crate) fn everything() -> Set {
        Set(SetKind::Everything(Order::Ascending))
    }

    /// Whether the working copy is listed among its members, or may be.
    pub(crate) fn names_working_copy(&self) -> bool {
        let number = i64::from(WORKING_COPY.0);
        match &self.0 {
            SetKind::Span(first, last) => *first.max(last) >= number,
            SetKind::Everything(_) => false,
            SetKind::BitSet(bits, _) | SetKind::List(_, bits, _) => {
                bits.contains(Some(WORKING_COPY))
            }
            SetKind::Where(set, _) => set.names_working_copy(),
            SetKind::Chain(sets) => sets.iter().any(Set::names_working_copy),
        }
    }

    pub(crate) fn bits(bits: BitSet) -> Set {
        Set(SetKind::BitSet(Rc::new(bits), Order::Ascending))
    }

    /// In this order; repeated members count where they come first.
    pub fn list(members: Vec<Member>) -> Set {
        Set::list_in(members, ListOrder::Any)
    }

    /// In this order, each before its ancestors and each line of descent as a whole.
    pub(crate) fn topological(members: Vec<Member>) -> Set {
        Set::list_in(members, ListOrder::Topological)
    }

    /// True if its order is that of `sort(…, topo)`, which pictures of history keep.
    pub fn is_topological(&self) -> bool {
        match &self.0 {
            SetKind::List(_, _, order) => *order == ListOrder::Topological,
            SetKind::Where(set, _) => set.is_topological(),
            _ => false,
        }
    }

    fn list_in(mut members: Vec<Member>, order: ListOrder) -> Set {
        let mut bits = BitSet::default();
        members.retain(|member| {
            let new = !bits.contains(*member);
            bits.insert(*member);
            new
        });
        Set(SetKind::List(members.into(), Rc::new(bits), order))
    }

    /// One set after the other, without repeating.
    pub fn chain(sets: Vec<Set>) -> Set {
        Set(SetKind::Chain(sets.into()))
    }

    pub(crate) fn filter(self, test: Predicate) -> Set {
        Set(SetKind::Where(Rc::new(self), Rc::new(test)))
    }

    /// Its members that belong to another set too.
    #[must_use]
    pub fn and(self, other: Set) -> Set {
        self.filter(Predicate::In(other))
    }

    /// Its members that do not belong to another set.
    #[must_use]
    pub fn without(self, other: Set) -> Set {
        self.filter(Predicate::NotIn(other))
    }

    /// The opposite order.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub fn reversed(&self, engine: &Engine<'_>) -> Result<Set, RevsetError> {
        Ok(match &self.0 {
            SetKind::Span(first, last) => Set(SetKind::Span(*last, *first)),
            SetKind::Everything(order) => Set(SetKind::Everything(order.reversed())),
            SetKind::BitSet(bits, order) => Set(SetKind::BitSet(bits.clone(), order.reversed())),
            SetKind::List(members, bits, _) => {
                let members = members.iter().rev().copied().collect();
                Set(SetKind::List(members, bits.clone(), ListOrder::Any))
            }
            SetKind::Where(set, test) => {
                let set = set.reversed(engine)?;
                Set(SetKind::Where(Rc::new(set), test.clone()))
            }
            SetKind::Chain(_) => {
                let members: Result<Vec<Member>, _> = self.all_members(engine).collect();
                Set::list(members?.into_iter().rev().collect())
            }
        })
    }

    /// How it is represented, in Mercurial's form.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub fn representation(&self, engine: &Engine<'_>) -> Result<String, RevsetError> {
        let mut out = String::new();
        self.push_representation(engine, 0, &mut out)?;
        Ok(out)
    }

    fn push_representation(
        &self,
        engine: &Engine<'_>,
        indent: usize,
        out: &mut String,
    ) -> Result<(), RevsetError> {
        let pad = " ".repeat(indent);
        let text = match &self.0 {
            SetKind::Span(first, last) if first <= last => {
                format!("{pad}<spanset+ {first}:{}>", last + 1)
            }
            SetKind::Span(first, last) => format!("{pad}<spanset- {last}:{}>", first + 1),
            SetKind::Everything(order) => {
                let end = engine.view().changelog().len();
                format!("{pad}<fullreposet{} 0:{end}>", order.sign())
            }
            SetKind::BitSet(_, order) => {
                let sign = order.sign();
                format!("{pad}<baseset{sign} {}>", self.numbers(engine)?)
            }
            SetKind::List(..) => format!("{pad}<baseset {}>", self.numbers(engine)?),
            SetKind::Chain(sets) => return push_chain(sets, engine, indent, out),
            SetKind::Where(set, test) => {
                if self.is_enumerated() {
                    out.push_str(&format!("{pad}<baseset {}>", self.numbers(engine)?));
                    return Ok(());
                }
                out.push_str(&format!("{pad}<filteredset\n"));
                set.push_representation(engine, indent + 2, out)?;
                out.push_str(",\n");
                match &**test {
                    Predicate::In(other) => other.push_representation(engine, indent + 2, out)?,
                    Predicate::NotIn(other) => {
                        out.push_str(&format!("{pad}  <not\n"));
                        other.push_representation(engine, indent + 4, out)?;
                        out.push('>');
                    }
                    Predicate::Text(_) | Predicate::Rev(_) | Predicate::RevOrWorking(_) => {
                        out.push_str(&format!("{pad}  <predicate>"));
                    }
                }
                ">".to_owned()
            }
        };
        out.push_str(&text);
        Ok(())
    }

    /// Whether its members are known one by one.
    fn is_enumerated(&self) -> bool {
        match &self.0 {
            SetKind::List(..) => true,
            SetKind::Where(set, test) => match &**test {
                Predicate::In(Set(SetKind::List(..) | SetKind::BitSet(..))) => set.is_enumerated(),
                _ => false,
            },
            _ => false,
        }
    }

    /// All numbers in their order.
    fn numbers(&self, engine: &Engine<'_>) -> Result<String, RevsetError> {
        let mut numbers = Vec::new();
        for member in self.all_members(engine) {
            numbers.push(member?.map_or(-1, |rev| i64::from(rev.0)));
        }
        Ok(format!("{numbers:?}"))
    }

    /// Its members in their order, computed one after the other; the working copy is an error.
    pub fn members<'e>(&'e self, engine: &'e Engine<'_>) -> Members<'e> {
        let members = self.all_members(engine);
        Box::new(members.map(|member| match member? {
            Some(WORKING_COPY) => Err(RevsetError::WorkingCopy),
            stored => Ok(stored),
        }))
    }

    /// Its members in their order, the working copy among them.
    pub fn all_members<'e>(&'e self, engine: &'e Engine<'_>) -> Members<'e> {
        let working = i64::from(WORKING_COPY.0);
        let newest = engine.view().changelog().len() as i64 - 1;
        match &self.0 {
            SetKind::Span(first, last) => {
                let shown = move |number: i64| engine.member(number).map(Ok);
                let (least, greatest) = (*first.min(last), *first.max(last));
                // No numbers are between the newest changeset and the working copy.
                let numbers = least..=greatest.min(newest);
                let behind = (least..=greatest).contains(&working).then_some(working);
                if first <= last {
                    Box::new(numbers.chain(behind).filter_map(shown))
                } else {
                    Box::new(numbers.chain(behind).rev().filter_map(shown))
                }
            }
            SetKind::Everything(order) => {
                let shown = move |number: i64| engine.member(number).map(Ok);
                match order {
                    Order::Ascending => Box::new((0..=newest).filter_map(shown)),
                    Order::Descending => Box::new((0..=newest).rev().filter_map(shown)),
                }
            }
            SetKind::BitSet(bits, Order::Ascending) => Box::new(bits.members().map(Ok)),
            SetKind::BitSet(bits, Order::Descending) => Box::new(bits.members().rev().map(Ok)),
            SetKind::List(members, ..) => Box::new(members.iter().copied().map(Ok)),
            SetKind::Where(set, test) => {
                let passing = move |member: Result<Member, RevsetError>| {
                    let passes = member.and_then(|member| {
                        let passes = test.passes(engine, member)?;
                        Ok(passes.then_some(member))
                    });
                    passes.transpose()
                };
                Box::new(set.all_members(engine).filter_map(passing))
            }
            SetKind::Chain(sets) => {
                let mut seen = BitSet::default();
                let all = sets.iter().flat_map(move |set| set.all_members(engine));
                Box::new(all.filter(move |member| match member {
                    Err(_) => true,
                    Ok(member) => {
                        let new = !seen.contains(*member);
                        seen.insert(*member);
                        new
                    }
                }))
            }
        }
    }

    /// Whether one changeset belongs to it.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub fn contains(&self, engine: &Engine<'_>, member: Member) -> Result<bool, RevsetError> {
        match &self.0 {
            SetKind::Span(first, last) => {
                let number = member.map_or(-1, |rev| i64::from(rev.0));
                let within = (*first.min(last)..=*first.max(last)).contains(&number);
                Ok(within && engine.member(number).is_some())
            }
            SetKind::Everything(_) => {
                Ok(member.is_some_and(|rev| engine.member(i64::from(rev.0)).is_some()))
            }
            SetKind::BitSet(bits, _) | SetKind::List(_, bits, _) => Ok(bits.contains(member)),
            SetKind::Where(set, test) => {
                Ok(set.contains(engine, member)? && test.passes(engine, member)?)
            }
            SetKind::Chain(sets) => {
                for set in sets.iter() {
                    if set.contains(engine, member)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    pub(crate) fn to_bits(&self, engine: &Engine<'_>) -> Result<Rc<BitSet>, RevsetError> {
        if let SetKind::BitSet(bits, _) | SetKind::List(_, bits, _) = &self.0 {
            return Ok(bits.clone());
        }
        let mut bits = BitSet::default();
        for member in self.all_members(engine) {
            bits.insert(member?);
        }
        Ok(Rc::new(bits))
    }

    /// The first in its order.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub fn first(&self, engine: &Engine<'_>) -> Result<Option<Member>, RevsetError> {
        self.all_members(engine).next().transpose()
    }

    /// The last in its order.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub fn last(&self, engine: &Engine<'_>) -> Result<Option<Member>, RevsetError> {
        let reversed = self.reversed(engine)?;
        reversed.first(engine)
    }

    /// The same members in ascending order.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub fn ascending(self, engine: &Engine<'_>) -> Result<Set, RevsetError> {
        Ok(match self.0 {
            SetKind::Span(first, last) => Set::span(first.min(last), first.max(last)),
            SetKind::Everything(_) => Set::everything(),
            SetKind::BitSet(bits, _) | SetKind::List(_, bits, _) => {
                Set(SetKind::BitSet(bits, Order::Ascending))
            }
            SetKind::Where(set, test) => {
                let set = Rc::unwrap_or_clone(set).ascending(engine)?;
                Set(SetKind::Where(Rc::new(set), test))
            }
            SetKind::Chain(_) => Set(SetKind::BitSet(self.to_bits(engine)?, Order::Ascending)),
        })
    }
}

/// Sets that follow each other are a balanced tree of pairs.
fn push_chain(
    sets: &[Set],
    engine: &Engine<'_>,
    indent: usize,
    out: &mut String,
) -> Result<(), RevsetError> {
    if let [one] = sets {
        return one.push_representation(engine, indent, out);
    }
    let (left, right) = sets.split_at(sets.len() / 2);
    out.push_str(&format!("{}<addset\n", " ".repeat(indent)));
    push_chain(left, engine, indent + 2, out)?;
    out.push_str(",\n");
    push_chain(right, engine, indent + 2, out)?;
    out.push('>');
    Ok(())
}
