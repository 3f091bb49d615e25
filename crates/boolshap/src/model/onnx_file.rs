//! The content of an ONNX file: the model, its graph, nodes with attributes, and tensors, by the field numbers of
//! `onnx.proto`.
//!
//! Unknown fields are skipped, and for a repeated scalar field the last value counts, as protobuf requires. Numbers
//! that do not fit into an f64 exactly are rejected.

use super::number::half_to_f64;
use super::protobuf::{Damage, Value, fields, push_doubles, push_floats, push_packed, push_varints};

/// More axes than any network has, so that a damaged file cannot pass a long list of ones as a shape.
const MAX_RANK: usize = 8;

/// Element types of tensors by their number, from 1 on.
const TYPES: &str = "float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 \
                     complex128 bfloat16";

/// The name of an element type.
pub(crate) fn type_name(number: u64) -> &'static str {
    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    place.and_then(|place| TYPES.split(' ').nth(place)).unwrap_or("an unknown type")
}

/// Whether a file begins like a ModelProto: its version, then possibly texts and numbers, then the graph. Writers order
/// fields by their numbers, so the version comes first. A text file cannot begin so: the version's tag is a control
/// character.
pub(crate) fn begins_like_onnx(head: &[u8]) -> bool {
    let mut has_version = false;
    for field in fields(head) {
        match field {
            Ok((1, Value::Varint(version))) => has_version = (1..1000).contains(&version),
            Ok((7, Value::Bytes(_))) | Err(Damage::CutOff(2 | 3 | 4 | 6 | 7)) => return has_version,
            Ok((2 | 3 | 4 | 6 | 8 | 14 | 20 | 25 | 26, Value::Bytes(_)) | (5, Value::Varint(_))) => {}
            _ => return false,
        }
    }
    false
}

/// The parts of the graph, not yet parsed.
#[derive(Default)]
pub(crate) struct Graph<'a> {
    /// The version of the standard operators.
    pub(crate) opset: Option<u64>,
    pub(crate) nodes: Vec<&'a [u8]>,
    pub(crate) initializers: Vec<&'a [u8]>,
    pub(crate) inputs: Vec<&'a [u8]>,
    pub(crate) outputs: Vec<&'a [u8]>,
    /// Annotations of tensors by name.
    annotations: Vec<&'a [u8]>,
}

impl<'a> Graph<'a> {
    /// The type of a tensor's numbers as FINN and QONNX annotate it, such as `BIPOLAR` or `UINT2`.
    pub(crate) fn number_type(&self, tensor: &str) -> Option<&'a str> {
        for annotation in &self.annotations {
            let mut name = "";
            let mut found = None;
            for field in fields(annotation).flatten() {
                match field {
                    (1, value) => name = text(value).ok()?,
                    (2, Value::Bytes(entry)) => {
                        let (mut key, mut content) = ("", "");
                        for field in fields(entry).flatten() {
                            match field {
                                (1, value) => key = text(value).ok()?,
                                (2, value) => content = text(value).ok()?,
                                _ => {}
                            }
                        }
                        found = (key == "finn_datatype").then_some(content).or(found);
                    }
                    _ => {}
                }
            }
            if name == tensor && found.is_some() {
                return found;
            }
        }
        None
    }

    pub(crate) fn of_model(model: &'a [u8]) -> Result<Self, String> {
        let mut graph = Graph::default();
        let mut content = None;
        for field in fields(model) {
            match field.map_err(|e| format!("damaged: {e}"))? {
                (7, Value::Bytes(_)) if content.is_some() => return Err("holds two graphs".into()),
                (7, Value::Bytes(bytes)) => content = Some(bytes),
                (8, Value::Bytes(opset)) => {
                    let (mut domain, mut version) = ("", None);
                    for field in fields(opset) {
                        match field.map_err(|e| format!("opset_import: {e}"))? {
                            (1, value) => domain = text(value)?,
                            (2, Value::Varint(number)) => version = Some(number),
                            _ => {}
                        }
                    }
                    if is_standard(domain) {
                        graph.opset = version;
                    }
                }
                (25, _) => return Err("defines functions of its own, which are not supported".into()),
                _ => {}
            }
        }
        for field in fields(content.ok_or("holds no graph")?) {
            match field.map_err(|e| format!("graph: {e}"))? {
                (1, Value::Bytes(node)) => graph.nodes.push(node),
                (5, Value::Bytes(tensor)) => graph.initializers.push(tensor),
                (11, Value::Bytes(input)) => graph.inputs.push(input),
                (12, Value::Bytes(output)) => graph.outputs.push(output),
                (14, Value::Bytes(annotation)) => graph.annotations.push(annotation),
                (1 | 5 | 11 | 12, _) => return Err(format!("graph: {}", Damage::Invalid)),
                _ => {}
            }
        }
        Ok(graph)
    }
}

