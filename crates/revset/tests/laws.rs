//! Laws of sets and of descent, over random histories and random queries.

use super::memory::{History, answer, engine};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use varve_repo::RepoView;
use varve_revset::Engine;

/// Parents of each changeset, by number.
pub type Graph = Vec<Vec<usize>>;

/// A history of up to twelve changesets with any branches, merges and roots.
pub fn graphs() -> impl Strategy<Value = Graph> {
    let choices = (any::<u8>(), any::<u8>(), any::<u8>());
    proptest::collection::vec(choices, 1..12).prop_map(|choices| {
        let choices = choices.into_iter().enumerate();
        let parents = choices.map(|(number, (shape, first, second))| {
            if number == 0 || shape % 8 == 0 {
                return Vec::new();
            }
            let first = usize::from(first) % number;
            let second = usize::from(second) % number;
            match shape % 3 == 0 && first != second {
                true => vec![first, second],
                false => vec![first],
            }
        });
        parents.collect()
    })
}

pub fn view(graph: &Graph) -> Arc<RepoView> {
    let mut history = History::new();
    for parents in graph {
        history.commit(parents);
    }
    history.finish()
}

/// A query that both the engine and the model evaluate.
#[derive(Clone, Debug)]
pub enum Query {
    Rev(usize),
    Numbers(usize, usize),
    Named(&'static str),
    Unary(&'static str, Box<Query>),
    Binary(&'static str, Box<Query>, Box<Query>),
}

/// Functions and operators with the place of their operands.
const NAMED: [&str; 3] = ["all()", "none()", "merge()"];
pub const UNARY: [&str; 9] = [
    "not (x)",
    "::(x)",
    "(x)::",
    "heads(x)",
    "roots(x)",
    "parents(x)",
    "children(x)",
    "reverse(x)",
    "sort(x, -rev)",
];
pub const BINARY: [&str; 6] = [
    "(x) or (y)",
    "(x) and (y)",
    "(x) - (y)",
    "(x)::(y)",
    "only(x, y)",
    "(x) % (y)",
];

pub fn queries() -> impl Strategy<Value = Query> {
    let leaf = prop_oneof![
        (0..12_usize).prop_map(Query::Rev),
        (0..12_usize, 0..12_usize).prop_map(|(from, to)| Query::Numbers(from, to)),
        prop::sample::select(&NAMED[..]).prop_map(Query::Named),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        let boxed = inner.prop_map(Box::new);
        let unary = (prop::sample::select(&UNARY[..]), boxed.clone());
        let binary = (prop::sample::select(&BINARY[..]), boxed.clone(), boxed);
        prop_oneof![
            unary.prop_map(|(form, x)| Query::Unary(form, x)),
            binary.prop_map(|(form, x, y)| Query::Binary(form, x, y)),
        ]
    })
}

impl Query {
    /// The query as text, for a history of `len` changesets.
    pub fn text(&self, len: usize) -> String {
        self.text_over(&Vec::from_iter(0..len))
    }

    /// The query as text, over those changesets alone that have these numbers.
    pub fn text_over(&self, revs: &[usize]) -> String {
        let number = |rev: &usize| revs[rev % revs.len()];
        match self {
            Query::Rev(rev) => number(rev).to_string(),
            Query::Numbers(from, to) => format!("{}:{}", number(from), number(to)),
            Query::Named(name) => (*name).to_owned(),
            // Letters of names do not occur as operands.
            Query::Unary(form, x) => fill(form, &x.text_over(revs), ""),
            Query::Binary(form, x, y) => fill(form, &x.text_over(revs), &y.text_over(revs)),
        }
    }

    /// The members by definition.
    fn model(&self, graph: &Graph) -> BTreeSet<usize> {
        let len = graph.len();
        let all = || 0..len;
        match self {
            Query::Rev(rev) => BTreeSet::from([rev % len]),
            Query::Numbers(from, to) => {
                let (from, to) = (from % len, to % len);
                (from.min(to)..=from.max(to)).collect()
            }
            Query::Named("all()") => all().collect(),
            Query::Named("merge()") => all().filter(|rev| graph[*rev].len() == 2).collect(),
            Query::Named(_) => BTreeSet::new(),
            Query::Unary(form, x) => {
                let x = x.model(graph);
                match *form {
                    "not (x)" => all().filter(|rev| !x.contains(rev)).collect(),
                    "::(x)" => ancestors(graph, x),
                    "(x)::" => descendants(graph, x),
                    "heads(x)" => {
                        let has_child =
                            |rev: &usize| x.iter().any(|child| graph[*child].contains(rev));
                        x.iter().copied().filter(|rev| !has_child(rev)).collect()
                    }
                    "roots(x)" => {
                        let is_root = |rev: &usize| graph[*rev].iter().all(|p| !x.contains(p));
                        x.iter().copied().filter(is_root).collect()
                    }
                    "parents(x)" => x.iter().flat_map(|rev| graph[*rev].clone()).collect(),
                    "children(x)" => {
                        let is_child = |rev: &usize| graph[*rev].iter().any(|p| x.contains(p));
                        all().filter(is_child).collect()
                    }
                    _ => x,
                }
            }
            Query::Binary(form, x, y) => {
                let (x, y) = (x.model(graph), y.model(graph));
                match *form {
                    "(x) or (y)" => &x | &y,
                    "(x) and (y)" => &x & &y,
                    "(x) - (y)" => &x - &y,
                    "(x)::(y)" => &descendants(graph, x) & &ancestors(graph, y),
                    _ => &ancestors(graph, x) - &ancestors(graph, y),
                }
            }
        }
    }
}

/// Replaces the operands of a form. They are marked before, because names have an `x` too.
pub fn fill(form: &str, x: &str, y: &str) -> String {
    let mut out = String::new();
    let letters: Vec<char> = form.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let alone = |at: Option<usize>| {
            let beside = at.and_then(|at| letters.get(at));
            beside.is_none_or(|letter| !letter.is_ascii_alphabetic())
        };
        match letter {
            'x' | 'y' if alone(at.checked_sub(1)) && alone(Some(at + 1)) => {
                out.push_str(if *letter == 'x' { x } else { y });
            }
            other => out.push(*other),
        }
    }
    out
}

pub fn ancestors(graph: &Graph, mut set: BTreeSet<usize>) -> BTreeSet<usize> {
    for rev in (0..graph.len()).rev() {
        if set.contains(&rev) {
            set.extend(&graph[rev]);
        }
    }
    set
}

pub fn descendants(graph: &Graph, mut set: BTreeSet<usize>) -> BTreeSet<usize> {
    for (rev, parents) in graph.iter().enumerate() {
        if parents.iter().any(|parent| set.contains(parent)) {
            set.insert(rev);
        }
    }
    set
}

pub fn sorted(engine: &Engine<'_>, query: &str) -> Vec<i64> {
    let mut members = answer(engine, query);
    members.sort_unstable();
    members
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_query_has_the_members_of_its_definition(
        graph in graphs(), queries in proptest::collection::vec(queries(), 8),
    ) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        for query in queries {
            let text = query.text(graph.len());
            let model = query.model(&graph).into_iter().map(|rev| rev as i64);
            prop_assert_eq!(sorted(&engine, &text), model.collect::<Vec<_>>(), "{}", text);
        }
    }

