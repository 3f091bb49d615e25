//! A circuit with everything that is needed to explain raw rows, and the file that keeps it.
//!
//! The file is a line `boolshap circuit`, a version, a header in JSON (names, binarisation, marginals, origin, the numbers
//! of variables and nodes), then the nodes in order, and a checksum of all of it. Numbers are little-endian. A node is a
//! tag byte, then: nothing (0 false, 1 true), a literal code (2), a variable and two children (3), or a count and as many
//! children (4 and, 5 or); every number takes 4 bytes. A file that is cut or damaged anywhere is refused.

use super::{Circuit, CircuitBuilder, CircuitError, Node, NodeId};
use crate::data::{Binariser, WholeFile};
use crate::lit::Var;
use crate::model::{Marginals, Model};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

const MAGIC: &[u8] = b"boolshap circuit\n";
const VERSION: u32 = 1;
/// A header longer than this is no header.
const MAX_HEADER: u64 = 1 << 30;

/// A circuit that can be used alone.
#[derive(Debug, Clone)]
pub struct NamedCircuit {
    /// The circuit; its variables are the features, in order.
    pub circuit: Arc<Circuit>,
    /// If it holds a circuit for each class, their names and roots; `circuit` itself is then that of the first.
    pub classes: Vec<(String, NodeId)>,
    /// The names of the features.
    pub features: Vec<String>,
    /// How raw rows become bits, if that is known.
    pub binariser: Option<Binariser>,
    /// How often each feature was 1 in training, if that is known.
    pub marginals: Option<Marginals>,
    /// What the compiler says of it.
    pub facts: Facts,
    /// Where its model comes from: free facts by name.
    pub provenance: BTreeMap<String, Value>,
}

/// What the compiler says of a circuit; a model cannot say it. In a file these facts are among the free ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// How it was made: the route from the network, or the format it was read from.
    pub route: Option<String>,
    /// The class it is the label of, where that is not the second of two.
    pub class: Option<usize>,
    /// By which method it was proved equal to the network.
    pub verified: Option<String>,
    /// Whether it was made smooth.
    pub smooth: bool,
}

impl Facts {
    /// Takes the facts out of the free ones of a file.
    fn take(provenance: &mut BTreeMap<String, Value>) -> Self {
        let mut take = |name: &str| provenance.remove(name).unwrap_or_default();
        Facts {
            route: take("route").as_str().map(String::from),
            class: take("class").as_u64().map(|class| class as usize),
            verified: take("verified").as_str().map(String::from),
            smooth: take("smooth").as_bool().unwrap_or(false),
        }
    }

    fn put(&self, provenance: &mut BTreeMap<String, Value>) {
        let facts = [
            ("route", self.route.as_deref().map(Value::from)),
            ("class", self.class.map(Value::from)),
            ("verified", self.verified.as_deref().map(Value::from)),
            ("smooth", self.smooth.then_some(Value::Bool(true))),
        ];
        provenance.extend(facts.into_iter().filter_map(|(name, fact)| Some((name.to_string(), fact?))));
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    features: Vec<String>,
    schema: Option<Binariser>,
    marginals: Option<Marginals>,
    provenance: BTreeMap<String, Value>,
    nodes: u64,
    root: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    classes: Vec<(String, u32)>,
}

impl NamedCircuit {
    /// A circuit with names only.
    pub fn new(circuit: impl Into<Arc<Circuit>>, features: Vec<String>) -> Result<Self, CircuitError> {
        let circuit = circuit.into();
        if features.len() != circuit.variables() {
            return Err(CircuitError::WrongLength { expected: circuit.variables(), found: features.len() });
        }
        let (classes, facts, provenance) = (Vec::new(), Facts::default(), BTreeMap::new());
        Ok(NamedCircuit { circuit, classes, features, binariser: None, marginals: None, facts, provenance })
    }

    /// A circuit that computes what a model does, with the model's names, binarisation and marginals.
    pub fn of_model(circuit: impl Into<Arc<Circuit>>, model: &Model) -> Result<Self, CircuitError> {
        let mut named = Self::new(circuit, model.features.clone())?;
        named.binariser = model.binariser.clone();
        named.marginals = model.marginals.clone();
        named.provenance = model.provenance.clone();
        // What a model's file claims about a circuit is not believed.
        Facts::take(&mut named.provenance);
        Ok(named)
    }