/// Whether operators of this domain are those of the ONNX standard.
pub(crate) fn is_standard(domain: &str) -> bool {
    domain.is_empty() || domain == "ai.onnx"
}

/// An operator with its inputs and outputs.
#[derive(Default)]
pub(crate) struct Node<'a> {
    name: &'a str,
    /// Its position in the file, counted from 1.
    number: usize,
    pub(crate) operator: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) outputs: Vec<&'a str>,
    pub(crate) attributes: Vec<Attribute<'a>>,
}

impl<'a> Node<'a> {
    pub(crate) fn parse(bytes: &'a [u8], number: usize) -> Result<Self, String> {
        let wrong = |e: Damage| format!("node {number}: {e}");
        let mut node = Node { number, ..Node::default() };
        for field in fields(bytes) {
            match field.map_err(wrong)? {
                (1, value) => node.inputs.push(text(value)?),
                (2, value) => node.outputs.push(text(value)?),
                (3, value) => node.name = text(value)?,
                (4, value) => node.operator = text(value)?,
                (5, Value::Bytes(attribute)) => node.attributes.push(Attribute::parse(attribute).map_err(wrong)?),
                (7, value) => node.domain = text(value)?,
                _ => {}
            }
        }
        Ok(node)
    }

    /// Its name, for the layer it defines.
    pub(crate) fn label(&self) -> String {
        if self.name.is_empty() { format!("node {}", self.number) } else { self.name.into() }
    }

    /// Its name and operator, for messages.
    pub(crate) fn title(&self) -> String {
        let prefix = if self.name.is_empty() { "" } else { "node " };
        format!("{prefix}{} ({})", self.label(), self.operator)
    }

    /// An input by its position; `None` if it is omitted.
    pub(crate) fn input(&self, index: usize) -> Option<&'a str> {
        self.inputs.get(index).copied().filter(|name| !name.is_empty())
    }

    pub(crate) fn int(&self, name: &str, default: i64) -> Result<i64, String> {
        let of = |attribute: &Attribute<'_>| (attribute.kind == 2).then_some(attribute.int);
        self.attribute(name).map_or(Ok(default), |a| of(a).ok_or_else(|| format!("attribute {name} is not an integer")))
    }

    pub(crate) fn float(&self, name: &str, default: f32) -> Result<f32, String> {
        let of = |attribute: &Attribute<'_>| (attribute.kind == 1).then_some(attribute.float);
        self.attribute(name).map_or(Ok(default), |a| of(a).ok_or_else(|| format!("attribute {name} is not a float")))
    }

    pub(crate) fn ints(&self, name: &str) -> Result<Option<Vec<u64>>, String> {
        let of = |attribute: &Attribute<'_>| (attribute.kind == 7).then(|| attribute.ints.clone());
        let wrong = || format!("attribute {name} is not a list of integers");
        self.attribute(name).map(|attribute| of(attribute).ok_or_else(wrong)).transpose()
    }

    pub(crate) fn text(&self, name: &str, default: &str) -> Result<String, String> {
        let of = |attribute: &Attribute<'_>| {
            let text = std::str::from_utf8(attribute.text).ok().filter(|_| attribute.kind == 3);
            text.map(String::from).ok_or_else(|| format!("attribute {name} is not a text"))
        };
        self.attribute(name).map_or(Ok(default.into()), of)
    }

    fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}

/// An attribute of a node. Writers may leave out a value of 0, so 0 is the default.
#[derive(Default)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: &'a str,
    /// Which field holds the value: 1 float, 2 int, 3 text, 4 tensor, 6 floats, 7 ints.
    pub(crate) kind: u64,
    pub(crate) float: f32,
    pub(crate) int: i64,
    text: &'a [u8],
    pub(crate) tensor: &'a [u8],
    pub(crate) floats: Vec<f64>,
    pub(crate) ints: Vec<u64>,
}

