//! From syntax to program: statements.

use super::program::{Block, Expression, Slot, Statement};
use super::scopes::DeclarationKind;
use super::syntax::{Leaves, Translator, name_of};
use oxc_ast::ast;

impl Translator {
    pub(super) fn statements(&mut self, statements: &[ast::Statement<'_>]) -> Option<Block> {
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

    pub(super) fn statement(
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
            Syntax::TryStatement(statement) => self.try_statement(statement)?,
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
            if let Some(function) = self.declared_function(declarator) {
                block.push(function?);
                continue;
            }
            let slot = self.scopes.slot(name_of(&declarator.id)?)?;
            let value = match &declarator.init {
                Some(value) => self.expression(value)?,
                // The slot is `undefined` already, or keeps its value.
                None if is_var => continue,
                None => Expression::UNDEFINED,
            };
            block.push(Statement::Evaluate(Expression::Assign(slot, value.into())));
        }
        Some(())
    }

    /// Declares the names of `let` and `const` among the statements.
    pub(super) fn declare_lexical(
        &mut self,
        statements: &[ast::Statement<'_>],
    ) -> Option<Box<[Slot]>> {
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
            ast::VariableDeclarationKind::Let => DeclarationKind::Let,
            ast::VariableDeclarationKind::Const => DeclarationKind::Const,
            _ => return None,
        };
        for declarator in &declaration.declarations {
            if self.scopes.has_function(name_of(&declarator.id)?) {
                continue;
            }
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
            ast::ForStatementLeft::AssignmentTargetIdentifier(name) => self.assignable(&name.name),
            _ => None,
        }
    }

    fn try_statement(&mut self, statement: &ast::TryStatement<'_>) -> Option<Statement> {
        let handler = statement.handler.as_ref()?;
        if statement.finalizer.is_some() {
            return None;
        }
        let body = [self.scope(&statement.block.body)?].into();
        self.scopes.enter();
        let thrown = match &handler.param {
            Some(parameter) => {
                let name = name_of(&parameter.pattern)?;
                Some(self.scopes.declare_new(name, DeclarationKind::Let)?)
            }
            None => None,
        };
        let handler = [self.scope(&handler.body.body)?].into();
        self.scopes.leave();
        Some(Statement::Try {
            body,
            thrown,
            handler,
        })
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
