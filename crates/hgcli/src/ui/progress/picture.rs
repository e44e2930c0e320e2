//! The text of a line of progress: fields in the order of `progress.format`.

use super::settings::Field;
use crate::ui::columns;
use std::time::Duration;

/// Position of a step, and what else its line shows.
#[derive(Clone, Debug, Default)]
pub(super) struct StepState<'a> {
    pub topic: &'a str,
    /// Noun for the count.
    pub unit: &'a str,
    pub item: &'a [u8],
    pub position: u64,
    pub total: Option<u64>,
    /// Pictures of this step so far that had no end to show.
    pub endless_pictures: usize,
    /// Count and time, as far back as the speed is taken over.
    pub recent: (u64, Duration),
}

impl StepState<'_> {
    /// The end, unless it is unknown or was passed.
    fn known_end(&self) -> Option<u64> {
        self.total
            .filter(|total| self.position <= *total && *total > 0)
    }

    pub fn is_endless(&self) -> bool {
        self.known_end().is_none()
    }

    fn number(&self) -> String {
        match self.total {
            Some(total) => {
                let total = total.to_string();
                format!("{:>1$}/{total}", self.position, total.len())
            }
            None => self.position.to_string(),
        }
    }

    /// Time for the rest at the recent speed, with one second more as fractions are cut off.
    fn estimate(&self) -> Option<String> {
        let rest = self.known_end()? - self.position;
        let (counted, time) = self.recent;
        let seconds = (time.as_secs_f64() * rest as f64 / counted as f64) as u64 + 1;
        (counted > 0).then(|| duration_words(seconds))
    }

    fn speed(&self) -> Option<String> {
        let (counted, time) = self.recent;
        let per_second = (counted as f64 / time.as_secs_f64()) as u64;
        (counted > 0 && !time.is_zero()).then(|| format!("{per_second} {}/sec", self.unit))
    }

    /// `None` for the bar, which takes the room that is left.
    fn field(&self, field: Field) -> Option<Vec<u8>> {
        let text = match field {
            Field::Bar => return None,
            Field::Topic => self.topic.to_owned(),
            Field::Number => self.number(),
            Field::Unit => self.unit.to_owned(),
            Field::Estimate => self.estimate().unwrap_or_default(),
            Field::Speed => self.speed().unwrap_or_default(),
            Field::ItemStart(columns) => return Some(filled(first(self.item, columns), columns)),
            Field::ItemEnd(columns) => return Some(filled(last(self.item, columns), columns)),
        };
        Some(text.into_bytes())
    }

    /// The line, of at most `width` columns.
    pub fn picture(&self, format: &[Field], width: usize) -> Vec<u8> {
        let bar = format.iter().position(|field| *field == Field::Bar);
        let joined = |fields: &[Field]| {
            let texts = fields.iter().filter_map(|field| self.field(*field));
            let shown: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
            shown.join(&b' ')
        };
        let Some(bar) = bar else {
            return first(&joined(format), width);
        };
        let mut head = joined(&format[..bar]);
        let mut tail = joined(&format[bar + 1..]);
        if !head.is_empty() {
            head.push(b' ');
        }
        if !tail.is_empty() {
            tail.insert(0, b' ');
        }
        /// Columns of the brackets, and of the last one of the terminal, which stays free.
        const FRAME: usize = 3;
        let room = width.saturating_sub(columns::width(&head) + columns::width(&tail) + FRAME);
        let line = [&head, &b"["[..], self.bar(room).as_bytes(), b"]", &tail].concat();
        first(&line, width)
    }

    fn bar(&self, room: usize) -> String {
        const MOVING: &str = "<=>";
        if let Some(total) = self.known_end() {
            let filled = (u128::from(self.position) * room as u128 / u128::from(total)) as usize;
            let mut bar = "=".repeat(filled.saturating_sub(1));
            bar.push_str(if filled > 0 { ">" } else { "" });
            return format!("{bar:room$}");
        }
        // To the end and back again.
        let ways = room.saturating_sub(MOVING.len()).max(1);
        let step = (self.endless_pictures + 1) % (2 * ways);
        let before = if step > ways { 2 * ways - step } else { step };
        format!("{:room$}", format!("{}{MOVING}", " ".repeat(before)))
    }
}

/// The first columns of a text.
fn first(text: &[u8], columns: usize) -> Vec<u8> {
    let shown = String::from_utf8_lossy(text);
    taken(shown.chars(), columns)
        .into_iter()
        .collect::<String>()
        .into_bytes()
}

/// The last columns of a text.
fn last(text: &[u8], columns: usize) -> Vec<u8> {
    let shown = String::from_utf8_lossy(text);
    let characters = taken(shown.chars().rev(), columns);
    characters
        .into_iter()
        .rev()
        .collect::<String>()
        .into_bytes()
}

