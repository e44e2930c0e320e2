//! Which members of its document a function can read, so that the engine need not parse the others.
//!
//! The answer is certain: where a function uses its document in any other way than `doc.name`, it may read all of it.

use super::access::INHERITED;
use super::syntax::{name_of, parts, with_function};
use oxc_ast::ast;
use oxc_ast_visit::{Visit, walk};
use std::collections::BTreeSet;
use varve_json::scan::{Span, members};

/// Members of a document that functions can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Those of these names.
    Named(BTreeSet<String>),
    All,
}

impl Reads {
    /// Members that the function of that text can read.
    pub(crate) fn of(source: &str) -> Reads {
        let names = with_function(source, |function| {
            let (parameters, _) = parts(function)?;
            if parameters.rest.is_some() {
                return None;
            }
            let mut reader = Reader::default();
            let Some(first) = parameters.items.first() else {
                // Through `arguments`, it could read the document all the same.
                reader.visit_expression(function);
                return (!reader.reads_all).then_some(reader.names);
            };
            reader.document = name_of(&first.pattern)?.to_owned();
            reader.visit_expression(function);
            (!reader.reads_all).then_some(reader.names)
        });
        names.map_or(Reads::All, Reads::Named)
    }

    /// Members that any of several functions can read.
    pub(crate) fn of_all<'r>(several: impl IntoIterator<Item = &'r Reads>) -> Reads {
        let none = Reads::Named(BTreeSet::new());
        several.into_iter().fold(none, |sum, one| match (sum, one) {
            (Reads::Named(mut names), Reads::Named(more)) => {
                names.extend(more.iter().cloned());
                Reads::Named(names)
            }
            _ => Reads::All,
        })
    }

    /// Puts the part of a document's text into `out` that can be read, or returns `false` if that is all of it. The
    /// text is one that this program wrote.
    pub(crate) fn cut(&self, document: &str, out: &mut String) -> bool {
        let Reads::Named(names) = self else {
            return false;
        };
        let found = Span::whole(document).and_then(|whole| members(document, whole));
        let Some(found) = found else {
            return false;
        };
        out.clear();
        out.push('{');
        for member in found {
            let name = member.name.of(document);
            let inner = name.get(1..name.len() - 1).unwrap_or_default();
            // A name with escapes could be any.
            if names.contains(inner) || inner.contains('\\') {
                if out.len() > 1 {
                    out.push(',');
                }
                out.push_str(name);
                out.push(':');
                out.push_str(member.value.of(document));
            }
        }
        out.push('}');
        true
    }
}

/// Collects the members that are read. A variable that hides the document only adds some.
#[derive(Default)]
struct Reader {
    /// The name of the parameter.
    document: String,
    names: BTreeSet<String>,
    reads_all: bool,
}

impl Reader {
    fn is_document(&self, expression: &ast::Expression<'_>) -> bool {
        matches!(expression, ast::Expression::Identifier(name) if *name.name == *self.document)
    }
}

impl<'a> Visit<'a> for Reader {
    fn visit_identifier_reference(&mut self, name: &ast::IdentifierReference<'a>) {
        let is_way_around = matches!(&*name.name, "arguments" | "eval" | "Function");
        self.reads_all |= is_way_around || *name.name == *self.document;
    }

    fn visit_static_member_expression(&mut self, member: &ast::StaticMemberExpression<'a>) {
        let name = member.property.name.as_str();
        self.reads_all |= matches!(name, "arguments" | "caller" | "callee" | "constructor");
        match self.is_document(&member.object) {
            true if INHERITED.contains(&name) => self.reads_all = true,
            true => drop(self.names.insert(name.to_owned())),
            false => walk::walk_static_member_expression(self, member),
        }
    }

    fn visit_logical_expression(&mut self, logical: &ast::LogicalExpression<'a>) {
        // In `doc && …`, the document is only asked whether it is there, which it is.
        if logical.operator != ast::LogicalOperator::And || !self.is_document(&logical.left) {
            self.visit_expression(&logical.left);
        }
        self.visit_expression(&logical.right);
    }

    fn visit_with_statement(&mut self, _statement: &ast::WithStatement<'a>) {
        self.reads_all = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Reads {
        Reads::Named(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn what_is_named_is_read() {
        for (source, names) in [
            (
                "function (doc) { emit(doc.a, doc.b.c); doc.d = 1; delete doc.e; }",
                &["a", "b", "d", "e"][..],
            ),
            (
                "(d) => emit(d?.a?.b ?? d.c, [1, function () { return d.f; }])",
                &["a", "c", "f"],
            ),
            (
                "function (doc) { if (doc && doc.a) { for (const x of doc.b) emit(x); } }",
                &["a", "b"],
            ),
            ("function (doc) { var o = {doc: 1}; emit(o.doc); }", &[]),
            ("function () { emit(1); }", &[]),
        ] {
            assert_eq!(Reads::of(source), named(names), "{source}");
        }
    }

    #[test]
    fn all_is_read_where_the_document_is_used_in_any_other_way() {
        for source in [
            "function (doc) { emit(doc); }",
            "function (doc) { var d = doc; emit(d.a); }",
            "function (doc) { for (var k in doc) emit(k); }",
            "function (doc) { emit(doc['a' + 1]); }",
            "function (doc) { emit(doc.hasOwnProperty('a')); }",
            "function (doc) { emit('a' in doc); }",
            "function (doc) { emit(arguments[0].a); }",
            "function () { emit(arguments[0].a); }",
            "function (doc) { emit(eval('doc.a')); }",
            "function (doc) { with (doc) { emit(a); } }",
            "function (doc) { emit([].map.constructor('return 1')()); }",
            "function ({a}) { emit(a); }",
            "function (...doc) { emit(doc[0].a); }",
            "function (doc) { emit({doc}); }",
            "function (doc) { doc = {a: 1}; emit(doc.a); }",
            "function (doc) { [doc] = [{a: 1}]; emit(doc.a); }",
            "function f(doc) { emit(f.arguments); }",
            "(function () { return function (doc) { emit(doc.a); }; })()",
        ] {
            assert_eq!(Reads::of(source), Reads::All, "{source}");
        }
    }

    #[test]
    fn the_text_is_cut_to_what_is_read() {
        let mut out = String::new();
        let document = r#"{"_id":"x","a":[1,{"b":2}],"\u0061":3,"c":"}"}"#;
        assert!(named(&["a", "c"]).cut(document, &mut out));
        assert_eq!(out, r#"{"a":[1,{"b":2}],"\u0061":3,"c":"}"}"#);
        assert!(named(&[]).cut(r#"{"_id":"x"}"#, &mut out));
        assert_eq!(out, "{}");
        assert!(!Reads::All.cut(document, &mut out));
        assert!(!named(&["a"]).cut("[1", &mut out));
    }
}
