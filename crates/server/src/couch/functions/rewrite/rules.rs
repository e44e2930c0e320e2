//! Rules of a design document that send requests elsewhere.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use varve_json::{Object, Value};

/// Members of a query that are JSON text.
const KEYS: [&str; 6] = ["key", "startkey", "start_key", "endkey", "end_key", "keys"];
/// A path may lead out of the design document, but not out of its database, unless the settings allow it.
const MOST_LEVELS: usize = 2;
/// Characters that are escaped in a segment of a path, or in a query.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Rules cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// A rule does not say where to.
    NoTarget,
    /// A path leads out of the database.
    Insecure,
    /// A member has the wrong type.
    Malformed,
    /// A key in the query is not JSON.
    Key,
}

/// Rules in their order.
#[derive(Debug)]
pub struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    /// `None` for all.
    method: Option<String>,
    from: Vec<Part>,
    to: Vec<Part>,
    query: Object,
    formats: Object,
}

/// A segment of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// `:name`.
    Variable(String),
    /// `*`.
    Rest,
}

/// Values of variables: those of the path first, those of the query behind them. Of several with one name the first
/// counts.
type Bindings = Vec<(String, Value)>;

impl Rules {
    /// Reads the list `rewrites`; what is no object in it is no rule.
    ///
    /// # Errors
    /// [`RuleError`], for any of them.
    pub fn read(rules: &[Value], is_secure: bool) -> Result<Rules, RuleError> {
        let rules = rules.iter().filter_map(Value::as_object);
        let rules = rules.map(|rule| Rule::read(rule, is_secure));
        rules.collect::<Result<_, _>>().map(Rules)
    }

    /// Path and query that the first matching rule makes of a request, seen from the design document. `path` is what
    /// stands behind `_rewrite`.
    ///
    /// # Errors
    /// [`RuleError::Key`].
    pub fn apply(
        &self,
        method: &str,
        path: &[&str],
        query: &[(String, String)],
    ) -> Result<Option<(String, String)>, RuleError> {
        let query = query.iter().map(|(name, text)| {
            let value = match KEYS.contains(&name.as_str()) {
                true => varve_json::parse(text.as_bytes()).map_err(|_| RuleError::Key)?,
                false => Value::from(text.as_str()),
            };
            Ok((name.clone(), value))
        });
        let query = query.collect::<Result<Bindings, _>>()?;
        let fitting = self.0.iter().find_map(|rule| {
            let (bound, rest) = rule.bind(method, path)?;
            Some(rule.rewritten(bound, &query, rest))
        });
        Ok(fitting)
    }
}