fn taken(characters: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut used = 0;
    characters
        .take_while(|character| {
            used += columns::width(character.encode_utf8(&mut [0; 4]).as_bytes());
            used <= columns
        })
        .collect()
}

fn filled(mut text: Vec<u8>, columns: usize) -> Vec<u8> {
    let spaces = columns::padding(&text, columns);
    text.extend_from_slice(spaces.as_bytes());
    text
}

/// `07s`, `1m07s`, `8h21m`, `3w03d`, `1y18w`: the two largest units.
fn duration_words(seconds: u64) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    const WEEK: u64 = 7 * DAY;
    const YEAR: u64 = 52 * WEEK;
    /// Days are kept together up to a month.
    const MONTH: u64 = 30 * DAY;
    let pair = |large: u64, name: char, small: u64, less: char| {
        format!(
            "{}{name}{:02}{less}",
            seconds / large,
            seconds % large / small
        )
    };
    match seconds {
        0..MINUTE => format!("{seconds:02}s"),
        MINUTE..HOUR => pair(MINUTE, 'm', 1, 's'),
        HOUR..DAY => pair(HOUR, 'h', MINUTE, 'm'),
        DAY..MONTH => pair(DAY, 'd', HOUR, 'h'),
        MONTH..YEAR => pair(WEEK, 'w', DAY, 'd'),
        _ => pair(YEAR, 'y', WEEK, 'w'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: [Field; 3] = [Field::Topic, Field::Bar, Field::Number];

    fn loop_at(position: u64, total: Option<u64>) -> StepState<'static> {
        StepState {
            topic: "loop",
            unit: "files",
            position,
            total,
            ..StepState::default()
        }
    }

    fn line(state: &StepState<'_>, format: &[Field], width: usize) -> String {
        String::from_utf8(state.picture(format, width)).unwrap()
    }

    #[test]
    fn a_bar_takes_the_room_that_is_left() {
        let drawn = |position| line(&loop_at(position, Some(3)), &USUAL, 20);
        assert_eq!(drawn(0), "loop [        ] 0/3");
        assert_eq!(drawn(1), "loop [=>      ] 1/3");
        assert_eq!(drawn(3), "loop [=======>] 3/3");
        assert_eq!(line(&loop_at(5, Some(12)), &USUAL, 60).len(), 59);
    }

    #[test]
    fn a_step_without_an_end_moves_to_and_fro() {
        let drawn = |endless_pictures| {
            let state = StepState {
                endless_pictures,
                ..loop_at(7, None)
            };
            line(&state, &[Field::Bar], 9)
        };
        let pictures: Vec<_> = (0..6).map(drawn).collect();
        assert_eq!(
            pictures,
            [
                "[ <=>  ]", "[  <=> ]", "[   <=>]", "[  <=> ]", "[ <=>  ]", "[<=>   ]"
            ]
        );
        assert_eq!(
            line(&loop_at(5, Some(4)), &USUAL, 20),
            "loop [ <=>    ] 5/4"
        );
    }

    #[test]
    fn the_rest_is_estimated_by_what_was_counted() {
        let state = StepState {
            recent: (2, Duration::from_secs(22)),
            ..loop_at(2, Some(8))
        };
        assert_eq!(state.estimate().unwrap(), "1m07s");
        assert_eq!(loop_at(0, Some(8)).estimate(), None);
        assert_eq!(state.speed().unwrap(), "0 files/sec");
        let words = [59, 30_001, 1_000_000, 2_100_000, 3_000_001, 42_000_001].map(duration_words);
        assert_eq!(
            words,
            ["59s", "8h20m", "11d13h", "24d07h", "4w06d", "1y17w"]
        );
    }

    #[test]
    fn items_are_cut_by_columns() {
        let item = "\u{3042}\u{3044}\u{3046}\u{3048}";
        let state = StepState {
            item: item.as_bytes(),
            ..loop_at(0, None)
        };
        assert_eq!(
            line(&state, &[Field::ItemStart(6)], 20),
            "\u{3042}\u{3044}\u{3046}"
        );
        assert_eq!(line(&state, &[Field::ItemEnd(5)], 20), "\u{3046}\u{3048} ");
        assert_eq!(line(&state, &[Field::Topic, Field::Bar], 3), "loo");
    }

    proptest::proptest! {
        #[test]
        fn no_line_is_wider_than_it_may_be(
            position: u64, total: Option<u64>, width in 0_usize..200, item: Vec<u8>, counted: u64,
        ) {
            let recent = (counted, Duration::from_millis(counted % 100_000));
            let state = StepState { item: &item, recent, ..loop_at(position, total) };
            let format = [Field::ItemEnd(7), Field::Topic, Field::Bar, Field::Number, Field::Estimate, Field::Speed];
            let drawn = state.picture(&format, width);
            proptest::prop_assert!(columns::width(&drawn) <= width);
        }
    }
}
