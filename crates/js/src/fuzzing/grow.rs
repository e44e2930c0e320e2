//! Functions and documents out of bytes: each byte is a choice, and where they end the first choice
//! is taken, which is always a leaf.

use super::words::{
    ATOMS, FUNCTIONS, LEAVES, METHODS, NAMES, OPERATORS, REPEATED, REPLACEMENTS, WORDS,
};
use varve_json::{Object, Value};

const DEEPEST: usize = 4;

/// Makes a value of one kind.
type Shape = fn(&mut Choices<'_>) -> Value;

struct Choices<'d> {
    bytes: std::slice::Iter<'d, u8>,
    depth: usize,
    /// How many loops are around.
    loops: usize,
}

/// The text of a function.
pub fn function(data: &[u8]) -> String {
    let mut choices = Choices::of(data);
    let inner = choices.helpers();
    match choices.below(8) {
        0 => format!("doc => emit({}, {})", choices.value(), choices.value()),
        1 => format!(
            "function map(doc, c) {{ var a, b; {inner} {} }};",
            choices.statements()
        ),
        2 => format!(
            "(doc) => {{ let a = 1, b = doc.b, c; {inner} {} }}",
            choices.statements()
        ),
        _ => format!(
            "function (doc) {{ {inner} var a = {}, b = {}, c; {} emit(a, [b, c, o, l]); }}",
            choices.value(),
            choices.value(),
            choices.statements()
        ),
    }
}

/// The JSON text of a document.
pub fn document(data: &[u8]) -> String {
    let mut choices = Choices::of(data);
    let mut document = Object::new();
    document.insert("_id".to_owned(), "id");
    for name in ["a", "b", "type"] {
        document.insert(name.to_owned(), choices.json());
    }
    // Mostly values of the kinds that their names promise.
    let shapes: [(&str, Shape); 4] = [
        ("s", |choices| Value::from(choices.of_these(&WORDS))),
        ("n", |choices| Value::from(choices.below(256) as u64)),
        ("tags", |choices| {
            (0..choices.below(4)).map(|_| choices.json()).collect()
        }),
        ("nested", |choices| Value::Object(choices.members())),
    ];
    for (name, shape) in shapes {
        let value = if choices.below(6) == 5 {
            choices.json()
        } else {
            shape(&mut choices)
        };
        document.insert(name.to_owned(), value);
    }
    for _ in 0..choices.below(4) {
        let name = choices.of_these(&NAMES).to_owned();
        document.insert(name, choices.json());
    }
    varve_json::to_string(&Value::Object(document))
}

impl<'d> Choices<'d> {
    fn of(data: &'d [u8]) -> Self {
        Choices {
            bytes: data.iter(),
            depth: 0,
            loops: 0,
        }
    }

