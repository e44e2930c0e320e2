//! Aliases of queries: `[revsetalias]`.

use crate::RevsetError;
use crate::grammar::parse_definition;
use crate::syntax::Syntax;
use std::collections::HashMap;

/// Most nodes that a query may have after its aliases are replaced.
const MOST_NODES: usize = 200_000;
/// Deepest nesting of a query after its aliases are replaced.
const DEEPEST: usize = 400;

/// All aliases of a configuration.
#[derive(Debug, Default)]
pub struct Aliases {
    /// By name, for words and for functions apart.
    known: HashMap<(Vec<u8>, AliasKind), Alias>,
    /// Faults of aliases, which no query need use.
    warnings: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum AliasKind {
    Word,
    Function,
}

#[derive(Debug)]
struct Alias {
    /// Names of the arguments.
    parameters: Vec<Vec<u8>>,
    /// The tree in its place, or its fault.
    replacement: Result<Syntax, String>,
}

impl Aliases {
    /// Reads aliases, each with its declaration, `name` or `name(a, b)`, and its definition; of two with the same
    /// declaration the last one counts.
    pub fn new<'a>(items: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Aliases {
        let mut aliases = Aliases::default();
        for (declaration, definition) in items {
            let (name, kind, alias) = alias_of(declaration, definition);
            if let Err(words) = &alias.replacement {
                aliases.warnings.push(words.clone());
            }
            aliases.known.insert((name, kind), alias);
        }
        aliases
    }

    /// Faults of aliases.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Replaces aliases in a query.
    ///
    /// # Errors
    /// An alias that is wrong, that stands for itself, or that gets a wrong number of arguments.
    pub fn expand(&self, tree: &Syntax) -> Result<Syntax, RevsetError> {
        if self.known.is_empty() {
            return Ok(tree.clone());
        }
        let mut expansion = Expansion {
            aliases: self,
            under_way: Vec::new(),
            nodes: 0,
            depth: 0,
        };
        expansion.expand(tree, &HashMap::new())
    }
}

struct Expansion<'a> {
    aliases: &'a Aliases,
    /// Aliases whose replacements are being expanded.
    under_way: Vec<(&'a [u8], AliasKind)>,
    /// Nodes made so far.
    nodes: usize,
    /// Number of nodes above the one that is made.
    depth: usize,
}

impl<'a> Expansion<'a> {
    /// Replaces aliases, and words by the arguments of that name.
    fn expand(
        &mut self,
        tree: &Syntax,
        arguments: &HashMap<&[u8], Syntax>,
    ) -> Result<Syntax, RevsetError> {
        self.count(1, 1)?;
        self.depth += 1;
        let expanded = self.expand_node(tree, arguments);
        self.depth -= 1;
        expanded
    }

