//! Functions and methods that programs know by their names.

/// Methods that call a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Iteration {
    ForEach,
    Map,
    Filter,
    Some,
    Every,
    Find,
    FindIndex,
    Reduce,
    /// Of strings.
    Replace,
}

const ITERATIONS: [(&str, Iteration); 9] = [
    ("forEach", Iteration::ForEach),
    ("map", Iteration::Map),
    ("filter", Iteration::Filter),
    ("some", Iteration::Some),
    ("every", Iteration::Every),
    ("find", Iteration::Find),
    ("findIndex", Iteration::FindIndex),
    ("reduce", Iteration::Reduce),
    ("replace", Iteration::Replace),
];

impl Iteration {
    /// The method of that name.
    pub(super) fn named(name: &str) -> Option<Iteration> {
        with_name(&ITERATIONS, name)
    }

    pub(super) fn name(self) -> &'static str {
        name_in(&ITERATIONS, self)
    }
}

/// The entry of a table with that name.
fn with_name<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    let found = table.iter().find(|(known, _)| *known == name);
    found.map(|(_, entry)| *entry)
}

fn name_in<T: PartialEq>(table: &[(&'static str, T)], entry: T) -> &'static str {
    let found = table.iter().find(|(_, known)| *known == entry);
    found.map_or("", |(name, _)| name)
}

/// Functions that need no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Emit,
    Log,
    Sum,
    /// `isArray` and `Array.isArray`
    IsArray,
    /// `Object.keys`
    Keys,
    Values,
    Entries,
    String,
    Number,
    Boolean,
    ParseInt,
    ParseFloat,
    IsNan,
    IsFinite,
    /// `JSON.stringify`
    Stringify,
    /// `toJSON`
    ToJson,
    Math(Math),
    /// `new Date(…)` with arguments
    NewDate,
    /// `Date.parse`
    DateParse,
    /// `Date.UTC`
    DateUtc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Math {
    Floor,
    Ceil,
    Round,
    Abs,
    Trunc,
    Sqrt,
    Max,
    Min,
}

/// Functions of strings, arrays, numbers, dates and regular expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    ToLowerCase,
    ToUpperCase,
    Trim,
    CharAt,
    CharCodeAt,
    Substr,
    Substring,
    Slice,
    IndexOf,
    LastIndexOf,
    Includes,
    StartsWith,
    EndsWith,
    PadStart,
    Split,
    Concat,
    HasOwnProperty,
    Join,
    Push,
    Pop,
    Shift,
    Unshift,
    Reverse,
    Sort,
    Replace,
    Match,
    Search,
    Test,
    Exec,
    ToString,
    ToFixed,
    ToIsoString,
    Date(DatePart),
}

/// Parts of a date; local ones are those of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatePart {
    Time,
    Year,
    Month,
    /// Of the month.
    Day,
    WeekDay,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
    /// Offset of the time zone.
    Zone,
}

const METHODS: [(&str, Method); 51] = [
    ("toLowerCase", Method::ToLowerCase),
    ("toUpperCase", Method::ToUpperCase),
    ("trim", Method::Trim),
    ("charAt", Method::CharAt),
    ("charCodeAt", Method::CharCodeAt),
    ("substr", Method::Substr),
    ("substring", Method::Substring),
    ("slice", Method::Slice),
    ("indexOf", Method::IndexOf),
    ("lastIndexOf", Method::LastIndexOf),
    ("includes", Method::Includes),
    ("startsWith", Method::StartsWith),
    ("endsWith", Method::EndsWith),
    ("padStart", Method::PadStart),
    ("split", Method::Split),
    ("concat", Method::Concat),
    ("hasOwnProperty", Method::HasOwnProperty),
    ("join", Method::Join),
    ("push", Method::Push),
    ("pop", Method::Pop),
    ("shift", Method::Shift),
    ("unshift", Method::Unshift),
    ("reverse", Method::Reverse),
    ("sort", Method::Sort),
    ("replace", Method::Replace),
    ("match", Method::Match),
    ("search", Method::Search),
    ("test", Method::Test),
    ("exec", Method::Exec),
    ("toString", Method::ToString),
    ("toFixed", Method::ToFixed),
    ("toISOString", Method::ToIsoString),
    ("getTime", Method::Date(DatePart::Time)),
    ("valueOf", Method::Date(DatePart::Time)),
    ("getFullYear", Method::Date(DatePart::Year)),
    ("getUTCFullYear", Method::Date(DatePart::Year)),
    ("getMonth", Method::Date(DatePart::Month)),
    ("getUTCMonth", Method::Date(DatePart::Month)),
    ("getDate", Method::Date(DatePart::Day)),
    ("getUTCDate", Method::Date(DatePart::Day)),
    ("getDay", Method::Date(DatePart::WeekDay)),
    ("getUTCDay", Method::Date(DatePart::WeekDay)),
    ("getHours", Method::Date(DatePart::Hours)),
    ("getUTCHours", Method::Date(DatePart::Hours)),
    ("getMinutes", Method::Date(DatePart::Minutes)),
    ("getUTCMinutes", Method::Date(DatePart::Minutes)),
    ("getSeconds", Method::Date(DatePart::Seconds)),
    ("getUTCSeconds", Method::Date(DatePart::Seconds)),
    ("getMilliseconds", Method::Date(DatePart::Milliseconds)),
    ("getUTCMilliseconds", Method::Date(DatePart::Milliseconds)),
    ("getTimezoneOffset", Method::Date(DatePart::Zone)),
];

impl Method {
    /// The method of that name.
    pub(super) fn named(name: &str) -> Option<Method> {
        with_name(&METHODS, name)
    }
}