    #[test]
    fn sets_obey_the_laws_of_algebra(graph in graphs(), x in queries(), y in queries()) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let (x, y) = (x.text(graph.len()), y.text(graph.len()));
        // As sets.
        for (left, right) in [
            (format!("not (not ({x}))"), x.clone()),
            (format!("({x}) and ({y})"), format!("({y}) and ({x})")),
            (format!("({x}) or ({y})"), format!("({y}) or ({x})")),
            (format!("({x}) and ({x})"), x.clone()),
            (format!("({x}) or ({x})"), x.clone()),
            (format!("({x}) and (({x}) or ({y}))"), x.clone()),
            (format!("::heads({x})"), format!("::({x})")),
            (format!("roots({x})::"), format!("({x})::")),
            (format!("::(::({x}))"), format!("::({x})")),
            (format!("(({x})::)::"), format!("({x})::")),
            (format!("only({x}, {y})"), format!("::({x}) - ::({y})")),
            (format!("({x})::({y})"), format!("({x}):: and ::({y})")),
        ] {
            prop_assert_eq!(sorted(&engine, &left), sorted(&engine, &right), "{}", left);
        }
        // In the same order.
        for (left, right) in [
            (format!("not (({x}) or ({y}))"), format!("not ({x}) and not ({y})")),
            (format!("not (({x}) and ({y}))"), format!("sort(not ({x}) or not ({y}))")),
            (format!("({x}) - ({y})"), format!("({x}) and not ({y})")),
            (format!("reverse(reverse({x}))"), x.clone()),
            (format!("first({x}, 2) or limit({x}, 99, 2)"), x.clone()),
            (format!("limit({x}, 99, 1) or first({x})"), format!("({x}) - first({x}) or first({x})")),
            (format!("last({x})"), format!("first(reverse({x}))")),
            (format!("max({x})"), format!("last(sort({x}))")),
            (format!("min({x})"), format!("first(sort({x}))")),
            (format!("sort({x}, -rev)"), format!("reverse(sort({x}))")),
        ] {
            prop_assert_eq!(answer(&engine, &left), answer(&engine, &right), "{}", left);
        }
    }

    #[test]
    fn a_conjunction_keeps_the_order_of_its_left_side(
        graph in graphs(), x in queries(), y in queries(),
    ) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let (x, y) = (x.text(graph.len()), y.text(graph.len()));
        let (left, right) = (answer(&engine, &x), answer(&engine, &y));
        let both: Vec<i64> = left.into_iter().filter(|rev| right.contains(rev)).collect();
        prop_assert_eq!(answer(&engine, &format!("({x}) and ({y})")), both);
    }

    #[test]
    fn every_member_occurs_once_and_is_contained(graph in graphs(), x in queries()) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let text = x.text(graph.len());
        let members = answer(&engine, &text);
        let distinct: BTreeSet<i64> = members.iter().copied().collect();
        prop_assert_eq!(distinct.len(), members.len(), "{}", text);
        let set = engine.query(text.as_bytes()).unwrap();
        for rev in view.changelog().revs() {
            let expected = distinct.contains(&i64::from(rev.0));
            prop_assert_eq!(set.contains(&engine, Some(rev)).unwrap(), expected, "{}", text);
        }
        let first = set.first(&engine).unwrap().map(|rev| rev.map_or(-1, |rev| i64::from(rev.0)));
        prop_assert_eq!(first, members.first().copied());
        let last = set.last(&engine).unwrap().map(|rev| rev.map_or(-1, |rev| i64::from(rev.0)));
        prop_assert_eq!(last, members.last().copied());
    }

    #[test]
    fn ancestors_are_dual_to_descendants(graph in graphs()) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        for a in 0..graph.len() {
            let above = answer(&engine, &format!("::{a}"));
            for b in 0..graph.len() {
                let below = answer(&engine, &format!("{b}::"));
                prop_assert_eq!(above.contains(&(b as i64)), below.contains(&(a as i64)));
            }
        }
    }

    #[test]
    fn steps_along_parents_are_steps_of_the_graph(graph in graphs(), depth in 0..4_usize) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let first = |rev: i64| match usize::try_from(rev).ok().map(|rev| &graph[rev][..]) {
            Some([parent, ..]) => *parent as i64,
            _ => -1,
        };
        for (rev, parents) in graph.iter().enumerate() {
            let expected = (0..depth).fold(rev as i64, |rev, _| first(rev));
            prop_assert_eq!(answer(&engine, &format!("{rev}~{depth}")), vec![expected]);
            let parent = Some(first(rev as i64)).filter(|rev| *rev >= 0);
            prop_assert_eq!(answer(&engine, &format!("{rev}^")), parent.into_iter().collect::<Vec<_>>());
            let second = parents.get(1).map(|parent| *parent as i64);
            let second: Vec<i64> = second.into_iter().collect();
            prop_assert_eq!(answer(&engine, &format!("{rev}^2")), second);
            prop_assert_eq!(answer(&engine, &format!("{rev}^0")), vec![rev as i64]);
        }
    }

    #[test]
    fn a_common_ancestor_is_the_greatest(graph in graphs()) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        for a in 0..graph.len() {
            let above = |rev| ancestors(&graph, BTreeSet::from([rev]));
            let common: Vec<usize> = (&above(a) & &above(0)).into_iter().collect();
            let found = answer(&engine, &format!("ancestor({a}, 0)"));
            prop_assert_eq!(found, common.last().map(|rev| *rev as i64).into_iter().collect::<Vec<_>>());
        }
    }
}
