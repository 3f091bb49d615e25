//! The quantisers described by nodes of an ONNX graph, one for each number they are applied to: QONNX's `Quant` (also
//! called `IntQuant`), `BipolarQuant`, `Trunc` and `MultiThreshold`, and the standard's `Sign`.

use super::onnx_constants::{Constants, Refusal, broadcast};
use super::onnx_file::Node;
use super::quantiser::{Quantiser, Rounding, Truncated};

/// Whether an operator is a quantiser.
pub(crate) fn is_quantiser(operator: &str) -> bool {
    matches!(operator, "Quant" | "IntQuant" | "BipolarQuant" | "Trunc" | "MultiThreshold" | "Sign")
}

/// Quantisers for the numbers of a tensor: one for all, or one for each.
pub(crate) enum Quantisers {
    One(Quantiser),
    Each(Vec<Quantiser>),
}

impl Quantisers {
    pub(crate) fn at(&self, place: usize) -> &Quantiser {
        match self {
            Quantisers::One(quantiser) => quantiser,
            Quantisers::Each(quantisers) => &quantisers[place],
        }
    }

    /// The quantisers of a node that reads a tensor of this shape.
    pub(crate) fn of<'a>(node: &Node<'a>, shape: &[usize], constants: &mut Constants<'a>) -> Result<Self, Refusal> {
        let quantisers = match node.operator {
            "Sign" => Quantisers::One(Quantiser::Sign),
            "BipolarQuant" => {
                each(node, shape, constants, &[1], |numbers| Ok(Quantiser::Bipolar { scale: numbers[0], zero: 0.0 }))?
            }
            "Quant" | "IntQuant" => quant(node, shape, constants)?,
            "Trunc" => trunc(node, shape, constants)?,
            _ => thresholds(node, shape, constants)?,
        };
        let flaw = match &quantisers {
            Quantisers::One(quantiser) => quantiser.flaw(),
            Quantisers::Each(quantisers) => quantisers.iter().find_map(Quantiser::flaw),
        };
        flaw.map_or(Ok(quantisers), |flaw| Err(flaw.into()))
    }
}

/// One quantiser for each number, made from the values of these inputs at its place.
fn each<'a>(
    node: &Node<'a>,
    shape: &[usize],
    constants: &mut Constants<'a>,
    inputs: &[usize],
    make: impl Fn(&[f64]) -> Result<Quantiser, String>,
) -> Result<Quantisers, Refusal> {
    let tensors = inputs.iter().map(|&input| constants.get(node.input(input))).collect::<Result<Vec<_>, _>>()?;
    if tensors.iter().all(|tensor| tensor.values.len() == 1 && tensor.shape.len() <= shape.len()) {
        let numbers: Vec<f64> = tensors.iter().map(|tensor| tensor.values[0]).collect();
        return Ok(Quantisers::One(make(&numbers)?));
    }
    let count: usize = shape.iter().product();
    constants.spend(count)?;
    let places = tensors.iter().map(|tensor| broadcast(&tensor.shape, shape)).collect::<Result<Vec<_>, _>>()?;
    let numbers = |place: usize| -> Vec<f64> {
        tensors.iter().zip(&places).map(|(tensor, places)| tensor.values[places.of(place)]).collect()
    };
    Ok(Quantisers::Each((0..count).map(|place| make(&numbers(place))).collect::<Result<_, _>>()?))
}

/// A bit width, given as a single whole number.
fn width<'a>(node: &Node<'a>, input: usize, constants: &mut Constants<'a>) -> Result<u32, Refusal> {
    let width = constants.get(node.input(input))?.values;
    match width.as_slice() {
        &[width] if (1.0..=32.0).contains(&width) && width.fract() == 0.0 => Ok(width as u32),
        _ => Err(format!("its width in bits is {width:?}, not a whole number from 1 to 32").into()),
    }
}

fn rounding(node: &Node<'_>, default: &str) -> Result<Rounding, String> {
    let name = node.text("rounding_mode", default)?;
    Rounding::named(&name).ok_or_else(|| format!("the rounding mode {name} is not read"))
}