    /// The circuits of all classes of a model.
    pub fn of_classes(circuits: &[Circuit], model: &Model) -> Result<Self, CircuitError> {
        let name = |class: usize| model.classes.as_ref().and_then(|names| names.get(class).cloned());
        let names = (0..circuits.len()).map(|class| name(class).unwrap_or_else(|| class.to_string())).collect();
        let joined = Self::join(circuits, model.features.clone(), names)?;
        let classes = joined.classes;
        Ok(NamedCircuit { classes, ..Self::of_model(joined.circuit, model)? })
    }

    /// A circuit for each class, one after another in one arena.
    pub fn join(circuits: &[Circuit], features: Vec<String>, names: Vec<String>) -> Result<Self, CircuitError> {
        let mut builder = CircuitBuilder::new(features.len())?;
        let mut classes = Vec::with_capacity(circuits.len());
        for (circuit, name) in circuits.iter().zip(names) {
            let first = builder.len();
            let moved = |id: NodeId| NodeId::new(first + id.index());
            for (_, node) in circuit.nodes() {
                let children: Vec<NodeId> = node.children().map(moved).collect();
                builder.push(match node {
                    Node::Decision { var, lo, hi } => Node::Decision { var, lo: moved(lo), hi: moved(hi) },
                    Node::And(_) => Node::And(&children),
                    Node::Or(_) => Node::Or(&children),
                    leaf => leaf,
                })?;
            }
            classes.push((name, moved(circuit.root())));
        }
        let root = classes.first().map_or(NodeId::new(0), |(_, root)| *root);
        Ok(NamedCircuit { classes, ..Self::new(builder.finish(root)?, features)? })
    }

    /// The circuit of one class, or of the only label.
    pub fn label(&self, class: Option<usize>) -> Result<Arc<Circuit>, CircuitError> {
        let classes = self.classes.len();
        let root = match class {
            None if classes == 0 => return Ok(self.circuit.clone()),
            None => return Err(CircuitError::SeveralClasses { classes }),
            Some(_) if classes == 0 => return Err(CircuitError::OneLabel),
            Some(class) => self.classes.get(class).ok_or(CircuitError::UnknownClass { class, classes })?.1,
        };
        Ok(Arc::new(self.circuit.with_root(root)?.compacted()?))
    }

    /// The circuits of all classes, or of the only label.
    pub fn labels(&self) -> Result<Vec<Arc<Circuit>>, CircuitError> {
        match self.classes.len() {
            0 => Ok(vec![self.label(None)?]),
            classes => (0..classes).map(|class| self.label(Some(class))).collect(),
        }
    }

    /// The free facts together with the compiler's, as a file holds them.
    pub fn all_facts(&self) -> BTreeMap<String, Value> {
        let mut facts = self.provenance.clone();
        self.facts.put(&mut facts);
        facts
    }

    /// Whether a file begins as a circuit file does.
    pub fn recognises(path: &Path) -> io::Result<bool> {
        let mut start = Vec::new();
        File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut start)?;
        Ok(start == MAGIC)
    }

