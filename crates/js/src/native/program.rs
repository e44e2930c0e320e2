//! A compiled function: statements and expressions with every name resolved to a slot.

use super::known::{Function, Iteration, Method};
use super::pattern::Pattern;

/// A compiled function.
#[derive(Debug)]
pub(super) struct Program {
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
