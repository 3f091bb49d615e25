//! Arrow arrays as numbers and as texts, of every type that a Parquet file or an Arrow stream can have.
//!
//! The texts are those of the `arrow-cast` crate: dates and times in ISO 8601, `[1, 2]` for lists, `{a: 1, b: 2}` for structs
//! and maps. That crate converts every type to every other, which would take 14 of 480 seconds of a first build, so only the
//! tests use it, to compare. Here decimals are rounded once, and a duration out of range is an error instead of a text.

use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, Float64Array, StringArray};
use arrow_schema::{ArrowError, DataType, IntervalUnit, TimeUnit};
use chrono::SecondsFormat;

/// A column of any numeric type as floats; an integer or decimal that is no float becomes the nearest one.
pub(super) fn numbers(array: &ArrayRef) -> Result<Float64Array, ArrowError> {
    macro_rules! floats {
        ($type:ty, $float:expr) => {
            array.as_primitive::<$type>().unary::<_, Float64Type>($float)
        };
    }
    macro_rules! decimals {
        ($type:ty) => {{
            let decimals = array.as_primitive::<$type>();
            let float = |row| decimals.is_valid(row).then(|| decimals.value_as_string(row).parse()).transpose();
            let floats = (0..decimals.len()).map(float).collect::<Result<Float64Array, _>>();
            floats.map_err(|error| ArrowError::CastError(error.to_string()))?
        }};
    }
    Ok(match array.data_type() {
        DataType::Float64 => array.as_primitive().clone(),
        DataType::Float32 => floats!(Float32Type, f64::from),
        DataType::Float16 => floats!(Float16Type, |value| value.to_f64()),
        DataType::Int64 => floats!(Int64Type, |value| value as f64),
        DataType::Int32 => floats!(Int32Type, f64::from),
        DataType::Int16 => floats!(Int16Type, f64::from),
        DataType::Int8 => floats!(Int8Type, f64::from),
        DataType::UInt64 => floats!(UInt64Type, |value| value as f64),
        DataType::UInt32 => floats!(UInt32Type, f64::from),
        DataType::UInt16 => floats!(UInt16Type, f64::from),
        DataType::UInt8 => floats!(UInt8Type, f64::from),
        DataType::Decimal32(..) => decimals!(Decimal32Type),
        DataType::Decimal64(..) => decimals!(Decimal64Type),
        DataType::Decimal128(..) => decimals!(Decimal128Type),
        DataType::Decimal256(..) => decimals!(Decimal256Type),
        other => return Err(ArrowError::CastError(format!("{other} is no numeric type"))),
    })
}

/// A column as texts; missing values stay missing. Bytes must be UTF-8.
pub(super) fn texts(array: &ArrayRef) -> Result<StringArray, ArrowError> {
    let missing = array.logical_nulls();
    let text = |row| -> Result<Option<String>, ArrowError> {
        if missing.as_ref().is_some_and(|missing| missing.is_null(row)) {
            return Ok(None);
        }
        match bytes(array, row) {
            Some(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|error| ArrowError::CastError(error.to_string()))?;
                Ok(Some(text.into()))
            }
            None => text(array, row).map(Some),
        }
    };
    (0..array.len()).map(text).collect()
}

/// A value as text, empty if it is missing; bytes in hexadecimal.
pub(super) fn text(array: &dyn Array, row: usize) -> Result<String, ArrowError> {
    let mut text = String::new();
    write(array, row, &mut text)?;
    Ok(text)
}

fn bytes(array: &dyn Array, row: usize) -> Option<&[u8]> {
    Some(match array.data_type() {
        DataType::Binary => array.as_binary::<i32>().value(row),
        DataType::LargeBinary => array.as_binary::<i64>().value(row),
        DataType::BinaryView => array.as_binary_view().value(row),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(row),
        _ => return None,
    })
}

