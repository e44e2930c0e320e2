//! The calendar: days since 1970 to year, month and day, and back.

/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;

/// A date and a time of day, without a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Civil {
    pub year: i64,
    /// From 1.
    pub month: i64,
    /// From 1.
    pub day: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
}

impl Civil {
    /// What a clock that stands at `seconds` since 1970 shows.
    pub fn of(seconds: i64) -> Civil {
        let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        let (year, month, day) = year_month_day(days);
        Civil {
            year,
            month,
            day,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
        }
    }

    /// Seconds since 1970 on a clock that shows this.
    pub fn seconds(&self) -> i64 {
        let days = days(self.year, self.month, self.day);
        days * DAY + self.hour * 3600 + self.minute * 60 + self.second
    }

    /// 0 is Sunday.
    pub fn weekday(&self) -> i64 {
        (days(self.year, self.month, self.day) + 4).rem_euclid(7)
    }

    /// From 1.
    pub fn day_of_year(&self) -> i64 {
        days(self.year, self.month, self.day) - days(self.year, 1, 1) + 1
    }

    /// Whether the calendar has that day and the clock that time.
    pub fn exists(&self) -> bool {
        let leap = days(self.year, 3, 1) - days(self.year, 2, 1);
        let last = match self.month {
            2 => leap,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        (1..=12).contains(&self.month)
            && (1..=last).contains(&self.day)
            && (0..24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            && (0..=61).contains(&self.second)
    }
}

/// Days of four hundred years, after which the calendar repeats.
const ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// Days since 1970-01-01. The year is counted from March, so that the leap day is its last.
pub(crate) fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH
}

fn year_month_day(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let (era, of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_days() {
        let civil = Civil::of(1_165_432_709);
        assert_eq!((civil.year, civil.month, civil.day), (2006, 12, 6));
        assert_eq!((civil.hour, civil.minute, civil.second), (19, 18, 29));
        assert_eq!(civil.weekday(), 3);
        assert_eq!(civil.day_of_year(), 340);
        assert_eq!(Civil::of(-1).year, 1969);
    }

    proptest! {
        #[test]
        fn seconds_come_back(seconds in -100_000_000_000_i64..100_000_000_000) {
            let civil = Civil::of(seconds);
            prop_assert!(civil.exists());
            prop_assert_eq!(civil.seconds(), seconds);
        }
    }
}
