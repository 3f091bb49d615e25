//! Files of scores, CSV or Parquet: kept columns of the input, then `prediction`, `base_value`, and a column for each
//! player. With several classes `prediction` is the class, and what base value and scores add up to is in front of them, in
//! a column `explained_value`: 1 if the row is of the class that they are about, else 0.
//!
//! | | CSV | Parquet |
//! | --- | --- | --- |
//! | kept columns | their text, quoted where needed | their own type (text, if they come from CSV) |
//! | prediction | 0 or 1, or the class | int32 |
//! | explained value | 0 or 1 | int32 |
//! | base value and scores | shortest decimals that read back as the same float | float64 |
//! | the same, exact | fractions `a/b`, integers as `1` | text |
//!
//! Where scores of a model are explained and not its labels, `prediction` is the number that base value and scores add up to, in
//! front of them; with several classes side by side, or the predicted one of each row, a column `class` holds the class.
//!
//! What the scores are (distribution, players, index and so on) is in the metadata of a Parquet file, keys
//! `boolshap.*`; CSV has no place for it.
//!
//! The file is there whole or not at all. Learned rows are kept as the bytes of their lines for CSV, as numbers for
//! Parquet.

#[cfg(feature = "parquet")]
use super::score_parquet::ParquetScores;
use super::{DataError, KeptCells, ScoreSink, Scores, WholeFile, arrow_texts, quote_csv};
use arrow_array::{Array, StringArray, cast::AsArray};
use arrow_schema::{ArrowError, DataType, FieldRef};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The columns of a file of scores.
#[derive(Debug, Clone)]
pub struct ScoreColumns {
    /// The columns copied from the input, in front.
    pub kept: Vec<FieldRef>,
    /// The names of the numbers behind the prediction: the base value, then the scores, of one class or of several.
    pub numbers: Vec<String>,
    /// For each class whose base value and scores there are, which it is; empty for a single label, whose prediction is
    /// what base value and scores add up to.
    pub explained: Vec<ExplainedClass>,
    /// How many numbers of a row are explained, where numbers are and not labels; each is in front of its base value and scores.
    pub values: usize,
    /// Whether numbers are exact fractions.
    pub exact: bool,
    /// What the scores are, by key.
    pub about: BTreeMap<String, String>,
}

/// The class that scores are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainedClass {
    /// This one.
    Class(u32),
    /// The one that is predicted for the row.
    Predicted,
}

impl ExplainedClass {
    /// What base value and scores of a row add up to: whether it is predicted to be of the class.
    pub fn value(self, prediction: u32) -> u8 {
        match self {
            ExplainedClass::Class(class) => u8::from(class == prediction),
            ExplainedClass::Predicted => 1,
        }
    }
}

impl ScoreColumns {
    /// Of one base value and these scores, and nothing else.
    pub fn of_scores(scores: &[String], exact: bool) -> Self {
        let numbers = std::iter::once("base_value".to_string()).chain(scores.iter().cloned()).collect();
        ScoreColumns { kept: Vec::new(), numbers, explained: Vec::new(), values: 0, exact, about: BTreeMap::new() }
    }

    /// The names of what is computed: `prediction`, then the numbers, those of a class behind what they add up to.
    pub fn results(&self) -> Vec<String> {
        if let Some(width) = self.numbers.len().checked_div(self.values) {
            let class = (!self.explained.is_empty()).then(|| "class".to_string());
            let groups = self.numbers.chunks(width);
            let group = |names: &[String]| -> Vec<String> {
                let value = names[0].replacen("base_value", "prediction", 1);
                std::iter::once(value).chain(names.iter().cloned()).collect()
            };
            return class.into_iter().chain(groups.flat_map(group)).collect();
        }
        let width = self.numbers.len() / self.explained.len().max(1);
        let mut names = vec!["prediction".to_string()];
        for (place, name) in self.numbers.iter().enumerate() {
            if place % width == 0 && place / width < self.explained.len() {
                names.push(name.replacen("base_value", "explained_value", 1));
            }
            names.push(name.clone());
        }
        names
    }

