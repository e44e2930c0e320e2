//! From a function's text to its program: functions. `None` is always the answer to
//! syntax that is not compiled.

use super::calls::is_global;
use super::program::{Block, FunctionId, Inner, Program, Slot, Statement};
use super::scopes::{DeclarationKind, Scopes, hoisted};
use oxc_allocator::Allocator;
use oxc_ast::ast;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;
use std::collections::HashMap;

/// Longer functions are not compiled: parsing takes stack for every bracket that is open.
const MAX_SOURCE: usize = 8 << 10;
/// Bytes of stack for parsing; some 1,000 for each byte of source were seen to be needed at most.
const STACK: usize = 32 << 20;
/// Deeper nesting of statements and expressions is not compiled.
const MAX_DEPTH: usize = 64;

/// Compiles the text of a function.
pub(super) fn compile(source: &str) -> Option<Program> {
    with_function(source, translate)
}

/// Parses the text of a function and looks at its syntax, on a stack that is large enough for both.
pub(super) fn with_function<T: Send + 'static>(
    source: &str,
    look: fn(&ast::Expression<'_>) -> Option<T>,
) -> Option<T> {
    if source.len() > MAX_SOURCE {
        return None;
    }
    let script = crate::sandbox::as_script(source);
    let parser = std::thread::Builder::new().stack_size(STACK);
    let looking = parser.spawn(move || {
        let memory = Allocator::default();
        let options = ParseOptions {
            preserve_parens: false,
            ..ParseOptions::default()
        };
        let parser = Parser::new(&memory, &script, SourceType::script());
        let parsed = parser.with_options(options).parse();
        if parsed.panicked || !parsed.diagnostics.is_empty() {
            return None;
        }
        look(function_of(&parsed.program)?)
    });
    looking.ok()?.join().ok()?
}

fn translate(function: &ast::Expression<'_>) -> Option<Program> {
    let mut translator = Translator::default();
    let body = translator.function(function)?;
    let functions: Option<Vec<Inner>> = translator.functions.into_iter().collect();
    Some(Program {
        body,
        slots: translator.scopes.slots(),
        undeclared: translator.scopes.undeclared(),
        functions: functions?.into(),
    })
}

/// The function that the script assigns; nothing may follow it.
fn function_of<'p, 'a>(script: &'p ast::Program<'a>) -> Option<&'p ast::Expression<'a>> {
    let (first, rest) = script.body.split_first()?;
    let is_empty = |statement| matches!(statement, &ast::Statement::EmptyStatement(_));
    let ast::Statement::ExpressionStatement(first) = first else {
        return None;
    };
    match &first.expression {
        ast::Expression::AssignmentExpression(assignment) if rest.iter().all(is_empty) => {
            Some(&assignment.right)
        }
        _ => None,
    }
}

/// Statements that a `break` or `continue` at this place would leave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leaves {
    pub(super) breaks: bool,
    pub(super) continues: bool,
}

/// Translates one function and those inside it.
#[derive(Debug, Default)]
pub(super) struct Translator {
    pub(super) scopes: Scopes,
    pub(super) depth: usize,
    /// The deepest that was seen of the function at hand.
    pub(super) deepest: usize,
    pub(super) leaves: Leaves,
    /// Functions inside; none for one that is declared and not translated yet.
    pub(super) functions: Vec<Option<Inner>>,
    /// Functions that variables are declared with, by where they begin.
    pub(super) written: HashMap<u32, FunctionId>,
    /// Whether the function at hand says `use strict`, so that it cannot assign to undeclared names.
    pub(super) is_strict: bool,
}