    fn below(&mut self, count: usize) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or(0)) % count
    }

    fn of_these<'t>(&mut self, these: &[&'t str]) -> &'t str {
        these[self.below(these.len())]
    }

    /// Makes an inner part, or nothing where it would be too deep.
    fn inside(&mut self, part: impl FnOnce(&mut Self) -> String) -> Option<String> {
        if self.depth == DEEPEST {
            return None;
        }
        self.depth += 1;
        let text = part(self);
        self.depth -= 1;
        Some(text)
    }

    fn json(&mut self) -> Value {
        self.depth += 1;
        let kind = if self.depth < DEEPEST {
            self.below(8)
        } else {
            0
        };
        let value = match kind {
            5 => (0..self.below(5)).map(|_| self.json()).collect(),
            6 | 7 => Value::Object(self.members()),
            _ => varve_json::parse(self.of_these(&LEAVES).as_bytes()).unwrap_or_default(),
        };
        self.depth -= 1;
        value
    }

    fn members(&mut self) -> Object {
        let count = self.below(6);
        let members = (0..count).map(|_| {
            let name = self.of_these(&NAMES).to_owned();
            (name, self.json())
        });
        members.collect()
    }

    /// An object, an array, and two functions that stand before a map function; one of the two calls itself.
    fn helpers(&mut self) -> String {
        let (first, second) = (self.value(), self.value());
        let statement = self.statement();
        format!(
            "var o = {{n: 1}}, l = [2]; \
             function h(x, y) {{ {statement} if (y < 3) return h(x, y + 1) + y; return {first}; }} \
             var k = function (x) {{ return [x, {second}]; }};"
        )
    }

    fn statements(&mut self) -> String {
        let count = self.below(4);
        (0..count).map(|_| self.statement()).collect()
    }

    fn statement(&mut self) -> String {
        let kind = self.below(21);
        self.inside(|inner| inner.statement_of(kind))
            .unwrap_or_default()
    }

    fn statement_of(&mut self, kind: usize) -> String {
        match kind {
            0..=2 => format!("emit({}, {});", self.value(), self.value()),
            3 => format!("if ({}) {{ {} }}", self.value(), self.statements()),
            4 => format!(
                "if ({}) emit({}); else {{ {} }}",
                self.value(),
                self.value(),
                self.statements()
            ),
            5 => format!("{} = {};", self.of_these(&["a", "b", "c"]), self.value()),
            6 => self.repeat("doc.nested", |name, value| {
                format!("for (var {name} in {value})")
            }),
            7 => self.repeat("doc.tags", |name, value| {
                format!("for (const {name} of {value})")
            }),
            8 => self.repeat("doc.tags", |name, value| {
                format!(
                    "for (let {name} = 0, m = {value}; {name} < 3 && {name} < m.length; {name}++)"
                )
            }),
            9 => {
                let array = if self.below(3) == 0 {
                    self.value()
                } else {
                    "doc.tags".to_owned()
                };
                let name = format!("t{}", self.loops);
                self.loops += 1;
                let body = self.statements();
                self.loops -= 1;
                format!("({array}).forEach(function ({name}, a) {{ {body} emit({name}, a); }});")
            }
            10 => format!(
                "switch ({}) {{ case {}: {} break; default: {} case {}: {} }}",
                self.value(),
                self.value(),
                self.statements(),
                self.statements(),
                self.value(),
                self.statements()
            ),
            11 if self.loops > 0 => format!("if ({}) continue;", self.value()),
            12 => format!("if ({}) return {};", self.value(), self.value()),
            13 => format!("o[{}] = {};", self.scalar(), self.value()),
            14 => format!(
                "o.{} {}= {};",
                self.of_these(&NAMES[..6]),
                self.of_these(&["", "+", "-"]),
                self.value()
            ),
            15 => format!(
                "l.push({}); l[{}] = {};",
                self.value(),
                self.below(3),
                self.value()
            ),
            16 => format!("g = {}; emit(g, i{}++);", self.value(), self.loops),
            17 => self.iteration(),
            19 => format!(
                "try {{ {} }} catch (e) {{ {} }}",
                self.statements(),
                self.statements()
            ),
            18 => format!("o.n{};", self.of_these(&["++", "--", "+=1"])),
            _ => format!("{}++;", self.of_these(&["a", "b", "c"])),
        }
    }

    fn iteration(&mut self) -> String {
        let array = self.of_these(&[
            "doc.tags",
            "l",
            "doc.tags",
            "doc.s.split(' ')",
            "Object.keys(doc.nested)",
        ]);
        let method = self.of_these(&["map", "filter", "some", "every", "find", "findIndex"]);
        let loops = std::mem::take(&mut self.loops);
        let (body, value) = (self.statements(), self.value());
        self.loops = loops;
        match self.below(4) {
            0 => {
                format!("a = {array}.reduce(function (x, y) {{ {body} return x + y; }}, {value});")
            }
            1 => format!("a = {array}.{method}(x => {value});"),
            _ => format!("a = {array}.{method}(function (x, y) {{ {body} return {value}; }});"),
        }
    }

    /// A regular expression.
    fn pattern(&mut self) -> String {
        let mut pattern = String::new();
        for _ in 0..=self.below(4) {
            let atom = match self.below(6) {
                0 => format!("({})", self.alternatives()),
                1 => format!("(?:{})", self.alternatives()),
                _ => self.of_these(&ATOMS).to_owned(),
            };
            pattern.push_str(&atom);
            pattern.push_str(self.of_these(&REPEATED));
        }
        format!("/{pattern}/{}", self.of_these(&["", "g", "i", "gi"]))
    }

    fn alternatives(&mut self) -> String {
        let parts = (0..=self.below(3)).map(|_| {
            let (atom, repeated) = (self.of_these(&ATOMS), self.of_these(&REPEATED));
            format!("{atom}{repeated}{}", self.of_these(&ATOMS))
        });
        parts.collect::<Vec<_>>().join("|")
    }

    /// A method with a regular expression.
    fn matching(&mut self) -> String {
        let text = self.scalar();
        let pattern = self.pattern();
        let with = self.of_these(&REPLACEMENTS);
        match self.below(7) {
            0 => format!("{pattern}.test({text})"),
            1 => format!("{pattern}.exec({text})"),
            2 => format!("({text}).match({pattern})"),
            3 => format!("({text}).replace({pattern}, \"{with}\")"),
            4 => format!("({text}).search({pattern})"),
            5 => format!("({text}).split({pattern})"),
            _ => {
                format!("({text}).replace({pattern}, function (x, y, z) {{ return '' + z + x; }})")
            }
        }
    }

    fn repeat(&mut self, usual: &str, head: impl Fn(&str, &str) -> String) -> String {
        let value = if self.below(3) == 0 {
            self.value()
        } else {
            usual.to_owned()
        };
        let name = format!("t{}", self.loops);
        self.loops += 1;
        let body = self.statements();
        self.loops -= 1;
        format!("{} {{ {body} emit({name}); }}", head(&name, &value))
    }

    fn value(&mut self) -> String {
        let kind = self.below(24);
        let inner = self.inside(|inner| inner.value_of(kind));
        inner.unwrap_or_else(|| "doc.a".to_owned())
    }

    fn value_of(&mut self, kind: usize) -> String {
        match kind {
            0..=2 => self.field(),
            3 => self.of_these(&LEAVES).to_owned(),
            4 => self
                .of_these(&["a", "b", "c", "undefined", "NaN", "doc"])
                .to_owned(),
            5 | 6 => {
                let operator = self.of_these(&OPERATORS);
                format!("(({}) {operator} ({}))", self.scalar(), self.scalar())
            }
            7 => format!(
                "{}({})",
                self.of_these(&["!", "-", "+", "typeof ", "~", "void "]),
                self.scalar()
            ),
            8 => format!("({} ? {} : {})", self.value(), self.value(), self.value()),
            9 => format!("[{}, {}]", self.value(), self.value()),
            10 => format!(
                "{{{}: {}, '9': 1, {}: {}}}",
                "b",
                self.value(),
                "a",
                self.value()
            ),
            11 => {
                let object = if self.below(3) == 0 {
                    self.value()
                } else {
                    "doc.s".to_owned()
                };
                format!("({object}).{}", self.of_these(&METHODS))
            }
            12 => format!("{}({})", self.of_these(&FUNCTIONS), self.scalar()),
            13 => format!("({})[{}]", self.value(), self.value()),
            14 => format!("`<${{{}}}>`", self.scalar()),
            15 | 16 => self.matching(),
            17 => format!("new Date({})", self.scalar()),
            18 => self
                .of_these(&["o", "l", "o.n", "l[0]", "o[doc.s]", "l.length"])
                .to_owned(),
            19 => format!(
                "{}({}, {})",
                self.of_these(&["h", "k"]),
                self.value(),
                self.below(4)
            ),
            20 => format!(
                "({}) instanceof {}",
                self.value(),
                self.of_these(&["Array", "Object", "Date"])
            ),
            21 => format!("(function (x) {{ return x; }})({})", self.value()),
            _ => {
                let object = if self.below(3) == 0 {
                    self.value()
                } else {
                    "doc.nested".to_owned()
                };
                format!("('{}' in {object})", self.of_these(&NAMES))
            }
        }
    }

    /// Mostly a number, a string or a word.
    fn scalar(&mut self) -> String {
        const USUAL: [&str; 8] = [
            "doc.n",
            "doc.s",
            "doc.s.length",
            "doc.tags.length",
            "typeof doc.a",
            "doc._id",
            "doc.n > 9",
            "doc.missing",
        ];
        match self.below(8) {
            0 => self.value(),
            1 | 2 => self.of_these(&LEAVES).to_owned(),
            _ => self.of_these(&USUAL).to_owned(),
        }
    }

    fn field(&mut self) -> String {
        let dot = self.of_these(&[".", "?.", "."]);
        let names = &NAMES[..8];
        match self.below(4) {
            0 | 1 => format!("doc.{}", self.of_these(names)),
            2 => format!("doc.nested{dot}{}", self.of_these(names)),
            _ => format!("doc.{}{dot}{}", self.of_these(names), self.of_these(names)),
        }
    }
}
