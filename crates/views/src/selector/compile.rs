//! Compiles the JSON of a selector to conditions on documents.

use super::SelectorError;
use super::condition::{Argument, Arguments, Condition, Relation, Test};
use super::node::Node;
use super::path::FieldPath;
use crate::term::of_bytes;
use regex::bytes::{Regex, RegexBuilder};
use std::sync::Arc;
use varve_json::{Object, Value};

/// Selectors nested deeper are refused: matching recurses.
const MAX_NESTING: usize = 100;
/// Bytes of all paths together; a short selector can name a long path many times.
const MAX_PATHS: usize = 4 << 20;
/// Each pattern can take some memory.
const MAX_PATTERNS: usize = 200;
/// Bytes of a pattern's text: long ones take seconds before they are found to be too large.
const PATTERN_LENGTH: usize = 4 << 10;
/// Bytes of a pattern's program, and of the states that are cached while it runs.
const PATTERN_SIZE: usize = 1 << 18;

type Compiled<T = Node> = Result<T, SelectorError>;

/// Compiles a selector.
pub(super) fn compile(selector: &Value) -> Compiled {
    let Value::Object(object) = selector else {
        return Err(SelectorError::NotAnObject {
            found: of_bytes(selector),
        });
    };
    let mut compiler = Compiler::default();
    let node = compiler.object(object, At::top())?;
    match &node {
        Node::Field(path, _) if path.name().is_empty() => Err(SelectorError::NoField),
        Node::Field(..) | Node::All(_) | Node::Any(_) => Ok(node),
    }
}

/// Limits that one selector has used up so far.
#[derive(Default)]
struct Compiler {
    paths: usize,
    patterns: usize,
}

/// Where in a selector something stands.
#[derive(Clone)]
struct At {
    /// The field that conditions are about.
    path: Arc<FieldPath>,
    /// False below an odd number of negations.
    wanted: bool,
    depth: usize,
}

impl At {
    fn top() -> At {
        At {
            path: Arc::new(FieldPath::root()),
            wanted: true,
            depth: 0,
        }
    }

    fn negated(&self) -> At {
        At {
            wanted: !self.wanted,
            ..self.clone()
        }
    }
}

impl Compiler {
    /// All members of an object must hold.
    fn object(&mut self, object: &Object, at: At) -> Compiled {
        if at.depth > MAX_NESTING {
            return Err(SelectorError::TooDeep);
        }
        let below = At {
            depth: at.depth + 1,
            ..at.clone()
        };
        let mut nodes = Vec::with_capacity(object.len());
        for (name, value) in object.iter() {
            nodes.push(self.member(name, value, &below)?);
        }
        Ok(match (nodes.len(), at.wanted) {
            (1, _) => nodes.remove(0),
            (_, true) => Node::All(nodes),
            (_, false) => Node::Any(nodes),
        })
    }

    fn member(&mut self, name: &str, value: &Value, at: &At) -> Compiled {
        if name.starts_with('$') {
            return self.operator(name, value, at);
        }
        let path = at.path.below(name);
        self.paths += path.name().len();
        if self.paths > MAX_PATHS {
            return Err(SelectorError::TooLarge);
        }
        let at = At {
            path: Arc::new(path),
            ..at.clone()
        };
        self.condition(value, &at)
    }

    /// The condition on a field: an object of operators or of further fields, or a value to equal.
    fn condition(&mut self, value: &Value, at: &At) -> Compiled {
        match value {
            Value::Object(object) if !object.is_empty() => self.object(object, at.clone()),
            value => self.operator("$eq", value, at),
        }
    }

    fn operator(&mut self, operator: &str, value: &Value, at: &At) -> Compiled {
        let bad = || bad_argument(operator, value);
        let (negated, any) = match operator {
            "$and" => (false, !at.wanted),
            "$or" => (false, at.wanted),
            "$nor" => (true, !at.wanted),
            "$not" => {
                value.as_object().ok_or_else(bad)?;
                return self.condition(value, &at.negated());
            }
            _ => {
                let condition = match Relation::of(operator) {
                    Some(relation) => comparison(relation, value, at),
                    None => self.terminal(operator, value, at)?,
                };
                return Ok(Node::Field(Arc::clone(&at.path), condition));
            }
        };
        let at = if negated { at.negated() } else { at.clone() };
        let items = value.as_array().ok_or_else(bad)?.iter();
        let nodes = items.map(|item| self.condition(item, &at));
        let nodes = nodes.collect::<Compiled<Vec<_>>>()?;
        Ok(if any {
            Node::Any(nodes)
        } else {
            Node::All(nodes)
        })
    }