    /// Writes the file whole or not at all.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        self.write_whole(WholeFile::create(path)?)
    }

    /// Writes into a file that was begun before, and finishes it.
    pub fn write_whole(&self, mut file: WholeFile) -> io::Result<()> {
        self.write(&mut file)?;
        file.finish()
    }

    /// Writes the content of the file.
    pub fn write(&self, target: impl Write) -> io::Result<()> {
        let mut out = Summed { inner: target, sum: crc32fast::Hasher::new() };
        let header = Header {
            features: self.features.clone(),
            schema: self.binariser.clone(),
            marginals: self.marginals.clone(),
            provenance: self.all_facts(),
            nodes: self.circuit.stored_nodes() as u64,
            root: self.circuit.root().index() as u32,
            classes: self.classes.iter().map(|(name, root)| (name.clone(), root.index() as u32)).collect(),
        };
        let header = serde_json::to_vec(&header)?;
        out.write_all(MAGIC)?;
        out.number(VERSION)?;
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        for (_, node) in self.circuit.nodes() {
            match node {
                Node::Constant(value) => out.write_all(&[u8::from(value)])?,
                Node::Literal(lit) => out.node(2, &[lit.code() as u32])?,
                Node::Decision { var, lo, hi } => {
                    out.node(3, &[var.index() as u32, lo.index() as u32, hi.index() as u32])?;
                }
                Node::And(children) | Node::Or(children) => {
                    out.node(if matches!(node, Node::And(_)) { 4 } else { 5 }, &[children.len() as u32])?;
                    children.iter().try_for_each(|child| out.number(child.index() as u32))?;
                }
            }
        }
        let sum = out.sum.clone().finalize();
        out.inner.write_all(&sum.to_le_bytes())
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, CircuitError> {
        Self::read(BufReader::with_capacity(1 << 20, File::open(path)?))
    }

    /// Reads the content of a file.
    pub fn read(source: impl Read) -> Result<Self, CircuitError> {
        let damaged = |problem: &str| CircuitError::Damaged { problem: problem.into() };
        let mut input = Summed { inner: source, sum: crc32fast::Hasher::new() };
        if input.take_bytes::<17>().map_err(|_| damaged("this is no circuit file"))? != *MAGIC {
            return Err(damaged("this is no circuit file"));
        }
        let version = input.read_number()?;
        if version != VERSION {
            return Err(damaged(&format!("version {version} of the circuit format is not known (known: {VERSION})")));
        }
        let length = u64::from_le_bytes(input.take_bytes()?);
        if length > MAX_HEADER {
            return Err(damaged("the header is longer than any header can be"));
        }
        let mut header = Vec::new();
        input.by_ref().take(length).read_to_end(&mut header)?;
        if header.len() as u64 != length {
            return Err(damaged("the file is cut off in its header"));
        }
        let header: Header = serde_json::from_slice(&header).map_err(|e| damaged(&format!("the header: {e}")))?;
        let circuit = read_nodes(&mut input, &header)?;
        let expected = input.sum.clone().finalize();
        if u32::from_le_bytes(input.take_bytes()?) != expected {
            return Err(damaged("the checksum does not fit: the file has been changed"));
        }
        if input.inner.read(&mut [0])? > 0 {
            return Err(damaged("something follows the end of the circuit"));
        }
        let mut named = Self::new(circuit, header.features)?;
        let fits = |ones: usize| ones == named.features.len();
        if header.schema.as_ref().is_some_and(|schema| schema.features() != named.features)
            || header.marginals.as_ref().is_some_and(|marginals| !fits(marginals.ones.len()))
        {
            return Err(damaged("the schema or the marginals do not fit the features"));
        }
        named.binariser = header.schema;
        named.marginals = header.marginals;
        named.provenance = header.provenance;
        named.facts = Facts::take(&mut named.provenance);
        if header.classes.iter().any(|&(_, root)| u64::from(root) >= header.nodes) {
            return Err(damaged("the root of a class is unknown"));
        }
        named.classes = header.classes.into_iter().map(|(name, root)| (name, NodeId::new(root as usize))).collect();
        Ok(named)
    }
}

fn read_nodes<R: Read>(input: &mut Summed<R>, header: &Header) -> Result<Circuit, CircuitError> {
    let mut builder = CircuitBuilder::new(header.features.len())?;
    let mut children = Vec::new();
    let variable = |index: u32| {
        let known = (index as usize) < header.features.len();
        known
            .then(|| Var::new(index as usize))
            .ok_or_else(|| CircuitError::Damaged { problem: "a variable is unknown".into() })
    };
    for _ in 0..header.nodes {
        let [tag] = input.take_bytes::<1>()?;
        let node = match tag {
            0 | 1 => Node::Constant(tag == 1),
            2 => {
                let code = input.read_number()?;
                Node::Literal(variable(code >> 1)?.literal(code & 1 == 0))
            }
            3 => Node::Decision { var: variable(input.read_number()?)?, lo: input.child()?, hi: input.child()? },
            4 | 5 => {
                children.clear();
                for _ in 0..input.read_number()? {
                    children.push(input.child()?);
                }
                if tag == 4 { Node::And(&children) } else { Node::Or(&children) }
            }
            _ => return Err(CircuitError::Damaged { problem: format!("{tag} is the tag of no node") }),
        };
        builder.push(node)?;
    }
    builder.finish(NodeId::new(header.root as usize))
}

/// A reader or writer that keeps the checksum of what has passed.
struct Summed<T> {
    inner: T,
    sum: crc32fast::Hasher,
}

