//! Floats as text: the shortest decimals that read back as the same float, never with an exponent, as `f64::to_string`
//! gives them, only faster; a zero has no sign.

use std::io::Write;

/// Adds the text of a number.
pub fn write_number(text: &mut Vec<u8>, number: f64) {
    let mut buffer = zmij::Buffer::new();
    let digits = buffer.format(number);
    if number == 0.0 {
        text.push(b'0');
    } else if number.is_finite() && !digits.contains('e') {
        text.extend_from_slice(digits.strip_suffix(".0").unwrap_or(digits).as_bytes());
    } else {
        // Exponents are rare: numbers below 0.00001, most of them a zero but for rounding.
        write!(text, "{number}").expect("memory takes what is written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(number: f64) -> String {
        let mut text = b"x".to_vec();
        write_number(&mut text, number);
        String::from_utf8(text).unwrap()[1..].to_string()
    }

    #[test]
    fn numbers_look_as_people_write_them() {
        let cases = [0.0, -0.0, 0.1875, -1.0, 100.0, 1e-5, -1.5e-17, 1e15, 1e22, 0.1 + 0.2, f64::NAN, f64::INFINITY];
        let texts = cases.map(text);
        assert_eq!(texts[..7], ["0", "0", "0.1875", "-1", "100", "0.00001", "-0.000000000000000015"]);
        assert_eq!(texts[7..10], ["1000000000000000", "10000000000000000000000", "0.30000000000000004"]);
        assert_eq!(texts[10..], ["NaN", "inf"]);
    }

    proptest! {
        #[test]
        fn the_text_is_that_of_the_standard_library(bits: u64, score in -1.0..1.0f64, small in -1e-3..1e-3f64) {
            for number in [f64::from_bits(bits), score, small, (score * 8192.0).round() / 8192.0, small * 1e-12] {
                prop_assert_eq!(text(number), if number == 0.0 { "0".into() } else { number.to_string() });
            }
        }
    }
}
