//! Which of several classes is meant.

use super::Error;
use std::fmt;
use std::str::FromStr;

/// One class or several: by number, by name, each of them, or the one predicted for a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClassChoice {
    /// A circuit, or scores, for each class.
    Each,
    /// For each row the class that is predicted for it.
    Predicted,
    /// The class of this number, counted from 0.
    Number(usize),
    /// The class of this name.
    Name(String),
    /// The class of this number or of this name, whichever exists: digits can be both.
    Digits(String),
}

impl ClassChoice {
    /// The number of a single class among classes of these names.
    pub fn number(&self, classes: usize, names: &[String]) -> Result<usize, Error> {
        let unknown = |class: String| {
            let number = |class: usize| match names.get(class) {
                Some(name) if *name != class.to_string() => format!("{class} ({name})"),
                _ => class.to_string(),
            };
            Error::UnknownClass { class, classes: (0..classes).map(number).collect() }
        };
        match self {
            ClassChoice::Number(number) if *number < classes => Ok(*number),
            ClassChoice::Number(number) => Err(unknown(number.to_string())),
            ClassChoice::Name(name) => {
                names.iter().position(|known| known == name).ok_or_else(|| unknown(format!("'{name}'")))
            }
            ClassChoice::Digits(digits) => {
                let by_number = digits.parse().ok().filter(|number| *number < classes);
                let by_name = names.iter().position(|known| known == digits);
                match (by_number, by_name) {
                    (Some(number), Some(other)) if number != other => {
                        let name = names.get(number).map_or("", String::as_str);
                        Err(Error::setting(
                            "class",
                            format!(
                                "'{digits}' is the number of the class '{name}' and the name of the class of number \
                                 {other}: say index:{digits} or name:{digits}"
                            ),
                        ))
                    }
                    (found, other) => found.or(other).ok_or_else(|| unknown(digits.clone())),
                }
            }
            several => Err(Error::setting("class", format!("'{several}' is not one class"))),
        }
    }
}

impl ClassChoice {
    /// Two classes of which the second is subtracted from the first: `A-B`, each a number or a name, unless a class has
    /// that name.
    pub fn difference(&self, classes: usize, names: &[String]) -> Option<(usize, usize)> {
        let ClassChoice::Name(text) = self else { return None };
        if names.contains(text) {
            return None;
        }
        let one = |text: &str| text.parse::<ClassChoice>().ok()?.number(classes, names).ok();
        let pair = |(at, _): (usize, &str)| Some((one(&text[..at])?, one(&text[at + 1..])?));
        text.match_indices('-').find_map(pair)
    }
}

/// A number or a name; `index:NUMBER` and `name:NAME` say which, where digits could be both; `each` (or `all`), `predicted`.
impl FromStr for ClassChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "" => Err(Error::setting("class", "is empty")),
            "each" | "all" => Ok(ClassChoice::Each),
            "predicted" => Ok(ClassChoice::Predicted),
            text => match text.split_once(':') {
                Some(("index", number)) => match number.parse() {
                    Ok(number) => Ok(ClassChoice::Number(number)),
                    Err(_) => Err(Error::setting("class", format!("'{number}' is not the number of a class"))),
                },
                Some(("name", name)) => Ok(ClassChoice::Name(name.into())),
                _ if text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(ClassChoice::Digits(text.into())),
                _ => Ok(ClassChoice::Name(text.into())),
            },
        }
    }
}

impl fmt::Display for ClassChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassChoice::Each => f.write_str("each"),
            ClassChoice::Predicted => f.write_str("predicted"),
            ClassChoice::Number(number) => write!(f, "{number}"),
            ClassChoice::Name(name) | ClassChoice::Digits(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_a_number_or_a_name_and_never_either() {
        let names = ["1", "2", "7"].map(String::from);
        let number =
            |text: &str| text.parse::<ClassChoice>().unwrap().number(3, &names).map_err(|error| error.to_string());
        assert_eq!((number("0"), number("7"), number("name:1"), number("index:1")), (Ok(0), Ok(2), Ok(0), Ok(1)));
        assert!(number("1").unwrap_err().contains("say index:1 or name:1"));
        assert!(number("2").unwrap_err().contains("say index:2 or name:2"));
        assert!(number("3").unwrap_err().starts_with("there is no class 3"));
        let plain = ["0", "1"].map(String::from);
        assert_eq!("1".parse::<ClassChoice>().unwrap().number(2, &plain).unwrap(), 1);
    }
}
