//! The parser with a language of every form of operator.

use super::*;
use proptest::prelude::*;

/// Shows how operands are bound, with all parentheses.
struct Shown<'t> {
    cursor: Cursor<'t>,
}

const SIGNS: &[&str] = &["**", "*", "+", "-", "~", "^", ":", ",", "(", ")"];

impl Grammar for Shown<'_> {
    type Node = String;

    const OPERATORS: &'static [Operator] = &[
        Operator::infix("^", 18).or_postfix(),
        Operator::infix("*", 12),
        Operator::infix("-", 8).or_prefix(15),
        Operator::infix("+", 8),
        Operator::prefix("~", 5),
        Operator::infix(":", 4)
            .or_prefix(4)
            .or_postfix()
            .or_nullary(),
        Operator::infix(",", 2),
    ];
    const CALL: u8 = 20;
    const MAX_DEPTH: usize = 30;
    const NAME: &'static str = "test";

    fn next_token(&mut self, _: usize) -> Result<(usize, Token<String>), SyntaxError> {
        self.cursor.skip_whitespace();
        let at = self.cursor.position();
        if self.cursor.peek().is_none() {
            return Ok((at, Token::End));
        }
        if let Some(sign) = self.cursor.operator(SIGNS) {
            return Ok((at, Token::Operator(sign)));
        }
        let name = self.cursor.take_while(|byte| byte.is_ascii_alphanumeric());
        if name.is_empty() {
            return Err(SyntaxError::at(at, "no token"));
        }
        let name = String::from_utf8_lossy(name).into_owned();
        Ok((at, Token::operand("name", name)))
    }

    fn nullary(&mut self, operator: &'static str) -> Result<String, SyntaxError> {
        Ok(format!("({operator})"))
    }

    fn prefix(&mut self, operator: &'static str, operand: String) -> Result<String, SyntaxError> {
        Ok(format!("({operator}{operand})"))
    }

    fn postfix(&mut self, operator: &'static str, operand: String) -> Result<String, SyntaxError> {
        Ok(format!("({operand}{operator})"))
    }

    fn infix(
        &mut self,
        operator: &'static str,
        left: String,
        right: String,
    ) -> Result<String, SyntaxError> {
        if operator == "," {
            return Ok(format!("{left},{right}"));
        }
        Ok(format!("({left}{operator}{right})"))
    }

    fn call(
        &mut self,
        at: usize,
        function: String,
        arguments: Option<String>,
    ) -> Result<String, SyntaxError> {
        if function.contains('(') {
            return Err(SyntaxError::at(at, "no name"));
        }
        Ok(format!("{function}[{}]", arguments.unwrap_or_default()))
    }

    fn is_chain(&self, operator: &'static str, left: &String) -> bool {
        operator == "," && left.contains(',')
    }
}

fn shown(text: &str) -> Result<String, SyntaxError> {
    let cursor = Cursor::new(text.as_bytes());
    Ok(parse_all(&mut Shown { cursor }, 0)?.root)
}

fn error(text: &str) -> (Option<usize>, String) {
    let error = shown(text).unwrap_err();
    (error.at, error.message)
}

#[test]
fn stronger_operators_bind_first_and_equal_ones_from_the_left() {
    for (text, expected) in [
        ("a+b*c", "(a+(b*c))"),
        ("a*b+c", "((a*b)+c)"),
        ("a-b-c+d", "(((a-b)-c)+d)"),
        ("(a+b)*c", "((a+b)*c)"),
        ("-a*b", "((-a)*b)"),
        ("a*-b", "(a*(-b))"),
        ("--a", "(-(-a))"),
        ("~a+b", "(~(a+b))"),
        ("~a:b", "((~a):b)"),
        ("a^*b^", "((a^)*(b^))"),
        ("a^b^c", "((a^b)^c)"),
        ("a^^", "((a^)^)"),
        (":", "(:)"),
        ("a:", "(a:)"),
        (":a", "(:a)"),
        ("a:b", "(a:b)"),
        ("a::b", "(a:(:b))"),
        ("f(a,b+c)", "f[a,(b+c)]"),
        ("f()*g(:)", "(f[]*g[(:)])"),
        ("f(a)^", "(f[a]^)"),
    ] {
        assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn errors_have_the_position_of_the_unexpected_token() {
    for (text, at, message) in [
        ("", Some(0), "not a prefix: end"),
        ("  ", Some(2), "not a prefix: end"),
        ("a +", Some(3), "not a prefix: end"),
        ("a + * b", Some(4), "not a prefix: *"),
        ("a b", Some(2), "invalid token"),
        ("a)", Some(1), "invalid token"),
        ("(a", Some(2), "unexpected token: end"),
        ("(a b", Some(3), "unexpected token: name"),
        ("f(a", Some(3), "unexpected token: end"),
        ("a ~ b", Some(2), "not an infix: ~"),
        ("(a+b)(c)", Some(5), "no name"),
        ("a ** b", Some(2), "invalid token"),
        ("()", None, "missing argument"),
        ("a ?", Some(2), "no token"),
        // The first error counts, though the token behind it is none.
        ("a b ?", Some(2), "invalid token"),
    ] {
        assert_eq!(error(text), (at, message.to_owned()), "{text}");
    }
}

#[test]
fn depth_is_bounded_but_chains_are_not() {
    for (part, end) in [
        ("(", ""),
        ("-", "a"),
        ("f(", ""),
        ("a^", "a"),
        ("a+", "a"),
        ("~", "a"),
    ] {
        let text = part.repeat(10_000) + end;
        assert_eq!(error(&text).1, "test is nested too deeply", "{part}");
    }
    assert!(shown(&("a,".repeat(10_000) + "a")).is_ok());
    assert!(shown(&("(".repeat(25) + "a" + &")".repeat(25))).is_ok());
}

proptest! {
    #[test]
    fn an_expression_with_all_parentheses_is_read_as_itself(
        text in "[abc]([-+*:][abc]|\\^){0,6}",
    ) {
        // Prefix and postfix colons would be read otherwise than they are printed.
        prop_assume!(!text.contains("^:") && !text.ends_with(':'));
        if let Ok(once) = shown(&text) {
            prop_assert_eq!(shown(&once), Ok(once.clone()), "{}", text);
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused_within_it(text in "[ab ()*+~^:,?-]{0,20}") {
        if let Err(SyntaxError { at: Some(at), .. }) = shown(&text) {
            prop_assert!(at <= text.len());
        }
    }

    #[test]
    fn whitespace_between_tokens_means_nothing(text in "[ab()*+~^:,-]{0,12}") {
        // Two names, or two stars, in a row would be one token without the blank.
        prop_assume!(!text.contains("**"));
        let names = text.as_bytes().windows(2);
        prop_assume!(!names.clone().any(|pair| pair.iter().all(u8::is_ascii_alphanumeric)));
        let spaced: String = text.chars().flat_map(|letter| [' ', letter]).collect();
        let outcome = |text: &str| shown(text).map_err(|error| error.message);
        prop_assert_eq!(outcome(&spaced), outcome(&text));
    }
}
