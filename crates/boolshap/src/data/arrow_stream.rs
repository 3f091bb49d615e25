//! Entities sent by other programs as an Arrow stream, checked before the `arrow_ipc` crate trusts the sizes it
//! announces.

use super::entities::has_other;
use super::{Binariser, Bits, Cells, DataError, LOOKED_AT, Reading, bits_of_columns, check_names, reads_raw};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// How many rows are unpacked at a time.
const SLICE: usize = 8192;

/// Reads the entities of an Arrow stream, whose columns are matched by name as in a file. There may be at most
/// `most_rows` rows, and no column may expand to more than `most_bytes` bytes of text.
pub fn bits_of_stream(
    stream: &[u8],
    features: &[String],
    binariser: Option<&Binariser>,
    reading: Reading,
    most_rows: usize,
    most_bytes: usize,
) -> Result<Bits, DataError> {
    let damaged = |problem: String| {
        let message = format!("this is not an Arrow stream: {problem}");
        DataError::Format { path: "entities".into(), message }
    };
    check_messages(stream).map_err(damaged)?;
    let read = || {
        let reader = StreamReader::try_new(stream, None).map_err(|e| damaged(e.to_string()))?;
        let schema = reader.schema();
        check_names(Path::new("entities"), schema.fields().iter().map(|field| field.name()))?;
        let raw = binariser.map_or(&[][..], |binariser| binariser.columns());
        let is_known = |name: &String| features.contains(name) || raw.iter().any(|column| column.column == *name);
        let wanted: Vec<usize> =
            (0..schema.fields().len()).filter(|&column| is_known(schema.field(column).name())).collect();
        let (mut batches, mut rows) = (Vec::new(), 0usize);
        for batch in reader {
            let batch = batch.and_then(|batch| batch.project(&wanted)).map_err(|e| damaged(e.to_string()))?;
            rows = rows.saturating_add(batch.num_rows());
            if rows > most_rows {
                return Err(DataError::TooManyRows { most: most_rows });
            }
            for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
                check_unpacked(array, most_bytes).map_err(|problem| in_column(field.name(), problem))?;
            }
            batches.push(batch);
        }
        let names: Vec<String> = wanted.iter().map(|&column| schema.field(column).name().clone()).collect();
        let look = || holds_others(&batches, features);
        let reading = match reads_raw("entities", &names, features, binariser, reading, look)? {
            true => Reading::Raw,
            false => Reading::Bits,
        };
        let mut entities = Bits::new(features.len());
        for batch in &batches {
            for first in (0..batch.num_rows()).step_by(SLICE) {
                let part = batch.slice(first, SLICE.min(batch.num_rows() - first));
                let before = entities.rows();
                let bits = bits_of_columns("entities", part.num_rows(), &cells(&part)?, features, binariser, reading);
                entities.append(&bits.map_err(|error| error.in_entity(before))?);
            }
        }
        match entities.rows() {
            0 => Err(DataError::Field { field: "entities".into(), problem: "the list is empty".into() }),
            _ => Ok(entities),
        }
    };
    // The crate panics on some invalid streams.
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(damaged("it is damaged".into())))
}

/// Whether a feature column holds a value other than 0 and 1 in one of the first rows.
fn holds_others(batches: &[RecordBatch], features: &[String]) -> Result<bool, DataError> {
    let mut left = LOOKED_AT;
    for batch in batches {
        let part = batch.slice(0, batch.num_rows().min(left));
        let columns = cells(&part)?;
        let mut own = columns.iter().filter(|(name, _)| features.contains(name));
        if own.any(|(_, cells)| has_other(cells, part.num_rows())) {
            return Ok(true);
        }
        left -= part.num_rows();
    }
    Ok(false)
}

fn cells(batch: &RecordBatch) -> Result<Vec<(String, Cells)>, DataError> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    let cells = |array: &ArrayRef| Cells::of_array(array).map_err(|error| error.to_string());
    columns
        .map(|(field, array)| {
            Ok((field.name().clone(), cells(array).map_err(|problem| in_column(field.name(), problem))?))
        })
        .collect()
}

fn in_column(name: &str, problem: String) -> DataError {
    DataError::Field { field: name.into(), problem }
}

/// Bounds a column's size once its dictionary is expanded.
fn check_unpacked(array: &ArrayRef, most: usize) -> Result<(), String> {
    let bytes = match array.data_type() {
        DataType::Dictionary(..) => {
            let values = array.as_any_dictionary().values();
            let cells = Cells::of_array(values).map_err(|e| e.to_string())?;
            let longest = (0..values.len()).map(|value| cells.text(value).map_or(0, |text| text.len())).max();
            array.len().saturating_mul(longest.unwrap_or(0))
        }
        DataType::Utf8View => array.as_string_view().iter().flatten().map(str::len).sum(),
        DataType::BinaryView | DataType::RunEndEncoded(..) => return Err(format!("{} is not read", array.data_type())),
        _ => 0,
    };
    match bytes <= most {
        true => Ok(()),
        false => Err(format!("its values take {bytes} bytes, more than {most}")),
    }
}