fn write(array: &dyn Array, row: usize, out: &mut String) -> Result<(), ArrowError> {
    if array.is_null(row) {
        return Ok(());
    }
    match array.data_type() {
        DataType::Null => {}
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            write(dictionary.values(), index(dictionary.keys(), row), out)?;
        }
        DataType::RunEndEncoded(ends, _) => {
            let (values, place) = match ends.data_type() {
                DataType::Int16 => run(array.as_run::<Int16Type>(), row),
                DataType::Int32 => run(array.as_run::<Int32Type>(), row),
                _ => run(array.as_run::<Int64Type>(), row),
            };
            write(values, place, out)?;
        }
        DataType::List(_) => write_list(&array.as_list::<i32>().value(row), out)?,
        DataType::LargeList(_) => write_list(&array.as_list::<i64>().value(row), out)?,
        DataType::ListView(_) => write_list(&array.as_list_view::<i32>().value(row), out)?,
        DataType::LargeListView(_) => write_list(&array.as_list_view::<i64>().value(row), out)?,
        DataType::FixedSizeList(..) => write_list(&array.as_fixed_size_list().value(row), out)?,
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let members = fields.iter().zip(columns).map(|(field, column)| (field.name().clone(), column, row));
            write_members(members, out)?;
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let members: Result<Vec<_>, ArrowError> =
                (0..entries.len()).map(|place| Ok((text(keys, place)?, values, place))).collect();
            write_members(members?.into_iter(), out)?;
        }
        DataType::Union(fields, _) => {
            let union = array.as_union();
            let (chosen, place) = (union.type_id(row), union.value_offset(row));
            let name = fields.iter().find(|(number, _)| *number == chosen).map_or("", |(_, field)| field.name());
            out.push_str(&format!("{{{name}={}}}", text(union.child(chosen), place)?));
        }
        _ => match (bytes(array, row), number(array, row)) {
            (Some(bytes), _) => bytes.iter().for_each(|byte| out.push_str(&format!("{byte:02x}"))),
            (None, Some(number)) => out.push_str(&number),
            (None, None) => write_text_or_time(array, row, out)?,
        },
    }
    Ok(())
}

/// A truth value or number as text; `None` for other types.
fn number(array: &dyn Array, row: usize) -> Option<String> {
    macro_rules! shown {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row).to_string()
        };
    }
    macro_rules! float {
        ($type:ty) => {
            zmij::Buffer::new().format(array.as_primitive::<$type>().value(row)).replace("e+", "e")
        };
    }
    macro_rules! decimal {
        ($type:ty) => {
            array.as_primitive::<$type>().value_as_string(row)
        };
    }
    Some(match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Int8 => shown!(Int8Type),
        DataType::Int16 => shown!(Int16Type),
        DataType::Int32 => shown!(Int32Type),
        DataType::Int64 => shown!(Int64Type),
        DataType::UInt8 => shown!(UInt8Type),
        DataType::UInt16 => shown!(UInt16Type),
        DataType::UInt32 => shown!(UInt32Type),
        DataType::UInt64 => shown!(UInt64Type),
        DataType::Float16 => shown!(Float16Type),
        DataType::Float32 => float!(Float32Type),
        DataType::Float64 => float!(Float64Type),
        DataType::Decimal32(..) => decimal!(Decimal32Type),
        DataType::Decimal64(..) => decimal!(Decimal64Type),
        DataType::Decimal128(..) => decimal!(Decimal128Type),
        DataType::Decimal256(..) => decimal!(Decimal256Type),
        _ => return None,
    })
}

/// Texts; dates, times, timestamps, durations and intervals.
fn write_text_or_time(array: &dyn Array, row: usize, out: &mut String) -> Result<(), ArrowError> {
    macro_rules! shown {
        ($type:ty, $value:ident, $format:literal) => {
            array.as_primitive::<$type>().$value(row).map(|value| format!($format, value))
        };
    }
    macro_rules! stamp {
        ($type:ty, $zone:expr) => {
            match $zone {
                None => shown!($type, value_as_datetime, "{:?}"),
                Some(zone) => {
                    let time = array.as_primitive::<$type>().value_as_datetime_with_tz(row, zone.parse::<Tz>()?);
                    time.map(|time| time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
                }
            }
        };
    }
    let text = match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().value(row).into()),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(row).into()),
        DataType::Utf8View => Some(array.as_string_view().value(row).into()),
        DataType::Date32 => shown!(Date32Type, value_as_date, "{:?}"),
        DataType::Date64 => shown!(Date64Type, value_as_datetime, "{:?}"),
        DataType::Time32(TimeUnit::Second) => shown!(Time32SecondType, value_as_time, "{:?}"),
        DataType::Time32(_) => shown!(Time32MillisecondType, value_as_time, "{:?}"),
        DataType::Time64(TimeUnit::Microsecond) => shown!(Time64MicrosecondType, value_as_time, "{:?}"),
        DataType::Time64(_) => shown!(Time64NanosecondType, value_as_time, "{:?}"),
        DataType::Timestamp(TimeUnit::Second, zone) => stamp!(TimestampSecondType, zone),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => stamp!(TimestampMillisecondType, zone),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => stamp!(TimestampMicrosecondType, zone),
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => stamp!(TimestampNanosecondType, zone),
        DataType::Duration(TimeUnit::Second) => shown!(DurationSecondType, value_as_duration, "{}"),
        DataType::Duration(TimeUnit::Millisecond) => shown!(DurationMillisecondType, value_as_duration, "{}"),
        DataType::Duration(TimeUnit::Microsecond) => shown!(DurationMicrosecondType, value_as_duration, "{}"),
        DataType::Duration(TimeUnit::Nanosecond) => shown!(DurationNanosecondType, value_as_duration, "{}"),
        DataType::Interval(unit) => Some(interval(array, *unit, row)),
        other => return Err(ArrowError::CastError(format!("values of type {other} have no text"))),
    };
    let outside = || format!("row {} is outside the range of {}", row + 1, array.data_type());
    out.push_str(&text.ok_or_else(|| ArrowError::CastError(outside()))?);
    Ok(())
}