    /// All names in order; an error if two columns would have the same.
    pub fn names(&self) -> Result<Vec<String>, DataError> {
        let names: Vec<String> = self.kept.iter().map(|field| field.name().clone()).chain(self.results()).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(DataError::ResultColumn { column: pair[0].clone() }),
            None => Ok(names),
        }
    }
}

/// A file of scores being written. Dropping it without [`ScoreFile::finish`] leaves no trace.
pub struct ScoreFile {
    path: PathBuf,
    format: Format,
}

enum Format {
    Csv(CsvScores),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetScores>),
}

impl ScoreFile {
    /// Starts a file: Parquet if its name ends in `.parquet`, else CSV.
    pub fn create(path: &Path, columns: &ScoreColumns) -> Result<Self, DataError> {
        let names = columns.names()?;
        let io = |source| DataError::Io { path: path.into(), source };
        let is_parquet = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"));
        let format = if is_parquet {
            parquet_file(path, columns)?
        } else {
            let mut file = WholeFile::create(path).map_err(io)?;
            let header: Vec<_> = names.iter().map(|name| quote_csv(name)).collect();
            writeln!(file, "{}", header.join(",")).map_err(io)?;
            let explained = columns.explained.clone();
            Format::Csv(CsvScores { file, explained, lines: Vec::new(), ends: Vec::new(), output: Vec::new() })
        };
        Ok(ScoreFile { path: path.into(), format })
    }

    /// Puts the complete file in its place.
    pub fn finish(self) -> Result<(), DataError> {
        let io = |source| DataError::Io { path: self.path.clone(), source };
        match self.format {
            Format::Csv(csv) => csv.file.finish().map_err(io),
            #[cfg(feature = "parquet")]
            Format::Parquet(parquet) => parquet.finish(&self.path),
        }
    }
}

impl ScoreSink for ScoreFile {
    fn learn(&mut self, rows: &Scores) {
        match &mut self.format {
            Format::Csv(csv) => csv.learn(rows),
            #[cfg(feature = "parquet")]
            Format::Parquet(parquet) => parquet.learn(rows),
        }
    }

    fn write(&mut self, numbers: &[u32], kept: &[KeptCells]) -> Result<(), DataError> {
        match &mut self.format {
            Format::Csv(csv) => csv.write(&self.path, numbers, kept),
            #[cfg(feature = "parquet")]
            Format::Parquet(parquet) => parquet.write(&self.path, numbers, kept),
        }
    }

    fn learned_bytes(&self) -> usize {
        match &self.format {
            Format::Csv(csv) => csv.lines.len() + csv.ends.len() * size_of::<usize>(),
            #[cfg(feature = "parquet")]
            Format::Parquet(parquet) => parquet.learned_bytes(),
        }
    }

    fn forget(&mut self) {
        match &mut self.format {
            Format::Csv(csv) => {
                csv.lines.clear();
                csv.ends.clear();
            }
            #[cfg(feature = "parquet")]
            Format::Parquet(parquet) => parquet.forget(),
        }
    }
}

/// A CSV file, and the lines learned for it without their kept cells.
struct CsvScores {
    file: WholeFile,
    explained: Vec<ExplainedClass>,
    lines: Vec<u8>,
    /// Where each line ends.
    ends: Vec<usize>,
    output: Vec<u8>,
}

impl CsvScores {
    fn learn(&mut self, rows: &Scores) {
        for row in 0..rows.len() {
            rows.write_line(row, &self.explained, &mut self.lines);
            self.lines.push(b'\n');
            self.ends.push(self.lines.len());
        }
    }

    fn write(&mut self, path: &Path, numbers: &[u32], kept: &[KeptCells]) -> Result<(), DataError> {
        let kept = kept_texts(path, kept)?;
        self.output.clear();
        for (row, &number) in numbers.iter().enumerate() {
            for column in &kept {
                let text = if column.is_valid(row) { column.value(row) } else { "" };
                self.output.extend_from_slice(quote_csv(text).as_bytes());
                self.output.push(b',');
            }
            let number = number as usize;
            let start = if number == 0 { 0 } else { self.ends[number - 1] };
            self.output.extend_from_slice(&self.lines[start..self.ends[number]]);
        }
        self.file.write_all(&self.output).map_err(|source| DataError::Io { path: path.into(), source })
    }
}

