//! The rows that a report is about: each distinct row of bits as a kind with the counts of its classes, and the raw
//! values of the first rows, for users to choose from.

use super::Subject;
use crate::circuit::{NamedCircuit, Rule};
use crate::data::{Bits, Cells, DataError, Entities, PackedRows, RowIndex, Tally};
use crate::lit::Watch;
use crate::workflow::{Error, Predictor};
use arrow_schema::ArrowError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rows collapsed into kinds, and the first of them as they were read.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The distinct rows, in order of first occurrence.
    pub kinds: Bits,
    /// The number of rows of each kind.
    pub counts: Vec<u64>,
    /// The number of rows with a known class, by kind and class.
    pub classes: BTreeMap<(u32, u32), u64>,
    /// The first row of each kind, counted from 1.
    pub first: Vec<u64>,
    /// The rows that can be chosen.
    pub table: RowTable,
}

/// Rows to choose from, column by column.
#[derive(Debug, Clone, Default)]
pub struct RowTable {
    /// The kind of each row.
    pub kinds: Vec<u32>,
    /// The class of each row, if known; empty if no class is known.
    pub classes: Vec<Option<u32>>,
    /// The raw values of the rows.
    pub columns: Vec<RawColumn>,
    /// Whether these are the kinds themselves, each representing all of its rows.
    pub of_kinds: bool,
}

/// A column of raw values.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RawColumn {
    /// Its name.
    pub name: String,
    /// Whether its values are numbers.
    pub numeric: bool,
    /// The values.
    pub cells: Vec<RawValue>,
}

/// A value as it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RawValue {
    /// The value is missing.
    Missing,
    /// A finite number.
    Number(f64),
    /// A text.
    Text(Box<str>),
}

impl Rows {
    /// Reads rows. The first `most` can be chosen, with their raw values in the columns of the schema, of the target,
    /// and of `keep`.
    pub fn read(
        mut entities: Entities,
        subject: &Subject,
        keep: &[String],
        most: usize,
        watch: &Watch<'_>,
    ) -> Result<Self, DataError> {
        let target = subject.target.as_ref().filter(|target| entities.table().columns().contains(&target.column));
        let mut kept: Vec<String> = keep.to_vec();
        let raw = subject.columns.iter().map(|column| &column.name).filter(|_| entities.is_raw());
        for name in raw.chain(target.map(|target| &target.column)) {
            if !kept.contains(name) {
                kept.push(name.clone());
            }
        }
        entities.keep(&kept)?;
        let place = target.and_then(|target| kept.iter().position(|name| *name == target.column));
        let mut rows = Rows::none(subject.features.len());
        rows.table.columns =
            kept.into_iter().map(|name| RawColumn { name, numeric: true, cells: Vec::new() }).collect();
        let mut index = RowIndex::new(PackedRows::new(subject.features.len()).row_words());
        while let Some(batch) = entities.next_batch()? {
            watch.report(batch.first_row as f64, batch.expected_rows.map(|rows| rows as f64), "rows");
            watch.check()?;
            let wrong =
                |e: ArrowError| DataError::Format { path: entities.table().path().into(), message: e.to_string() };
            let cells = batch.kept.iter().map(Cells::of_array).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
            let packed = PackedRows::from_bits(&batch.bits);
            for row in 0..batch.bits.rows() {
                let (kind, is_new) = index.insert(packed.row(row));
                if is_new {
                    rows.kinds.push(&batch.bits.row(row));
                    rows.counts.push(0);
                    rows.first.push(batch.first_row + row as u64);
                }
                rows.counts[kind as usize] += 1;
                let class = target.zip(place).and_then(|(target, place)| target.class_of(&cells[place], row));
                if let Some(class) = class {
                    *rows.classes.entry((kind, class)).or_default() += 1;
                }
                if rows.table.kinds.len() < most {
                    rows.table.kinds.push(kind);
                    if target.is_some() {
                        rows.table.classes.push(class);
                    }
                    rows.table.columns.iter_mut().zip(&cells).for_each(|(column, cells)| column.push(cells, row));
                }
            }
        }
        rows.table.columns.iter_mut().for_each(RawColumn::settle);
        Ok(rows)
    }

