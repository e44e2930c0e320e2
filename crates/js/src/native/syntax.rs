//! From a function's text to its program: functions and statements. `None` is always the answer to
//! syntax that is not compiled.

use super::calls::is_global;
use super::program::{Block, Expression, Program, Slot, Statement};
use super::scopes::{Kind, Scopes, hoisted};
use oxc_allocator::Allocator;
use oxc_ast::ast;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;

/// Longer functions are not compiled: parsing takes stack for every bracket that is open.
const MAX_SOURCE: usize = 8 << 10;
/// Bytes of stack for parsing; some 1,000 for each byte of source were seen to be needed at most.
const STACK: usize = 32 << 20;
/// Deeper nesting of statements and expressions is not compiled.
const MAX_DEPTH: usize = 64;

/// Compiles the text of a function.
pub(super) fn compile(source: &str) -> Option<Program> {
    if source.len() > MAX_SOURCE {
        return None;
    }
    let script = crate::sandbox::as_script(source);
    let parser = std::thread::Builder::new().stack_size(STACK);
    let program = parser.spawn(move || translate(&script)).ok()?;
    program.join().ok()?
}

fn translate(script: &str) -> Option<Program> {
    let memory = Allocator::default();
    let options = ParseOptions {
        preserve_parens: false,
        ..ParseOptions::default()
    };
    let parser = Parser::new(&memory, script, SourceType::script());
    let parsed = parser.with_options(options).parse();
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        return None;
    }
    let mut translator = Translator::default();
    let body = translator.function(function_of(&parsed.program)?)?;
    Some(Program {
        body,
        slots: translator.scopes.slots(),
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

/// What a `break` or `continue` at this place would leave.
#[derive(Clone, Copy, Debug, Default)]
struct Leaves {
    breaks: bool,
    continues: bool,
}

/// Translates one function and those inside it.
#[derive(Debug, Default)]
pub(super) struct Translator {
    pub(super) scopes: Scopes,
    depth: usize,
    leaves: Leaves,
}

impl Translator {
    /// Goes one level deeper.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
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
                None => self.scopes.declare_new(name, Kind::Var),
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
            Body::Statements(body) => {
                if !body.directives.is_empty() {
                    return None;
                }
                for name in hoisted(&body.statements) {
                    self.scopes.declare(name, Kind::Var)?;
                }
                let fresh = self.declare_lexical(&body.statements)?;
                let body = self.statements(&body.statements)?;
                [Statement::Scope { fresh, body }].into()
            }
        };
        self.leaves = outer;
        self.scopes.leave();
        Some(block)
    }

    fn statements(&mut self, statements: &[ast::Statement<'_>]) -> Option<Block> {
        let mut block = Vec::new();
        for statement in statements {
            self.nested(|inner| inner.statement(statement, &mut block))?;
        }
        Some(block.into())
    }

    /// One statement as a block with a scope of its own.
    fn block(&mut self, statement: &ast::Statement<'_>) -> Option<Block> {
        let mut block = Vec::new();
        self.nested(|inner| inner.statement(statement, &mut block))?;
        Some(block.into())
    }

    fn statement(
        &mut self,
        statement: &ast::Statement<'_>,
        block: &mut Vec<Statement>,
    ) -> Option<()> {
        use ast::Statement as Syntax;
        block.push(match statement {
            Syntax::EmptyStatement(_) => return Some(()),
            Syntax::VariableDeclaration(declaration) => {
                return self.declaration(declaration, block);
            }
            Syntax::ExpressionStatement(statement) => {
                Statement::Evaluate(self.expression(&statement.expression)?)
            }
            Syntax::IfStatement(statement) => Statement::If {
                test: self.expression(&statement.test)?,
                then: self.block(&statement.consequent)?,
                otherwise: match &statement.alternate {
                    Some(alternate) => self.block(alternate)?,
                    None => Block::default(),
                },
            },
            Syntax::BlockStatement(inner) => self.scope(&inner.body)?,
            Syntax::ForStatement(statement) => self.for_statement(statement)?,
            Syntax::WhileStatement(statement) => Statement::For {
                start: Block::default(),
                test: Some(self.expression(&statement.test)?),
                step: None,
                body: self.loop_body(&statement.body)?,
            },
            Syntax::ForInStatement(statement) => {
                let object = self.expression(&statement.right)?;
                self.scopes.enter();
                let name = self.loop_variable(&statement.left)?;
                let body = self.loop_body(&statement.body)?;
                self.scopes.leave();
                Statement::ForIn { name, object, body }
            }
            Syntax::ForOfStatement(statement) if !statement.r#await => {
                let array = self.expression(&statement.right)?;
                self.scopes.enter();
                let item = self.loop_variable(&statement.left)?;
                let body = self.loop_body(&statement.body)?;
                self.scopes.leave();
                Statement::ForOf { item, array, body }
            }
            Syntax::SwitchStatement(statement) => self.switch(statement)?,
            Syntax::ReturnStatement(statement) => Statement::Return(match &statement.argument {
                Some(value) => Some(self.expression(value)?),
                None => None,
            }),
            Syntax::BreakStatement(statement)
                if statement.label.is_none() && self.leaves.breaks =>
            {
                Statement::Break
            }
            Syntax::ContinueStatement(statement)
                if statement.label.is_none() && self.leaves.continues =>
            {
                Statement::Continue
            }
            _ => return None,
        });
        Some(())
    }

    fn declaration(
        &mut self,
        declaration: &ast::VariableDeclaration<'_>,
        block: &mut Vec<Statement>,
    ) -> Option<()> {
        let is_var = declaration.kind == ast::VariableDeclarationKind::Var;
        for declarator in &declaration.declarations {
            let slot = self.scopes.slot(name_of(&declarator.id)?)?;
            let value = match &declarator.init {
                Some(value) => self.expression(value)?,
                // What it is already.
                None if is_var => continue,
                None => Expression::UNDEFINED,
            };
            block.push(Statement::Evaluate(Expression::Assign(slot, value.into())));
        }
        Some(())
    }

    /// Declares what `let` and `const` among the statements name.
    fn declare_lexical(&mut self, statements: &[ast::Statement<'_>]) -> Option<Box<[Slot]>> {
        let mut fresh = Vec::new();
        for statement in statements {
            if let ast::Statement::VariableDeclaration(declaration) = statement {
                self.declare_names(declaration, &mut fresh)?;
            }
        }
        Some(fresh.into())
    }

    fn declare_names(
        &mut self,
        declaration: &ast::VariableDeclaration<'_>,
        fresh: &mut Vec<Slot>,
    ) -> Option<()> {
        let kind = match declaration.kind {
            ast::VariableDeclarationKind::Var => return Some(()),
            ast::VariableDeclarationKind::Let => Kind::Let,
            ast::VariableDeclarationKind::Const => Kind::Const,
            _ => return None,
        };
        for declarator in &declaration.declarations {
            fresh.push(self.scopes.declare_new(name_of(&declarator.id)?, kind)?);
        }
        Some(())
    }

    fn scope(&mut self, statements: &[ast::Statement<'_>]) -> Option<Statement> {
        self.scopes.enter();
        let fresh = self.declare_lexical(statements)?;
        let body = self.statements(statements)?;
        self.scopes.leave();
        Some(Statement::Scope { fresh, body })
    }

    fn for_statement(&mut self, statement: &ast::ForStatement<'_>) -> Option<Statement> {
        self.scopes.enter();
        let (mut fresh, mut start) = (Vec::new(), Vec::new());
        match &statement.init {
            None => {}
            Some(ast::ForStatementInit::VariableDeclaration(declaration)) => {
                self.declare_names(declaration, &mut fresh)?;
                self.declaration(declaration, &mut start)?;
            }
            Some(init) => {
                start.push(Statement::Evaluate(self.expression(init.as_expression()?)?));
            }
        }
        let test = match &statement.test {
            Some(test) => Some(self.expression(test)?),
            None => None,
        };
        let step = match &statement.update {
            Some(step) => Some(self.expression(step)?),
            None => None,
        };
        let body = self.loop_body(&statement.body)?;
        self.scopes.leave();
        let start = start.into();
        Some(Statement::Scope {
            fresh: fresh.into(),
            body: [Statement::For {
                start,
                test,
                step,
                body,
            }]
            .into(),
        })
    }

    fn loop_body(&mut self, body: &ast::Statement<'_>) -> Option<Block> {
        let inside = Leaves {
            breaks: true,
            continues: true,
        };
        let outer = std::mem::replace(&mut self.leaves, inside);
        let body = self.block(body)?;
        self.leaves = outer;
        Some(body)
    }

    /// The variable of `for (… in …)` and `for (… of …)`.
    fn loop_variable(&mut self, left: &ast::ForStatementLeft<'_>) -> Option<Slot> {
        match left {
            ast::ForStatementLeft::VariableDeclaration(declaration) => {
                let [declarator] = &declaration.declarations[..] else {
                    return None;
                };
                if declarator.init.is_some() {
                    return None;
                }
                self.declare_names(declaration, &mut Vec::new())?;
                self.scopes.slot(name_of(&declarator.id)?)
            }
            ast::ForStatementLeft::AssignmentTargetIdentifier(name) => {
                self.scopes.assignable(&name.name)
            }
            _ => None,
        }
    }

    fn switch(&mut self, statement: &ast::SwitchStatement<'_>) -> Option<Statement> {
        let value = self.expression(&statement.discriminant)?;
        let outer = self.leaves;
        self.leaves.breaks = true;
        self.scopes.enter();
        let (mut cases, mut body, mut otherwise) = (Vec::new(), Vec::new(), None);
        let mut fresh = Vec::new();
        for case in &statement.cases {
            fresh.extend(self.declare_lexical(&case.consequent)?);
        }
        for case in &statement.cases {
            match &case.test {
                Some(test) => cases.push((self.expression(test)?, body.len())),
                None => otherwise = Some(body.len()),
            }
            body.extend(self.statements(&case.consequent)?);
        }
        self.scopes.leave();
        self.leaves = outer;
        let switch = Statement::Switch {
            value,
            cases: cases.into(),
            otherwise: otherwise.unwrap_or(body.len()),
            body: body.into(),
        };
        Some(Statement::Scope {
            fresh: fresh.into(),
            body: [switch].into(),
        })
    }
}

/// The body of a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body<'p, 'a> {
    Statements(&'p ast::FunctionBody<'a>),
    /// Of an arrow function.
    Value(&'p ast::Expression<'a>),
}

/// The parts of a function of either form.
pub(super) fn parts<'p, 'a>(
    function: &'p ast::Expression<'a>,
) -> Option<(&'p ast::FormalParameters<'a>, Body<'p, 'a>)> {
    match function {
        ast::Expression::FunctionExpression(function) => {
            if function.generator || function.r#async {
                return None;
            }
            let body = function.body.as_deref()?;
            Some((&function.params, Body::Statements(body)))
        }
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
fn name_of<'p>(pattern: &'p ast::BindingPattern<'_>) -> Option<&'p str> {
    match pattern {
        ast::BindingPattern::BindingIdentifier(name) => Some(&name.name),
        _ => None,
    }
}
