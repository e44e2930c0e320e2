//! Aliases of templates: the section `[templatealias]`.

use super::eval::parse_error;
use super::grammar::{Expr, parse_expression};
use crate::ui::Abort;
use std::collections::{BTreeSet, HashMap};
use varve_config::hgrc::Hgrc;

/// Most nodes that aliases may add to a template.
const MOST_NODES: usize = 100_000;
/// Greatest depth of a tree in which aliases have been replaced.
const DEEPEST: usize = 200;

/// Words and functions that stand for an expression.
#[derive(Debug, Default)]
pub(crate) struct TemplateAliases(Vec<Alias>);

#[derive(Debug)]
struct Alias {
    name: String,
    /// Names of the arguments; `None` if it is a word and no function.
    parameters: Option<Vec<String>>,
    /// The expression, or why it cannot be used.
    replacement: Result<Expr, String>,
}

impl TemplateAliases {
    /// The aliases of a configuration. A declaration that is none is ignored, as in Mercurial.
    pub(crate) fn of(config: &Hgrc) -> TemplateAliases {
        let items = config.section("templatealias").iter();
        TemplateAliases(
            items
                .filter_map(|item| Alias::new(&item.key, &item.value))
                .collect(),
        )
    }

    /// The tree with all aliases replaced.
    ///
    /// # Errors
    /// An alias that is used is wrong, has other arguments, or stands for itself.
    pub(super) fn expand(&self, tree: &Expr) -> Result<Expr, Abort> {
        if self.0.is_empty() {
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

impl Alias {
    fn new(declaration: &[u8], definition: &[u8]) -> Option<Alias> {
        let declaration = std::str::from_utf8(declaration).ok()?.trim();
        let (name, parameters) = match declaration.split_once('(') {
            None => (declaration, None),
            Some((name, rest)) => {
                let inner = rest.strip_suffix(')')?.trim();
                let words = inner.split(',').map(|word| word.trim().to_owned());
                let words = match inner.is_empty() {
                    true => Vec::new(),
                    false => words.collect(),
                };
                (name.trim_end(), Some(words))
            }
        };
        let words = parameters.iter().flatten().map(String::as_str);
        if !words.chain([name]).all(is_word) {
            return None;
        }
        let wrong = |of: &str, why: &str| format!("bad {of} of template alias \"{name}\": {why}");
        let distinct: BTreeSet<&String> = parameters.iter().flatten().collect();
        let replacement = if distinct.len() < parameters.as_ref().map_or(0, Vec::len) {
            let why = "argument names collide with each other";
            Err(wrong("declaration", why))
        } else {
            parse_expression(definition).map_err(|error| {
                let why = match error.at {
                    Some(at) => format!("at {at}: {}", error.message),
                    None => error.message,
                };
                wrong("definition", &why)
            })
        };
        Some(Alias {
            name: name.to_owned(),
            parameters,
            replacement,
        })
    }
}

fn is_word(word: &str) -> bool {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    word.bytes().all(belongs)
        && word
            .bytes()
            .next()
            .is_some_and(|byte| !byte.is_ascii_digit())
}

struct Expansion<'a> {
    aliases: &'a TemplateAliases,
    /// Aliases whose replacements are being expanded.
    under_way: Vec<&'a Alias>,
    /// Nodes made so far.
    nodes: usize,
    /// Number of nodes above the one that is made.
    depth: usize,
}

impl<'a> Expansion<'a> {
    /// Replaces aliases, and words by the arguments of that name.
    fn expand(&mut self, tree: &Expr, arguments: &HashMap<&str, Expr>) -> Result<Expr, Abort> {
        self.nodes += 1;
        self.depth += 1;
        if self.nodes > MOST_NODES || self.depth > DEEPEST {
            return Err(parse_error("aliases make the template too long"));
        }
        let expanded = self.expand_node(tree, arguments);
        self.depth -= 1;
        expanded
    }

    fn expand_node(&mut self, tree: &Expr, arguments: &HashMap<&str, Expr>) -> Result<Expr, Abort> {
        let aliases = self.aliases;
        let find = |name: &str, is_function: bool| {
            let mut known = aliases.0.iter().rev();
            known.find(|alias| alias.name == name && alias.parameters.is_some() == is_function)
        };
        Ok(match tree {
            Expr::Text(_) | Expr::Number(_) => tree.clone(),
            Expr::Symbol(name) => match (arguments.get(&name[..]), find(name, false)) {
                (Some(argument), _) => self.expand(argument, &HashMap::new())?,
                (None, Some(alias)) => self.replace(alias, Vec::new())?,
                (None, None) => tree.clone(),
            },
            Expr::Call(name, given) => {
                let given = self.expand_all(given, arguments)?;
                match find(name, true) {
                    Some(alias) => self.replace(alias, given)?,
                    None => Expr::Call(name.clone(), given),
                }
            }
            Expr::Filter(operand, name) => {
                let operand = self.expand(operand, arguments)?;
                match find(name, true) {
                    Some(alias) => self.replace(alias, vec![operand])?,
                    None => Expr::Filter(Box::new(operand), name.clone()),
                }
            }
            Expr::Template(parts) => Expr::Template(self.expand_all(parts, arguments)?),
            Expr::List(parts) => Expr::List(self.expand_all(parts, arguments)?),
            Expr::Map(list, body) => Expr::Map(
                Box::new(self.expand(list, arguments)?),
                Box::new(self.expand(body, arguments)?),
            ),
            Expr::Arithmetic(operator, left, right) => Expr::Arithmetic(
                *operator,
                Box::new(self.expand(left, arguments)?),
                Box::new(self.expand(right, arguments)?),
            ),
            Expr::Named(name, value) => {
                Expr::Named(name.clone(), Box::new(self.expand(value, arguments)?))
            }
            Expr::Member(of, name) => {
                Expr::Member(Box::new(self.expand(of, arguments)?), name.clone())
            }
            Expr::Negate(operand) => Expr::Negate(Box::new(self.expand(operand, arguments)?)),
            Expr::Group(inner) => Expr::Group(Box::new(self.expand(inner, arguments)?)),
        })
    }

    fn expand_all(
        &mut self,
        parts: &[Expr],
        arguments: &HashMap<&str, Expr>,
    ) -> Result<Vec<Expr>, Abort> {
        let parts = parts.iter();
        parts.map(|part| self.expand(part, arguments)).collect()
    }

    /// The replacement of an alias, in which the arguments, expanded already, stand for their names.
    fn replace(&mut self, alias: &'a Alias, given: Vec<Expr>) -> Result<Expr, Abort> {
        let tree = match &alias.replacement {
            Ok(tree) => tree,
            Err(words) => return Err(Abort::new(words.clone())),
        };
        if self
            .under_way
            .iter()
            .any(|other| std::ptr::eq(*other, alias))
        {
            let name = &alias.name;
            let message = format!("infinite expansion of template alias \"{name}\" detected");
            return Err(parse_error(message));
        }
        let parameters = alias.parameters.as_deref().unwrap_or_default();
        if parameters.len() != given.len() {
            let message = format!("invalid number of arguments: {}", given.len());
            return Err(parse_error(message));
        }
        let names = parameters.iter().map(String::as_str);
        let arguments: HashMap<&str, Expr> = names.zip(given).collect();
        self.under_way.push(alias);
        let expanded = self.expand(tree, &arguments);
        self.under_way.pop();
        expanded
    }
}
