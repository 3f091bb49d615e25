//! Convolutions and pooling: each output value reads a window of the input; this module computes the places in the
//! windows.
//!
//! A convolution is a weighted sum at every place, with one kernel per channel; zeros around the image add nothing. An
//! average is a sum too. The maximum of quantised values reaches a level if at least one of them does: a gate for each
//! level, over values that say whether the level is reached. The maximum of other values is delayed until they are
//! quantised (`Pool`).

use super::import_onnx::Reader;
use super::levels::{Condition, Source, Sum, Unit, Value};
use super::onnx_constants::Refusal;
use super::onnx_file::Node;
use super::onnx_quantisers::is_quantiser;
use dashu_ratio::RBig;
use std::rc::Rc;

/// The windows of a node over an image of any number of axes.
struct Windows {
    /// For each axis: the sides of the image, the kernel and the result, the stride, the padding in front, and the
    /// dilation.
    axes: Vec<Axis>,
}

struct Axis {
    image: usize,
    kernel: usize,
    result: usize,
    stride: usize,
    pad: usize,
    dilation: usize,
}

impl Windows {
    fn new(node: &Node<'_>, image: &[usize], kernel: &[usize]) -> Result<Self, Refusal> {
        let list = |name: &str, default: u64, length: usize| -> Result<Vec<usize>, Refusal> {
            let list = node.ints(name)?.unwrap_or_else(|| vec![default; length]);
            let small = |&number: &u64| usize::try_from(number).ok().filter(|&number| number <= 1 << 16);
            let list = list.iter().map(small).collect::<Option<Vec<_>>>().filter(|list| list.len() == length);
            list.ok_or_else(|| format!("attribute {name} does not have {length} numbers of a window").into())
        };
        let count = image.len();
        if !matches!(node.text("auto_pad", "NOTSET")?.as_str(), "NOTSET" | "VALID") || node.int("ceil_mode", 0)? != 0 {
            return Err("only pads that are written down are read".into());
        }
        let (strides, dilations) = (list("strides", 1, count)?, list("dilations", 1, count)?);
        let pads = list("pads", 0, 2 * count)?;
        let axis = |at: usize| {
            let (stride, dilation, pad) = (strides[at], dilations[at], pads[at]);
            let reach = (kernel[at].checked_sub(1)?).checked_mul(dilation)?.checked_add(1)?;
            let places = (image[at] + pad + pads[count + at]).checked_sub(reach)?.checked_div(stride)?;
            Some(Axis { image: image[at], kernel: kernel[at], result: places + 1, stride, pad, dilation })
        };
        let axes = (0..count).map(axis).collect::<Option<Vec<_>>>();
        Ok(Windows { axes: axes.ok_or_else(|| format!("a window of {kernel:?} does not fit an image of {image:?}"))? })
    }

    fn results(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.result).collect()
    }

    fn image(&self) -> usize {
        self.axes.iter().map(|axis| axis.image).product()
    }

    /// The places in a window, each with its place in the kernel; those in the padding are omitted.
    fn places(&self, result: usize) -> Vec<(usize, usize)> {
        let mut rest = result;
        let mut starts = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            starts.push(rest % axis.result * axis.stride);
            rest /= axis.result;
        }
        starts.reverse();
        let mut places = vec![(0, 0)];
        for (axis, start) in self.axes.iter().zip(starts) {
            let inside = |step: usize| {
                let at = (start + step * axis.dilation).checked_sub(axis.pad).filter(|&at| at < axis.image);
                at.map(|at| (at, step))
            };
            let along: Vec<(usize, usize)> = (0..axis.kernel).filter_map(inside).collect();
            let join = |(image, kernel): (usize, usize)| {
                along
                    .iter()
                    .map(move |(at, step)| (image * axis.image + at, kernel * axis.kernel + step))
                    .collect::<Vec<_>>()
            };
            places = places.into_iter().flat_map(join).collect();
        }
        places
    }
}

impl<'a> Reader<'a> {
    /// The channels and sides of the values.
    fn image(&self) -> Result<(usize, Vec<usize>), Refusal> {
        match self.shape.as_slice() {
            [1, channels, sides @ ..] if !sides.is_empty() => Ok((*channels, sides.to_vec())),
            shape => Err(format!("reads values of the shape {shape:?}, which are no image").into()),
        }
    }

