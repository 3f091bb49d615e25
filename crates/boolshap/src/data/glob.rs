//! Patterns that name several files, such as `part-*.parquet`: `*` matches any letters, `?` one letter, and `[ab]`,
//! `[a-f]` and `[!a]` one letter of a set, in any part of a path. If a file has exactly the pattern as its name, only
//! that file is meant.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The files that a pattern matches, sorted by name; the path itself if it is not a pattern.
pub fn matching_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !is_pattern(path) || fs::symlink_metadata(path).is_ok() {
        return Ok(vec![path.into()]);
    }
    let mut found = vec![PathBuf::new()];
    for component in path.components() {
        let name = component.as_os_str();
        let pattern = match component {
            Component::Normal(_) => name.to_str().filter(|name| has_magic(name)),
            _ => None,
        };
        found = match pattern {
            None => found
                .into_iter()
                .map(|path| path.join(name))
                .filter(|path| fs::symlink_metadata(path).is_ok())
                .collect(),
            Some(pattern) => found.iter().flat_map(|folder| entries(folder, pattern)).collect(),
        };
    }
    found.retain(|path| !path.is_dir());
    found.sort();
    match found.is_empty() {
        true => Err(io::Error::new(io::ErrorKind::NotFound, "no file has a name like this")),
        false => Ok(found),
    }
}

/// Whether a path contains wildcards.
fn is_pattern(path: &Path) -> bool {
    path.to_str().is_some_and(has_magic)
}

fn has_magic(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

fn entries(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let pattern: Vec<char> = pattern.chars().collect();
    let fits = |name: &str| {
        let name: Vec<char> = name.chars().collect();
        // A pattern matches hidden files only if it begins with a dot.
        (name.first() != Some(&'.') || pattern.first() == Some(&'.')) && matches(&pattern, &name)
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    names.filter(|name| name.to_str().is_some_and(fits)).map(|name| folder.join(name)).collect()
}

/// Whether a name matches a pattern. Backtracks only to the last star, so the cost is at most the product of the
/// lengths.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut of, mut star) = (0, 0, None);
    while of < name.len() {
        let next = match pattern.get(at) {
            Some('*') => {
                star = Some((at, of));
                at += 1;
                continue;
            }
            Some('?') => Some(at + 1),
            Some('[') => one_of(&pattern[at..], name[of]).map(|length| at + length),
            Some(letter) if *letter == name[of] => Some(at + 1),
            _ => None,
        };
        match (next, star) {
            (Some(next), _) => (at, of) = (next, of + 1),
            (None, Some((back, from))) => {
                (at, of) = (back + 1, from + 1);
                star = Some((back, from + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// The length of a set `[...]` that contains a letter; a bracket that is never closed matches itself.
fn one_of(pattern: &[char], letter: char) -> Option<usize> {
    let Some(end) = pattern.iter().skip(2).position(|letter| *letter == ']').map(|place| place + 2) else {
        return (letter == '[').then_some(1);
    };
    let negated = matches!(pattern[1], '!' | '^');
    let set = &pattern[1 + usize::from(negated)..end];
    let in_range = set.windows(3).any(|range| range[1] == '-' && (range[0]..=range[2]).contains(&letter));
    ((in_range || set.contains(&letter)) != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_as_shells_do() {
        let fits = |pattern: &str, name: &str| {
            matches(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
        };
        for (pattern, name) in [
            ("*", "a.csv"),
            ("a*b*c", "aXbYbZc"),
            ("part-?.csv", "part-1.csv"),
            ("[a-c]x", "bx"),
            ("[!a-c]x", "dx"),
            ("*.parquet", "é.parquet"),
            ("a[", "a["),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("?", ""), ("a*b", "acd"), ("[a-c]x", "dx"), ("[!a]", "a"), ("*.csv", "a.csv.gz")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn files_come_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["p-2.csv", "p-1.csv", ".p-0.csv", "q.csv", "star*.csv"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("p-3.csv")).unwrap();
        let found = |pattern: &str| {
            let files = matching_files(&folder.path().join(pattern)).ok()?;
            Some(files.iter().map(|file| file.file_name().unwrap().to_string_lossy().into_owned()).collect::<Vec<_>>())
        };
        assert_eq!(found("p-*.csv").unwrap(), ["p-1.csv", "p-2.csv"]);
        assert_eq!(found("star*.csv").unwrap(), ["star*.csv"]);
        assert_eq!(found("missing.csv").unwrap(), ["missing.csv"]);
        assert_eq!(found("z*"), None);
    }
}
