//! Dates as numbers (days since 1970), and the parts of a date that can become bits.
//!
//! A date is written `YYYY-MM-DD` or `YYYY/MM/DD`, optionally followed by a blank or `T` and a time
//! `hh:mm[:ss[.fraction]]`; a time zone after it is ignored. Parquet's dates and times are read as such text, too. Days
//! are counted in the proleptic Gregorian calendar (H. Hinnant, chrono-compatible low-level date algorithms).

use serde::{Deserialize, Serialize};

/// The part of a date that a column is encoded by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatePart {
    /// The year: a number.
    Year,
    /// The month: one of 12.
    Month,
    /// The day of the week: one of 7, Monday first.
    Weekday,
    /// Days since 1970 with their fraction: a number.
    Ordinal,
}

/// The names of the days, Monday first.
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

impl DatePart {
    pub(super) const ALL: [DatePart; 4] = [DatePart::Year, DatePart::Month, DatePart::Weekday, DatePart::Ordinal];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            DatePart::Year => "year",
            DatePart::Month => "month",
            DatePart::Weekday => "weekday",
            DatePart::Ordinal => "ordinal",
        }
    }

    /// The part of a date, in days since 1970.
    pub(super) fn of(self, days: f64) -> f64 {
        let day = days.floor() as i64;
        let (year, month, _) = civil(day);
        match self {
            DatePart::Year => year as f64,
            DatePart::Month => f64::from(month),
            // 1970 began on a Thursday.
            DatePart::Weekday => ((day + 3).rem_euclid(7) + 1) as f64,
            DatePart::Ordinal => days,
        }
    }

    /// All values of a part, if it has few.
    pub(super) fn values(self) -> Option<Vec<f64>> {
        match self {
            DatePart::Month => Some((1..=12).map(f64::from).collect()),
            DatePart::Weekday => Some((1..=7).map(f64::from).collect()),
            DatePart::Year | DatePart::Ordinal => None,
        }
    }

    /// A value of this part as text.
    pub(super) fn text(self, value: f64) -> Option<String> {
        match self {
            DatePart::Weekday => WEEKDAYS.get((value as usize).checked_sub(1)?).map(|name| name.to_string()),
            DatePart::Ordinal => {
                let minutes = ((value - value.floor()) * 1440.0).round() as i64;
                let (day, minutes) = (value.floor() as i64 + minutes / 1440, minutes % 1440);
                let (year, month, day) = civil(day);
                let time =
                    if minutes == 0 { String::new() } else { format!("T{:02}:{:02}", minutes / 60, minutes % 60) };
                Some(format!("{year:04}-{month:02}-{day:02}{time}"))
            }
            DatePart::Year | DatePart::Month => None,
        }
    }
}

/// A date's days since 1970, with the time as a fraction.
pub(super) fn parse_date(text: &str) -> Option<f64> {
    let text = text.trim();
    let bytes = text.as_bytes();
    if bytes.len() < 10 || !text.is_char_boundary(10) || !matches!((bytes[4], bytes[7]), (b'-', b'-') | (b'/', b'/')) {
        return None;
    }
    let number =
        |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i64>().ok()).flatten();
    let (year, month, day) = (number(&text[..4])?, number(&text[5..7])?, number(&text[8..10])?);
    let days = days_of(year, month, day);
    if civil(days) != (year, u32::try_from(month).ok()?, u32::try_from(day).ok()?) {
        return None;
    }
    let rest = &text[10..];
    if rest.is_empty() {
        return Some(days as f64);
    }
    let time = rest.strip_prefix(['T', ' '])?.trim_start();
    let end = time.find(['Z', 'z', '+', '-', ' ']).unwrap_or(time.len());
    let mut parts = time[..end].split(':');
    let [hour, minute] = [parts.next()?, parts.next()?].map(number);
    let second: f64 = parts.next().map_or(Some(0.0), |text| text.parse().ok())?;
    let (hour, minute) = (hour?, minute?);
    let fits = hour < 24 && minute < 60 && (0.0..61.0).contains(&second) && parts.next().is_none();
    fits.then(|| days as f64 + (hour * 3600 + minute * 60) as f64 / 86400.0 + second / 86400.0)
}

/// Days since 1970 for a date in the Gregorian calendar.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The year, month and day for a number of days since 1970.
fn civil(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * shifted + 2) / 5 + 1) as u32;
    let month = (if shifted < 10 { shifted + 3 } else { shifted - 9 }) as u32;
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_one_by_one() {
        // By the rule of leap years alone.
        let (mut year, mut month, mut day) = (1600, 1, 1);
        let first = days_of(1600, 1, 1);
        for days in first..first + 200_000 {
            assert_eq!((civil(days), days_of(year, month, day)), ((year, month as u32, day as u32), days));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn dates_are_read_and_written() {
        assert_eq!(parse_date("1970-01-01"), Some(0.0));
        assert_eq!(parse_date(" 2000/03/01 "), Some(11_017.0));
        assert_eq!(parse_date("1970-01-02T12:00"), Some(1.5));
        assert_eq!(parse_date("1970-01-02 18:00:00.000Z"), Some(1.75));
        assert_eq!(parse_date("1970-01-02 06:00:00+02:00"), Some(1.25));
        for wrong in [
            "",
            "1970",
            "1970-1-1",
            "1970-02-30",
            "1970-01-01x",
            "1970-01-01 25:00",
            "70-01-01",
            "1970-01/01",
            "é970-01-01",
        ] {
            assert_eq!(parse_date(wrong), None, "{wrong}");
        }
        // 24 December 2025 was a Wednesday.
        let days = parse_date("2025-12-24").unwrap();
        assert_eq!([DatePart::Year, DatePart::Month, DatePart::Weekday].map(|part| part.of(days)), [2025.0, 12.0, 3.0]);
        assert_eq!(DatePart::Weekday.text(3.0).unwrap(), "Wed");
        assert_eq!(DatePart::Ordinal.text(days + 0.5).unwrap(), "2025-12-24T12:00");
        assert_eq!(DatePart::Ordinal.text(-0.000_001).unwrap(), "1970-01-01");
    }
}
