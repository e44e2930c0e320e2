//! From syntax to program: expressions.

use super::pattern::Pattern;
use super::program::{Binary, Constant, Expression, Logical, Operand, Unary};
use super::syntax::Translator;
use oxc_ast::ast;

impl Expression {
    pub(super) const UNDEFINED: Expression = Expression::Constant(Constant::Undefined);

    fn number(number: f64) -> Expression {
        Expression::Constant(Constant::Number(number))
    }

    fn text(text: &str) -> Expression {
        Expression::Constant(Constant::Text(text.into()))
    }
}

impl Translator {
    pub(super) fn expression(&mut self, syntax: &ast::Expression<'_>) -> Option<Expression> {
        self.nested(|inner| inner.translate(syntax))
    }

    pub(super) fn operand(&mut self, syntax: &ast::Expression<'_>) -> Option<Operand> {
        self.expression(syntax).map(Box::new)
    }

    fn translate(&mut self, syntax: &ast::Expression<'_>) -> Option<Expression> {
        use ast::Expression as Syntax;
        Some(match syntax {
            Syntax::NullLiteral(_) => Expression::Constant(Constant::Null),
            Syntax::BooleanLiteral(word) => Expression::Constant(Constant::Bool(word.value)),
            Syntax::NumericLiteral(number) => Expression::number(number.value),
            Syntax::StringLiteral(text) if !text.lone_surrogates => Expression::text(&text.value),
            Syntax::TemplateLiteral(template) => self.template(template)?,
            Syntax::Identifier(name) => self.name(&name.name)?,
            Syntax::ArrayExpression(array) => {
                let items = array.elements.iter();
                let items = items.map(|item| self.expression(item.as_expression()?));
                Expression::Array(items.collect::<Option<_>>()?)
            }
            Syntax::ObjectExpression(object) => {
                let members = object.properties.iter();
                Expression::Object(
                    members
                        .map(|member| self.property(member))
                        .collect::<Option<_>>()?,
                )
            }
            Syntax::StaticMemberExpression(member) => self.member(member)?,
            Syntax::ComputedMemberExpression(member) => self.item(member)?,
            Syntax::ChainExpression(chain) => {
                let inner = match &chain.expression {
                    ast::ChainElement::StaticMemberExpression(member) => self.member(member)?,
                    ast::ChainElement::ComputedMemberExpression(member) => self.item(member)?,
                    ast::ChainElement::CallExpression(call) => self.call(call)?,
                    _ => return None,
                };
                Expression::Chain(inner.into())
            }
            Syntax::CallExpression(call) => self.call(call)?,
            Syntax::NewExpression(new) => self.new_object(new)?,
            Syntax::RegExpLiteral(literal) => {
                let flags = literal.regex.flags.to_string();
                let pattern = Pattern::new(&literal.regex.pattern.text, &flags)?;
                Expression::Pattern(pattern.into())
            }
            Syntax::SequenceExpression(sequence) => {
                let parts = sequence.expressions.iter();
                Expression::Sequence(
                    parts
                        .map(|part| self.expression(part))
                        .collect::<Option<_>>()?,
                )
            }
            Syntax::AssignmentExpression(assignment) => self.assignment(assignment)?,
            Syntax::UpdateExpression(update) => self.update(update)?,
            _ => self.operation(syntax)?,
        })
    }

    fn operation(&mut self, syntax: &ast::Expression<'_>) -> Option<Expression> {
        use ast::Expression as Syntax;
        Some(match syntax {
            Syntax::BinaryExpression(binary)
                if binary.operator == ast::BinaryOperator::Instanceof =>
            {
                self.instance_of(binary)?
            }
            Syntax::UnaryExpression(unary) => {
                let operator = unary_operator(unary.operator)?;
                Expression::Unary(operator, self.operand(&unary.argument)?)
            }
            Syntax::BinaryExpression(binary) => {
                let operator = binary_operator(binary.operator)?;
                let left = self.operand(&binary.left)?;
                Expression::Binary(operator, left, self.operand(&binary.right)?)
            }
            Syntax::LogicalExpression(logical) => {
                let operator = logical_operator(logical.operator);
                let left = self.operand(&logical.left)?;
                Expression::Logical(operator, left, self.operand(&logical.right)?)
            }
            Syntax::ConditionalExpression(conditional) => Expression::Conditional(
                self.operand(&conditional.test)?,
                self.operand(&conditional.consequent)?,
                self.operand(&conditional.alternate)?,
            ),
            _ => return None,
        })
    }

