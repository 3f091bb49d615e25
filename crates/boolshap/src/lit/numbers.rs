//! Numbers formatted for reading.

/// A whole number with its digits grouped in threes.
///
/// ```
/// assert_eq!([0, 999, 1000, 1234567].map(boolshap::lit::thousands), ["0", "999", "1,000", "1,234,567"]);
/// ```
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number rounded to two significant digits.
///
/// ```
/// let texts = [7, 1234, 56_789, 1_870_000, 31_200_000_000].map(boolshap::lit::roughly);
/// assert_eq!(texts, ["7", "1,200", "57,000", "1.9 million", "31 billion"]);
/// ```
pub fn roughly(number: u64) -> String {
    let unit = 10u64.pow(number.max(1).ilog10().saturating_sub(1));
    let rounded = (number + unit / 2) / unit * unit;
    let of = |unit: u64, name: &str| {
        let digits = usize::from(rounded / unit < 10);
        format!("{:.digits$} {name}", rounded as f64 / unit as f64)
    };
    match rounded {
        0..1_000_000 => thousands(rounded),
        1_000_000..1_000_000_000 => of(1_000_000, "million"),
        _ => of(1_000_000_000, "billion"),
    }
}

/// A time in seconds, rounded to about two significant digits.
///
/// ```
/// let texts = [0.04, 2.3, 90.0, 1200.0, 9000.0, 2e6, 1e10].map(boolshap::lit::duration);
/// assert_eq!(texts, ["0.04 s", "2.3 s", "90 s", "20 minutes", "2.5 hours", "23 days", "317 years"]);
/// ```
pub fn duration(seconds: f64) -> String {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 60.0 * MINUTE;
    const DAY: f64 = 24.0 * HOUR;
    const YEAR: f64 = 365.25 * DAY;
    let of = |unit: f64, name: &str| {
        let number = seconds / unit;
        let digits =
            if number >= 9.95 || number == 0.0 { 0 } else { (-number.log10().floor()).clamp(0.0, 5.0) as usize };
        let digits = digits + usize::from((1.0..9.95).contains(&number) && number.fract() >= 0.05);
        format!("{number:.digits$} {name}")
    };
    match seconds {
        ..100.0 => of(1.0, "s"),
        ..6000.0 => of(MINUTE, "minutes"),
        ..172_800.0 => of(HOUR, "hours"),
        ..31_557_600.0 => of(DAY, "days"),
        _ => of(YEAR, "years"),
    }
}
