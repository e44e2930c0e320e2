//! Dates in ISO 8601, with the offset that the author had.

const DAY: i64 = 86_400;
const MINUTE: i64 = 60;

/// The date of a changeset, such as `2026-11-27T23:59:45+01:00`; `west` is in seconds west of UTC. An offset is shown in
/// whole minutes, and the time so that the moment is right. `None` outside of the years 0 to 9999, or for an offset of a
/// day and more.
pub(crate) fn iso_8601(seconds: i64, west: i32) -> Option<String> {
    let east = -i64::from(west) / MINUTE * MINUTE;
    if east.abs() >= DAY {
        return None;
    }
    let local = seconds.checked_add(east)?;
    let (days, time) = (local.div_euclid(DAY), local.rem_euclid(DAY));
    let (year, month, day) = civil(days)?;
    let (hour, minute, second) = (time / 3600, time / MINUTE % MINUTE, time % MINUTE);
    let sign = if east < 0 { '-' } else { '+' };
    let (hours, minutes) = (east.abs() / 3600, east.abs() / MINUTE % MINUTE);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{sign}{hours:02}:{minutes:02}"
    ))
}

/// Year, month and day of a day counted from 1970, in the Gregorian calendar. Years are counted from March in cycles of
/// 400 years, as in Howard Hinnant's `civil_from_days`.
fn civil(days: i64) -> Option<(i64, i64, i64)> {
    const CYCLE: i64 = 146_097;
    /// Days from 1 March of the year 0 to 1970.
    const BEFORE_1970: i64 = 719_468;
    let days = days.checked_add(BEFORE_1970)?;
    let (cycle, day) = (days.div_euclid(CYCLE), days.rem_euclid(CYCLE));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = cycle.checked_mul(400)?.checked_add(year + next)?;
    (0..=9999).contains(&year).then_some((year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_have_the_offset_of_their_author() {
        let shown = |seconds, west| iso_8601(seconds, west).unwrap_or_default();
        assert_eq!(shown(0, 0), "1970-01-01T00:00:00+00:00");
        assert_eq!(shown(1_795_234_214, -3600), "2026-11-21T05:10:14+01:00");
        assert_eq!(shown(-1, 12_600), "1969-12-31T20:29:59-03:30");
        assert_eq!(shown(951_782_400, 0), "2000-02-29T00:00:00+00:00");
        assert_eq!(shown(4_107_542_399, 0), "2100-02-28T23:59:59+00:00");
        assert_eq!(shown(0, -30), "1970-01-01T00:00:00+00:00");
        for (seconds, west) in [
            (i64::MAX, 0),
            (i64::MIN, 0),
            (0, i32::MIN),
            (0, 86_400),
            (1 << 40, 0),
        ] {
            assert_eq!(iso_8601(seconds, west), None, "{seconds} {west}");
        }
    }

    proptest! {
        #[test]
        fn the_next_day_is_the_next_date(days in -719_000_i64..2_900_000) {
            let date = civil(days).unwrap();
            let next = civil(days + 1).unwrap();
            let (year, month, day) = date;
            prop_assert!((1..=12).contains(&month) && (1..=31).contains(&day));
            let same_month = (year, month, day + 1);
            let next_month = if month == 12 { (year + 1, 1, 1) } else { (year, month + 1, 1) };
            prop_assert!(next == same_month || (next == next_month && day >= 28));
        }

        #[test]
        fn no_date_is_too_odd(seconds in any::<i64>(), west in any::<i32>()) {
            let shown = iso_8601(seconds, west);
            prop_assert!(shown.is_none_or(|date| date.len() == 25));
        }
    }
}