    /// A name that is used as a value: a variable, or one of three words.
    fn name(&self, name: &str) -> Option<Expression> {
        if let Some(slot) = self.scopes.slot(name) {
            return Some(Expression::Variable(slot));
        }
        match name {
            "undefined" => Some(Expression::UNDEFINED),
            "NaN" => Some(Expression::number(f64::NAN)),
            "Infinity" => Some(Expression::number(f64::INFINITY)),
            _ => None,
        }
    }

    fn member(&mut self, member: &ast::StaticMemberExpression<'_>) -> Option<Expression> {
        Some(Expression::Member {
            object: self.operand(&member.object)?,
            name: member.property.name.as_str().into(),
            is_optional: member.optional,
        })
    }

    fn item(&mut self, member: &ast::ComputedMemberExpression<'_>) -> Option<Expression> {
        Some(Expression::Item {
            object: self.operand(&member.object)?,
            key: self.operand(&member.expression)?,
            is_optional: member.optional,
        })
    }

    fn template(&mut self, template: &ast::TemplateLiteral<'_>) -> Option<Expression> {
        let texts = template
            .quasis
            .iter()
            .map(|text| match text.lone_surrogates {
                true => None,
                false => text.value.cooked.map(|cooked| cooked.as_str().into()),
            });
        let texts = texts.collect::<Option<_>>()?;
        let values = template.expressions.iter();
        let values = values
            .map(|value| self.expression(value))
            .collect::<Option<_>>()?;
        Some(Expression::Template(texts, values))
    }

    fn property(&mut self, member: &ast::ObjectPropertyKind<'_>) -> Option<(Box<str>, Expression)> {
        let ast::ObjectPropertyKind::ObjectProperty(member) = member else {
            return None;
        };
        if member.computed || member.method || member.kind != ast::PropertyKind::Init {
            return None;
        }
        let name = match &member.key {
            ast::PropertyKey::StaticIdentifier(name) => name.name.as_str(),
            ast::PropertyKey::StringLiteral(text) if !text.lone_surrogates => text.value.as_str(),
            _ => return None,
        };
        // Sets the prototype.
        if name == "__proto__" {
            return None;
        }
        Some((name.into(), self.expression(&member.value)?))
    }

    fn assignment(&mut self, assignment: &ast::AssignmentExpression<'_>) -> Option<Expression> {
        let operator = match assignment.operator {
            ast::AssignmentOperator::Assign => None,
            other => Some(binary_operator(other.to_binary_operator()?)?),
        };
        let (object, key) = match &assignment.left {
            ast::AssignmentTarget::AssignmentTargetIdentifier(name) => {
                let slot = self.assignable(&name.name)?;
                let value = self.operand(&assignment.right)?;
                let old = Expression::Variable(slot).into();
                return Some(Expression::Assign(
                    slot,
                    match operator {
                        None => value,
                        Some(operator) => Expression::Binary(operator, old, value).into(),
                    },
                ));
            }
            ast::AssignmentTarget::StaticMemberExpression(member) => self.static_target(member)?,
            ast::AssignmentTarget::ComputedMemberExpression(member) => {
                self.computed_target(member)?
            }
            _ => return None,
        };
        Some(Expression::AssignMember {
            object,
            key,
            operator,
            value: self.operand(&assignment.right)?,
        })
    }

    fn static_target(
        &mut self,
        member: &ast::StaticMemberExpression<'_>,
    ) -> Option<(Operand, Operand)> {
        let object = self.changeable(&member.object)?;
        Some((object, Expression::text(&member.property.name).into()))
    }

