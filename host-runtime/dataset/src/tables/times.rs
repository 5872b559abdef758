//! Times as text, in UTC. Texts of equal length have the order of their times.

/// Completes a shortened time.
const MIDNIGHT: &str = "0000-00-00T00:00:00.000000Z";
/// The length of a date.
const DATE: usize = 10;

/// A time in the form of [`start_text`]. The input may end early, and may have a space between date and hour. `None` if it is not a
/// time.
pub(super) fn whole_time(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_suffix('Z').unwrap_or(text);
    if text.len() < DATE || text.len() >= MIDNIGHT.len() {
        return None;
    }
    let mut whole = String::new();
    for (is, wanted) in text.chars().zip(MIDNIGHT.chars()) {
        whole.push(match (wanted, is) {
            ('0', digit) if digit.is_ascii_digit() => digit,
            ('T', ' ' | 't') => 'T',
            (wanted, is) if wanted == is && wanted != '0' => is,
            _ => return None,
        });
    }
    whole.push_str(MIDNIGHT.get(whole.len()..)?);
    // Days that a month doesn't have do no harm: they are compared as texts.
    let number = |from: usize| whole.get(from..from + 2)?.parse::<u32>().ok();
    if !(1..=12).contains(&number(5)?) || !(1..=31).contains(&number(8)?) || number(11)? > 23 {
        return None;
    }
    Some(whole)
}

/// Whether a text is a date.
pub(super) fn is_date(text: &str) -> bool {
    text.len() == DATE && whole_time(text).is_some()
}

/// `2026-11-24T21:00:00.000000Z` of microseconds since 1970. Texts of times are ordered as the times are.
pub(super) fn start_text(micros: i64) -> String {
    let (seconds, micros) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z", date_text(day))
}

/// `2026-11-24` of days since 1970 (Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*, `civil_from_days`).
pub(super) fn date_text(days: i64) -> String {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The day of a moment in UTC, `2026-11-24`; microseconds since 1970.
pub fn day(micros: i64) -> String {
    date_text(micros.div_euclid(86_400_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, date) in
            [(0, "1970-01-01"), (-1, "1969-12-31"), (11_016, "2000-02-29"), (20_781, "2026-11-24")]
        {
            assert_eq!(date_text(days), date);
        }
        assert_eq!(start_text(1_795_554_000_000_001), "2026-11-24T21:00:00.000001Z");
    }

    #[test]
    fn times_may_end_early() {
        for (text, whole) in [
            ("2026-11-24", "2026-11-24T00:00:00.000000Z"),
            ("2026-11-24T", "2026-11-24T00:00:00.000000Z"),
            (" 2026-11-24 21:05", "2026-11-24T21:05:00.000000Z"),
            ("2026-11-24T21:05:06.7Z", "2026-11-24T21:05:06.700000Z"),
            ("2026-11-24 21:05:06.123456", "2026-11-24T21:05:06.123456Z"),
        ] {
            assert_eq!(whole_time(text).as_deref(), Some(whole), "{text}");
        }
        for text in [
            "",
            "2026",
            "2026-11-4",
            "2026-13-01",
            "2026-11-00",
            "2026-11-24 24",
            "24.11.2026",
            "2026-11-24 9:00",
            "2026-11-24T21:05:06.1234567",
            "2026-11-24 21:05+01:00",
        ] {
            assert_eq!(whole_time(text), None, "{text}");
        }
        assert!(is_date("2026-11-24") && !is_date("2026-11-24T"));
    }
}
