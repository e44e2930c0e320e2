//! From syntax to program: calls of functions that are known by their names, and of methods.

use super::functions::is_function;
use super::known::{Function, Iteration, Math, Method};
use super::program::{Callback, Class, Expression, Operand, Slot};
use super::syntax::Translator;
use oxc_ast::ast;

impl Translator {
    pub(super) fn call(&mut self, call: &ast::CallExpression<'_>) -> Option<Expression> {
        if call.optional {
            return None;
        }
        match &call.callee {
            ast::Expression::Identifier(name) => {
                if let Some((name, function)) = self.scopes.function(&name.name) {
                    return Some(Expression::Invoke {
                        name,
                        function,
                        arguments: self.arguments(&call.arguments)?,
                    });
                }
                let function = self.known(&name.name)?;
                self.known_call(function, &call.arguments)
            }
            ast::Expression::StaticMemberExpression(member) => self.method(member, call),
            function if is_function(function) => {
                let function = self.written_function(function)?;
                Some(Expression::Invoke {
                    name: None,
                    function,
                    arguments: self.arguments(&call.arguments)?,
                })
            }
            _ => None,
        }
    }

    /// `new Date(…)`, and empty arrays and objects.
    pub(super) fn new_object(&mut self, new: &ast::NewExpression<'_>) -> Option<Expression> {
        let ast::Expression::Identifier(class) = &new.callee else {
            return None;
        };
        if self.scopes.is_declared(&class.name) {
            return None;
        }
        match (&*class.name, new.arguments.is_empty()) {
            // Without arguments, it is now.
            ("Date", false) => self.known_call(Function::NewDate, &new.arguments),
            ("Array", true) => Some(Expression::Array(Box::default())),
            ("Object", true) => Some(Expression::Object(Box::default())),
            _ => None,
        }
    }

    /// The function that a name means without being declared.
    fn known(&self, name: &str) -> Option<Function> {
        match self.scopes.is_declared(name) {
            true => None,
            false => global_function(name),
        }
    }