impl<'a> Attribute<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, Damage> {
        let mut attribute = Attribute::default();
        for field in fields(bytes) {
            match field? {
                (1, value) => attribute.name = text(value).map_err(|_| Damage::Invalid)?,
                (2, Value::Fixed32(float)) => attribute.float = f32::from_le_bytes(float),
                (3, Value::Varint(int)) => attribute.int = int as i64,
                (4, Value::Bytes(text)) => attribute.text = text,
                (5, Value::Bytes(tensor)) => attribute.tensor = tensor,
                (7, value) => push_floats(value, &mut attribute.floats)?,
                (8, value) => push_varints(value, &mut attribute.ints)?,
                (20, Value::Varint(kind)) => attribute.kind = kind,
                _ => {}
            }
        }
        Ok(attribute)
    }
}

/// Numbers with a shape, in row-major order.
#[derive(Clone)]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
    /// Whether the numbers are the output of a quantiser.
    pub(crate) is_levels: bool,
}

impl Tensor {
    pub(crate) fn new(shape: Vec<usize>, values: Vec<f64>) -> Self {
        Tensor { shape, values, is_levels: false }
    }

    /// Reads the name only.
    pub(crate) fn name(bytes: &[u8]) -> Result<&str, String> {
        let mut name = "";
        for field in fields(bytes) {
            if let (8, value) = field.map_err(|e| format!("an initializer: {e}"))? {
                name = text(value)?;
            }
        }
        Ok(name)
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let damage = |e: Damage| format!("damaged: {e}");
        let (mut shape, mut floats, mut doubles) = (Vec::new(), Vec::new(), Vec::new());
        let (mut ints, mut longs, mut raw, mut kind) = (Vec::new(), Vec::new(), None, 0);
        for field in fields(bytes) {
            match field.map_err(damage)? {
                (1, value) => {
                    push_varints(value, &mut shape).map_err(damage)?;
                    if shape.len() > MAX_RANK {
                        return Err(format!("has more than {MAX_RANK} axes"));
                    }
                }
                (2, Value::Varint(number)) => kind = number,
                (3, _) => return Err("is only a segment of a tensor".into()),
                (4, value) => push_floats(value, &mut floats).map_err(damage)?,
                (5, value) => push_varints(value, &mut ints).map_err(damage)?,
                (7, value) => push_varints(value, &mut longs).map_err(damage)?,
                (9, Value::Bytes(bytes)) => raw = Some(bytes),
                (10, value) => push_doubles(value, &mut doubles).map_err(damage)?,
                (13, _) | (14, Value::Varint(1)) => {
                    return Err("is kept in another file, which is not supported".into());
                }
                _ => {}
            }
        }
        let mut whole: Vec<i64> = Vec::new();
        let mut packed = Ok(());
        match (type_name(kind), raw) {
            ("float", None) => doubles = floats,
            ("float", Some(raw)) => packed = push_packed(raw, |b| f64::from(f32::from_le_bytes(b)), &mut doubles),
            ("double", None) => {}
            ("double", Some(raw)) => packed = push_packed(raw, f64::from_le_bytes, &mut doubles),
            ("float16", Some(raw)) => packed = push_packed(raw, |b| half_to_f64(u16::from_le_bytes(b)), &mut doubles),
            ("float16", None) => doubles.extend(ints.iter().map(|&bits| half_to_f64(bits as u16))),
            ("bool" | "uint8", Some(raw)) => whole.extend(raw.iter().map(|&byte| i64::from(byte))),
            ("int8", Some(raw)) => packed = push_packed(raw, |b| i8::from_le_bytes(b).into(), &mut whole),
            ("int32", Some(raw)) => packed = push_packed(raw, |b| i32::from_le_bytes(b).into(), &mut whole),
            ("int64", Some(raw)) => packed = push_packed(raw, i64::from_le_bytes, &mut whole),
            // Negative numbers are written with 64 bits.
            ("int8" | "int32" | "uint8" | "bool", None) => whole.extend(ints.iter().map(|&v| i64::from(v as i32))),
            ("int64", None) => whole.extend(longs.iter().map(|&v| v as i64)),
            (name, _) => return Err(format!("has elements of type {name}, which is not supported")),
        }
        packed.map_err(|_| "has data that ends within a number")?;
        if type_name(kind) == "int8" && whole.iter().any(|&number| i8::try_from(number).is_err()) {
            return Err("holds numbers beyond int8".into());
        }
        doubles.extend(floats_of(whole)?);
        let shape: Option<Vec<usize>> = shape.iter().map(|&axis| usize::try_from(axis as i64).ok()).collect();
        let shape = shape.ok_or("has an axis of negative length")?;
        let count = shape.iter().try_fold(1usize, |count, &axis| count.checked_mul(axis));
        if count != Some(doubles.len()) {
            return Err(format!("holds {} numbers for the shape {shape:?}", doubles.len()));
        }
        // An empty tensor may have sides of any length; their product must not overflow.
        if shape.iter().try_fold(1usize, |count, &axis| count.checked_mul(axis.max(1))).is_none() {
            return Err(format!("has the shape {shape:?}"));
        }
        Ok(Tensor::new(shape, doubles))
    }
}

