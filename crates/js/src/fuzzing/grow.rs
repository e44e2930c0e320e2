//! Functions and documents out of bytes: each byte is a choice, and where they end the first choice
//! is taken, which is always a leaf.

use varve_json::{Object, Value};

/// Names of members: some that objects inherit, some that are positions.
const NAMES: [&str; 14] = [
    "a",
    "b",
    "type",
    "tags",
    "nested",
    "n",
    "s",
    "length",
    "10",
    "9",
    "constructor",
    "é",
    "toString",
    "x y",
];
/// JSON text of leaves.
const LEAVES: [&str; 34] = [
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "7",
    "42",
    "0.5",
    "-0.0",
    "1.0",
    "1.25",
    "100.0",
    "1e21",
    "1e-7",
    "123456789012345678",
    "123456789012345678901234567890",
    "0.1234567890123456",
    "\"\"",
    "\"a\"",
    "\"b\"",
    "\"abc\"",
    "\"ABC\"",
    "\"5\"",
    "\" 7 \"",
    "\"0x10\"",
    "\"1e3\"",
    "\"-\"",
    "\"a b,c\"",
    "\"\\\"\\\\\\n\\u0001\"",
    "\"é\"",
    "\"日本\"",
    "\"\u{1f600}\"",
    "\"length\"",
];
const OPERATORS: [&str; 21] = [
    "===", "==", "!==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&&", "||", "??", "&",
    "|", "^", "<<", ">>>",
];
const METHODS: [&str; 14] = [
    "toLowerCase()",
    "toUpperCase()",
    "trim()",
    "charAt(1)",
    "substr(1, 2)",
    "substring(2, 0)",
    "slice(-2)",
    "indexOf('a')",
    "includes('b')",
    "startsWith('a')",
    "endsWith('c')",
    "split(' ')",
    "hasOwnProperty('a')",
    "join('-')",
];
const FUNCTIONS: [&str; 10] = [
    "isArray",
    "Array.isArray",
    "Object.keys",
    "String",
    "Number",
    "Boolean",
    "Math.floor",
    "Math.round",
    "Math.abs",
    "Math.trunc",
];
const WORDS: [&str; 6] = ["", "abc", "a b,c", " Ab ", "é", "12"];
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
    match choices.below(8) {
        0 => format!("doc => emit({}, {})", choices.value(), choices.value()),
        1 => format!(
            "function map(doc, c) {{ var a, b; {} }};",
            choices.statements()
        ),
        2 => format!(
            "(doc) => {{ let a = 1, b = doc.b, c; {} }}",
            choices.statements()
        ),
        _ => format!(
            "function (doc) {{ var a = {}, b = {}, c; {} emit(a, [b, c]); }}",
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

    fn statements(&mut self) -> String {
        let count = self.below(4);
        (0..count).map(|_| self.statement()).collect()
    }

    fn statement(&mut self) -> String {
        let kind = self.below(13);
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
            12 => format!("if ({}) return;", self.value()),
            _ => format!("{}++;", self.of_these(&["a", "b", "c"])),
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
        let kind = self.below(16);
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