    fn most(&self, count: Option<usize>) -> Result<usize, Refusal> {
        count.filter(|count| *count <= 1 << 22).ok_or("makes more values than are read".into())
    }

    pub(crate) fn convolve(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let (channels, sides) = self.image()?;
        let weights = self.constants.get(node.input(1))?;
        let groups = usize::try_from(node.int("group", 1)?).unwrap_or(0);
        let fits = |weights: &[usize]| {
            weights.len() == sides.len() + 2
                && groups > 0
                && weights[0].is_multiple_of(groups)
                && weights[1] * groups == channels
        };
        if !fits(&weights.shape) || weights.values.is_empty() {
            return Err(
                format!("its weights have the shape {:?}, where {channels} channels arrive", weights.shape).into()
            );
        }
        let windows = Windows::new(node, &sides, &weights.shape[2..])?;
        let results = windows.results();
        let (outputs, inputs) = (weights.shape[0], weights.shape[1]);
        let area: usize = weights.shape[2..].iter().product();
        let count = results.iter().try_fold(outputs, |count, &side| count.checked_mul(side));
        self.most(count.and_then(|count| count.checked_mul(inputs * area)).map(|terms| terms / 8))?;
        self.close(node)?;
        let name = node.label();
        let kernel =
            self.kernel(&name, &weights, (outputs, inputs * area), |output, at| output * inputs * area + at)?;
        let places: usize = results.iter().product();
        let windows_at: Vec<Vec<(usize, usize)>> = (0..places).map(|result| windows.places(result)).collect();
        let mut sums = Vec::new();
        for (output, row) in kernel.iter().enumerate() {
            let first = output / (outputs / groups) * inputs;
            for window in &windows_at {
                let of_channel = |channel: usize| {
                    let start = (first + channel) * windows.image();
                    let term = move |&(at, step): &(usize, usize)| ((start + at) as u32, row[channel * area + step]);
                    window.iter().map(term)
                };
                let terms = (0..inputs).flat_map(of_channel).filter(|(_, weight)| *weight != 0.0);
                sums.push(Sum::of(terms.collect()));
            }
        }
        self.set_sums(node, [vec![1, outputs], results].concat(), sums)?;
        match node.input(2) {
            None => Ok(()),
            bias => {
                let mut bias = self.constants.get(bias)?;
                bias.shape = [vec![outputs], vec![1; sides.len()]].concat();
                if bias.values.len() != outputs {
                    return Err(format!("has {} biases for {outputs} channels", bias.values.len()).into());
                }
                self.change(node, &bias, "the bias", super::levels::Change::Add)
            }
        }
    }

    /// The mean of each window; zeros in the padding count only if the node says so.
    pub(crate) fn average(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let (channels, sides) = self.image()?;
        let kernel = self.window(node, &sides)?;
        let windows = Windows::new(node, &sides, &kernel)?;
        let results = windows.results();
        let count = results.iter().try_fold(channels, |count, &side| count.checked_mul(side));
        self.most(count)?;
        let counts_pads = node.int("count_include_pad", 0)? != 0;
        self.close(node)?;
        let area: usize = kernel.iter().product();
        let mut sums = Vec::new();
        for channel in 0..channels {
            for result in 0..results.iter().product() {
                let places = windows.places(result);
                let size = if counts_pads { area } else { places.len() };
                let term = |(at, _): &(usize, usize)| ((channel * windows.image() + at) as u32, 1.0);
                let mut sum = Sum::of(places.iter().map(term).collect());
                if size == 0 {
                    return Err("a window lies on the pads alone".into());
                }
                sum.multiply(RBig::ONE / RBig::from(size));
                sums.push(sum);
            }
        }
        self.set_sums(node, [vec![1, channels], results].concat(), sums)
    }

    fn window(&self, node: &Node<'a>, sides: &[usize]) -> Result<Vec<usize>, Refusal> {
        if node.operator == "GlobalAveragePool" {
            return Ok(sides.to_vec());
        }
        let window = node.ints("kernel_shape")?.ok_or("has no kernel_shape")?;
        let small = |&side: &u64| usize::try_from(side).ok().filter(|side| (1..1 << 12).contains(side));
        let window = window.iter().map(small).collect::<Option<Vec<_>>>().filter(|window| window.len() == sides.len());
        window.ok_or("its window does not fit the image".into())
    }

