//! Searches and sorts the rows to choose from.

use super::{RawValue, RowTable};
use crate::lit::{Stopped, Watch};
use std::cmp::Ordering;

/// A search: which rows to find, and in which order.
#[derive(Debug, Clone, Default)]
pub struct RowSearch {
    /// Words, each of which must occur in some cell of the row, ignoring case; without words every row matches.
    pub text: String,
    /// Whether to find only rows whose prediction differs from their known class.
    pub wrong: bool,
    /// The sort order.
    pub order: RowOrder,
    /// Whether the largest come first.
    pub descending: bool,
}

/// The sort key of rows. Equal rows keep the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowOrder {
    /// The order of the file.
    #[default]
    Row,
    /// The predicted label.
    Prediction,
    /// The known label.
    Label,
    /// The column at this position.
    Column(usize),
}

/// The sort key of one row; a column holds numbers or texts.
#[derive(PartialEq, PartialOrd)]
enum Key<'a> {
    Number(f64),
    Text(&'a str),
}

/// The prefix of a column's name, needed if the name is one of the reserved keys.
const COLUMN: &str = "column:";
const OWN: [(&str, RowOrder); 3] =
    [("row", RowOrder::Row), ("prediction", RowOrder::Prediction), ("label", RowOrder::Label)];

impl RowTable {
    /// The order with this name: `row`, `prediction`, `label`, a column's name, or `column:` and any column's name.
    pub fn order(&self, name: &str) -> Option<RowOrder> {
        if let Some((_, order)) = OWN.iter().find(|(own, _)| *own == name) {
            return Some(*order);
        }
        let column = name.strip_prefix(COLUMN).unwrap_or(name);
        self.columns.iter().position(|one| one.name == column).map(RowOrder::Column)
    }

    /// The names of all orders: every column's name with `column:`, and its plain name if that is unambiguous.
    pub fn orders(&self) -> Vec<String> {
        let names = || self.columns.iter().map(|column| column.name.as_str());
        let plain = names().filter(|name| !name.starts_with(COLUMN) && OWN.iter().all(|(own, _)| own != name));
        let short = OWN.iter().map(|(own, _)| *own).chain(plain).map(String::from);
        short.chain(names().map(|name| format!("{COLUMN}{name}"))).collect()
    }

    /// The positions of the rows found, given the predicted label of each kind, the known label of each row, and which
    /// rows are predicted wrong. Rows without a value come last in either direction.
    pub fn find(
        &self,
        search: &RowSearch,
        predictions: &[bool],
        labels: Option<&[Option<u8>]>,
        is_wrong: impl Fn(usize) -> bool,
        watch: &Watch<'_>,
    ) -> Result<Vec<usize>, Stopped> {
        // The page shows a minus sign where files have a hyphen.
        let text = search.text.trim().replace('\u{2212}', "-").to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_found =
            |row: usize| (!search.wrong || is_wrong(row)) && words.iter().all(|word| self.contains(row, word));
        let mut found: Vec<usize> = (0..self.kinds.len()).filter(|&row| is_found(row)).collect();
        watch.check()?;
        let key = |row: usize| match search.order {
            RowOrder::Row => Some(Key::Number(row as f64)),
            RowOrder::Prediction => Some(Key::Number(f64::from(predictions[self.kinds[row] as usize]))),
            RowOrder::Label => labels.and_then(|labels| labels[row]).map(|label| Key::Number(label.into())),
            RowOrder::Column(column) => match &self.columns[column].cells[row] {
                RawValue::Missing => None,
                RawValue::Number(number) => Some(Key::Number(*number)),
                RawValue::Text(text) => Some(Key::Text(text)),
            },
        };
        found.sort_by(|&a, &b| match (key(a), key(b)) {
            (Some(a), Some(b)) => {
                let order = a.partial_cmp(&b).unwrap_or(Ordering::Equal);
                if search.descending { order.reverse() } else { order }
            }
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        watch.check()?;
        Ok(found)
    }

    fn contains(&self, row: usize, text: &str) -> bool {
        self.columns.iter().any(|column| match &column.cells[row] {
            RawValue::Missing => false,
            RawValue::Number(number) => number.to_string().contains(text),
            RawValue::Text(cell) => cell.to_lowercase().contains(text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::RawColumn;

    fn table() -> RowTable {
        let text = |text: &str| RawValue::Text(text.into());
        let numbers = [2.0, -0.5, 2.0].map(RawValue::Number).to_vec();
        let texts = vec![text("B"), RawValue::Missing, text("ab")];
        let column = |name: &str, numeric, cells| RawColumn { name: name.into(), numeric, cells };
        let columns = vec![column("row", true, numbers), column("kind", false, texts)];
        RowTable { kinds: vec![1, 0, 1], columns, ..RowTable::default() }
    }

    #[test]
    fn rows_are_found_by_their_cells_and_sorted_missing_ones_last() {
        let table = table();
        let find = |text: &str, order: &str, descending| {
            let wrong = text == "!";
            let text = text.trim_matches('!').into();
            let search = RowSearch { text, wrong, order: table.order(order).unwrap(), descending };
            let labels = [Some(1), None, Some(0)];
            table.find(&search, &[false, true], Some(&labels), |row| row == 2, &Watch::unlimited()).unwrap()
        };
        assert_eq!((find("!", "row", false), find("2 AB", "row", false)), (vec![2], vec![2]));
        assert_eq!((find("", "row", false), find("", "row", true)), (vec![0, 1, 2], vec![2, 1, 0]));
        assert_eq!((find("", "column:row", false), find("", "column:row", true)), (vec![1, 0, 2], vec![0, 2, 1]));
        assert_eq!((find("", "kind", false), find("", "kind", true)), (vec![0, 2, 1], vec![2, 0, 1]));
        assert_eq!((find("", "label", false), find("", "label", true)), (vec![2, 0, 1], vec![0, 2, 1]));
        assert_eq!((find("", "prediction", false), find("", "prediction", true)), (vec![1, 0, 2], vec![0, 2, 1]));
        assert_eq!((find(" b ", "row", false), find("\u{2212}0.5", "row", false)), (vec![0, 2], vec![1]));
        assert_eq!(table.orders(), ["row", "prediction", "label", "kind", "column:row", "column:kind"]);
        assert_eq!((table.order("nothing"), table.order("column:label")), (None, None));
    }
}
