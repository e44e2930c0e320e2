//! A compiled function: statements and expressions with every name resolved to a slot.

use super::pattern::Pattern;

/// A compiled function.
#[derive(Debug)]
pub(super) struct Program {
    /// The body.
    pub(super) body: Block,
    /// How many variables there are, the parameters first. The first one is the document.
    pub(super) slots: usize,
    /// The variables that no function declares: they are global and last until all functions of a group have seen the
    /// document.
    pub(super) undeclared: Box<[Slot]>,
    /// The functions inside.
    pub(super) functions: Box<[Inner]>,
}

/// A function inside a function.
///
/// Functions are called by the names they are declared with, or where they are written, and are no values otherwise. So
/// the variables around a function are always those of the newest call of the function around it, and each variable
/// needs one slot: a call of a function that runs already keeps the old values meanwhile.
#[derive(Debug)]
pub(super) struct Inner {
    /// The parameters.
    pub(super) parameters: Box<[Slot]>,
    /// All variables, undefined when a call begins.
    pub(super) variables: Box<[Slot]>,
    pub(super) body: Block,
    /// How deep its statements and expressions are nested.
    pub(super) depth: usize,
}

/// Position of a function among [`Program::functions`].
pub(super) type FunctionId = usize;

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
    /// `try` with `catch`; what is thrown is only known to have been.
    Try {
        body: Block,
        thrown: Option<Slot>,
        handler: Block,
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
        /// As it is written: some methods have two.
        name: Box<str>,
        arguments: Box<[Expression]>,
        is_optional: bool,
    },
    /// A regular expression, made anew each time.
    Pattern(Box<Pattern>),
    /// A call of a function inside, by the variable of its name or where it is written.
    Invoke {
        name: Option<Slot>,
        function: FunctionId,
        arguments: Box<[Expression]>,
    },
    /// `object.method(callback)`
    Iterate {
        object: Operand,
        method: Iteration,
        callback: Callback,
        /// The other argument: what `reduce` begins with, what `replace` looks for.
        argument: Option<Operand>,
        is_optional: bool,
    },
    /// `object[key] = value`, or with an operator before `=`
    AssignMember {
        object: Operand,
        key: Operand,
        operator: Option<Binary>,
        value: Operand,
    },
    /// `object[key]++`: the increment, and whether the result is the value before it.
    StepMember {
        object: Operand,
        key: Operand,
        by: f64,
        gives_old: bool,
    },
    /// `value instanceof class`
    IsInstance(Operand, Class),
}

/// A class that `instanceof` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Array,
    Object,
    Date,
}

/// A function that is handed to a method.
#[derive(Clone, Copy, Debug)]
pub(super) enum Callback {
    /// One that is written there.
    Written(FunctionId),
    /// One that is declared, by the variable of its name.
    Named(Slot, FunctionId),
    /// One that needs no object.
    Known(Function),
}

/// Methods that call a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Iteration {
    ForEach,
    Map,
    Filter,
    Some,
    Every,
    Find,
    FindIndex,
    Reduce,
    /// Of strings.
    Replace,
}

const ITERATIONS: [(&str, Iteration); 9] = [
    ("forEach", Iteration::ForEach),
    ("map", Iteration::Map),
    ("filter", Iteration::Filter),
    ("some", Iteration::Some),
    ("every", Iteration::Every),
    ("find", Iteration::Find),
    ("findIndex", Iteration::FindIndex),
    ("reduce", Iteration::Reduce),
    ("replace", Iteration::Replace),
];

impl Iteration {
    /// The method of that name.
    pub(super) fn named(name: &str) -> Option<Iteration> {
        with_name(&ITERATIONS, name)
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        name_in(&ITERATIONS, self)
    }
}

/// The entry of a table with that name.
fn with_name<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    let found = table.iter().find(|(known, _)| *known == name);
    found.map(|(_, entry)| *entry)
}