/// Calendar units and the clock, each only if it is not 0: `1 mons 2 days 3 hours 4.000000000 secs`.
fn interval(array: &dyn Array, unit: IntervalUnit, row: usize) -> String {
    let (months, days, clock, digits) = match unit {
        IntervalUnit::YearMonth => {
            let months = array.as_primitive::<IntervalYearMonthType>().value(row);
            return format!("{} years {} mons", months.div_euclid(12), months.rem_euclid(12));
        }
        IntervalUnit::DayTime => {
            let interval = array.as_primitive::<IntervalDayTimeType>().value(row);
            (0, interval.days, i64::from(interval.milliseconds), 3)
        }
        IntervalUnit::MonthDayNano => {
            let interval = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            (interval.months, interval.days, interval.nanoseconds, 9)
        }
    };
    let second = 10i64.pow(digits);
    let (hours, minutes, rest) = (clock / second / 3600, clock / second / 60 % 60, clock % (60 * second));
    let counts = [(i64::from(months), "mons"), (i64::from(days), "days"), (hours, "hours"), (minutes, "mins")];
    let mut parts: Vec<String> =
        counts.iter().filter(|(count, _)| *count != 0).map(|(count, unit)| format!("{count} {unit}")).collect();
    if rest != 0 {
        let (sign, width) = (if rest < 0 { "-" } else { "" }, digits as usize);
        parts.push(format!("{sign}{}.{:0width$} secs", (rest / second).abs(), (rest % second).abs()));
    } else if parts.is_empty() {
        parts.push("0 secs".into());
    }
    parts.join(" ")
}

fn write_list(values: &ArrayRef, out: &mut String) -> Result<(), ArrowError> {
    out.push('[');
    for place in 0..values.len() {
        out.push_str(if place == 0 { "" } else { ", " });
        write(values, place, out)?;
    }
    out.push(']');
    Ok(())
}

/// Names with values, each the value of a column at a row.
fn write_members<'a>(
    members: impl Iterator<Item = (String, &'a ArrayRef, usize)>,
    out: &mut String,
) -> Result<(), ArrowError> {
    out.push('{');
    for (place, (name, column, row)) in members.enumerate() {
        out.push_str(&format!("{}{name}: ", if place == 0 { "" } else { ", " }));
        write(column, row, out)?;
    }
    out.push('}');
    Ok(())
}

/// The values of an array of runs, and the place of a row's value among them.
fn run<T: RunEndIndexType>(array: &arrow_array::RunArray<T>, row: usize) -> (&ArrayRef, usize) {
    (array.values(), array.get_physical_index(row))
}

