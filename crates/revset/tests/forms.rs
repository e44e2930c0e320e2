//! Other forms of queries mean the same: aliases, relations, and the trees that `analyzed` and `optimized` make.

use super::laws::{BINARY, Graph, UNARY, fill, graphs, queries, sorted, view};
use super::memory::{answer, engine};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use varve_revset::{Aliases, Engine, RevsetError, analyzed, lower, optimized};

/// Members by the number of steps from one changeset, on any way.
fn levels(graph: &Graph, from: usize, next: impl Fn(usize) -> Vec<usize>) -> Vec<BTreeSet<usize>> {
    let mut levels = vec![BTreeSet::from([from])];
    for at in 0..graph.len() {
        levels.push(levels[at].iter().copied().flat_map(&next).collect());
    }
    levels
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// As sets, and in the same order where the simpler form has no list of its own.
    #[test]
    fn simpler_trees_have_the_same_members(graph in graphs(), asked in proptest::collection::vec(queries(), 6)) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        for query in asked {
            let text = query.text(graph.len());
            let written = engine.written(text.as_bytes()).unwrap();
            let simpler = optimized(analyzed(written).unwrap());
            let set = engine.evaluate(&lower(&simpler).unwrap()).unwrap();
            let mut found = super::memory::numbers(&engine, &set).unwrap();
            found.sort_unstable();
            prop_assert_eq!(found, sorted(&engine, &text), "{} as {}", text, simpler);
        }
    }

    /// An alias stands for its definition with the arguments in the places of its parameters, as one operand.
    #[test]
    fn an_alias_stands_for_its_definition(
        graph in graphs(), x in queries(), y in queries(),
        unary in prop::sample::select(&UNARY[..]), binary in prop::sample::select(&BINARY[..]),
    ) {
        let view = view(&graph);
        let plain = engine(&view, &[]);
        let (x, y) = (x.text(graph.len()), y.text(graph.len()));
        let two = fill(binary, "$1", "$2");
        let items = [("one(x)", unary), ("two($1, $2)", &two), ("word", &x), ("nested(b)", "one(two(word, b))")];
        let mut context = plain.context().clone();
        context.aliases = Arc::new(Aliases::new(items.map(|(name, text)| (name.as_bytes(), text.as_bytes()))));
        prop_assert!(context.aliases.warnings().is_empty());
        let engine = Engine::new(context);
        let inner = fill(binary, &x, &y);
        for (aliased, meant) in [
            ("word".to_owned(), x.clone()),
            (format!("one({y})"), fill(unary, &y, "")),
            (format!("two({x}, {y})"), inner.clone()),
            (format!("nested({y})"), fill(unary, &inner, "")),
            (format!("not word and ({y})"), format!("not ({x}) and ({y})")),
        ] {
            prop_assert_eq!(answer(&engine, &aliased), answer(&plain, &meant), "{} is {}", aliased, meant);
        }
        let wrong = engine.query(format!("two({x})").as_bytes()).map(drop).unwrap_err();
        prop_assert_eq!(wrong.to_string(), "invalid number of arguments: 1");
    }

    /// Positive generations are descendants, negative ones ancestors, and a range has all from its first to its last.
    #[test]
    fn generations_count_steps_in_both_directions(graph in graphs(), of in 0..12_usize, first in -4..5_i64, last in -4..5_i64) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let of = of % graph.len();
        let up = levels(&graph, of, |rev| graph[rev].clone());
        let down = levels(&graph, of, |rev| {
            (0..graph.len()).filter(|child| graph[*child].contains(&rev)).collect()
        });
        let between = |first: i64, last: i64| -> Vec<i64> {
            let mut found = BTreeSet::new();
            for step in first..=last {
                let levels = if step < 0 { &up } else { &down };
                let level = levels.get(step.unsigned_abs() as usize);
                found.extend(level.into_iter().flatten().map(|rev| *rev as i64));
            }
            found.into_iter().collect()
        };
        let end = graph.len() as i64;
        for (form, expected) in [
            (format!("{of}#g[{first}]"), between(first, first)),
            (format!("{of}#generations[{first}:{last}]"), between(first, last)),
            (format!("{of}#g[{first}:]"), between(first, end)),
            (format!("{of}#g[:{last}]"), between(-end, last)),
            (format!("{of}#g"), between(-end, end)),
        ] {
            prop_assert_eq!(sorted(&engine, &form), expected, "{}", form);
        }
    }

    /// Operands that are no sets are refused in the same words, wherever in a query it is.
    #[test]
    fn a_wrong_operand_is_refused_at_any_depth(graph in graphs(), x in queries(), unary in prop::sample::select(&UNARY[..])) {
        let view = view(&graph);
        let engine = engine(&view, &[]);
        let x = x.text(graph.len());
        for (wrong, words) in [
            ("(0, 0)", "can't use a list in this context"),
            ("nosuch(0)", "unknown identifier: nosuch"),
            ("ancestors(0, depth=-1)", "negative depth"),
            ("0^3", "^ expects a number 0, 1, or 2"),
            ("first(0, -1)", "negative number to select"),
        ] {
            // `sort(a, b, …)` would take the list apart.
            for form in [fill("(x)::(y)", &x, wrong), fill("(x) or (y)", wrong, &x), fill("not (x)", wrong, "")] {
                let error = engine.query(form.as_bytes()).map(drop).unwrap_err();
                let is_parse = matches!(error, RevsetError::Parse { .. });
                prop_assert!(is_parse && error.to_string() == words, "{}: {}", form, error);
            }
            let form = fill(unary, &format!("present({wrong}) or ({x})"), "");
            let error = engine.query(form.as_bytes()).map(drop).unwrap_err();
            prop_assert_eq!(error.to_string(), words, "{}", form);
        }
    }
}
