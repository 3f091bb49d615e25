//! Shortens long names by the parts that they share with other long names, so that the visible parts differ.

/// Names up to this length stay unchanged.
const LONG: usize = 28;
/// The least length of a shared part to be left out.
const SHARED: usize = 10;

/// A short form of each name. In long names, the beginning and the end shared with another long name are replaced by an
/// ellipsis, cut at word boundaries. If two short forms would be equal, all names stay unchanged.
pub fn short_names(names: &[String]) -> Vec<String> {
    let long: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
    let heads = shared(&long, false);
    let tails = shared(&long, true);
    let short = |(place, name): (usize, &Vec<char>)| {
        let head = word_start(name, heads[place]);
        let tail = word_end(name, tails[place]).min(name.len() - head);
        let middle: String = name[head..name.len() - tail].iter().collect();
        match middle.trim().is_empty() {
            true => names[place].clone(),
            false => {
                let [before, after] = [head, tail].map(|cut| if cut > 0 { "\u{2026}" } else { "" });
                format!("{before}{}{after}", middle.trim())
            }
        }
    };
    let found: Vec<String> = long.iter().enumerate().map(short).collect();
    let mut sorted: Vec<&String> = found.iter().collect();
    sorted.sort();
    match sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        true => names.to_vec(),
        false => found,
    }
}

/// The number of characters that each long name shares at its beginning, or end, with another long name.
fn shared(names: &[Vec<char>], from_end: bool) -> Vec<usize> {
    let turned = |name: &Vec<char>| if from_end { name.iter().rev().copied().collect() } else { name.clone() };
    let mut order: Vec<(Vec<char>, usize)> =
        names.iter().enumerate().filter(|(_, name)| name.len() > LONG).map(|(at, name)| (turned(name), at)).collect();
    order.sort();
    let mut most = vec![0; names.len()];
    for pair in order.windows(2) {
        let same = pair[0].0.iter().zip(&pair[1].0).take_while(|(a, b)| a == b).count();
        for (_, at) in pair {
            most[*at] = most[*at].max(same);
        }
    }
    most
}

/// The last start of a word within the first characters; 0 if too little would be left out.
fn word_start(name: &[char], shared: usize) -> usize {
    let start = (1..=shared.min(name.len())).rev().find(|&at| !name[at - 1].is_alphanumeric()).unwrap_or(0);
    if start < SHARED { 0 } else { start }
}

/// The largest number of the last characters that starts after the end of a word; 0 if too little would be left out.
fn word_end(name: &[char], shared: usize) -> usize {
    let count = name.len();
    let cut = (1..=shared.min(count)).rev().find(|&cut| !name[count - cut].is_alphanumeric()).unwrap_or(0);
    if cut < SHARED { 0 } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(names: &[&str]) -> Vec<String> {
        short_names(&names.iter().map(|name| name.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn what_long_names_share_is_left_out() {
        let asked =
            |what: &str, number: u32| format!("Has the applicant ever {what} (question {number}, revised 2021)");
        let [first, second] = [asked("defaulted on a loan", 1), asked("been declined", 1)];
        assert_eq!(
            short(&[&first, &second, "age"]),
            ["\u{2026}defaulted on a loan\u{2026}", "\u{2026}been declined\u{2026}", "age"]
        );
        assert_eq!(short(&["short", "shorter"]), ["short", "shorter"]);
        let same = "a name that is there twice, and a long one";
        assert_eq!(short(&[same, same]), [same, same]);
        let part = "a name that goes on and on and on";
        assert_eq!(short(&[part, &format!("{part} and on")])[0], part);
        assert_eq!(short(&[]), Vec::<String>::new());
    }
}
