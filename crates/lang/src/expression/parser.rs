//! The operator-precedence parser.

use super::SyntaxError;

/// The smallest part of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token<T> {
    /// A name, number or string.
    Operand {
        /// The tree of the operand alone.
        tree: Tree<T>,
        /// Its kind, for messages.
        kind: &'static str,
    },
    /// An operator of the grammar's table, a parenthesis, or any other sign.
    Operator(&'static str),
    /// The end of the expression.
    End,
}

impl<T> Token<T> {
    /// An operand without subexpressions.
    pub fn operand(kind: &'static str, root: T) -> Token<T> {
        let tree = Tree { root, depth: 1 };
        Token::Operand { tree, kind }
    }

    /// The kind of an operand or the operator itself, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Token::Operand { kind, .. } => kind,
            Token::Operator(operator) => operator,
            Token::End => "end",
        }
    }
}

/// A syntax tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree<T> {
    /// Node at the top of the tree.
    pub root: T,
    /// Number of nodes on the longest path from the root to a leaf.
    pub depth: usize,
}

/// The forms in which an operator can be used.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    /// The operator as tokens and messages have it.
    pub name: &'static str,
    /// How strongly it binds the operand before it; 0 if it never follows an operand.
    pub strength: u8,
    /// Whether it takes an operand on both sides: `x and y`.
    pub infix: bool,
    /// How strongly it binds the operand of its prefix form, `not x`, if it has one.
    pub prefix: Option<u8>,
    /// Whether it has a postfix form: `x^`.
    pub postfix: bool,
    /// Whether it can stand without operands: `:`.
    pub nullary: bool,
}

impl Operator {
    /// An operator that is infix and nothing else.
    pub const fn infix(name: &'static str, strength: u8) -> Operator {
        Operator {
            name,
            strength,
            infix: true,
            prefix: None,
            postfix: false,
            nullary: false,
        }
    }

    /// An operator that is prefix and nothing else. `strength` counts where it wrongly follows an
    /// operand.
    pub const fn prefix(name: &'static str, strength: u8) -> Operator {
        Operator {
            infix: false,
            prefix: Some(strength),
            ..Operator::infix(name, strength)
        }
    }

    /// The same operator with a prefix form too.
    pub const fn or_prefix(self, strength: u8) -> Operator {
        Operator {
            prefix: Some(strength),
            ..self
        }
    }

    /// The same operator with a postfix form too.
    pub const fn or_postfix(self) -> Operator {
        Operator {
            postfix: true,
            ..self
        }
    }

    /// The same operator with a form without operands too.
    pub const fn or_nullary(self) -> Operator {
        Operator {
            nullary: true,
            ..self
        }
    }
}

/// A language of expressions.
///
/// Parentheses belong to every language: `(x)` groups, and `f(x)` calls with the strength
/// [`CALL`](Self::CALL). The error of every constructor ends the parse.
pub trait Grammar {
    /// A node of the syntax tree.
    type Node;

    /// All operators of the language.
    const OPERATORS: &'static [Operator];
    /// How strongly an opening parenthesis binds the name of a function before it.
    const CALL: u8;
    /// How strongly an opening bracket binds the operand before it; 0 in a language without subscripts.
    const SUBSCRIPT: u8 = 0;
    /// Greatest depth of a tree and of the parser's recursion.
    const MAX_DEPTH: usize;
    /// The language's word for an expression, for messages.
    const NAME: &'static str;

    /// Reads the next token and its position. At the end, [`Token::End`] is returned again and
    /// again. `depth` is that of the operand that the token may be.
    ///
    /// # Errors
    /// The text at the position is no token.
    fn next_token(&mut self, depth: usize) -> Result<(usize, Token<Self::Node>), SyntaxError>;

    /// An operator without operands. A language whose table has no such operator needs none.
    fn nullary(&mut self, operator: &'static str) -> Result<Self::Node, SyntaxError> {
        Err(SyntaxError::new(format!("not a prefix: {operator}")))
    }

    /// An operator before its operand.
    fn prefix(
        &mut self,
        operator: &'static str,
        operand: Self::Node,
    ) -> Result<Self::Node, SyntaxError>;

    /// An operator behind its operand. A language whose table has no such operator needs none.
    fn postfix(
        &mut self,
        operator: &'static str,
        _operand: Self::Node,
    ) -> Result<Self::Node, SyntaxError> {
        Err(SyntaxError::new(format!("not an infix: {operator}")))
    }