    fn known_call(
        &mut self,
        function: Function,
        arguments: &[ast::Argument<'_>],
    ) -> Option<Expression> {
        let arguments = self.arguments(arguments)?;
        let is_json = matches!(function, Function::Stringify | Function::ToJson);
        (!is_json || arguments.len() == 1).then_some(Expression::Call(function, arguments))
    }

    fn method(
        &mut self,
        member: &ast::StaticMemberExpression<'_>,
        call: &ast::CallExpression<'_>,
    ) -> Option<Expression> {
        let name = member.property.name.as_str();
        if let ast::Expression::Identifier(object) = &member.object
            && !self.scopes.is_declared(&object.name)
        {
            let function = function_of(&object.name, name).filter(|_| !member.optional)?;
            return self.known_call(function, &call.arguments);
        }
        let object = self.operand(&member.object)?;
        let is_optional = member.optional;
        if let Some(method) = Iteration::named(name)
            && let Some((callback, argument)) = self.callback(method, &call.arguments)
        {
            return Some(Expression::Iterate {
                object,
                method,
                callback,
                argument,
                is_optional,
            });
        }
        Some(Expression::Method {
            object,
            method: Method::named(name)?,
            name: name.into(),
            arguments: self.arguments(&call.arguments)?,
            is_optional,
        })
    }

    fn arguments(&mut self, arguments: &[ast::Argument<'_>]) -> Option<Box<[Expression]>> {
        let arguments = arguments.iter();
        arguments
            .map(|argument| self.expression(argument.as_expression()?))
            .collect()
    }

    /// The function among a method's arguments, and the other one.
    fn callback(
        &mut self,
        method: Iteration,
        arguments: &[ast::Argument<'_>],
    ) -> Option<(Callback, Option<Operand>)> {
        let (function, other) = match (method, arguments) {
            (Iteration::Replace, [pattern, function]) => (function, Some(pattern)),
            (Iteration::Replace, _) => return None,
            (Iteration::Reduce, [function, first]) => (function, Some(first)),
            (_, [function]) => (function, None),
            _ => return None,
        };
        let callback = match function.as_expression()? {
            ast::Expression::Identifier(name) => match self.scopes.function(&name.name) {
                Some((Some(slot), function)) => Callback::Named(slot, function),
                Some((None, function)) => Callback::Written(function),
                None => Callback::Known(self.known(&name.name)?),
            },
            function if is_function(function) => {
                Callback::Written(self.written_function(function)?)
            }
            _ => return None,
        };
        match other {
            Some(other) => Some((callback, Some(self.operand(other.as_expression()?)?))),
            None => Some((callback, None)),
        }
    }

    /// Whether a value is of a class.
    pub(super) fn instance_of(&mut self, binary: &ast::BinaryExpression<'_>) -> Option<Expression> {
        let ast::Expression::Identifier(class) = &binary.right else {
            return None;
        };
        let class = match &*class.name {
            _ if self.scopes.is_declared(&class.name) => return None,
            "Array" => Class::Array,
            "Object" => Class::Object,
            "Date" => Class::Date,
            _ => return None,
        };
        Some(Expression::IsInstance(self.operand(&binary.left)?, class))
    }

    /// The variable of that name, if it may be assigned to. Names that are not declared become global variables, unless
    /// they are global already: most of those cannot be assigned to.
    pub(super) fn assignable(&mut self, name: &str) -> Option<Slot> {
        let is_free = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
            && !name.starts_with("__")
            && !is_global(name)
            && !OTHER_GLOBALS.contains(&name);
        self.scopes.assignable(name, is_free && !self.is_strict)
    }
}

/// Global names in small letters besides those that are compiled.
const OTHER_GLOBALS: [&str; 22] = [
    "arguments",
    "console",
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "escape",
    "eval",
    "gc",
    "getRow",
    "globalThis",
    "let",
    "navigator",
    "performance",
    "print",
    "provides",
    "queueMicrotask",
    "registerType",
    "require",
    "send",
    "start",
    "unescape",
];

/// Whether the name means something that programs know without declaring it.
pub(super) fn is_global(name: &str) -> bool {
    const OBJECTS: [&str; 8] = [
        "Array",
        "Date",
        "JSON",
        "Object",
        "Math",
        "undefined",
        "NaN",
        "Infinity",
    ];
    global_function(name).is_some() || OBJECTS.contains(&name)
}

fn global_function(name: &str) -> Option<Function> {
    Some(match name {
        "emit" => Function::Emit,
        "log" => Function::Log,
        "sum" => Function::Sum,
        "toJSON" => Function::ToJson,
        "isArray" => Function::IsArray,
        "String" => Function::String,
        "Number" => Function::Number,
        "Boolean" => Function::Boolean,
        "parseInt" => Function::ParseInt,
        "parseFloat" => Function::ParseFloat,
        "isNaN" => Function::IsNan,
        "isFinite" => Function::IsFinite,
        _ => return None,
    })
}

fn function_of(object: &str, name: &str) -> Option<Function> {
    Some(match (object, name) {
        ("Array", "isArray") => Function::IsArray,
        ("Object", "keys") => Function::Keys,
        ("Object", "values") => Function::Values,
        ("Object", "entries") => Function::Entries,
        ("JSON", "stringify") => Function::Stringify,
        ("Date", "parse") => Function::DateParse,
        ("Date", "UTC") => Function::DateUtc,
        ("Math", "floor") => Function::Math(Math::Floor),
        ("Math", "ceil") => Function::Math(Math::Ceil),
        ("Math", "round") => Function::Math(Math::Round),
        ("Math", "abs") => Function::Math(Math::Abs),
        ("Math", "trunc") => Function::Math(Math::Trunc),
        ("Math", "sqrt") => Function::Math(Math::Sqrt),
        ("Math", "max") => Function::Math(Math::Max),
        ("Math", "min") => Function::Math(Math::Min),
        _ => return None,
    })
}
