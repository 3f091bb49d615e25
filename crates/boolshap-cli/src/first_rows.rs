//! The first rows of a result as a table on the terminal.

use crate::terminal::{print, thousands};
use boolshap::data::{DataError, ExplainedClass, KeptCells, Means, ScoreColumns, ScoreSink, Scores, kept_text};

/// How many rows are shown.
const SHOWN_ROWS: usize = 5;

/// The first rows as texts, and the number of all.
pub(crate) struct FirstRows {
    header: Vec<String>,
    /// The names of the numeric columns, which have means.
    numbers: Vec<String>,
    explained: Vec<ExplainedClass>,
    kept: usize,
    learned: Vec<Vec<String>>,
    rows: Vec<Vec<String>>,
    total: u64,
}

impl FirstRows {
    pub(crate) fn new(columns: &ScoreColumns) -> Result<Self, DataError> {
        let (header, numbers, explained) = (columns.names()?, columns.numbers.clone(), columns.explained.clone());
        let kept = columns.kept.len();
        Ok(FirstRows { header, numbers, explained, kept, learned: Vec::new(), rows: Vec::new(), total: 0 })
    }

    /// Prints the rows side by side, since there are more features than fit a line; the last column is the mean of the
    /// absolute values over all rows.
    pub(crate) fn print(&self, exact: bool, means: Option<&Means>) -> std::io::Result<()> {
        let widest = self.header.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(40);
        let cell = |row: &[String], index: usize| match row[index].parse::<f64>() {
            Ok(value) if index > self.kept && self.number(index).is_some() && !exact => format!("{value:.6}"),
            _ => row[index].clone(),
        };
        // Fractions can be long: each row gets the width of its longest cell.
        let longest = |row: &Vec<String>| (0..row.len()).map(|index| cell(row, index).chars().count()).max();
        let widths: Vec<usize> = self.rows.iter().map(|row| longest(row).unwrap_or(0).max("row 1".len()) + 3).collect();
        let titles = widths.iter().enumerate().map(|(row, width)| format!("{:>width$}", format!("row {}", row + 1)));
        let mean_title = if means.is_some() { format!("{:>15}", "mean |score|") } else { String::new() };
        print(&format!("{:widest$}{}{mean_title}", "", titles.collect::<String>()))?;
        let mean = |index: usize| match (self.number(index), means) {
            (Some(number), Some(Means::Floats(means))) => format!("{:>15.6}", means[number]),
            (Some(number), Some(Means::Exact(means))) => format!("{:>15.6}", means[number].to_f64().value()),
            _ => String::new(),
        };
        for (index, name) in self.header.iter().enumerate() {
            let cells = self.rows.iter().zip(&widths).map(|(row, width)| format!("{:>width$}", cell(row, index)));
            let mean = if name.split(':').next() == Some("base_value") { String::new() } else { mean(index) };
            print(&format!("{name:widest$}{}{mean}", cells.collect::<String>()))?;
        }
        match self.total - self.rows.len() as u64 {
            0 => Ok(()),
            more => print(&format!("... and {} more rows: write them all with -o", thousands(more))),
        }
    }

    /// The index of a column among the numeric columns.
    fn number(&self, index: usize) -> Option<usize> {
        let name = self.header.get(index).filter(|_| index > self.kept)?;
        self.numbers.iter().position(|number| number == name)
    }
}

impl ScoreSink for FirstRows {
    fn learn(&mut self, rows: &Scores) {
        // The first rows are among the first distinct rows.
        let wanted = SHOWN_ROWS.saturating_sub(self.learned.len()).min(rows.len());
        self.learned.extend((0..wanted).map(|row| rows.texts_of_classes(row, &self.explained)));
    }

    fn write(&mut self, numbers: &[u32], kept: &[KeptCells]) -> Result<(), DataError> {
        let wanted = (SHOWN_ROWS - self.rows.len()).min(numbers.len());
        for (row, &number) in numbers[..wanted].iter().enumerate() {
            // Replace line breaks in cells: each row of the table is one line.
            let kept = kept.iter().map(|cells| kept_text(cells, row).unwrap_or_default().replace(['\n', '\r'], " "));
            self.rows.push(kept.chain(self.learned[number as usize].iter().cloned()).collect());
        }
        self.total += numbers.len() as u64;
        Ok(())
    }

    fn learned_bytes(&self) -> usize {
        0
    }

    fn forget(&mut self) {
        self.learned.clear();
    }
}
