//! Which variable a name means.

use super::program::{FunctionId, Slot};
use oxc_ast::ast::{self, Statement};

/// How a variable was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeclarationKind {
    /// By `var`, or as a parameter.
    Var,
    Let,
    Const,
    /// As a function, which is only called.
    Function(FunctionId),
    /// As the name by which a function calls itself.
    Own(FunctionId),
}

#[derive(Debug)]
struct Variable {
    name: String,
    slot: Slot,
    kind: DeclarationKind,
}

/// The scopes around a place in the function. Every variable has a slot of its own, also those of functions inside.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    open: Vec<Vec<Variable>>,
    /// Names that are assigned to without being declared.
    undeclared: Vec<Variable>,
    slots: usize,
    /// For each function around the place, its slots.
    owned: Vec<Vec<Slot>>,
}

impl Scopes {
    pub(super) fn enter(&mut self) {
        self.open.push(Vec::new());
    }

    pub(super) fn leave(&mut self) {
        self.open.pop();
    }

    pub(super) fn enter_function(&mut self) {
        self.owned.push(Vec::new());
    }

    /// The slots of the function that ends.
    pub(super) fn leave_function(&mut self) -> Box<[Slot]> {
        self.owned.pop().unwrap_or_default().into()
    }

    /// How many slots there are.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// The slots of names that are not declared.
    pub(super) fn undeclared(&self) -> Box<[Slot]> {
        let slots = self.undeclared.iter().map(|variable| variable.slot);
        slots.collect()
    }

    fn next_slot(&mut self) -> Slot {
        self.slots += 1;
        self.slots - 1
    }

    /// A slot that no name reaches.
    pub(super) fn unnamed(&mut self) -> Slot {
        let slot = self.next_slot();
        if let Some(owned) = self.owned.last_mut() {
            owned.push(slot);
        }
        slot
    }

    /// Declares a variable of the innermost scope; `var` may declare one twice.
    pub(super) fn declare(&mut self, name: &str, kind: DeclarationKind) -> Option<Slot> {
        let scope = self.open.last()?;
        match scope.iter().find(|variable| variable.name == name) {
            Some(known) if known.kind == DeclarationKind::Var && kind == DeclarationKind::Var => {
                Some(known.slot)
            }
            Some(_) => None,
            None => self.declare_new(name, kind),
        }
    }

    /// Declares a variable of the innermost scope; the name must be new there.
    pub(super) fn declare_new(&mut self, name: &str, kind: DeclarationKind) -> Option<Slot> {
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
        let inside_out = self.open.iter().rev().flatten();
        let mut all = inside_out.chain(&self.undeclared);
        all.find(|variable| variable.name == name)
    }

    /// Whether the name means a variable.
    pub(super) fn is_declared(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Whether the innermost scope has a function of that name.
    pub(super) fn has_function(&self, name: &str) -> bool {
        let scope = self.open.last().map_or(&[][..], |scope| &scope[..]);
        scope.iter().any(|variable| {
            variable.name == name && matches!(variable.kind, DeclarationKind::Function(_))
        })
    }

    /// The variable of that name; none for functions.
    pub(super) fn slot(&self, name: &str) -> Option<Slot> {
        let found = self.find(name)?;
        match found.kind {
            DeclarationKind::Function(_) | DeclarationKind::Own(_) => None,
            DeclarationKind::Var | DeclarationKind::Let | DeclarationKind::Const => {
                Some(found.slot)
            }
        }
    }

    /// The function of that name, with the variable that holds it unless it runs for sure.
    pub(super) fn function(&self, name: &str) -> Option<(Option<Slot>, FunctionId)> {
        let found = self.find(name)?;
        match found.kind {
            DeclarationKind::Function(id) => Some((Some(found.slot), id)),
            DeclarationKind::Own(id) => Some((None, id)),
            DeclarationKind::Var | DeclarationKind::Let | DeclarationKind::Const => None,
        }
    }

    /// The variable of that name, if it may be assigned to. With `declares`, a name that is not declared becomes a
    /// global variable.
    pub(super) fn assignable(&mut self, name: &str, declares: bool) -> Option<Slot> {
        match self.find(name) {
            Some(found) => matches!(found.kind, DeclarationKind::Var | DeclarationKind::Let)
                .then_some(found.slot),
            None if declares => {
                // No function's slot: it is kept over calls.
                let slot = self.next_slot();
                let name = name.to_owned();
                let kind = DeclarationKind::Var;
                self.undeclared.push(Variable { name, slot, kind });
                Some(slot)
            }
            None => None,
        }
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
            Statement::TryStatement(statement) => {
                waiting.extend(&statement.block.body);
                let handler = statement.handler.iter();
                waiting.extend(handler.flat_map(|handler| &handler.body.body));
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