    /// The maximum of each window: computed at once if the values are quantised, otherwise as soon as they are.
    pub(crate) fn maximum(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let (channels, sides) = self.image()?;
        let kernel = self.window(node, &sides)?;
        let windows = Windows::new(node, &sides, &kernel)?;
        let results = windows.results();
        let count = results.iter().try_fold(channels, |count, &side| count.checked_mul(side));
        self.most(count)?;
        let pool = Pool { windows, label: node.label(), takes_least: vec![false; channels] };
        match self.values.iter().all(|value| matches!(value, Value::Unit(_))) {
            true => self.pool_units(node, pool),
            false => {
                self.pool = Some(pool);
                Ok(())
            }
        }
    }

    /// The maximum or minimum of the quantised values of each window. For every level, a value says whether it reaches
    /// it; the maximum reaches a level if at least one value does, the minimum if all do.
    pub(crate) fn pool_units(&mut self, node: &Node<'a>, pool: Pool) -> Result<(), Refusal> {
        let Pool { windows, label, takes_least } = pool;
        let mut levels: Vec<RBig> = Vec::new();
        for value in &self.values {
            if let Value::Unit(unit) = value {
                levels.extend(unit.levels.iter().filter(|level| !levels.contains(level)).cloned().collect::<Vec<_>>());
            }
        }
        levels.sort();
        // For each level above the first, a copy of all values that is 1 where the level is reached.
        let reached = |level: &RBig, value: &Value| {
            let mut value = value.clone();
            if let Value::Unit(unit) = &mut value {
                let one = |held: &RBig| if held >= level { RBig::ONE } else { RBig::ZERO };
                unit.levels = unit.levels.iter().map(one).collect();
            }
            value
        };
        let size = self.values.len();
        self.most(size.checked_mul(levels.len()))?;
        let pairs = levels[1..].iter().flat_map(|level| self.values.iter().map(move |value| (level, value)));
        self.values = pairs.map(|(level, value)| reached(level, value)).collect();
        self.close(node)?;
        let results = windows.results();
        let mut values = Vec::new();
        for (channel, takes_least) in takes_least.iter().enumerate() {
            for result in 0..results.iter().product() {
                let places = windows.places(result);
                if places.is_empty() {
                    return Err("a window lies on the pads alone".into());
                }
                let need = RBig::from(if *takes_least { places.len() } else { 1 });
                let conditions = (0..levels.len() - 1).map(|level| {
                    let start = level * size + channel * windows.image();
                    let terms = places.iter().map(|(at, _)| ((start + at) as u32, 1.0)).collect();
                    let above = Condition::Compare { bound: need.clone(), closed: true, above: true };
                    (Rc::new(Sum::of(terms)), above)
                });
                let source = Source::Conditions(conditions.collect());
                values.push(Value::Unit(Unit { source, levels: levels.clone() }));
            }
        }
        (self.values, self.shape, self.layer) = (values, [vec![1, takes_least.len()], results].concat(), label);
        Ok(())
    }
}

/// A `MaxPool` that waits for a quantiser. Non-decreasing operations commute with the maximum, and decreasing ones turn
/// it into the minimum. So the operations before the quantiser are applied to every value of the image, and the windows
/// are evaluated once the values are quantised.
pub(crate) struct Pool {
    windows: Windows,
    pub(crate) label: String,
    /// For each channel, whether an odd number of operations was decreasing.
    takes_least: Vec<bool>,
}

impl Pool {
    /// Whether an operator can be applied before the windows are evaluated.
    pub(crate) fn lets_pass(operator: &str) -> bool {
        let simple = matches!(operator, "Add" | "Sub" | "Mul" | "Div" | "Max" | "Min" | "Neg" | "Relu" | "Clip");
        simple || is_quantiser(operator) || matches!(operator, "BatchNormalization" | "Identity" | "Dropout" | "Cast")
    }

    /// The first value of the same channel.
    pub(crate) fn first(&self, place: usize) -> usize {
        place - place % self.windows.image()
    }

    /// Records a decreasing operation on the value at this place.
    pub(crate) fn turn(&mut self, place: usize) {
        if self.first(place) == place {
            let channel = place / self.windows.image();
            self.takes_least[channel] = !self.takes_least[channel];
        }
    }

    /// The shape of the result.
    pub(crate) fn shape(&self) -> Vec<usize> {
        [vec![1, self.takes_least.len()], self.windows.results()].concat()
    }
}