    /// No rows, for this many features.
    pub fn none(features: usize) -> Self {
        let (counts, first, classes) = (Vec::new(), Vec::new(), BTreeMap::new());
        Rows { kinds: Bits::new(features), counts, classes, first, table: RowTable::default() }
    }

    /// Rows that are already counted, the most frequent first; users choose from the kinds, with their counts in a
    /// column of this name.
    pub fn of_tally(tally: &Tally, count_column: &str) -> Self {
        let total = |row: usize| tally.counts()[row].iter().sum::<u64>();
        let mut order: Vec<usize> = (0..tally.counts().len()).collect();
        order.sort_by_key(|&row| std::cmp::Reverse(total(row)));
        let mut rows = Rows::none(tally.rows().features());
        for (kind, &row) in order.iter().enumerate() {
            rows.kinds.push(&tally.rows().row(row));
            rows.counts.push(total(row));
            rows.first.push(kind as u64 + 1);
            rows.table.kinds.push(kind as u32);
            for (class, &count) in tally.counts()[row].iter().enumerate().filter(|(_, count)| **count > 0) {
                rows.classes.insert((kind as u32, class as u32), count);
            }
        }
        let cells = rows.counts.iter().map(|&count| RawValue::Number(count as f64)).collect();
        rows.table.of_kinds = true;
        rows.table.columns.push(RawColumn { name: count_column.into(), numeric: true, cells });
        rows
    }

    /// The number of rows.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All rows with repetitions, kind by kind.
    pub fn expanded(&self) -> Bits {
        let mut all = Bits::new(self.kinds.features());
        for (kind, &count) in self.counts.iter().enumerate() {
            let row = self.kinds.row(kind);
            (0..count).for_each(|_| all.push(&row));
        }
        all
    }

    /// The bits of a kind, as a string of 0 and 1.
    #[cfg(feature = "page")]
    pub(super) fn bits_text(&self, kind: usize) -> String {
        self.kinds.row(kind).iter().map(|&bit| if bit { '1' } else { '0' }).collect()
    }

    /// The predicted class or label of each kind; `None` if the circuit gives numbers rather than decisions.
    pub fn predicted(&self, circuit: &NamedCircuit, watch: &Watch<'_>) -> Result<Option<Vec<u32>>, Error> {
        match circuit.values.as_ref().is_some_and(|values| values.rule() == Rule::Number) {
            true => Ok(None),
            false => Predictor::of_circuit(circuit)?.classes(&self.kinds, watch).map(Some),
        }
    }

    /// The prediction for the first row, from those of all kinds ([`Rows::predicted`]).
    pub fn first_class(&self, predicted: Option<&[u32]>) -> Option<u32> {
        self.table.kinds.first().zip(predicted).map(|(kind, predicted)| predicted[*kind as usize])
    }
}

impl RowTable {
    /// Whether each row has this class, if known; `None` if no class is known.
    pub fn labels(&self, class: u32) -> Option<Vec<Option<u8>>> {
        let label = |of: &Option<u32>| of.map(|of| u8::from(of == class));
        (!self.classes.is_empty()).then(|| self.classes.iter().map(label).collect())
    }
}

impl RowTable {
    /// The index of each row's known class among those of a subject; `None` if no class is known.
    pub fn known(&self, subject: &Subject) -> Option<Vec<Option<usize>>> {
        let known = |class: &Option<u32>| class.map(|class| subject.known(class));
        (!self.classes.is_empty()).then(|| self.classes.iter().map(known).collect())
    }
}

impl RawColumn {
    fn push(&mut self, cells: &Cells, row: usize) {
        self.cells.push(match cells.text(row) {
            None => RawValue::Missing,
            Some(text) => RawValue::Text(text.into()),
        });
    }