impl Rule {
    fn read(rule: &Object, is_secure: bool) -> Result<Rule, RuleError> {
        let text = |name: &str| match rule.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(RuleError::Malformed),
        };
        let object = |name: &str| match rule.get(name) {
            None => Ok(Object::new()),
            Some(Value::Object(object)) => Ok(object.clone()),
            Some(_) => Err(RuleError::Malformed),
        };
        let method = text("method")?.filter(|method| *method != "*");
        Ok(Rule {
            method: method.map(str::to_owned),
            from: parts(text("from")?.unwrap_or("*"), is_secure)?,
            to: parts(text("to")?.ok_or(RuleError::NoTarget)?, is_secure)?,
            query: object("query")?,
            formats: object("formats")?,
        })
    }

    /// The variables that a path gives, and the segments of its rest; `None` if the rule is for others.
    fn bind<'p>(&self, method: &str, path: &'p [&'p str]) -> Option<(Bindings, &'p [&'p str])> {
        if self.method.as_ref().is_some_and(|known| known != method) {
            return None;
        }
        let mut bound = Bindings::new();
        let mut path = path;
        let mut from = self.from.as_slice();
        while let Some((part, behind)) = from.split_first() {
            if *part == Part::Rest && behind.is_empty() {
                return Some((bound, path));
            }
            let (segment, rest) = path.split_first()?;
            match part {
                Part::Text(text) if text == segment => {}
                Part::Text(_) => return None,
                // Only a last one stands for all that follows.
                Part::Rest => bound.insert(0, ("*".to_owned(), Value::from(*segment))),
                Part::Variable(name) => bound.insert(0, (name.clone(), Value::from(*segment))),
            }
            (path, from) = (rest, behind);
        }
        path.is_empty().then_some((bound, path))
    }

    fn rewritten(
        &self,
        bound: Bindings,
        query: &[(String, Value)],
        rest: &[&str],
    ) -> (String, String) {
        let known: Bindings = bound.into_iter().chain(query.iter().cloned()).collect();
        let own: Bindings = self
            .query
            .iter()
            .map(|(name, value)| (name.to_owned(), self.filled(value, &known)))
            .collect();
        let others = known.into_iter();
        let others = others.filter(|(name, _)| self.query.get(name).is_none());
        let all: Bindings = others.chain(own).collect();
        (self.path(&all, rest), query_text(&all))
    }

    /// A value of the rule's query, with the variables that it names.
    fn filled(&self, value: &Value, known: &[(String, Value)]) -> Value {
        match value {
            Value::String(text) if text == "*" => self.variable("*", known, value),
            Value::String(text) => match text.strip_prefix(':') {
                Some(name) => self.variable(name, known, value),
                None => value.clone(),
            },
            Value::Array(items) => {
                let items = items.iter().map(|item| {
                    let name = item.as_str().and_then(|text| text.strip_prefix(':'));
                    name.map_or_else(|| item.clone(), |name| self.variable(name, known, item))
                });
                items.collect()
            }
            other => other.clone(),
        }
    }

    fn variable(&self, name: &str, known: &[(String, Value)], unknown: &Value) -> Value {
        let value = found(name, known).unwrap_or(unknown);
        let format = self.formats.get(name).and_then(Value::as_str);
        let (Some(format), Value::String(text)) = (format, value) else {
            return value.clone();
        };
        match format {
            "int" => text
                .parse::<i64>()
                .map_or_else(|_| value.clone(), Value::from),
            "bool" if text.eq_ignore_ascii_case("true") => Value::Bool(true),
            "bool" if text.eq_ignore_ascii_case("false") => Value::Bool(false),
            _ => value.clone(),
        }
    }

    fn path(&self, known: &[(String, Value)], rest: &[&str]) -> String {
        let mut segments = Vec::new();
        for part in &self.to {
            match part {
                Part::Text(text) => segments.push(escaped(text)),
                Part::Variable(name) => segments.push(match found(name, known) {
                    Some(value) => escaped(&plain(value)),
                    None => "undefined".to_owned(),
                }),
                Part::Rest => {
                    segments.extend(rest.iter().map(|segment| escaped(segment)));
                    break;
                }
            }
        }
        segments.join("/")
    }
}

fn found<'v>(name: &str, known: &'v [(String, Value)]) -> Option<&'v Value> {
    let pair = known.iter().find(|(key, _)| key == name);
    pair.map(|(_, value)| value)
}

fn parts(path: &str, is_secure: bool) -> Result<Vec<Part>, RuleError> {
    let levels = path.split('/').filter(|part| *part == "..").count();
    if is_secure && levels > MOST_LEVELS {
        return Err(RuleError::Insecure);
    }
    let parts = path.split('/').filter(|part| !part.is_empty());
    let parts = parts.map(|part| match (part, part.strip_prefix(':')) {
        ("*", _) => Part::Rest,
        (_, Some(name)) => Part::Variable(name.to_owned()),
        (text, None) => Part::Text(text.to_owned()),
    });
    Ok(parts.collect())
}

/// The text of a query, its keys as JSON.
fn query_text(known: &[(String, Value)]) -> String {
    let pairs = known.iter().filter(|(name, _)| name != "*");
    let pairs = pairs.map(|(name, value)| {
        let value = match KEYS.contains(&name.as_str()) {
            true => varve_json::to_string(value),
            false => plain(value),
        };
        format!("{}={}", escaped(name), escaped(&value))
    });
    pairs.collect::<Vec<_>>().join("&")
}

/// Texts as they are, other values as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => varve_json::to_string(other),
    }
}