    fn computed_target(
        &mut self,
        member: &ast::ComputedMemberExpression<'_>,
    ) -> Option<(Operand, Operand)> {
        let object = self.changeable(&member.object)?;
        Some((object, self.operand(&member.expression)?))
    }

    /// An object whose members are assigned to: surely no part of the document.
    fn changeable(&mut self, object: &ast::Expression<'_>) -> Option<Operand> {
        let mut root = object;
        loop {
            root = match root {
                ast::Expression::StaticMemberExpression(member) => &member.object,
                ast::Expression::ComputedMemberExpression(member) => &member.object,
                ast::Expression::Identifier(name) if self.scopes.slot(&name.name) == Some(0) => {
                    return None;
                }
                _ => break,
            };
        }
        self.operand(object)
    }

    fn update(&mut self, update: &ast::UpdateExpression<'_>) -> Option<Expression> {
        let by = match update.operator {
            ast::UpdateOperator::Increment => 1.0,
            ast::UpdateOperator::Decrement => -1.0,
        };
        let gives_old = !update.prefix;
        let (object, key) = match &update.argument {
            ast::SimpleAssignmentTarget::AssignmentTargetIdentifier(name) => {
                let slot = self.assignable(&name.name)?;
                return Some(Expression::Step {
                    slot,
                    by,
                    gives_old,
                });
            }
            ast::SimpleAssignmentTarget::StaticMemberExpression(member) => {
                self.static_target(member)?
            }
            ast::SimpleAssignmentTarget::ComputedMemberExpression(member) => {
                self.computed_target(member)?
            }
            _ => return None,
        };
        Some(Expression::StepMember {
            object,
            key,
            by,
            gives_old,
        })
    }
}

fn unary_operator(operator: ast::UnaryOperator) -> Option<Unary> {
    Some(match operator {
        ast::UnaryOperator::LogicalNot => Unary::Not,
        ast::UnaryOperator::UnaryNegation => Unary::Minus,
        ast::UnaryOperator::UnaryPlus => Unary::Plus,
        ast::UnaryOperator::Typeof => Unary::TypeOf,
        ast::UnaryOperator::Void => Unary::Void,
        ast::UnaryOperator::BitwiseNot => Unary::BitNot,
        ast::UnaryOperator::Delete => return None,
    })
}

fn binary_operator(operator: ast::BinaryOperator) -> Option<Binary> {
    use ast::BinaryOperator as Operator;
    Some(match operator {
        Operator::Addition => Binary::Add,
        Operator::Subtraction => Binary::Subtract,
        Operator::Multiplication => Binary::Multiply,
        Operator::Division => Binary::Divide,
        Operator::Remainder => Binary::Remainder,
        Operator::BitwiseAnd => Binary::BitAnd,
        Operator::BitwiseOR => Binary::BitOr,
        Operator::BitwiseXOR => Binary::BitXor,
        Operator::ShiftLeft => Binary::ShiftLeft,
        Operator::ShiftRight => Binary::ShiftRight,
        Operator::ShiftRightZeroFill => Binary::ShiftRightUnsigned,
        Operator::Equality => Binary::Equal,
        Operator::Inequality => Binary::NotEqual,
        Operator::StrictEquality => Binary::Same,
        Operator::StrictInequality => Binary::NotSame,
        Operator::LessThan => Binary::Less,
        Operator::LessEqualThan => Binary::LessOrEqual,
        Operator::GreaterThan => Binary::Greater,
        Operator::GreaterEqualThan => Binary::GreaterOrEqual,
        Operator::In => Binary::In,
        // Powers differ between libraries in their last digit.
        Operator::Exponential | Operator::Instanceof => return None,
    })
}

fn logical_operator(operator: ast::LogicalOperator) -> Logical {
    match operator {
        ast::LogicalOperator::And => Logical::And,
        ast::LogicalOperator::Or => Logical::Or,
        ast::LogicalOperator::Coalesce => Logical::Coalesce,
    }
}