    /// An operator between its operands. Where [`is_chain`](Self::is_chain) holds, the right
    /// operand is appended to the list that is the left one.
    fn infix(
        &mut self,
        operator: &'static str,
        left: Self::Node,
        right: Self::Node,
    ) -> Result<Self::Node, SyntaxError>;

    /// A call; `at` is the position of the parenthesis.
    fn call(
        &mut self,
        at: usize,
        function: Self::Node,
        arguments: Option<Self::Node>,
    ) -> Result<Self::Node, SyntaxError>;

    /// An operand with a subscript in brackets. A language without subscripts needs none.
    fn subscript(
        &mut self,
        _operand: Self::Node,
        _subscript: Self::Node,
    ) -> Result<Self::Node, SyntaxError> {
        Err(SyntaxError::new("not an infix: ["))
    }

    /// Parentheses with nothing between them.
    fn empty_group(&mut self) -> Result<Self::Node, SyntaxError> {
        Err(SyntaxError::new("missing argument"))
    }

    /// An expression in parentheses.
    fn group(&mut self, inner: Self::Node) -> Result<Self::Node, SyntaxError> {
        Ok(inner)
    }

    /// Whether `left` is a list of the operands of `operator`, which grows instead of nesting.
    fn is_chain(&self, _operator: &'static str, _left: &Self::Node) -> bool {
        false
    }

    /// Whether `operator` is postfix although `next` could begin an operand.
    fn is_postfix_before(&self, _operator: &'static str, _next: &Token<Self::Node>) -> bool {
        false
    }
}

/// Parses an expression up to [`Token::End`].
///
/// # Errors
/// The first error in the text.
pub fn parse_all<G: Grammar>(grammar: &mut G, depth: usize) -> Result<Tree<G::Node>, SyntaxError> {
    let (tree, at, next) = parse(grammar, depth)?;
    match next {
        Token::End => Ok(tree),
        _ => Err(SyntaxError::at(at, "invalid token")),
    }
}

/// A tree, with the position of the token behind it and that token.
type Prefix<T> = (Tree<T>, usize, Token<T>);

/// Parses the longest expression at the beginning of the text. `depth` is that of an expression
/// around it.
///
/// # Errors
/// The first error in the text.
pub fn parse<G: Grammar>(grammar: &mut G, depth: usize) -> Result<Prefix<G::Node>, SyntaxError> {
    let (at, next) = grammar.next_token(depth)?;
    let mut parser = Parser { grammar, at, next };
    let tree = parser.expression(0, depth)?;
    Ok((tree, parser.at, parser.next))
}

struct Parser<'g, G: Grammar> {
    grammar: &'g mut G,
    /// Position of the next token.
    at: usize,
    next: Token<G::Node>,
}

type ParseResult<T> = Result<Tree<T>, SyntaxError>;