/// Converts integers to floats if that is exact: above 2^53 an integer may lie between two floats.
pub(crate) fn floats_of(whole: impl IntoIterator<Item = i64>) -> Result<Vec<f64>, String> {
    let float = |number: i64| Some(number as f64).filter(|&float| float as i128 == i128::from(number));
    whole.into_iter().map(|number| float(number).ok_or_else(|| format!("holds {number}, which is too large"))).collect()
}

/// Name, type and shape of an input or output.
pub(crate) struct ValueInfo<'a> {
    pub(crate) name: &'a str,
    /// The number of the element type, if given.
    pub(crate) kind: Option<u64>,
    /// The axes, if given; `None` for one of unspecified length.
    pub(crate) shape: Option<Vec<Option<usize>>>,
}

impl<'a> ValueInfo<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let damage = |e: Damage| format!("an input or output: {e}");
        let mut info = ValueInfo { name: "", kind: None, shape: None };
        // Nested messages: name and type; in the type a tensor type; in that the element type and the shape; in that
        // the axes.
        let (mut tensor, mut shape): (&[u8], Option<&[u8]>) = (&[], None);
        for field in fields(bytes) {
            match field.map_err(damage)? {
                (1, value) => info.name = text(value)?,
                (2, Value::Bytes(kind)) => {
                    for field in fields(kind) {
                        match field.map_err(damage)? {
                            (1, Value::Bytes(bytes)) => tensor = bytes,
                            (4 | 5 | 8 | 9, _) => return Err("an input or output is not a tensor".into()),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        for field in fields(tensor) {
            match field.map_err(damage)? {
                (1, Value::Varint(kind)) => info.kind = Some(kind),
                (2, Value::Bytes(axes)) => shape = Some(axes),
                _ => {}
            }
        }
        let Some(shape) = shape else { return Ok(info) };
        let mut axes = Vec::new();
        for field in fields(shape) {
            let (1, Value::Bytes(axis)) = field.map_err(damage)? else { continue };
            let mut length = None;
            for field in fields(axis) {
                if let (1, Value::Varint(number)) = field.map_err(damage)? {
                    length = usize::try_from(number as i64).ok();
                }
            }
            axes.push(length);
        }
        info.shape = Some(axes);
        Ok(info)
    }
}

fn text(value: Value<'_>) -> Result<&str, String> {
    let Value::Bytes(bytes) = value else { return Err(Damage::Invalid.to_string()) };
    std::str::from_utf8(bytes).map_err(|_| "a name is not UTF-8".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::protobuf::write::{bytes, seven_bits, varint};

    fn tensor(kind: u64, shape: &[i64], data: Vec<u8>) -> Result<Vec<f64>, String> {
        let shape: Vec<u8> = shape.iter().flat_map(|&axis| varint(1, axis as u64)).collect();
        Tensor::parse(&[shape, varint(2, kind), data].concat()).map(|tensor| tensor.values)
    }

    fn packed(numbers: &[i64]) -> Vec<u8> {
        numbers.iter().flat_map(|&number| seven_bits(number as u64)).collect()
    }

    #[test]
    fn numbers_in_every_way_to_store_them() {
        let float: Vec<u8> = [0.1f32, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let double: Vec<u8> = [0.1f64, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let one_by_one: Vec<u8> = float.chunks(4).flat_map(|v| [&[4 << 3 | 5], v].concat()).collect();
        let as_f32 = vec![f64::from(0.1f32), -2.0];
        let whole = [3, -2];
        let cases = [
            (1, bytes(9, &float), as_f32.clone()),
            (1, bytes(4, &float), as_f32.clone()),
            (1, one_by_one, as_f32),
            (11, bytes(9, &double), vec![0.1, -2.0]),
            (11, bytes(10, &double), vec![0.1, -2.0]),
            (10, bytes(9, &[0, 0x3C, 0, 0xC0]), vec![1.0, -2.0]),
            (10, bytes(5, &packed(&[1, 0x3555])), vec![2f64.powi(-24), 1365.0 / 4096.0]),
            (2, bytes(9, &[3, 0xFE]), vec![3.0, 254.0]),
            (3, bytes(9, &[3, 0xFE]), vec![3.0, -2.0]),
            (3, bytes(5, &packed(&whole)), vec![3.0, -2.0]),
            (6, bytes(5, &packed(&whole)), vec![3.0, -2.0]),
            (6, [varint(5, 3), varint(5, -2i64 as u64)].concat(), vec![3.0, -2.0]),
            (6, bytes(9, &[3, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF]), vec![3.0, -2.0]),
            (7, bytes(7, &packed(&whole)), vec![3.0, -2.0]),
            (7, bytes(9, &[[3, 0, 0, 0, 0, 0, 0, 0], (-2i64).to_le_bytes()].concat()), vec![3.0, -2.0]),
        ];
        for (kind, data, expected) in cases {
            assert_eq!(tensor(kind, &[2], data), Ok(expected), "{}", type_name(kind));
        }
    }

    #[test]
    fn tensors_that_are_refused() {
        let cases = [
            (16, &[1][..], bytes(9, &[0, 0x3C]), "has elements of type bfloat16, which is not supported"),
            (99, &[1], bytes(9, &[0]), "has elements of type an unknown type, which is not supported"),
            (1, &[2], bytes(9, &[0; 4]), "holds 1 numbers for the shape [2]"),
            (1, &[2], bytes(9, &[0; 7]), "has data that ends within a number"),
            (1, &[-1, -1], bytes(9, &[0; 4]), "has an axis of negative length"),
            (1, &[1 << 33, 1 << 33], vec![], "holds 0 numbers for the shape [8589934592, 8589934592]"),
            (1, &[1; 9], bytes(9, &[0; 4]), "has more than 8 axes"),
            (3, &[1], bytes(5, &packed(&[200])), "holds numbers beyond int8"),
            (7, &[1], bytes(7, &packed(&[i64::MAX])), "holds 9223372036854775807, which is too large"),
            (1, &[1], [bytes(13, b""), varint(14, 1)].concat(), "is kept in another file, which is not supported"),
        ];
        for (kind, shape, data, expected) in cases {
            assert_eq!(tensor(kind, shape, data), Err(expected.into()));
        }
    }

    #[test]
    fn other_files_do_not_begin_like_onnx() {
        assert!(begins_like_onnx(&[varint(1, 8), bytes(2, b"pytorch"), bytes(7, b"")].concat()));
        // A prefix of a longer file.
        assert!(begins_like_onnx(&[varint(1, 8), bytes(7, &[0; 999])].concat()[..100]));
        let others: [&[u8]; 11] = [
            b"",
            b"\x89HDF\r\n\x1a\n\0\0\0\0",
            b"\x40\0\0\0\0\0\0\0{\"a.weight\":{}}",
            b"name: n\nweights: 1 -1\nthreshold: 0\n",
            b": weights: 1",
            b"{\"format\": \"boolshap\"}",
            b"PK\x03\x04",
            b"\x0a\x05hello",
            // A version alone; a graph alone; a version of 0.
            b"\x08\x07",
            b"\x3a\x00",
            b"\x08\x00\x3a\x00",
        ];
        for other in others {
            assert!(!begins_like_onnx(other), "{other:?}");
        }
        // A field that does not exist in a model.
        assert!(!begins_like_onnx(b"\x08\x07\x7a\x00\x3a\x00"));
    }
}
