//! From syntax to program: calls, all of functions that are known by their names.

use super::program::{Callback, Expression, Function, Method};
use super::syntax::{Translator, own_name, parts};
use oxc_ast::ast;

impl Translator {
    pub(super) fn call(&mut self, call: &ast::CallExpression<'_>) -> Option<Expression> {
        if call.optional {
            return None;
        }
        match &call.callee {
            ast::Expression::Identifier(name) if self.scopes.slot(&name.name).is_none() => {
                let function = global_function(&name.name)?;
                Some(Expression::Call(function, self.arguments(call)?))
            }
            ast::Expression::StaticMemberExpression(member) => self.method(member, call),
            _ => None,
        }
    }

    fn method(
        &mut self,
        member: &ast::StaticMemberExpression<'_>,
        call: &ast::CallExpression<'_>,
    ) -> Option<Expression> {
        let name = member.property.name.as_str();
        if let ast::Expression::Identifier(object) = &member.object
            && self.scopes.slot(&object.name).is_none()
        {
            let function = function_of(&object.name, name).filter(|_| !member.optional)?;
            return Some(Expression::Call(function, self.arguments(call)?));
        }
        let object = self.operand(&member.object)?;
        let is_optional = member.optional;
        if name == "forEach" {
            let callback = self.callback(call)?;
            return Some(Expression::ForEach {
                object,
                callback,
                is_optional,
            });
        }
        Some(Expression::Method {
            object,
            method: Method::named(name)?,
            arguments: self.arguments(call)?,
            is_optional,
        })
    }

    fn arguments(&mut self, call: &ast::CallExpression<'_>) -> Option<Box<[Expression]>> {
        let arguments = call.arguments.iter();
        arguments
            .map(|argument| self.expression(argument.as_expression()?))
            .collect()
    }

    /// The only argument, a function that stands there with at most an item and its position as
    /// parameters.
    fn callback(&mut self, call: &ast::CallExpression<'_>) -> Option<Callback> {
        let [argument] = &call.arguments[..] else {
            return None;
        };
        let function = argument.as_expression()?;
        let (parameters, body) = parts(function)?;
        if parameters.items.len() > 2 || own_name(function).is_some() {
            return None;
        }
        self.scopes.enter();
        let parameters = self.parameters(parameters)?;
        let first = self.scopes.slots();
        let body = self.nested(|inner| inner.body(body))?;
        Some(Callback {
            parameters,
            variables: first..self.scopes.slots(),
            body,
        })
    }
}

/// Whether the name means something that programs know without declaring it.
pub(super) fn is_global(name: &str) -> bool {
    let others = ["Array", "Object", "Math", "undefined", "NaN", "Infinity"];
    global_function(name).is_some() || others.contains(&name)
}

fn global_function(name: &str) -> Option<Function> {
    Some(match name {
        "emit" => Function::Emit,
        "isArray" => Function::IsArray,
        "String" => Function::String,
        "Number" => Function::Number,
        "Boolean" => Function::Boolean,
        _ => return None,
    })
}

fn function_of(object: &str, name: &str) -> Option<Function> {
    Some(match (object, name) {
        ("Array", "isArray") => Function::IsArray,
        ("Object", "keys") => Function::Keys,
        ("Math", "floor") => Function::Floor,
        ("Math", "ceil") => Function::Ceil,
        ("Math", "round") => Function::Round,
        ("Math", "abs") => Function::Abs,
        ("Math", "trunc") => Function::Trunc,
        _ => return None,
    })
}
