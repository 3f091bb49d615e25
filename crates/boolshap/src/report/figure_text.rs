//! The texts in figures: names shortened and escaped, and formatted numbers.

/// A name that is visible even if it is blank.
pub(super) fn shown(name: &str) -> &str {
    if name.trim().is_empty() { "(no name)" } else { name }
}

/// Escapes a text for XML, inside elements and attributes alike. Characters that XML does not allow become U+FFFD, and
/// so do marks that could reverse the direction of the surrounding text.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ if char.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(char),
        }
    }
    escaped
}

/// The approximate width of a text in units of its font size, rather too wide than too narrow.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().map(char_width).sum()
}

fn char_width(char: char) -> f64 {
    match char {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.29,
        'f' | 'r' | 't' | 'I' | '(' | ')' | '[' | ']' | '/' | '-' => 0.4,
        '_' | 's' | 'c' | 'z' => 0.5,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '\u{2026}' => 0.94,
        'A'..='Z' => 0.69,
        '\u{20}'..='\u{7e}' => 0.61,
        '\u{80}'..='\u{10ff}' | '\u{2000}'..='\u{20ff}' => 0.7,
        _ => 1.02,
    }
}

/// Shortens a text in its middle to `room`, measured in font sizes; ends differ more often than middles.
pub(super) fn shorten(text: &str, room: f64) -> String {
    let text = shown(text);
    // For a very long name, measures only the characters that can be shown.
    if text.len() < 4000 && width_of(text) <= room {
        return text.to_string();
    }
    let half = (room - char_width('\u{2026}')) / 2.0;
    let taken = |chars: &mut dyn Iterator<Item = char>| {
        let mut used = 0.0;
        let mut kept = Vec::new();
        for char in chars {
            used += char_width(char);
            if used > half {
                break;
            }
            kept.push(char);
        }
        kept
    };
    let head: String = taken(&mut text.chars()).iter().collect();
    let tail: String = taken(&mut text.chars().rev()).iter().rev().collect();
    format!("{}\u{2026}{}", head.trim_end(), tail.trim_start())
}

/// A number that can be drawn: non-finite values become 0, and huge values are clamped.
pub(super) fn finite(value: f64) -> f64 {
    if value.is_finite() { value.clamp(-1e100, 1e100) } else { 0.0 }
}

/// A number with this many decimals and a real minus sign; very small and very large numbers get an exponent.
pub(super) fn number(value: f64, decimals: usize) -> String {
    let fixed = format!("{value:.decimals$}");
    let lost = value != 0.0 && !fixed.contains(|digit: char| digit.is_ascii_digit() && digit != '0');
    let text = match lost || value.abs() >= 1e7 {
        true => format!("{value:.1e}"),
        false if value == 0.0 => format!("{:.decimals$}", 0.0),
        false => fixed,
    };
    text.replace('-', "\u{2212}")
}

/// A score with its sign and 4 decimals.
pub(super) fn signed(score: f64) -> String {
    format!("{}{}", if score > 0.0 { "+" } else { "" }, number(score, 4))
}

/// A count with thousands separated, and the word for what is counted.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", super::thousands(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_texts_are_valid_xml() {
        assert_eq!(escape("<a b=\"c\" d='e'>&"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
        assert_eq!(
            escape("a\u{0}\u{1f}\u{7f}\u{85}\u{fffe}\u{202e}b\nc"),
            "a\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}b c"
        );
    }

    #[test]
    fn names_are_shortened_in_the_middle() {
        assert_eq!(shorten("short", 10.0), "short");
        assert_eq!(shorten(" ", 10.0), "(no name)");
        let long = "beginning".to_string() + &"-".repeat(50) + "end";
        let short = shorten(&long, 8.0);
        assert!(short.starts_with("begin") && short.ends_with("end") && short.contains('\u{2026}'), "{short}");
        assert!(width_of(&short) <= 8.0);
        let wide = shorten(&"\u{65e5}".repeat(100_000), 10.0);
        assert!(wide.chars().count() < 11 && width_of(&wide) <= 10.0);
    }

    #[test]
    fn numbers_have_a_minus_sign_and_lose_no_digits() {
        assert_eq!(signed(0.12344), "+0.1234");
        assert_eq!(signed(-0.03125), "\u{2212}0.0312");
        assert_eq!(signed(0.0), "0.0000");
        assert_eq!(signed(-0.0), "0.0000");
        assert_eq!(signed(-1.23e-7), "\u{2212}1.2e\u{2212}7");
        assert_eq!(number(3e9, 4), "3.0e9");
        assert_eq!(finite(f64::NAN), 0.0);
        assert_eq!(
            [1, 999, 1000, 1_234_567].map(|n| counted(n, "row", "rows")),
            ["1 row", "999 rows", "1,000 rows", "1,234,567 rows"]
        );
    }
}