/// A dictionary's key, which is not missing, as an index.
fn index(keys: &dyn Array, row: usize) -> usize {
    macro_rules! key {
        ($type:ty) => {
            keys.as_primitive::<$type>().value(row) as usize
        };
    }
    match keys.data_type() {
        DataType::Int8 => key!(Int8Type),
        DataType::Int16 => key!(Int16Type),
        DataType::Int32 => key!(Int32Type),
        DataType::Int64 => key!(Int64Type),
        DataType::UInt8 => key!(UInt8Type),
        DataType::UInt16 => key!(UInt16Type),
        DataType::UInt32 => key!(UInt32Type),
        _ => key!(UInt64Type),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{FixedSizeListBuilder, Int32Builder, MapBuilder, StringBuilder, UnionBuilder};
    use arrow_array::*;
    use arrow_cast::display::{ArrayFormatter, FormatOptions};
    use arrow_cast::{CastOptions, can_cast_types, cast, cast_with_options};
    use arrow_schema::{Field, Fields};
    use std::sync::Arc;

    fn check(array: &ArrayRef) {
        let options = FormatOptions::new();
        let formatter = ArrayFormatter::try_new(array, &options).unwrap();
        for row in 0..array.len() {
            // An error is better than a text that says it.
            let expected = formatter.value(row).try_to_string().ok().filter(|text| text != "<invalid>");
            assert_eq!(text(array, row).ok(), expected, "row {row} of {array:?}");
        }
        let strict = CastOptions { safe: false, format_options: FormatOptions::new() };
        // The package casts a union to a text only where it holds one.
        if can_cast_types(array.data_type(), &DataType::Utf8) && !matches!(array.data_type(), DataType::Union(..)) {
            let expected = cast_with_options(array, &DataType::Utf8, &strict).ok();
            let is_said = |texts: &&StringArray| texts.iter().all(|text| text != Some("<invalid>"));
            let expected = expected.as_ref().map(|texts| texts.as_string::<i32>()).filter(is_said);
            assert_eq!(texts(array).ok().as_ref(), expected, "{array:?}");
        }
        if array.data_type().is_numeric() {
            let expected = cast_with_options(array, &DataType::Float64, &strict).unwrap();
            let bits = |numbers: &Float64Array| numbers.iter().map(|value| value.map(f64::to_bits)).collect::<Vec<_>>();
            assert_eq!(bits(&numbers(array).unwrap()), bits(expected.as_primitive()), "{array:?}");
        }
    }

    /// The same whole numbers as another type that stores them in as many bytes.
    fn read_as(numbers: &ArrayRef, to: DataType) -> ArrayRef {
        let stored =
            if matches!(to, DataType::Time32(_) | DataType::Date32) { DataType::Int32 } else { DataType::Int64 };
        let data = cast(numbers, &stored).unwrap().to_data().into_builder().data_type(to).build();
        make_array(data.unwrap())
    }

    #[test]
    fn numbers_texts_and_times_are_what_the_package_casts_them_to() {
        use DataType::*;
        let whole: ArrayRef =
            Arc::new(Int64Array::from(vec![Some(0), None, Some(-1), Some(7), Some(86_399), Some(65)]));
        for to in [Int8, Int16, Int32, Int64, Boolean, Float16, Float32, Float64] {
            check(&cast(&whole, &to).unwrap());
        }
        let clocks = [TimeUnit::Microsecond, TimeUnit::Nanosecond].map(Time64);
        for to in [Time32(TimeUnit::Second), Time32(TimeUnit::Millisecond), Date32, Date64].into_iter().chain(clocks) {
            check(&read_as(&whole, to));
        }
        let plain: ArrayRef = Arc::new(UInt64Array::from(vec![Some(0), None, Some(200), Some(u64::MAX)]));
        let small = plain.slice(0, 3);
        for to in [UInt8, UInt16, UInt32, UInt64] {
            check(&cast(if to == UInt64 { &plain } else { &small }, &to).unwrap());
        }
        let large: ArrayRef =
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX), Some((1 << 53) + 1)]));
        let extreme =
            vec![0.1, f64::NAN, f64::INFINITY, -0.0, 1e17, 1e16, 1e-7, 1e-5, 1e-6, 1e15, 5e-324, 1.5e300, 123456.75];
        let floats: ArrayRef = Arc::new(Float64Array::from(extreme));
        check(&large);
        check(&floats);
        check(&cast(&floats, &Float32).unwrap());
        let times = vec![Some(1_700_000_000_123), None, Some(-5), Some(i64::MAX)];
        let times: ArrayRef = Arc::new(Int64Array::from(times));
        for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
            check(&read_as(&times, Duration(unit)));
            for zone in [None, Some("+02:30".into()), Some("+00:00".into()), Some("Europe/Rome".into())] {
                let zoned = read_as(&times, Timestamp(unit, zone));
                if ArrayFormatter::try_new(&zoned, &FormatOptions::new()).is_ok() {
                    check(&zoned);
                } else {
                    assert!(text(&zoned, 0).is_err(), "named zones need a package of their own");
                }
            }
        }
        for to in [Decimal32(9, 2), Decimal64(18, 3), Decimal128(30, 4), Decimal256(60, 5), Decimal128(30, 0)] {
            check(&cast(&whole, &to).unwrap());
        }
        let years = IntervalYearMonthArray::from(vec![Some(0), None, Some(-13), Some(25)]);
        check(&(Arc::new(years) as ArrayRef));
        let day = |days, milliseconds| Some(IntervalDayTime::new(days, milliseconds));
        let days =
            vec![day(0, 0), None, day(1, 0), day(-1, 3_661_001), day(0, -61_500), day(0, -500), day(2, 7_200_000)];
        check(&(Arc::new(IntervalDayTimeArray::from(days)) as ArrayRef));
        let month = |months, days, nanoseconds| Some(IntervalMonthDayNano::new(months, days, nanoseconds));
        let months =
            vec![month(0, 0, 0), None, month(1, -2, 3), month(0, 0, -3_600_000_000_001), month(0, 5, 60_000_000_000)];
        check(&(Arc::new(IntervalMonthDayNanoArray::from(months)) as ArrayRef));
    }

    #[test]
    fn decimals_are_rounded_once() {
        let decimals =
            Decimal128Array::from(vec![12_345_678_901_234_567_890_123_456_789, 3]).with_precision_and_scale(38, 28);
        let found = numbers(&(Arc::new(decimals.unwrap()) as ArrayRef)).unwrap();
        assert_eq!(found.values().as_ref(), [1.234_567_890_123_456_8, 3e-28]);
    }

    #[test]
    fn texts_bytes_and_nested_values_are_what_the_package_casts_them_to() {
        use DataType::*;
        let texts: ArrayRef =
            Arc::new(StringArray::from(vec![Some("a \"b\""), None, Some(""), Some("é, 1"), Some("a")]));
        let keys = [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64];
        let dictionaries = keys.into_iter().map(|key| Dictionary(Box::new(key), Box::new(Utf8)));
        for to in [Utf8, LargeUtf8, Utf8View, Binary, LargeBinary, BinaryView].into_iter().chain(dictionaries) {
            check(&cast(&texts, &to).unwrap());
        }
        check(&(Arc::new(BinaryArray::from_vec(vec![b"\xff", b"ok"])) as ArrayRef));
        check(&(Arc::new(FixedSizeBinaryArray::try_from_iter([*b"ab", *b"cd"].iter()).unwrap()) as ArrayRef));
        check(&(Arc::new(NullArray::new(2)) as ArrayRef));
        let runs: RunArray<Int32Type> = vec![Some("a"), Some("a"), None, Some("b")].into_iter().collect();
        check(&(Arc::new(runs) as ArrayRef));
        let rows = vec![Some(vec![Some(1), None, Some(3)]), None, Some(vec![])];
        let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows));
        let item = Arc::new(Field::new_list_field(Int32, true));
        for to in [List(item.clone()), LargeList(item.clone()), ListView(item.clone()), LargeListView(item)] {
            check(&cast(&list, &to).unwrap());
        }
        let mut pairs = FixedSizeListBuilder::new(Int32Builder::new(), 2);
        for valid in [true, false] {
            pairs.values().append_slice(&[4, 5]);
            pairs.append(valid);
        }
        check(&(Arc::new(pairs.finish()) as ArrayRef));
        let fields = Fields::from(vec![Field::new("a", Utf8, true), Field::new("b", list.data_type().clone(), true)]);
        check(&(Arc::new(StructArray::new(fields, vec![texts.slice(0, 3), list], None)) as ArrayRef));
        let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        for (key, value) in [("x", Some(1)), ("y", None)] {
            map.keys().append_value(key);
            map.values().append_option(value);
        }
        map.append(true).unwrap();
        map.append(false).unwrap();
        check(&(Arc::new(map.finish()) as ArrayRef));
        let mut union = UnionBuilder::new_dense();
        union.append::<Int32Type>("n", 1).unwrap();
        union.append::<Float64Type>("x", 0.5).unwrap();
        check(&(Arc::new(union.build().unwrap()) as ArrayRef));
    }
}
