//! The tree of a template as text, for debugging.

use super::grammar::Expr;
use std::collections::BTreeSet;
use varve_repo::python_repr;

/// The tree with one node a line.
pub(super) fn described(expr: &Expr) -> String {
    Node::of(expr).shown(0)
}

/// The keywords and the functions in a tree.
pub(super) fn used_names(expr: &Expr) -> String {
    let mut keywords = BTreeSet::new();
    expr.push_names(&mut keywords);
    let functions = functions(expr);
    let joined = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
    format!(
        "* keywords: {}\n* functions: {}",
        joined(keywords),
        joined(functions)
    )
}

/// The functions and the filters in a tree.
pub(super) fn functions(expr: &Expr) -> BTreeSet<&str> {
    let mut functions = BTreeSet::new();
    push_functions(expr, &mut functions);
    functions
}

/// A node as it is printed.
enum Node<'e> {
    /// A kind and a value.
    Leaf(&'static str, &'e [u8]),
    Number(i64),
    /// Arguments of a call without any.
    Absent,
    Inner(&'static str, Vec<Node<'e>>),
}

impl<'e> Node<'e> {
    fn of(expr: &'e Expr) -> Node<'e> {
        let all = |exprs: &'e [Expr]| exprs.iter().map(Node::of).collect::<Vec<_>>();
        let symbol = |name: &'e str| Node::Leaf("symbol", name.as_bytes());
        match expr {
            Expr::Text(text) => Node::Leaf("string", text),
            Expr::Number(number) => Node::Number(*number),
            Expr::Symbol(name) => symbol(name),
            Expr::Template(parts) => match &parts[..] {
                [] => Node::Leaf("string", b""),
                [only @ Expr::Text(_)] => Node::of(only),
                parts => Node::Inner("template", all(parts)),
            },
            Expr::Filter(operand, name) => Node::Inner("|", vec![Node::of(operand), symbol(name)]),
            Expr::Map(list, body) => Node::Inner("%", vec![Node::of(list), Node::of(body)]),
            Expr::Call(name, arguments) => {
                let mut parts = vec![symbol(name)];
                parts.push(Node::list(arguments).unwrap_or(Node::Absent));
                Node::Inner("func", parts)
            }
            Expr::Named(name, value) => {
                Node::Inner("keyvalue", vec![symbol(name), Node::of(value)])
            }
            Expr::Member(of, name) => Node::Inner(".", vec![Node::of(of), symbol(name)]),
            Expr::Arithmetic(operator, left, right) => {
                let name = match operator {
                    b'+' => "+",
                    b'-' => "-",
                    b'*' => "*",
                    _ => "/",
                };
                Node::Inner(name, vec![Node::of(left), Node::of(right)])
            }
            Expr::Negate(operand) => Node::Inner("negate", vec![Node::of(operand)]),
            Expr::List(members) => Node::list(members).unwrap_or(Node::Inner("list", Vec::new())),
            Expr::Group(inner) => Node::Inner("group", vec![Node::of(inner)]),
        }
    }

    /// Members one after the other: a list holds the list of those before.
    fn list(members: &'e [Expr]) -> Option<Node<'e>> {
        let nodes = members.iter().map(Node::of);
        nodes.reduce(|before, next| Node::Inner("list", vec![before, next]))
    }

    fn shown(&self, depth: usize) -> String {
        match self {
            Node::Leaf(kind, value) => format!("({kind} {})", python_repr(value)),
            Node::Absent => "None".to_owned(),
            Node::Number(number) => format!("(integer '{number}')"),
            Node::Inner(kind, parts) => {
                let inner = "  ".repeat(depth + 1);
                let parts = parts.iter();
                let parts = parts.map(|part| format!("\n{inner}{}", part.shown(depth + 1)));
                format!("({kind}{})", parts.collect::<String>())
            }
        }
    }
}

fn push_functions<'e>(expr: &'e Expr, names: &mut BTreeSet<&'e str>) {
    match expr {
        Expr::Text(_) | Expr::Number(_) | Expr::Symbol(_) => {}
        Expr::Template(parts) | Expr::List(parts) => {
            parts.iter().for_each(|part| push_functions(part, names));
        }
        Expr::Call(name, parts) => {
            names.insert(name);
            parts.iter().for_each(|part| push_functions(part, names));
        }
        Expr::Filter(operand, name) => {
            names.insert(name);
            push_functions(operand, names);
        }
        Expr::Named(_, operand)
        | Expr::Member(operand, _)
        | Expr::Negate(operand)
        | Expr::Group(operand) => push_functions(operand, names),
        Expr::Map(left, right) | Expr::Arithmetic(_, left, right) => {
            push_functions(left, names);
            push_functions(right, names);
        }
    }
}