impl Translator {
    /// Goes one level deeper.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        let outcome = inner(self);
        self.depth -= 1;
        outcome
    }

    fn function(&mut self, function: &ast::Expression<'_>) -> Option<Block> {
        let (parameters, body) = parts(function)?;
        if own_name(function).is_some_and(is_global) {
            return None;
        }
        self.scopes.enter();
        if self.parameters(parameters)?.is_empty() {
            // The document's slot is there whether the function wants it or not.
            self.scopes.unnamed();
        }
        self.body(body)
    }

    /// Declares the parameters; they must be names.
    pub(super) fn parameters(
        &mut self,
        parameters: &ast::FormalParameters<'_>,
    ) -> Option<Box<[Slot]>> {
        if parameters.rest.is_some() {
            return None;
        }
        let named = parameters.items.iter().map(|parameter| {
            let name = name_of(&parameter.pattern)?;
            match parameter.initializer {
                Some(_) => None,
                None => self.scopes.declare_new(name, DeclarationKind::Var),
            }
        });
        named.collect()
    }

    /// The statements of a function whose parameters are declared; ends its scope.
    pub(super) fn body(&mut self, body: Body<'_, '_>) -> Option<Block> {
        let outer = std::mem::take(&mut self.leaves);
        let block = match body {
            Body::Value(value) => {
                let value = self.expression(value)?;
                [Statement::Return(Some(value))].into()
            }
            Body::Statements(body) => self.function_body(body)?,
        };
        self.leaves = outer;
        self.scopes.leave();
        Some(block)
    }
}

/// Whether a function says `use strict`; none for other directives.
fn strictness(body: &ast::FunctionBody<'_>) -> Option<bool> {
    let mut words = body
        .directives
        .iter()
        .map(|directive| &*directive.directive);
    let is_strict = !body.directives.is_empty();
    words.all(|word| word == "use strict").then_some(is_strict)
}

/// The body of a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body<'p, 'a> {
    Statements(&'p ast::FunctionBody<'a>),
    /// Of an arrow function.
    Value(&'p ast::Expression<'a>),
}

impl Translator {
    fn function_body(&mut self, body: &ast::FunctionBody<'_>) -> Option<Block> {
        let outer = self.is_strict;
        self.is_strict |= strictness(body)?;
        self.declare_functions(&body.statements)?;
        for name in hoisted(&body.statements) {
            if !self.scopes.has_function(name) {
                self.scopes.declare(name, DeclarationKind::Var)?;
            }
        }
        let fresh = self.declare_lexical(&body.statements)?;
        let mut block = self.function_declarations(&body.statements)?;
        let is_other = |statement: &&ast::Statement<'_>| {
            !matches!(statement, ast::Statement::FunctionDeclaration(_))
        };
        for statement in body.statements.iter().filter(is_other) {
            self.nested(|inner| inner.statement(statement, &mut block))?;
        }
        self.is_strict = outer;
        let body = block.into();
        Some([Statement::Scope { fresh, body }].into())
    }
}

/// The parts of a function of either form.
pub(super) fn parts<'p, 'a>(
    function: &'p ast::Expression<'a>,
) -> Option<(&'p ast::FormalParameters<'a>, Body<'p, 'a>)> {
    match function {
        ast::Expression::FunctionExpression(function) => parts_of(function),
        ast::Expression::ArrowFunctionExpression(function) if !function.r#async => {
            let body = match &function.body {
                ast::ArrowFunctionBody::FunctionBody(body) => Body::Statements(body),
                value => Body::Value(value.as_expression()?),
            };
            Some((&function.params, body))
        }
        _ => None,
    }
}

/// The parts of a function that is no arrow function.
pub(super) fn parts_of<'p, 'a>(
    function: &'p ast::Function<'a>,
) -> Option<(&'p ast::FormalParameters<'a>, Body<'p, 'a>)> {
    if function.generator || function.r#async {
        return None;
    }
    let body = function.body.as_deref()?;
    Some((&function.params, Body::Statements(body)))
}

/// The name by which a function could call itself.
pub(super) fn own_name<'p>(function: &'p ast::Expression<'_>) -> Option<&'p str> {
    match function {
        ast::Expression::FunctionExpression(function) => {
            function.id.as_ref().map(|name| name.name.as_str())
        }
        _ => None,
    }
}

/// The name in a declaration, if it is only a name.
pub(super) fn name_of<'p>(pattern: &'p ast::BindingPattern<'_>) -> Option<&'p str> {
    match pattern {
        ast::BindingPattern::BindingIdentifier(name) => Some(&name.name),
        _ => None,
    }
}
