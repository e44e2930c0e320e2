//! Which variable a name means.

use super::program::Slot;
use oxc_ast::ast::{self, Statement};

/// How a variable was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// By `var`, or as a parameter.
    Var,
    Let,
    Const,
}

#[derive(Debug)]
struct Variable {
    name: String,
    slot: Slot,
    kind: Kind,
}

/// The scopes around a place in the function. Every variable has a slot of its own, also those of
/// functions inside: these are called where they are written and never call themselves.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    open: Vec<Vec<Variable>>,
    slots: usize,
}

impl Scopes {
    pub(super) fn enter(&mut self) {
        self.open.push(Vec::new());
    }

    pub(super) fn leave(&mut self) {
        self.open.pop();
    }

    /// How many slots there are.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// A slot that no name reaches.
    pub(super) fn unnamed(&mut self) -> Slot {
        self.slots += 1;
        self.slots - 1
    }

    /// Declares a variable of the innermost scope; `var` may declare one twice.
    pub(super) fn declare(&mut self, name: &str, kind: Kind) -> Option<Slot> {
        let scope = self.open.last()?;
        match scope.iter().find(|variable| variable.name == name) {
            Some(known) if known.kind == Kind::Var && kind == Kind::Var => Some(known.slot),
            Some(_) => None,
            None => self.declare_new(name, kind),
        }
    }

    /// Declares a variable of the innermost scope; the name must be new there.
    pub(super) fn declare_new(&mut self, name: &str, kind: Kind) -> Option<Slot> {
        let slot = self.unnamed();
        let scope = self.open.last_mut()?;
        if scope.iter().any(|variable| variable.name == name) {
            return None;
        }
        let name = name.to_owned();
        scope.push(Variable { name, slot, kind });
        Some(slot)
    }

    fn find(&self, name: &str) -> Option<&Variable> {
        let mut inside_out = self.open.iter().rev().flatten();
        inside_out.find(|variable| variable.name == name)
    }

    /// The variable of that name.
    pub(super) fn slot(&self, name: &str) -> Option<Slot> {
        self.find(name).map(|variable| variable.slot)
    }

    /// The variable of that name, if it may be assigned to.
    pub(super) fn assignable(&self, name: &str) -> Option<Slot> {
        let found = self.find(name)?;
        (found.kind != Kind::Const).then_some(found.slot)
    }
}

/// The names that `var` declares for the function, wherever in it they stand.
pub(super) fn hoisted<'p>(statements: &'p [Statement<'_>]) -> Vec<&'p str> {
    let mut names = Vec::new();
    let mut waiting: Vec<&Statement<'_>> = statements.iter().collect();
    while let Some(statement) = waiting.pop() {
        match statement {
            Statement::VariableDeclaration(declaration) => push(declaration, &mut names),
            Statement::BlockStatement(block) => waiting.extend(&block.body),
            Statement::IfStatement(statement) => {
                waiting.push(&statement.consequent);
                waiting.extend(&statement.alternate);
            }
            Statement::ForStatement(statement) => {
                if let Some(ast::ForStatementInit::VariableDeclaration(init)) = &statement.init {
                    push(init, &mut names);
                }
                waiting.push(&statement.body);
            }
            Statement::ForInStatement(statement) => {
                push_left(&statement.left, &mut names);
                waiting.push(&statement.body);
            }
            Statement::ForOfStatement(statement) => {
                push_left(&statement.left, &mut names);
                waiting.push(&statement.body);
            }
            Statement::WhileStatement(statement) => waiting.push(&statement.body),
            Statement::SwitchStatement(statement) => {
                waiting.extend(statement.cases.iter().flat_map(|case| &case.consequent));
            }
            // Everything else holds no statements, or is not compiled.
            _ => {}
        }
    }
    names
}

fn push<'p>(declaration: &'p ast::VariableDeclaration<'_>, names: &mut Vec<&'p str>) {
    if declaration.kind == ast::VariableDeclarationKind::Var {
        let declared = declaration.declarations.iter();
        names.extend(declared.filter_map(|declarator| match &declarator.id {
            ast::BindingPattern::BindingIdentifier(name) => Some(name.name.as_str()),
            _ => None,
        }));
    }
}

fn push_left<'p>(left: &'p ast::ForStatementLeft<'_>, names: &mut Vec<&'p str>) {
    if let ast::ForStatementLeft::VariableDeclaration(declaration) = left {
        push(declaration, names);
    }
}
