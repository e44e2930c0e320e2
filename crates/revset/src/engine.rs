//! Evaluation of queries over one view of a repository.

use crate::aliases::Aliases;
use crate::bitset::{self, BitSet};
use crate::lower::{concatenated, lower};
use crate::set::{Predicate, Set};
use crate::syntax::Syntax;
use crate::tree::{Expr, Infix, Postfix, Prefix, RangeKind};
use crate::{
    Member, PeerRepositories, RevsetError, WORKING_COPY, WorkingCopySource, functions, parse_syntax,
};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use varve_lang::date::Clock;
use varve_repo::fileset::FileSource;
use varve_repo::{Changeset, LookupError, Node, Phase, RepoView, Rev, prefix_digits};
use varve_revlog::{Reader, Revlog};

/// The repository and environment of a query.
#[derive(Clone, Debug)]
pub struct QueryContext<'a> {
    /// The repository.
    pub view: &'a RepoView,
    /// Parents of the working copy: none, one, or two in a merge.
    pub parents: Vec<Rev>,
    /// The repository's directory, absolute.
    pub root: PathBuf,
    /// The directory that patterns count from, absolute.
    pub cwd: PathBuf,
    /// The present.
    pub clock: Clock,
    /// The working copy as a changeset; without it only its number and parents are known.
    pub working: Option<Arc<dyn WorkingCopySource>>,
    /// The least phase of the next commit; its parents may give it a higher one.
    pub new_commit_phase: Phase,
    /// Aliases that queries may use.
    pub aliases: Arc<Aliases>,
    /// The files that filesets in patterns are evaluated over; without it they are refused.
    pub files: Option<Arc<dyn FileSource>>,
    /// The repositories that `outgoing()` and `remote()` ask; without them these are refused.
    pub peers: Option<Arc<dyn PeerRepositories>>,
    /// The first changeset of the bundle that is read as a repository.
    pub bundled_from: Option<Rev>,
    /// Among these an ambiguous beginning of a node is unique if only one of them has it.
    pub preferred: Option<Arc<BTreeSet<Rev>>>,
}

/// Evaluates queries.
pub struct Engine<'a> {
    context: QueryContext<'a>,
    reader: RefCell<Reader<'a>>,
    /// Text of the working copy as a changeset, once it is needed.
    working_text: OnceCell<Vec<u8>>,
}

impl<'a> Engine<'a> {
    /// Reads nothing yet.
    pub fn new(context: QueryContext<'a>) -> Engine<'a> {
        let reader = RefCell::new(context.view.changelog().reader());
        Engine {
            context,
            reader,
            working_text: OnceCell::new(),
        }
    }

    /// The context of all queries.
    pub fn context(&self) -> &QueryContext<'a> {
        &self.context
    }