    /// An operator about one value.
    fn terminal(&mut self, operator: &str, value: &Value, at: &At) -> Compiled<Condition> {
        let bad = || bad_argument(operator, value);
        let text = || value.as_str().ok_or_else(bad);
        let arguments = || value.as_array().map(Arguments::new).ok_or_else(bad);
        let mut wanted = at.wanted;
        let test = match operator {
            "$exists" => {
                wanted = value.as_bool().ok_or_else(bad)? == at.wanted;
                Test::Exists
            }
            "$type" => Test::Type(text()?.to_owned()),
            "$in" => Test::In(arguments()?),
            "$nin" => {
                wanted = !at.wanted;
                Test::In(arguments()?)
            }
            "$size" => Test::Size(value.as_u64().ok_or_else(bad)?),
            "$mod" => modulo(value).ok_or_else(bad)?,
            "$regex" => Test::Regex(Box::new(self.pattern(text()?)?.ok_or_else(bad)?)),
            "$all" => Test::All(arguments()?),
            "$elemMatch" => Test::Some(self.inner(value, at)?.ok_or_else(bad)?),
            "$allMatch" => Test::Every(self.inner(value, at)?.ok_or_else(bad)?),
            "$keyMapMatch" => Test::Key(self.inner(value, at)?.ok_or_else(bad)?),
            // Another argument makes it an unknown operator, as in CouchDB.
            "$beginsWith" => {
                let prefix = value.as_str().ok_or_else(|| unknown(operator))?;
                Test::BeginsWith(prefix.to_owned())
            }
            _ => return Err(unknown(operator)),
        };
        Ok(Condition { test, wanted })
    }

    /// A selector about the items or names of a value. `None` if it is no object.
    fn inner(&mut self, value: &Value, at: &At) -> Compiled<Option<Box<Node>>> {
        let Value::Object(object) = value else {
            return Ok(None);
        };
        let inside = At {
            depth: at.depth + 1,
            ..At::top()
        };
        self.object(object, inside).map(|node| Some(Box::new(node)))
    }

    /// Patterns see bytes, as those of CouchDB do; only classes of characters beyond ASCII need
    /// to see characters. `None` if it is no pattern.
    fn pattern(&mut self, text: &str) -> Compiled<Option<Regex>> {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS || text.len() > PATTERN_LENGTH {
            return Err(SelectorError::TooLarge);
        }
        let build = |unicode| {
            let mut builder = RegexBuilder::new(text);
            builder.unicode(unicode);
            builder
                .size_limit(PATTERN_SIZE)
                .dfa_size_limit(PATTERN_SIZE);
            builder.build().ok()
        };
        Ok(build(false).or_else(|| build(true)))
    }
}

/// Operators that CouchDB refuses in other words than unknown ones.
const UNSUPPORTED: [&str; 5] = [
    "$where",
    "$geoWithin",
    "$geoIntersects",
    "$near",
    "$nearSphere",
];

fn unknown(operator: &str) -> SelectorError {
    let name = operator.to_owned();
    match UNSUPPORTED.contains(&operator) {
        true => SelectorError::Unsupported { operator: name },
        false => SelectorError::Operator { operator: name },
    }
}

fn bad_argument(operator: &str, value: &Value) -> SelectorError {
    SelectorError::Argument {
        operator: operator.to_owned(),
        found: varve_json::to_string(value),
    }
}

fn comparison(relation: Relation, value: &Value, at: &At) -> Condition {
    let relation = match at.wanted {
        true => relation,
        false => relation.negated(),
    };
    let argument = Argument::new(value, at.path.name() == "_id");
    Condition {
        test: Test::Compare(relation, argument),
        wanted: true,
    }
}

/// A pair of a divisor and a remainder.
fn modulo(value: &Value) -> Option<Test> {
    let [divisor, remainder] = value.as_array()? else {
        return None;
    };
    let divisor = divisor.as_i64().filter(|number| *number != 0)?;
    Some(Test::Modulo(divisor, remainder.as_i64()?))
}