    /// Counts nodes that are put here, and how deep they nest.
    fn count(&mut self, nodes: usize, depth: usize) -> Result<(), RevsetError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MOST_NODES || self.depth + depth > DEEPEST {
            return Err(RevsetError::parse("aliases make the query too long"));
        }
        Ok(())
    }

    fn expand_node(
        &mut self,
        tree: &Syntax,
        arguments: &HashMap<&[u8], Syntax>,
    ) -> Result<Syntax, RevsetError> {
        match tree {
            Syntax::Symbol(name) => {
                if let Some(argument) = arguments.get(&name[..]) {
                    let (nodes, depth) = size(argument);
                    self.count(nodes, depth)?;
                    return Ok(argument.clone());
                }
                match self.find(name, AliasKind::Word) {
                    Some((key, alias)) => self.replace(key, alias, &HashMap::new()),
                    None => Ok(tree.clone()),
                }
            }
            Syntax::Node("func", operands) if operands.len() == 2 => {
                let given = self.expand(&operands[1], arguments)?;
                if let Syntax::Symbol(name) = &operands[0]
                    && let Some((key, alias)) = self.find(name, AliasKind::Function)
                {
                    let given = match given {
                        Syntax::Absent => Vec::new(),
                        Syntax::Node("list", items) => items,
                        one => vec![one],
                    };
                    if alias.replacement.is_ok() && given.len() != alias.parameters.len() {
                        let message = format!("invalid number of arguments: {}", given.len());
                        return Err(RevsetError::parse(message));
                    }
                    let names = alias.parameters.iter().map(Vec::as_slice);
                    return self.replace(key, alias, &names.zip(given).collect());
                }
                // A word or an argument also stands for the name of a function.
                let name = self.expand(&operands[0], arguments)?;
                Ok(Syntax::Node("func", vec![name, given]))
            }
            Syntax::Node(name, operands) => {
                let mut expanded = Vec::new();
                for operand in operands {
                    expanded.push(self.expand(operand, arguments)?);
                }
                Ok(Syntax::Node(name, expanded))
            }
            other => Ok(other.clone()),
        }
    }

    fn find(&self, name: &[u8], kind: AliasKind) -> Option<((&'a [u8], AliasKind), &'a Alias)> {
        let found = self.aliases.known.get_key_value(&(name.to_vec(), kind));
        found.map(|((name, kind), alias)| ((&name[..], *kind), alias))
    }

    fn replace(
        &mut self,
        key: (&'a [u8], AliasKind),
        alias: &'a Alias,
        arguments: &HashMap<&[u8], Syntax>,
    ) -> Result<Syntax, RevsetError> {
        let replacement = match &alias.replacement {
            Ok(replacement) => replacement,
            Err(words) => return Err(RevsetError::Alias(words.clone())),
        };
        if self.under_way.contains(&key) {
            let name = String::from_utf8_lossy(key.0);
            let message = format!("infinite expansion of revset alias \"{name}\" detected");
            return Err(RevsetError::parse(message));
        }
        self.under_way.push(key);
        let expanded = self.expand(replacement, arguments);
        self.under_way.pop();
        expanded
    }
}

/// Number of nodes, and the greatest number on one path.
fn size(tree: &Syntax) -> (usize, usize) {
    let Syntax::Node(_, operands) = tree else {
        return (1, 1);
    };
    let sizes = operands.iter().map(size);
    let (nodes, depth) = sizes.fold((0, 0), |(nodes, depth), (more, deep)| {
        (nodes + more, depth.max(deep))
    });
    (nodes + 1, depth + 1)
}

fn alias_of(declaration: &[u8], definition: &[u8]) -> (Vec<u8>, AliasKind, Alias) {
    let Declaration {
        name,
        kind,
        parameters,
    } = match declared(declaration) {
        Ok(declared) => declared,
        Err(reason) => {
            // A wrong declaration is an alias of what may be its name, which function calls use too.
            let name = declaration.split(|byte| *byte == b'(').next();
            let name = name.unwrap_or(declaration).trim_ascii().to_vec();
            let kind = AliasKind::Word;
            let words = wrong("declaration", &name, &reason);
            return (
                name,
                kind,
                Alias {
                    parameters: Vec::new(),
                    replacement: Err(words),
                },
            );
        }
    };
    let replacement = match parse_definition(definition) {
        Ok(tree) => match unknown_parameter(&tree, &parameters) {
            None => Ok(tree),
            Some(symbol) => Err(format!("invalid symbol '{symbol}'")),
        },
        Err(error) => Err(described(error)),
    };
    let replacement = replacement.map_err(|reason| wrong("definition", &name, &reason));
    let alias = Alias {
        parameters,
        replacement,
    };
    (name, kind, alias)
}

fn wrong(part: &str, name: &[u8], reason: &str) -> String {
    let name = String::from_utf8_lossy(name);
    format!("bad {part} of revset alias \"{name}\": {reason}")
}

fn described(error: RevsetError) -> String {
    match error {
        RevsetError::Parse {
            message,
            at: Some(at),
            ..
        } => format!("at {at}: {message}"),
        other => other.to_string(),
    }
}

/// The left side of an alias.
struct Declaration {
    name: Vec<u8>,
    kind: AliasKind,
    parameters: Vec<Vec<u8>>,
}

fn declared(text: &[u8]) -> Result<Declaration, String> {
    let tree = parse_definition(text).map_err(described)?;
    match tree {
        Syntax::Symbol(name) if name.starts_with(b"$") => {
            Err("invalid symbol '$'".replace('$', &String::from_utf8_lossy(&name)))
        }
        Syntax::Symbol(name) => Ok(Declaration {
            name,
            kind: AliasKind::Word,
            parameters: Vec::new(),
        }),
        Syntax::Node("func", mut operands) if operands.len() == 2 => {
            let (arguments, name) = (operands.pop(), operands.pop());
            let Some(Syntax::Symbol(name)) = name else {
                return Err("invalid format".to_owned());
            };
            let arguments = match arguments {
                None | Some(Syntax::Absent) => Vec::new(),
                Some(Syntax::Node("list", items)) => items,
                Some(one) => vec![one],
            };
            let mut parameters = Vec::new();
            for argument in arguments {
                let Syntax::Symbol(name) = argument else {
                    return Err("invalid argument list".to_owned());
                };
                if parameters.contains(&name) {
                    return Err("argument names collide with each other".to_owned());
                }
                parameters.push(name);
            }
            Ok(Declaration {
                name,
                kind: AliasKind::Function,
                parameters,
            })
        }
        _ => Err("invalid format".to_owned()),
    }
}

/// A word with a dollar sign that is no parameter.
fn unknown_parameter(tree: &Syntax, parameters: &[Vec<u8>]) -> Option<String> {
    match tree {
        Syntax::Symbol(name) if name.starts_with(b"$") && !parameters.contains(name) => {
            Some(String::from_utf8_lossy(name).into_owned())
        }
        Syntax::Node(_, operands) => {
            let mut operands = operands.iter();
            operands.find_map(|operand| unknown_parameter(operand, parameters))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_syntax;

    fn expanded(aliases: &[(&str, &str)], query: &str) -> Result<String, String> {
        let items = aliases.iter();
        let aliases = Aliases::new(items.map(|(name, text)| (name.as_bytes(), text.as_bytes())));
        let tree = parse_syntax(query.as_bytes(), &|_| false).unwrap();
        let expanded = aliases.expand(&tree).map_err(|error| error.to_string())?;
        let lowered = crate::lower(&crate::concatenated(expanded).unwrap());
        Ok(lowered.unwrap().to_string())
    }

    #[test]
    fn words_and_functions_are_replaced_with_their_arguments() {
        let aliases = [
            ("m", "merge()"),
            ("g", "first"),
            ("m(x)", "x and m"),
            ("two($1, $10)", "$10 or desc('$1')"),
            ("all2(all)", "all and f(all)"),
        ];
        for (query, expected) in [
            ("m", "merge()"),
            ("m(m)", "(merge() and merge())"),
            ("two(1, 2)", "(2 or desc(\"$1\"))"),
            ("all2(0)", "(0 and f(0))"),
            ("f(m, x)", "f(merge(), x)"),
            ("g(x)", "first(x)"),
            ("'m'", "\"m\""),
        ] {
            assert_eq!(expanded(&aliases, query).unwrap(), expected, "{query}");
        }
    }

    #[test]
    fn wrong_aliases_are_refused_where_they_are_used() {
        let aliases = [
            ("a", "b"),
            ("b", "a"),
            ("bad", "1 +"),
            ("bad name", "1"),
            ("f($1)", "$1:$2"),
            ("g(x, x)", "x"),
            ("one(x)", "x"),
        ];
        for (query, expected) in [
            ("a", "infinite expansion of revset alias \"a\" detected"),
            (
                "bad",
                "bad definition of revset alias \"bad\": at 3: not a prefix: end",
            ),
            (
                "f(1)",
                "bad definition of revset alias \"f\": invalid symbol '$2'",
            ),
            (
                "g(1)",
                "bad declaration of revset alias \"g\": argument names collide with each other",
            ),
            ("one(1, 2)", "invalid number of arguments: 2"),
        ] {
            assert_eq!(expanded(&aliases, query).unwrap_err(), expected, "{query}");
        }
        let doubled: Vec<(String, String)> = (0..64)
            .map(|at| (format!("x{at}"), format!("x{} or x{}", at + 1, at + 1)))
            .collect();
        let doubled: Vec<(&str, &str)> = doubled
            .iter()
            .map(|(name, text)| (&name[..], &text[..]))
            .collect();
        let words = "aliases make the query too long";
        assert_eq!(expanded(&doubled, "x0").unwrap_err(), words);
    }
}