    /// The repository.
    pub fn view(&self) -> &'a RepoView {
        self.context.view
    }

    pub(crate) fn changelog(&self) -> &'a Revlog {
        self.context.view.changelog()
    }

    /// Evaluates a query.
    ///
    /// # Errors
    /// [`RevsetError`].
    pub fn query(&self, query: &[u8]) -> Result<Set, RevsetError> {
        self.evaluate(&self.tree(query)?)
    }

    /// Evaluates several queries and chains their sets without duplicates.
    ///
    /// # Errors
    /// [`RevsetError`] of the first invalid query.
    pub fn queries(&self, queries: &[&[u8]]) -> Result<Set, RevsetError> {
        if let [one] = queries {
            return self.query(one);
        }
        let sets: Result<Vec<Set>, _> = queries.iter().map(|query| self.query(query)).collect();
        Ok(Set::chain(sets?))
    }

    /// The last member of a query's set, for commands that work on one changeset.
    ///
    /// # Errors
    /// [`RevsetError::Empty`], [`RevsetError::WorkingCopy`], or an error in the query.
    pub fn single(&self, query: &[u8]) -> Result<Member, RevsetError> {
        match self.query(query)?.last(self)?.ok_or(RevsetError::Empty)? {
            Some(WORKING_COPY) => Err(RevsetError::WorkingCopy),
            stored => Ok(stored),
        }
    }

    fn tree(&self, query: &[u8]) -> Result<Expr, RevsetError> {
        let written = self.written(query)?;
        let expanded = self.context.aliases.expand(&written)?;
        lower(&concatenated(expanded)?)
    }

    /// The tree that a query is written as.
    ///
    /// # Errors
    /// [`RevsetError::Parse`] with the position.
    pub fn written(&self, query: &[u8]) -> Result<Syntax, RevsetError> {
        parse_syntax(query, &|name| self.looked_up(name).is_ok())
    }

    /// A member by its number, -1 for the null revision; `None` for one that does not exist or is hidden.
    pub(crate) fn member(&self, number: i64) -> Option<Member> {
        if number == -1 {
            return Some(None);
        }
        if number == i64::from(WORKING_COPY.0) {
            return Some(Some(WORKING_COPY));
        }
        let rev = self.changelog().rev_at(number)?;
        self.view().is_visible(rev).then_some(Some(rev))
    }

    /// All changesets, ascending.
    pub fn all(&self) -> Set {
        match self.changelog().len() {
            0 => Set::empty(),
            len => Set::span(0, len as i64 - 1),
        }
    }

    /// All changesets, ascending, for functions to filter; it has the working copy too where another
    /// set names it.
    pub(crate) fn everything(&self) -> Set {
        Set::everything()
    }

    /// The parents of a changeset or of the working copy.
    pub(crate) fn parents(&self, rev: Rev) -> [Option<Rev>; 2] {
        match rev {
            WORKING_COPY => {
                let parents = &self.context.parents;
                [parents.first().copied(), parents.get(1).copied()]
            }
            stored => self.changelog().parents(stored),
        }
    }

    /// The phase of a changeset; of the working copy, that of the next commit by its parents.
    pub(crate) fn phase(&self, rev: Rev) -> Phase {
        let phases = self.view().phases();
        match rev {
            WORKING_COPY => {
                let parents = self.context.parents.iter();
                let newest = parents.map(|parent| phases.of(*parent)).max();
                newest
                    .unwrap_or_default()
                    .max(self.context.new_commit_phase)
            }
            stored => phases.of(stored),
        }
    }

    /// The bookmark that moves with the next commit; none where there is no working copy.
    pub(crate) fn active_bookmark(&self) -> Result<Option<Vec<u8>>, RevsetError> {
        match &self.context.working {
            Some(source) => Ok(source.active_bookmark()?),
            None => Ok(None),
        }
    }

    /// The text of the working copy as a changeset.
    fn working_text(&self) -> Result<&[u8], RevsetError> {
        if let Some(text) = self.working_text.get() {
            return Ok(text);
        }
        let source = self.context.working.as_ref();
        let text = source.ok_or(RevsetError::WorkingCopy)?.changeset_text()?;
        Ok(self.working_text.get_or_init(|| text))
    }

    /// Visible changesets, ascending.
    pub(crate) fn shown(&self, mut bits: BitSet) -> Set {
        if self.view().hides_anything() {
            bits.retain(|rev| self.view().is_visible(rev));
        }
        Set::bits(bits)
    }

    /// Calls `read` with a parsed changeset.
    pub(crate) fn with_changeset<T>(
        &self,
        rev: Rev,
        read: impl FnOnce(&Changeset<'_>) -> T,
    ) -> Result<T, RevsetError> {
        if rev == WORKING_COPY {
            let changeset = Changeset::parse(self.working_text()?);
            return changeset
                .map(|changeset| read(&changeset))
                .map_err(|_| RevsetError::WorkingCopy);
        }
        let mut reader = self.reader.borrow_mut();
        let text = reader.text(rev)?;
        Ok(read(&self.view().parse_changeset(rev, text)?))
    }

    /// The changeset with a name.
    pub(crate) fn named(&self, name: &[u8]) -> Result<Member, RevsetError> {
        let parents = &self.context.parents;
        match name {
            b"." => Ok(parents.first().copied()),
            b"2147483647" => Ok(Some(WORKING_COPY)),
            _ if is_working_prefix(name) => self.working_or(name),
            _ => Ok(self.member_of(&self.looked_up(name)?)),
        }
    }

    /// The node with a name, or with a beginning that no other [`QueryContext::preferred`] changeset has.
    fn looked_up(&self, name: &[u8]) -> Result<Node, LookupError> {
        let found = self.view().lookup(name);
        let Err(LookupError::Ambiguous(_)) = found else {
            return found;
        };
        let preferred = self.preferred_with(prefix_digits(name));
        preferred.map_or(found, |rev| Ok(self.changelog().node(rev)))
    }

    /// The only [`QueryContext::preferred`] changeset whose node begins with these digits.
    pub(crate) fn preferred_with(&self, digits: &[u8]) -> Option<Rev> {
        let preferred = self.context.preferred.iter().flat_map(|it| it.iter());
        let mut matching = preferred.filter(|rev| {
            let node = self.changelog().node(**rev);
            node.to_hex().starts_with(digits)
        });
        match (matching.next(), matching.next()) {
            (Some(only), None) => Some(*only),
            _ => None,
        }
    }

    /// The working copy, unless the digits `f` are a name or begin the node of a changeset too.
    fn working_or(&self, name: &[u8]) -> Result<Member, RevsetError> {
        match self.looked_up(name) {
            Err(LookupError::Unknown(_)) => Ok(Some(WORKING_COPY)),
            Ok(node) if node.to_hex().starts_with(prefix_digits(name)) => {
                let name = String::from_utf8_lossy(name).into_owned();
                Err(LookupError::Ambiguous(name).into())
            }
            found => Ok(self.member_of(&found?)),
        }
    }

    pub(crate) fn member_of(&self, node: &Node) -> Member {
        self.changelog().rev(node)
    }

    /// Evaluates a parsed query or a part of one.
    ///
    /// # Errors
    /// [`RevsetError`].
    pub fn evaluate(&self, expr: &Expr) -> Result<Set, RevsetError> {
        match expr {
            Expr::Symbol(name) | Expr::Text(name) if name.is_empty() => {
                Err(RevsetError::parse("empty string is not a valid revision"))
            }
            Expr::Symbol(name) | Expr::Text(name) => Ok(Set::list(vec![self.named(name)?])),
            Expr::Empty => Err(RevsetError::parse("missing argument")),
            Expr::Call(name, arguments) => functions::call(self, name, arguments),
            Expr::List(_) => {
                let message = "can't use a list in this context";
                Err(RevsetError::parse(message).hint("see 'hg help \"revsets.x or y\"'"))
            }
            Expr::KeyValue(..) => Err(RevsetError::parse(
                "can't use a key-value pair in this context",
            )),
            Expr::Whole(RangeKind::Numbers) => Ok(self.all()),
            Expr::Whole(RangeKind::Descent) => {
                Err(RevsetError::parse("can't use '::' in this context"))
            }
            Expr::Prefix(prefix, operand) => self.prefix(*prefix, operand),
            Expr::Postfix(postfix, operand) => self.postfix(*postfix, operand),
            Expr::Infix(infix, left, right) => self.infix(*infix, left, right),
            Expr::Or(all) => self.alternatives(all),
        }
    }

    /// One set after the other; names that follow each other are one set.
    fn alternatives(&self, all: &[Expr]) -> Result<Set, RevsetError> {
        let mut sets = Vec::new();
        let is_name = |one: &Expr| matches!(one, Expr::Symbol(_) | Expr::Text(_));
        for run in all.chunk_by(|left, right| is_name(left) && is_name(right)) {
            let mut members = Vec::new();
            for one in run {
                match one {
                    Expr::Symbol(name) | Expr::Text(name) => members.push(self.named(name)?),
                    other => sets.push(self.evaluate(other)?),
                }
            }
            if !members.is_empty() {
                sets.push(Set::list(members));
            }
        }
        Ok(match sets.pop() {
            Some(only) if sets.is_empty() => only,
            last => {
                sets.extend(last);
                Set::chain(sets)
            }
        })
    }

    fn prefix(&self, prefix: Prefix, operand: &Expr) -> Result<Set, RevsetError> {
        match prefix {
            Prefix::Not => Ok(self.all().filter(Predicate::NotIn(self.evaluate(operand)?))),
            Prefix::Minus => match operand {
                Expr::Symbol(number) | Expr::Text(number) => {
                    let name = [b"-", &number[..]].concat();
                    Ok(Set::list(vec![self.named(&name)?]))
                }
                _ => Err(RevsetError::parse("can't negate that")),
            },
            Prefix::Upto(RangeKind::Numbers) => {
                let last = self.evaluate(operand)?.last(self)?;
                Ok(last.map_or_else(Set::empty, |last| Set::span(0, number(last))))
            }
            Prefix::Upto(RangeKind::Descent) => self.ancestors_of(&self.evaluate(operand)?),
        }
    }

    fn postfix(&self, postfix: Postfix, operand: &Expr) -> Result<Set, RevsetError> {
        let set = self.evaluate(operand)?;
        match postfix {
            Postfix::Parent => self.nth_parents(&set, 1),
            Postfix::Only => self.only(&set, None),
            Postfix::From(RangeKind::Descent) => self.descendants(&set),
            Postfix::From(RangeKind::Numbers) => {
                let end = self.changelog().len() as i64 - 1;
                let first = set.first(self)?;
                Ok(match first {
                    None => Set::empty(),
                    Some(Some(WORKING_COPY)) => Set::list(vec![Some(WORKING_COPY)]),
                    Some(first) => Set::span(number(first), end),
                })
            }
        }
    }

    fn infix(&self, infix: Infix, left: &Expr, right: &Expr) -> Result<Set, RevsetError> {
        match infix {
            Infix::And => match right {
                Expr::Prefix(Prefix::Not, other) => {
                    let left = self.evaluate(left)?;
                    Ok(left.without(self.evaluate(other)?))
                }
                _ => self.both(self.evaluate(left)?, self.evaluate(right)?),
            },
            Infix::Minus => Ok(self
                .evaluate(left)?
                .filter(Predicate::NotIn(self.evaluate(right)?))),
            Infix::Only => self.only(&self.evaluate(left)?, Some(&self.evaluate(right)?)),
            Infix::Between(RangeKind::Numbers) => {
                let first = self.evaluate(left)?.first(self)?;
                let last = self.evaluate(right)?.last(self)?;
                let ends = first.zip(last);
                Ok(ends.map_or_else(Set::empty, |(first, last)| {
                    Set::span(number(first), number(last))
                }))
            }
            Infix::Between(RangeKind::Descent) => {
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
        }
    }

    /// Ancestors of a set, the set included; ascending.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub fn ancestors_of(&self, set: &Set) -> Result<Set, RevsetError> {
        Ok(Set::bits(self.with_ancestors(&*set.to_bits(self)?)))
    }

    /// The members of a set and everything that they descend from.
    pub(crate) fn with_ancestors(&self, of: &BitSet) -> BitSet {
        let mut of = of.clone();
        if of.contains(Some(WORKING_COPY)) {
            let parents = self.context.parents.iter();
            parents.for_each(|parent| of.insert(Some(*parent)));
        }
        bitset::ancestors(self.changelog(), of)
    }

    /// Members of one set that belong to another, in the order of the first; of the working copy, a
    /// function over all changesets knows only where the other set names it.
    fn both(&self, left: Set, right: Set) -> Result<Set, RevsetError> {
        let working = Some(WORKING_COPY);
        let is_named = right.names_working_copy() && !left.names_working_copy();
        let has_working = is_named && left.contains(self, working)?;
        let both = left.and(right);
        Ok(match has_working {
            true => Set::chain(vec![both, Set::list(vec![working])]),
            false => both,
        })
    }

    /// Those changesets of which `test` is true; ascending.
    pub fn where_text(&self, test: impl Fn(Rev, &Changeset<'_>) -> bool + 'static) -> Set {
        let test = move |rev: Rev, changeset: &Changeset<'_>| Ok(test(rev, changeset));
        self.everything().filter(Predicate::Text(Box::new(test)))
    }

    pub(crate) fn descendants(&self, set: &Set) -> Result<Set, RevsetError> {
        let of = BitSet::clone(&*set.to_bits(self)?);
        Ok(self.shown(bitset::descendants(self.changelog(), of)))
    }

    /// Descendants of one set that are ancestors of another.
    fn between(&self, from: &Set, to: &Set) -> Result<Set, RevsetError> {
        let from = BitSet::clone(&*from.to_bits(self)?);
        if to.contains(self, Some(WORKING_COPY))? {
            return Err(RevsetError::WorkingCopy);
        }
        let upto = bitset::ancestors(self.changelog(), BitSet::clone(&*to.to_bits(self)?));
        let mut found = bitset::descendants(self.changelog(), from);
        found.retain(|rev| upto.contains(Some(rev)));
        Ok(self.shown(found))
    }

    /// Ancestors of one set that are no ancestors of the other; of all other heads without one.
    pub(crate) fn only(&self, set: &Set, without: Option<&Set>) -> Result<Set, RevsetError> {
        let changelog = self.changelog();
        let included = set.to_bits(self)?;
        if included.contains(Some(WORKING_COPY)) {
            return Err(RevsetError::WorkingCopy);
        }
        let excluded = match without {
            Some(without) => BitSet::clone(&*without.to_bits(self)?),
            None => {
                let below = bitset::descendants(changelog, BitSet::clone(&*included));
                let heads = self.view().heads().into_iter();
                let other = heads.filter(|head| !below.contains(Some(*head)));
                BitSet::of(other.map(Some))
            }
        };
        let mut found = bitset::ancestors(changelog, BitSet::clone(&*included));
        let excluded = bitset::ancestors(changelog, excluded);
        found.retain(|rev| !excluded.contains(Some(rev)));
        Ok(self.shown(found))
    }

    /// The null revision is a member if it was one and `nth` is 0, and is never the parent of another, as in `hg`.
    fn nth_parents(&self, set: &Set, nth: u8) -> Result<Set, RevsetError> {
        let mut found = BitSet::default();
        for member in set.all_members(self) {
            let member = member?;
            let Some(rev) = member.filter(|_| nth > 0) else {
                if nth == 0 {
                    found.insert(member);
                }
                continue;
            };
            let [first, second] = self.parents(rev);
            let parent = if nth == 1 { first } else { second };
            if parent.is_some() {
                found.insert(parent);
            }
        }
        Ok(Set::bits(found))
    }

    /// So many steps along first parents; children, if negative. A changeset without that many has no place in the set.
    fn first_line(&self, set: &Set, steps: i64) -> Result<Set, RevsetError> {
        let mut found = BitSet::default();
        'members: for member in set.all_members(self) {
            let mut at = member?;
            for _ in 0..steps.max(0) {
                let Some(rev) = at else { break };
                at = self.parents(rev)[0];
            }
            for _ in steps..0 {
                let Some(rev) = at else { break };
                if rev == WORKING_COPY {
                    continue 'members;
                }
                let children = bitset::children_from(self.changelog(), rev);
                let shown = children[0]
                    .iter()
                    .filter(|rev| self.view().is_visible(**rev));
                let shown: Vec<Rev> = shown.copied().collect();
                at = match shown[..] {
                    [] => continue 'members,
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

/// Whether a name may be the beginning of the working copy's node, ff…ff.
pub(crate) fn is_working_prefix(name: &[u8]) -> bool {
    let digits = prefix_digits(name);
    !digits.is_empty() && digits.len() <= 2 * Node::LEN && digits.iter().all(|digit| *digit == b'f')
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