/// Checks that each message lies within the stream, whatever size it announces.
fn check_messages(stream: &[u8]) -> Result<(), String> {
    let cut = || "it is cut off".to_string();
    let mut rest = stream;
    while !rest.is_empty() {
        let word = |place: usize| rest.get(place..)?.first_chunk().map(|bytes| i32::from_le_bytes(*bytes));
        // Streams of the old format begin with the length itself.
        let (begin, length) = match word(0).ok_or_else(cut)? {
            -1 => (8, word(4).ok_or_else(cut)?),
            length => (4, length),
        };
        if length == 0 {
            return Ok(());
        }
        let end = begin + usize::try_from(length).map_err(|_| cut())?;
        let message = arrow_ipc::root_as_message(rest.get(begin..end).ok_or_else(cut)?).map_err(|e| e.to_string())?;
        let end = usize::try_from(message.bodyLength()).ok().and_then(|length| length.checked_add(end));
        rest = rest.get(end.ok_or_else(cut)?..).ok_or_else(cut)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int8Type;
    use arrow_array::{BooleanArray, DictionaryArray, Float64Array, Int8Array, StringArray};
    use arrow_ipc::writer::StreamWriter;
    use arrow_schema::{Field, Schema};
    use std::sync::Arc;

    fn stream(columns: &[(&str, ArrayRef)]) -> Vec<u8> {
        let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let arrays = columns.iter().map(|(_, array)| array.clone()).collect();
        let batch = RecordBatch::try_new(schema.clone(), arrays).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn read(stream: &[u8]) -> Result<Bits, String> {
        bits_of_stream(stream, &["a", "b"].map(String::from), None, Reading::Auto, 20_000, 100)
            .map_err(|error| error.to_string())
    }

    fn bits(values: &[i8]) -> ArrayRef {
        Arc::new(Int8Array::from(values.to_vec()))
    }

    #[test]
    fn columns_of_many_types_and_lengths_are_the_same_bits() {
        let rows = 20_000;
        let value = |row: usize| row % 3 == 1 || row == 8191;
        let arrays: [ArrayRef; 3] = [
            Arc::new(BooleanArray::from_iter((0..rows).map(|row| Some(value(row))))),
            Arc::new(Float64Array::from_iter((0..rows).map(|row| Some(f64::from(u8::from(value(row))))))),
            bits(&(0..rows).map(|row| i8::from(value(row))).collect::<Vec<_>>()),
        ];
        for array in arrays {
            let read = read(&stream(&[("b", bits(&vec![1; rows])), ("other", array.clone()), ("a", array)])).unwrap();
            assert!((0..rows).all(|row| read.row(row) == [value(row), true]));
        }
        let wrong = read(&stream(&[("a", bits(&vec![0; 20_000])), ("b", bits(&[vec![0; 19_999], vec![2]].concat()))]));
        assert_eq!(wrong.unwrap_err(), "entities[19999].b: '2' is neither 0 nor 1");
        let more = read(&stream(&[("a", bits(&vec![0; 20_001])), ("b", bits(&vec![0; 20_001]))]));
        assert_eq!(more.unwrap_err(), "more than 20000 rows at once");
    }

    #[test]
    fn a_name_that_is_there_twice_is_refused() {
        let twice =
            |name: &str| read(&stream(&[("a", bits(&[1])), (name, bits(&[0])), ("b", bits(&[1])), (name, bits(&[1]))]));
        for name in ["a", "b", "ignored"] {
            assert_eq!(twice(name).unwrap_err(), format!("entities: the header has the column '{name}' twice"));
        }
    }

    #[test]
    fn a_few_bytes_do_not_stand_for_many() {
        let repeated = |text: &str| -> ArrayRef {
            let values = Arc::new(StringArray::from(vec![text]));
            Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from(vec![0; 9]), values))
        };
        let read = |text: &str| read(&stream(&[("a", repeated(text)), ("b", repeated(text))]));
        assert_eq!(read("1").unwrap().rows(), 9);
        assert_eq!(read(&"1".repeat(12)).unwrap_err(), "a: its values take 108 bytes, more than 100");
    }

    #[test]
    fn what_is_cut_off_or_empty_is_refused() {
        let good = stream(&[("a", bits(&[1, 0])), ("b", bits(&[1, 1]))]);
        assert_eq!(read(&good).unwrap().rows(), 2);
        for end in 0..good.len() - 8 {
            assert!(read(&good[..end]).is_err(), "{end}");
        }
        assert!(read(&stream(&[("a", bits(&[])), ("b", bits(&[]))])).unwrap_err().contains("empty"));
    }
}
