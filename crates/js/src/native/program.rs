//! A compiled function: statements and expressions with every name resolved to a slot.

use std::ops::Range;

/// A compiled function.
#[derive(Debug)]
pub(super) struct Program {
    /// The body.
    pub(super) body: Block,
    /// How many variables there are, the parameters first. The first one is the document.
    pub(super) slots: usize,
}

pub(super) type Block = Box<[Statement]>;
pub(super) type Operand = Box<Expression>;
/// Where a variable is kept while the function runs.
pub(super) type Slot = usize;

#[derive(Debug)]
pub(super) enum Statement {
    Evaluate(Expression),
    If {
        test: Expression,
        then: Block,
        otherwise: Block,
    },
    /// Statements with variables of their own, which are not initialised when they begin.
    Scope {
        fresh: Box<[Slot]>,
        body: Block,
    },
    /// `while` too.
    For {
        start: Block,
        test: Option<Expression>,
        step: Option<Expression>,
        body: Block,
    },
    ForIn {
        name: Slot,
        object: Expression,
        body: Block,
    },
    ForOf {
        item: Slot,
        array: Expression,
        body: Block,
    },
    Switch {
        value: Expression,
        /// The tests with the position of the statement that each leads to.
        cases: Box<[(Expression, usize)]>,
        /// Where to go if no test holds.
        otherwise: usize,
        body: Block,
    },
    Break,
    Continue,
    Return(Option<Expression>),
}

#[derive(Debug)]
pub(super) enum Expression {
    Constant(Constant),
    Variable(Slot),
    /// `object.name`, or `object[name]` with a name that is no number.
    Member {
        object: Operand,
        name: Box<str>,
        /// Whether `?.` stands before the name.
        is_optional: bool,
    },
    /// `object[key]`
    Item {
        object: Operand,
        key: Operand,
        is_optional: bool,
    },
    /// A chain that becomes `undefined` where a `?.` inside ends it.
    Chain(Operand),
    Unary(Unary, Operand),
    Binary(Binary, Operand, Operand),
    Logical(Logical, Operand, Operand),
    Conditional(Operand, Operand, Operand),
    Array(Box<[Expression]>),
    Object(Box<[(Box<str>, Expression)]>),
    /// A template: the texts stand around the values.
    Template(Box<[Box<str>]>, Box<[Expression]>),
    Sequence(Box<[Expression]>),
    Assign(Slot, Operand),
    /// `++` and `--`: the increment, and whether the result is the value before it.
    Step {
        slot: Slot,
        by: f64,
        gives_old: bool,
    },
    Call(Function, Box<[Expression]>),
    /// `object.method(arguments)`
    Method {
        object: Operand,
        method: Method,
        arguments: Box<[Expression]>,
        is_optional: bool,
    },
    /// `object.forEach(function (item, index) { … })`
    ForEach {
        object: Operand,
        callback: Callback,
        is_optional: bool,
    },
}

/// A function that is written where it is called.
#[derive(Debug)]
pub(super) struct Callback {
    /// The parameters.
    pub(super) parameters: Box<[Slot]>,
    /// All other variables, undefined when it begins.
    pub(super) variables: Range<Slot>,
    pub(super) body: Block,
}

#[derive(Clone, Debug)]
pub(super) enum Constant {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Box<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Minus,
    Plus,
    TypeOf,
    Void,
    BitNot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    ShiftRightUnsigned,
    Equal,
    NotEqual,
    Same,
    NotSame,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logical {
    And,
    Or,
    Coalesce,
}

/// Functions that need no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Emit,
    /// `isArray` and `Array.isArray`
    IsArray,
    /// `Object.keys`
    Keys,
    String,
    Number,
    Boolean,
    Floor,
    Ceil,
    Round,
    Abs,
    Trunc,
}

/// Functions of strings and arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    ToLowerCase,
    ToUpperCase,
    Trim,
    CharAt,
    Substr,
    Substring,
    Slice,
    IndexOf,
    Includes,
    StartsWith,
    EndsWith,
    Split,
    HasOwnProperty,
    Join,
}

impl Method {
    /// The method of that name.
    pub(super) fn named(name: &str) -> Option<Method> {
        Some(match name {
            "toLowerCase" => Method::ToLowerCase,
            "toUpperCase" => Method::ToUpperCase,
            "trim" => Method::Trim,
            "charAt" => Method::CharAt,
            "substr" => Method::Substr,
            "substring" => Method::Substring,
            "slice" => Method::Slice,
            "indexOf" => Method::IndexOf,
            "includes" => Method::Includes,
            "startsWith" => Method::StartsWith,
            "endsWith" => Method::EndsWith,
            "split" => Method::Split,
            "hasOwnProperty" => Method::HasOwnProperty,
            "join" => Method::Join,
            _ => return None,
        })
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Method::ToLowerCase => "toLowerCase",
            Method::ToUpperCase => "toUpperCase",
            Method::Trim => "trim",
            Method::CharAt => "charAt",
            Method::Substr => "substr",
            Method::Substring => "substring",
            Method::Slice => "slice",
            Method::IndexOf => "indexOf",
            Method::Includes => "includes",
            Method::StartsWith => "startsWith",
            Method::EndsWith => "endsWith",
            Method::Split => "split",
            Method::HasOwnProperty => "hasOwnProperty",
            Method::Join => "join",
        }
    }
}