impl<T: Write> Summed<T> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.inner.write_all(bytes)
    }

    fn number(&mut self, value: u32) -> io::Result<()> {
        self.write_all(&value.to_le_bytes())
    }

    fn node(&mut self, tag: u8, numbers: &[u32]) -> io::Result<()> {
        self.write_all(&[tag])?;
        numbers.iter().try_for_each(|&value| self.number(value))
    }
}

impl<T: Read> Summed<T> {
    fn take_bytes<const N: usize>(&mut self) -> Result<[u8; N], CircuitError> {
        let mut bytes = [0; N];
        match self.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                Err(CircuitError::Damaged { problem: "the circuit is cut off".into() })
            }
            Err(e) => Err(e.into()),
        }
    }

    fn read_number(&mut self) -> Result<u32, CircuitError> {
        self.take_bytes().map(u32::from_le_bytes)
    }

    fn child(&mut self) -> Result<NodeId, CircuitError> {
        self.read_number().map(|index| NodeId::new(index as usize))
    }
}

impl<T: Read> Read for Summed<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.sum.update(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lit::Lit;

    fn sample() -> NamedCircuit {
        let mut builder = CircuitBuilder::new(4).unwrap();
        let literal =
            |builder: &mut CircuitBuilder, number| builder.literal(Lit::from_dimacs(number).unwrap()).unwrap();
        let (a, b, c) = (literal(&mut builder, 1), literal(&mut builder, -1), literal(&mut builder, 2));
        let yes = builder.constant(true).unwrap();
        let decision = builder.decision(Var::new(2), c, yes).unwrap();
        let left = builder.and(&[a, decision]).unwrap();
        let right = builder.and(&[b, c]).unwrap();
        let root = builder.or(&[left, right]).unwrap();
        let names = ["a", "b", "c", "d"].map(String::from).to_vec();
        let mut named = NamedCircuit::new(builder.finish(root).unwrap(), names).unwrap();
        named.marginals = Some(Marginals { rows: 9, ones: vec![1, 2, 3, 4] });
        named.provenance.insert("seed".into(), 7.into());
        named.facts = Facts { class: Some(3), smooth: true, ..Facts::default() };
        named
    }

    fn bytes(named: &NamedCircuit) -> Vec<u8> {
        let mut bytes = Vec::new();
        named.write(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_file_reads_back_as_the_same_circuit() {
        let named = sample();
        let back = NamedCircuit::read(bytes(&named).as_slice()).unwrap();
        assert_eq!(bytes(&back), bytes(&named));
        assert_eq!(back.circuit.truth_table().unwrap(), named.circuit.truth_table().unwrap());
        assert_eq!((back.features, back.marginals, back.facts), (named.features, named.marginals, named.facts));
    }

    #[test]
    fn several_classes_keep_a_circuit_each() {
        let circuits = [(*sample().circuit).clone(), super::super::samples::from_table(4, &[0b0110_1001])];
        let network = crate::model::Network::new(
            4,
            vec![],
            crate::model::Output::Step(crate::model::Gate::new(vec![1, 1, 1, 1], 2).unwrap()),
        );
        let model = Model::new(network.unwrap(), ["a", "b", "c", "d"].map(String::from).to_vec()).unwrap();
        let named = NamedCircuit::of_classes(&circuits, &model).unwrap();
        let back = NamedCircuit::read(bytes(&named).as_slice()).unwrap();
        assert_eq!(back.classes, named.classes);
        for (class, circuit) in circuits.iter().enumerate() {
            let kept = back.label(Some(class)).unwrap();
            assert_eq!(kept.truth_table().unwrap(), circuit.truth_table().unwrap());
            assert_eq!(kept.counts().nodes, circuit.counts().nodes);
        }
        assert_eq!(back.label(Some(2)).unwrap_err().to_string(), "there is no class 2: the file holds classes 0 to 1");
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_refused() {
        let good = bytes(&sample());
        for length in 0..good.len() {
            assert!(NamedCircuit::read(&good[..length]).is_err(), "cut to {length} bytes");
        }
        for index in 0..good.len() {
            let mut bad = good.clone();
            bad[index] ^= 1;
            assert!(NamedCircuit::read(bad.as_slice()).is_err(), "byte {index} changed");
        }
        assert!(NamedCircuit::read([good.as_slice(), b"x"].concat().as_slice()).is_err());
    }
}