    /// Converts a column to numbers if every text is a number and none loses digits (as 007 does, or an identifier
    /// beyond 2^53).
    fn settle(&mut self) {
        let number = |cell: &RawValue| match cell {
            RawValue::Text(text) if !(text.starts_with('0') && text[1..].starts_with(|c: char| c.is_ascii_digit())) => {
                let keeps =
                    |number: &f64| number.is_finite() && (number.abs() < 9e15 || text.contains(['.', 'e', 'E']));
                text.trim().parse().ok().filter(keeps).map(RawValue::Number)
            }
            RawValue::Text(_) => None,
            other => Some(other.clone()),
        };
        let numbers: Option<Vec<RawValue>> = self.cells.iter().map(number).collect();
        self.numeric = numbers.is_some();
        self.cells = numbers.unwrap_or_else(|| std::mem::take(&mut self.cells));
    }
}

impl RawValue {
    /// The value as readable text; `None` if it is missing.
    pub fn text(&self) -> Option<String> {
        match self {
            RawValue::Missing => None,
            RawValue::Number(number) => Some(super::short_number(*number)),
            RawValue::Text(text) => Some(text.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::CircuitBuilder;
    use crate::data::{Binariser, Code, CodedColumn, Reading};
    use serde_json::json;
    use std::io::Write;

    fn named() -> NamedCircuit {
        let column = |column: &str, code| CodedColumn::new(column, code);
        let sea = Code::Categories(vec!["FAR".into(), "NEAR".into()]);
        let schema = Binariser::new(vec![column("income", Code::Above(3.5)), column("sea", sea)]).unwrap();
        let mut builder = CircuitBuilder::new(3).unwrap();
        let root = builder.constant(true).unwrap();
        let mut named = NamedCircuit::new(builder.finish(root).unwrap(), schema.features()).unwrap();
        named.binariser = Some(schema);
        named.provenance.insert("target".into(), json!({"column": "price", "code": {"above": 10.0}}));
        named
    }

    #[test]
    fn rows_become_kinds_with_raw_values_and_classes() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "id,price,sea,income\n007,11,NEAR,4\n008,9,FAR,\n009,,NEAR,8.50\n010,12,NEAR,5\n").unwrap();
        let named = named();
        let subject = Subject::new(&named, None).unwrap();
        let open = || Entities::open(file.path(), &named.features, named.binariser.as_ref(), Reading::Auto).unwrap();
        let rows = Rows::read(open(), &subject, &["id".to_string()], 3, &Watch::unlimited()).unwrap();
        assert_eq!((rows.counts.clone(), rows.first.clone(), rows.total()), (vec![3, 1], vec![1, 2], 4));
        assert_eq!(rows.kinds.row(0), [true, false, true]);
        assert_eq!(rows.table.kinds, [0, 1, 0]);
        assert_eq!(rows.table.classes, [Some(1), Some(0), None]);
        let names: Vec<&str> = rows.table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["id", "income", "sea", "price"]);
        // An identifier keeps its zeros, a number loses its own.
        assert_eq!(rows.table.columns[0].cells[0], RawValue::Text("007".into()));
        assert_eq!(json!(rows.table.columns[1].cells), json!([4.0, null, 8.5]));
        assert_eq!(rows.predicted(&named, &Watch::unlimited()).unwrap(), Some(vec![1, 1]));
        assert_eq!(rows.expanded().ones(), [3, 1, 3]);
    }

    #[test]
    fn a_tally_is_rows_of_its_kinds() {
        let counted = [(vec![true, false], vec![1, 2]), (vec![false, false], vec![4, 0])];
        let rows = Rows::of_tally(&Tally::from_counts(2, counted.into_iter()), "blocks");
        assert_eq!((rows.counts.clone(), rows.total()), (vec![4, 3], 7));
        assert_eq!(json!(rows.table.columns[0].cells), json!([4.0, 3.0]));
    }
}
