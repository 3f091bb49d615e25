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
            several => Err(Error::setting("class", format!("'{several}' is not one class"))),
        }
    }
}

/// A number, `each` (or `all`), `predicted`, or a name.
impl FromStr for ClassChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "" => Err(Error::setting("class", "is empty")),
            "each" | "all" => Ok(ClassChoice::Each),
            "predicted" => Ok(ClassChoice::Predicted),
            name => Ok(name.parse().map_or_else(|_| ClassChoice::Name(name.into()), ClassChoice::Number)),
        }
    }
}

impl fmt::Display for ClassChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassChoice::Each => f.write_str("each"),
            ClassChoice::Predicted => f.write_str("predicted"),
            ClassChoice::Number(number) => write!(f, "{number}"),
            ClassChoice::Name(name) => f.write_str(name),
        }
    }
}