/// `text` in a segment of a path, or in a query.
pub fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str, is_secure: bool) -> Result<Rules, RuleError> {
        let rules = varve_json::parse(text.as_bytes()).unwrap();
        Rules::read(rules.as_array().unwrap(), is_secure)
    }

    /// Applies one rule to `METHOD path?query`.
    fn applied(rule: &str, request: &str) -> Result<Option<String>, RuleError> {
        let rules = rules(&format!("[{rule}]"), true)?;
        let (method, target) = request.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let query = crate::http::parse_query(query).unwrap();
        let done = rules.apply(method, &path, &query)?;
        Ok(done.map(|(path, query)| match query.as_str() {
            "" => path,
            _ => format!("{path}?{query}"),
        }))
    }

    #[test]
    fn paths_are_bound_and_filled() {
        for (rule, request, expected) in [
            (
                r#"{"from":"foo","to":"foo.txt"}"#,
                "GET foo",
                Some("foo.txt"),
            ),
            (r#"{"from":"foo","to":"foo.txt"}"#, "GET foo/x", None),
            (r#"{"from":"foo","to":"foo.txt"}"#, "GET", None),
            (r#"{"from":"/","to":"_view/v"}"#, "GET ", Some("_view/v")),
            (r#"{"to":"a/*"}"#, "GET x/y", Some("a/x/y")),
            (r#"{"from":"a","to":"b","method":"PUT"}"#, "GET a", None),
            (r#"{"from":"a","to":"b","method":"*"}"#, "GET a", Some("b")),
            (
                r#"{"from":"/w/:name","to":"_show/w"}"#,
                "GET w/u%20v",
                Some("_show/w?name=u%2520v"),
            ),
            (
                r#"{"from":"/w/:name","to":"_show/w/:name"}"#,
                "GET w/u",
                Some("_show/w/u?name=u"),
            ),
            (
                r#"{"from":"/w/:name","to":"_show/:other"}"#,
                "GET w/u",
                Some("_show/undefined?name=u"),
            ),
            (
                r#"{"from":"/db/*","to":"../../*"}"#,
                "GET db/_design/t?meta=true",
                Some("../../_design/t?meta=true"),
            ),
            (
                r#"{"from":"/x/*","to":"_show/*","query":{"name":"*"}}"#,
                "GET x/y",
                Some("_show/y?name=%2A"),
            ),
            (r#"{"from":"/*/b","to":"c/:*"}"#, "GET a/b", Some("c/a")),
            (
                r#"{"from":"/a/:x/*","to":":x/*"}"#,
                "GET a/1",
                Some("1?x=1"),
            ),
        ] {
            let expected = Ok(expected.map(str::to_owned));
            let request = match request {
                "GET" => "GET ",
                other => other,
            };
            assert_eq!(applied(rule, request), expected, "{rule} {request}");
        }
    }

    #[test]
    fn queries_are_filled_formatted_and_written_as_json_where_views_read_it() {
        for (query, request, expected) in [
            (
                r#""query":{"startkey":3,"endkey":8}"#,
                "GET a?startkey=4",
                "l?startkey=3&endkey=8",
            ),
            (r#""query":{"name":":b"}"#, "GET a?b=1", "l?b=1&name=1"),
            (
                r#""query":{"key":[":x",":y",1]}"#,
                "GET a?x=u&y=%C3%A9",
                "l?x=u&y=%C3%A9&key=%5B%22u%22%2C%22%C3%A9%22%2C1%5D",
            ),
            (
                r#""query":{"key":{"c":1}}"#,
                "GET a",
                "l?key=%7B%22c%22%3A1%7D",
            ),
            (
                r#""query":{"key":":k"},"formats":{"k":"int"}"#,
                "GET a?k=12",
                "l?k=12&key=12",
            ),
            (
                r#""query":{"key":":k"},"formats":{"k":"int"}"#,
                "GET a?k=1x",
                "l?k=1x&key=%221x%22",
            ),
            (
                r#""query":{"key":":k"},"formats":{"k":"bool"}"#,
                "GET a?k=TRUE",
                "l?k=TRUE&key=true",
            ),
            (
                r#""query":{"include_docs":":doc","limit":1}"#,
                "GET a?doc=true",
                "l?doc=true&include_docs=true&limit=1",
            ),
            (
                r#""query":{}"#,
                "GET a?key=%5B1%5D&x=1%202",
                "l?key=%5B1%5D&x=1%202",
            ),
            (r#""query":{"x":":none"}"#, "GET a", "l?x=%3Anone"),
        ] {
            let rule = format!(r#"{{"from":"a","to":"l",{query}}}"#);
            assert_eq!(
                applied(&rule, request),
                Ok(Some(expected.to_owned())),
                "{query} {request}"
            );
        }
        let rule = r#"{"from":"a","to":"l"}"#;
        assert_eq!(applied(rule, "GET a?key=%5B"), Err(RuleError::Key));
    }

    #[test]
    fn one_bad_rule_spoils_all() {
        for (text, error) in [
            (r#"[{"from":"a"}]"#, RuleError::NoTarget),
            (
                r#"[{"from":"a","to":"b"},{"from":"b","to":"../../../_uuids"}]"#,
                RuleError::Insecure,
            ),
            (r#"[{"from":1,"to":"b"}]"#, RuleError::Malformed),
            (r#"[{"to":"b","query":[]}]"#, RuleError::Malformed),
        ] {
            assert_eq!(rules(text, true).err(), Some(error), "{text}");
        }
        let outside = r#"[{"from":"b","to":"../../../_uuids"}, 7, "x"]"#;
        assert_eq!(rules(outside, false).unwrap().0.len(), 1);
    }
}