impl<G: Grammar> Parser<'_, G> {
    fn take(&mut self, depth: usize) -> Result<(usize, Token<G::Node>), SyntaxError> {
        let (at, token) = self.grammar.next_token(depth)?;
        let taken = std::mem::replace(&mut self.next, token);
        Ok((std::mem::replace(&mut self.at, at), taken))
    }

    fn entry(&self) -> Option<&'static Operator> {
        let Token::Operator(name) = self.next else {
            return None;
        };
        G::OPERATORS.iter().find(|entry| entry.name == name)
    }

    fn is_next(&self, operator: &str) -> bool {
        matches!(self.next, Token::Operator(next) if next == operator)
    }

    /// How strongly the next token binds the operand before it.
    fn strength(&self) -> u8 {
        if self.is_next("(") {
            return G::CALL;
        }
        if self.is_next("[") {
            return G::SUBSCRIPT;
        }
        self.entry().map_or(0, |entry| entry.strength)
    }

    fn operand_follows(&self) -> bool {
        match self.next {
            Token::Operand { .. } => true,
            Token::Operator("(") => true,
            _ => self
                .entry()
                .is_some_and(|entry| entry.prefix.is_some() || entry.nullary),
        }
    }

    /// Parses an expression whose operators bind more strongly than `least`.
    fn expression(&mut self, least: u8, depth: usize) -> ParseResult<G::Node> {
        if depth > G::MAX_DEPTH {
            return Err(too_deep::<G>());
        }
        let mut left = self.operand(depth)?;
        while self.strength() > least {
            left = self.behind_operand(left, depth)?;
        }
        Ok(left)
    }

    fn operand(&mut self, depth: usize) -> ParseResult<G::Node> {
        let entry = self.entry();
        let (at, token) = self.take(depth)?;
        let name = token.name();
        match (token, entry) {
            (Token::Operand { tree, .. }, _) => Ok(tree),
            (Token::Operator("("), _) => self.group(depth),
            (_, Some(entry)) if entry.nullary && !self.operand_follows() => {
                let root = self.grammar.nullary(entry.name)?;
                Ok(Tree { root, depth: 1 })
            }
            (
                _,
                Some(Operator {
                    name,
                    prefix: Some(strength),
                    ..
                }),
            ) => {
                let operand = self.expression(*strength, depth + 1)?;
                let root = self.grammar.prefix(name, operand.root)?;
                above::<G, _>(root, operand.depth)
            }
            _ => Err(SyntaxError::at(at, format!("not a prefix: {name}"))),
        }
    }

    fn group(&mut self, depth: usize) -> ParseResult<G::Node> {
        if self.is_next(")") {
            self.take(depth)?;
            let root = self.grammar.empty_group()?;
            return Ok(Tree { root, depth: 1 });
        }
        let inner = self.expression(1, depth + 1)?;
        self.close(")", depth)?;
        let root = self.grammar.group(inner.root)?;
        Ok(Tree { root, ..inner })
    }

    fn close(&mut self, bracket: &str, depth: usize) -> Result<(), SyntaxError> {
        if !self.is_next(bracket) {
            let message = format!("unexpected token: {}", self.next.name());
            return Err(SyntaxError::at(self.at, message));
        }
        self.take(depth).map(drop)
    }

    /// Parses an operator and its right operand, behind the operand `left`.
    fn behind_operand(&mut self, left: Tree<G::Node>, depth: usize) -> ParseResult<G::Node> {
        let entry = self.entry();
        let (at, token) = self.take(depth)?;
        let Some(entry) = entry else {
            return match token.name() {
                "[" => self.subscript(left, depth),
                _ => self.call(at, left, depth),
            };
        };
        if entry.postfix
            && (!self.operand_follows() || self.grammar.is_postfix_before(entry.name, &self.next))
        {
            let root = self.grammar.postfix(entry.name, left.root)?;
            return above::<G, _>(root, left.depth);
        }
        if !entry.infix {
            let message = format!("not an infix: {}", token.name());
            return Err(SyntaxError::at(at, message));
        }
        let right = self.expression(entry.strength, depth + 1)?;
        let is_chain = self.grammar.is_chain(entry.name, &left.root);
        let root = self.grammar.infix(entry.name, left.root, right.root)?;
        if is_chain {
            let longer = above::<G, _>((), right.depth)?;
            let depth = left.depth.max(longer.depth);
            return Ok(Tree { root, depth });
        }
        above::<G, _>(root, left.depth.max(right.depth))
    }

    fn subscript(&mut self, left: Tree<G::Node>, depth: usize) -> ParseResult<G::Node> {
        let subscript = self.expression(1, depth + 1)?;
        self.close("]", depth)?;
        let root = self.grammar.subscript(left.root, subscript.root)?;
        above::<G, _>(root, left.depth.max(subscript.depth))
    }

    fn call(&mut self, at: usize, left: Tree<G::Node>, depth: usize) -> ParseResult<G::Node> {
        let arguments = match self.is_next(")") {
            true => None,
            false => Some(self.expression(1, depth + 1)?),
        };
        self.close(")", depth)?;
        let below = arguments.as_ref().map_or(0, |arguments| arguments.depth);
        let arguments = arguments.map(|arguments| arguments.root);
        let root = self.grammar.call(at, left.root, arguments)?;
        above::<G, _>(root, left.depth.max(below))
    }
}

/// A tree with `root` above others, the deepest of which has the depth `below`.
fn above<G: Grammar, T>(root: T, below: usize) -> ParseResult<T> {
    if below >= G::MAX_DEPTH {
        return Err(too_deep::<G>());
    }
    let depth = below + 1;
    Ok(Tree { root, depth })
}

fn too_deep<G: Grammar>() -> SyntaxError {
    SyntaxError::new(format!("{} is nested too deeply", G::NAME))
}