/// The range of whole numbers of this width.
fn range(bits: u32, signed: bool, narrow: bool) -> (i64, i64) {
    let half = 1i64 << (bits - 1);
    let narrow = i64::from(narrow);
    if signed { (narrow - half, half - 1) } else { (0, 2 * half - 1 - narrow) }
}

fn quant<'a>(node: &Node<'a>, shape: &[usize], constants: &mut Constants<'a>) -> Result<Quantisers, Refusal> {
    let bits = width(node, 3, constants)?;
    let (signed, narrow) = (node.int("signed", 1)? != 0, node.int("narrow", 1)? != 0);
    let rounding = rounding(node, "ROUND")?;
    let (least, most) = range(bits, signed, narrow);
    each(node, shape, constants, &[1, 2], |numbers| {
        let &[scale, zero] = numbers else { return Err("has no scale and zero point".into()) };
        Ok(match bits == 1 && signed {
            true => Quantiser::Bipolar { scale, zero },
            false => Quantiser::Whole { scale, zero, least, most, rounding },
        })
    })
}

/// The first version has five inputs and keeps the scale; the second also gives a new scale.
fn trunc<'a>(node: &Node<'a>, shape: &[usize], constants: &mut Constants<'a>) -> Result<Quantisers, Refusal> {
    let rounding = rounding(node, "FLOOR")?;
    let before = width(node, 3, constants)?;
    if node.input(5).is_none() {
        let shift = before.checked_sub(width(node, 4, constants)?).ok_or("makes numbers wider")?;
        let most = 1 << 60;
        return each(node, shape, constants, &[1, 2], |numbers| {
            let (scale, zero) = (numbers[0], numbers[1]);
            Ok(Quantiser::Truncate { scale, zero, shift, to: Truncated { scale, zero, least: -most, most, rounding } })
        });
    }
    let bits = width(node, 5, constants)?;
    let (least, most) = range(bits, node.int("signed", 1)? != 0, node.int("narrow", 0)? != 0);
    each(node, shape, constants, &[1, 2, 4], |numbers| {
        let (scale, zero, unit) = (numbers[0], numbers[1], numbers[2]);
        let shift = (unit / scale).log2().round_ties_even();
        if !(0.0..=40.0).contains(&shift) {
            return Err(format!("goes from the scale {scale} to {unit}"));
        }
        let to = Truncated { scale: unit, zero: zero / shift.exp2(), least, most, rounding };
        Ok(Quantiser::Truncate { scale, zero, shift: shift as u32, to })
    })
}

/// Thresholds: a row for each channel, or one row for all.
fn thresholds<'a>(node: &Node<'a>, shape: &[usize], constants: &mut Constants<'a>) -> Result<Quantisers, Refusal> {
    let tensor = constants.get(node.input(1))?;
    let &[rows, steps] = tensor.shape.as_slice() else {
        return Err(format!("its thresholds have the shape {:?}, which is not a matrix", tensor.shape).into());
    };
    let layout = node.text("data_layout", "")?;
    let axis = match layout.as_str() {
        "" if shape.len() == 3 => 2,
        "" => 1,
        layout => layout.find('C').unwrap_or(1),
    };
    let scale: f64 = node.float("out_scale", 1.0)?.into();
    let bias: f64 = node.float("out_bias", 0.0)?.into();
    let row = |row: usize| {
        let mut cuts = tensor.values[row * steps..][..steps].to_vec();
        cuts.sort_by(f64::total_cmp);
        Quantiser::Thresholds { cuts: cuts.into(), scale, bias }
    };
    match shape.get(axis) {
        _ if rows == 1 => Ok(Quantisers::One(row(0))),
        Some(&channels) if channels == rows => {
            let rows: Vec<Quantiser> = (0..rows).map(row).collect();
            let inner: usize = shape[axis + 1..].iter().product();
            let count: usize = shape.iter().product();
            constants.spend(count)?;
            Ok(Quantisers::Each((0..count).map(|place| rows[place / inner % channels].clone()).collect()))
        }
        _ => Err(format!("has thresholds for {rows} channels where the shape is {shape:?}").into()),
    }
}
