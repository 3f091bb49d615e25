//! Floats as text: the shortest decimals that read back as the same float, never with an exponent. The result equals
//! `f64::to_string`, but is computed faster; a zero has no sign.
//!
//! If the exact value is halfway between the two shortest candidates, the fast algorithm takes the even one and the
//! standard library the upper one. This can happen for scores, which are often sums of few powers of two; such numbers
//! take the slow path. A float that is an odd number divided by 2^k has exactly k decimals, so it can be halfway only
//! if k - 1 of them are shown.

use std::io::Write;

/// Appends the text of a number.
pub fn write_number(text: &mut Vec<u8>, number: f64) {
    if number == 0.0 {
        return text.push(b'0');
    }
    let mut buffer = zmij::Buffer::new();
    let digits = buffer.format(number);
    let digits = digits.strip_suffix(".0").unwrap_or(digits);
    let decimals = digits.find('.').map_or(0, |point| digits.len() - point - 1);
    // Exponents are rare: they occur below 0.00001, mostly for rounding errors around zero.
    if !number.is_finite() || digits.contains('e') || binary_places(number) == decimals as i64 + 1 {
        write!(text, "{number}").expect("writing to memory does not fail");
    } else {
        text.extend_from_slice(digits.as_bytes());
    }
}

/// The smallest k for which the number times 2^k is a whole number.
fn binary_places(number: f64) -> i64 {
    let bits = number.to_bits();
    let (exponent, fraction) = (bits >> 52 & 0x7FF, bits & ((1 << 52) - 1));
    let whole = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    1075 - exponent.max(1) as i64 - i64::from(whole.trailing_zeros())
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
    fn numbers_are_written_without_exponents() {
        let cases = [0.0, -0.0, 0.1875, -1.0, 100.0, 1e-5, -1.5e-17, 1e15, 1e22, 0.1 + 0.2, f64::NAN, f64::INFINITY];
        let texts = cases.map(text);
        assert_eq!(texts[..7], ["0", "0", "0.1875", "-1", "100", "0.00001", "-0.000000000000000015"]);
        assert_eq!(texts[7..10], ["1000000000000000", "10000000000000000000000", "0.30000000000000004"]);
        assert_eq!(texts[10..], ["NaN", "inf"]);
        // Halfway between ...62 and ...63.
        assert_eq!(text(1_414_459_914_112.0 + 21.0 / 32.0), "1414459914112.6563");
        assert_eq!([0.75, 1.0, 6.0, f64::MIN_POSITIVE / 2.0].map(binary_places), [2, 0, -1, 1023]);
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(bits: u64, score in -1.0..1.0f64, small in -1e-3..1e-3f64, places in 0..64i32) {
            // Ties occur at sums of few powers of two.
            let halves = (score * 2f64.powi(places.min(53))).round() / 2f64.powi(places);
            for number in [f64::from_bits(bits), score, small, halves, halves + 1.0, halves * 1e12, small * 1e-12] {
                prop_assert_eq!(text(number), if number == 0.0 { "0".into() } else { number.to_string() });
            }
        }
    }
}
