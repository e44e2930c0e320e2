//! From syntax to program: functions inside a function.

use super::program::{Constant, Expression, FunctionId, Inner, Statement};
use super::scopes::DeclarationKind;
use super::syntax::{Body, Translator, name_of, own_name, parts, parts_of};
use oxc_ast::ast;
use oxc_span::GetSpan;

impl Translator {
    /// A function that is an expression.
    pub(super) fn written_function(
        &mut self,
        function: &ast::Expression<'_>,
    ) -> Option<FunctionId> {
        let id = self.reserve();
        self.inner(id, own_name(function), parts(function)?)?;
        Some(id)
    }

    fn reserve(&mut self) -> FunctionId {
        self.functions.push(None);
        self.functions.len() - 1
    }

    fn inner(
        &mut self,
        id: FunctionId,
        own_name: Option<&str>,
        (parameters, body): (&ast::FormalParameters<'_>, Body<'_, '_>),
    ) -> Option<()> {
        let outer = std::mem::replace(&mut self.deepest, self.depth);
        self.scopes.enter_function();
        self.scopes.enter();
        if let Some(name) = own_name {
            self.scopes.declare_new(name, DeclarationKind::Own(id))?;
        }
        self.scopes.enter();
        let parameters = self.parameters(parameters)?;
        let body = self.nested(|inner| inner.body(body))?;
        self.scopes.leave();
        let variables = self.scopes.leave_function();
        let depth = self.deepest - self.depth;
        self.deepest = outer.max(self.deepest);
        self.functions[id] = Some(Inner {
            parameters,
            variables,
            body,
            depth,
        });
        Some(())
    }

    /// Declares the functions among a function's own statements, those that variables are declared with included.
    pub(super) fn declare_functions(&mut self, statements: &[ast::Statement<'_>]) -> Option<()> {
        for statement in statements {
            match statement {
                ast::Statement::FunctionDeclaration(function) => {
                    let name = function.id.as_ref()?.name.as_str();
                    let id = self.reserve();
                    self.scopes.declare(name, DeclarationKind::Function(id))?;
                }
                ast::Statement::VariableDeclaration(declaration) => {
                    for declarator in &declaration.declarations {
                        let value = declarator.init.as_ref();
                        if let Some(function) = value.filter(|value| is_function(value)) {
                            let id = self.reserve();
                            self.scopes
                                .declare(name_of(&declarator.id)?, DeclarationKind::Function(id))?;
                            self.written.insert(function.span().start, id);
                        }
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Translates the functions that are declared by statements; they are there from the beginning.
    pub(super) fn function_declarations(
        &mut self,
        statements: &[ast::Statement<'_>],
    ) -> Option<Vec<Statement>> {
        let mut block = Vec::new();
        for statement in statements {
            if let ast::Statement::FunctionDeclaration(function) = statement {
                let name = function.id.as_ref()?.name.as_str();
                let (slot, id) = self.scopes.function(name)?;
                self.inner(id, None, parts_of(function)?)?;
                block.push(holds(slot?, id));
            }
        }
        Some(block)
    }

    /// The function that a variable is declared with, unless the declarator is one of another kind.
    pub(super) fn declared_function(
        &mut self,
        declarator: &ast::VariableDeclarator<'_>,
    ) -> Option<Option<Statement>> {
        let value = declarator.init.as_ref()?;
        let id = *self.written.get(&value.span().start)?;
        Some(self.translate_declared(declarator, value, id))
    }

    fn translate_declared(
        &mut self,
        declarator: &ast::VariableDeclarator<'_>,
        function: &ast::Expression<'_>,
        id: FunctionId,
    ) -> Option<Statement> {
        let (slot, _) = self.scopes.function(name_of(&declarator.id)?)?;
        self.inner(id, own_name(function), parts(function)?)?;
        Some(holds(slot?, id))
    }
}

/// Puts a function into its variable.
fn holds(slot: usize, id: FunctionId) -> Statement {
    let function = Expression::Constant(Constant::Function(id));
    Statement::Evaluate(Expression::Assign(slot, function.into()))
}

/// Whether an expression is a function.
pub(super) fn is_function(value: &ast::Expression<'_>) -> bool {
    matches!(
        value,
        ast::Expression::FunctionExpression(_) | ast::Expression::ArrowFunctionExpression(_)
    )
}