/// Kept cells as texts: a text as it is, numbers, times and the rest as Arrow shows them.
fn kept_texts(path: &Path, kept: &[KeptCells]) -> Result<Vec<StringArray>, DataError> {
    let texts = |column: &KeptCells| {
        if let DataType::Utf8 = column.data_type() {
            return Ok(column.as_string::<i32>().clone());
        }
        let cell = |row| column.is_valid(row).then(|| arrow_texts::text(column, row)).transpose();
        (0..column.len()).map(cell).collect::<Result<StringArray, ArrowError>>()
    };
    let wrong = |error: ArrowError| DataError::Format { path: path.into(), message: error.to_string() };
    kept.iter().map(texts).collect::<Result<_, _>>().map_err(wrong)
}

#[cfg(feature = "parquet")]
fn parquet_file(path: &Path, columns: &ScoreColumns) -> Result<Format, DataError> {
    Ok(Format::Parquet(Box::new(ParquetScores::create(path, columns)?)))
}

#[cfg(not(feature = "parquet"))]
fn parquet_file(path: &Path, _: &ScoreColumns) -> Result<Format, DataError> {
    let message = "Parquet, which this build cannot write (cargo feature `parquet` is off)".into();
    Err(DataError::Format { path: path.into(), message })
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use super::*;
    use crate::data::Table;
    use arrow_array::{Int64Array, RecordBatch};
    use arrow_schema::{Field, Schema};
    use dashu_ratio::RBig;
    use std::sync::Arc;

    fn fraction(above: i64, below: u8) -> RBig {
        RBig::from_parts(above.into(), below.into())
    }

    /// Rows of every kind of number, and the texts that people keep beside them.
    fn write(path: &Path, exact: bool) {
        let fields = vec![Field::new("text", DataType::Utf8, true), Field::new("id", DataType::Int64, true)];
        let kept = fields.into_iter().map(FieldRef::new).collect();
        let columns = ScoreColumns { kept, ..ScoreColumns::of_scores(&["a".into(), "b,c".into()], exact) };
        let mut file = ScoreFile::create(path, &columns).unwrap();
        // Numbers start at 0 again after forgetting.
        for round in 0..2 {
            let mut rows = Scores::empty(2, exact);
            match exact {
                true => {
                    rows.push_exact(true, fraction(1, 2), vec![fraction(1, 1), fraction(-1, 2)]);
                    rows.push_exact(false, fraction(1, 2), vec![fraction(0, 1), fraction(-round, 3)]);
                }
                false => {
                    rows.push(true, 0.5, &[1e-17, -0.0]);
                    rows.push(false, 0.5, &[0.1 + 0.2, -(round as f64) / 3.0]);
                }
            }
            file.learn(&rows);
            let texts = StringArray::from(vec![Some("a \"b\", c"), None, Some("two\nlines")]);
            // A whole number that no float holds.
            let ids = Int64Array::from(vec![Some(9_007_199_254_740_993), Some(-round), None]);
            file.write(&[1, 0, 1], &[Arc::new(texts), Arc::new(ids)]).unwrap();
            assert!(file.learned_bytes() > 0);
            file.forget();
            assert_eq!(file.learned_bytes(), 0);
        }
        file.finish().unwrap();
    }

    fn read(path: &Path) -> Vec<Vec<Option<String>>> {
        let table = Table::open(path).unwrap();
        let all: Vec<usize> = (0..table.columns().len()).collect();
        let mut rows = vec![table.columns().iter().cloned().map(Some).collect()];
        for chunk in table.chunks_keeping(&[], &all).unwrap() {
            let columns = kept_texts(path, &chunk.unwrap().kept).unwrap();
            let cell = |column: &StringArray, row| column.is_valid(row).then(|| column.value(row).to_string());
            rows.extend((0..columns[0].len()).map(|row| columns.iter().map(|column| cell(column, row)).collect()));
        }
        rows
    }

    #[test]
    fn csv_is_as_people_write_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.csv");
        write(&path, false);
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = "text,id,prediction,base_value,a,\"b,c\"\n\
            \"a \"\"b\"\", c\",9007199254740993,0,0.5,0.30000000000000004,0\n\
            ,0,1,0.5,0.00000000000000001,0\n\
            \"two\nlines\",,0,0.5,0.30000000000000004,0\n\
            \"a \"\"b\"\", c\",9007199254740993,0,0.5,0.30000000000000004,-0.3333333333333333\n\
            ,-1,1,0.5,0.00000000000000001,0\n\
            \"two\nlines\",,0,0.5,0.30000000000000004,-0.3333333333333333\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn parquet_holds_what_csv_holds() {
        let folder = tempfile::tempdir().unwrap();
        let (csv, parquet) = (folder.path().join("s.csv"), folder.path().join("s.parquet"));
        for exact in [false, true] {
            write(&csv, exact);
            write(&parquet, exact);
            let number = |cell: Option<String>| match cell.as_deref().map(str::parse::<f64>) {
                // Arrow shows the same floats in other ways.
                Some(Ok(value)) if !exact => Some(format!("{value:e}")),
                _ => cell,
            };
            let floats = |path| {
                let rows = read(path).into_iter();
                rows.map(|row| row.into_iter().map(number).collect::<Vec<_>>()).collect::<Vec<_>>()
            };
            assert_eq!(floats(&csv), floats(&parquet));
            assert_eq!(read(&parquet)[1][1].as_deref(), Some("9007199254740993"));
            let table = Table::open(&parquet).unwrap();
            let types: Vec<DataType> = (0..6).map(|column| table.field(column).data_type().clone()).collect();
            let score = if exact { DataType::Utf8 } else { DataType::Float64 };
            assert_eq!(types, [DataType::Utf8, DataType::Int64, DataType::Int32, score.clone(), score.clone(), score]);
        }
    }

    #[test]
    fn an_unfinished_file_is_absent_and_a_name_twice_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let kept = vec![FieldRef::new(Field::new("b", DataType::Utf8, true))];
        for name in ["s.csv", "s.parquet"] {
            let mut columns = ScoreColumns { kept: kept.clone(), ..ScoreColumns::of_scores(&["a".into()], false) };
            let mut file = ScoreFile::create(&folder.path().join(name), &columns).unwrap();
            let mut rows = Scores::empty(1, false);
            rows.push(true, 0.5, &[0.5]);
            file.learn(&rows);
            let texts = StringArray::from_iter_values(["x"].iter().cycle().take(100_000));
            file.write(&vec![0; 100_000], &[Arc::new(texts)]).unwrap();
            drop(file);
            columns.numbers.push("b".into());
            let error = ScoreFile::create(&folder.path().join(name), &columns).err().unwrap();
            assert_eq!(error.to_string(), "two columns of the result would be called 'b'");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn kept_columns_keep_their_type() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.parquet");
        let dictionary: arrow_array::DictionaryArray<arrow_array::types::Int8Type> =
            ["b", "a", "b"].into_iter().collect();
        let field = Field::new("kind", dictionary.data_type().clone(), true);
        let schema = Arc::new(Schema::new(vec![field]));
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(dictionary)]).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, schema, None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let table = Table::open(&path).unwrap();
        let columns = ScoreColumns { kept: vec![table.field(0)], ..ScoreColumns::of_scores(&["a".into()], false) };
        for name in ["out.csv", "out.parquet"] {
            let path = folder.path().join(name);
            let mut file = ScoreFile::create(&path, &columns).unwrap();
            let mut rows = Scores::empty(1, false);
            rows.push(true, 0.5, &[0.5]);
            file.learn(&rows);
            for chunk in table.chunks_keeping(&[], &[0]).unwrap() {
                file.write(&[0; 3], &chunk.unwrap().kept).unwrap();
            }
            file.finish().unwrap();
            let kinds: Vec<_> = read(&path).into_iter().map(|row| row[0].clone().unwrap()).collect();
            assert_eq!(kinds, ["kind", "b", "a", "b"]);
        }
        assert_eq!(Table::open(&folder.path().join("out.parquet")).unwrap().field(0), table.field(0));
    }
}
