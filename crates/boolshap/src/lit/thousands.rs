//! Whole numbers as people read them.

/// A whole number with its digits in threes.
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