fn name_in<T: PartialEq>(table: &[(&'static str, T)], entry: T) -> &'static str {
    let found = table.iter().find(|(_, known)| *known == entry);
    found.map_or("", |(name, _)| name)
}

#[derive(Clone, Debug)]
pub(super) enum Constant {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Box<str>),
    Function(FunctionId),
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
    Log,
    Sum,
    /// `isArray` and `Array.isArray`
    IsArray,
    /// `Object.keys`
    Keys,
    Values,
    Entries,
    String,
    Number,
    Boolean,
    ParseInt,
    ParseFloat,
    IsNan,
    IsFinite,
    /// `JSON.stringify`
    Stringify,
    /// `toJSON`
    ToJson,
    Math(Math),
    /// `new Date(…)` with arguments
    NewDate,
    /// `Date.parse`
    DateParse,
    /// `Date.UTC`
    DateUtc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Math {
    Floor,
    Ceil,
    Round,
    Abs,
    Trunc,
    Sqrt,
    Max,
    Min,
}

/// Functions of strings, arrays, numbers, dates and regular expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    ToLowerCase,
    ToUpperCase,
    Trim,
    CharAt,
    CharCodeAt,
    Substr,
    Substring,
    Slice,
    IndexOf,
    LastIndexOf,
    Includes,
    StartsWith,
    EndsWith,
    PadStart,
    Split,
    Concat,
    HasOwnProperty,
    Join,
    Push,
    Pop,
    Shift,
    Unshift,
    Reverse,
    Sort,
    Replace,
    Match,
    Search,
    Test,
    Exec,
    ToString,
    ToFixed,
    ToIsoString,
    Date(DatePart),
}

/// Parts of a date; local ones are those of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatePart {
    Time,
    Year,
    Month,
    /// Of the month.
    Day,
    WeekDay,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
    /// Offset of the time zone.
    Zone,
}

const METHODS: [(&str, Method); 51] = [
    ("toLowerCase", Method::ToLowerCase),
    ("toUpperCase", Method::ToUpperCase),
    ("trim", Method::Trim),
    ("charAt", Method::CharAt),
    ("charCodeAt", Method::CharCodeAt),
    ("substr", Method::Substr),
    ("substring", Method::Substring),
    ("slice", Method::Slice),
    ("indexOf", Method::IndexOf),
    ("lastIndexOf", Method::LastIndexOf),
    ("includes", Method::Includes),
    ("startsWith", Method::StartsWith),
    ("endsWith", Method::EndsWith),
    ("padStart", Method::PadStart),
    ("split", Method::Split),
    ("concat", Method::Concat),
    ("hasOwnProperty", Method::HasOwnProperty),
    ("join", Method::Join),
    ("push", Method::Push),
    ("pop", Method::Pop),
    ("shift", Method::Shift),
    ("unshift", Method::Unshift),
    ("reverse", Method::Reverse),
    ("sort", Method::Sort),
    ("replace", Method::Replace),
    ("match", Method::Match),
    ("search", Method::Search),
    ("test", Method::Test),
    ("exec", Method::Exec),
    ("toString", Method::ToString),
    ("toFixed", Method::ToFixed),
    ("toISOString", Method::ToIsoString),
    ("getTime", Method::Date(DatePart::Time)),
    ("valueOf", Method::Date(DatePart::Time)),
    ("getFullYear", Method::Date(DatePart::Year)),
    ("getUTCFullYear", Method::Date(DatePart::Year)),
    ("getMonth", Method::Date(DatePart::Month)),
    ("getUTCMonth", Method::Date(DatePart::Month)),
    ("getDate", Method::Date(DatePart::Day)),
    ("getUTCDate", Method::Date(DatePart::Day)),
    ("getDay", Method::Date(DatePart::WeekDay)),
    ("getUTCDay", Method::Date(DatePart::WeekDay)),
    ("getHours", Method::Date(DatePart::Hours)),
    ("getUTCHours", Method::Date(DatePart::Hours)),
    ("getMinutes", Method::Date(DatePart::Minutes)),
    ("getUTCMinutes", Method::Date(DatePart::Minutes)),
    ("getSeconds", Method::Date(DatePart::Seconds)),
    ("getUTCSeconds", Method::Date(DatePart::Seconds)),
    ("getMilliseconds", Method::Date(DatePart::Milliseconds)),
    ("getUTCMilliseconds", Method::Date(DatePart::Milliseconds)),
    ("getTimezoneOffset", Method::Date(DatePart::Zone)),
];

impl Method {
    /// The method of that name.
    pub(super) fn named(name: &str) -> Option<Method> {
        with_name(&METHODS, name)
    }
}
