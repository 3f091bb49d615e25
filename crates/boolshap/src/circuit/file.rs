//! The circuit file.
//!
//! | part | bytes |
//! | --- | --- |
//! | `boolshap circuit` and a line feed | 17 |
//! | the version, 2, or 3 if it holds values | 4 |
//! | the length of the header | 8 |
//! | the header, in JSON | that length |
//! | the nodes, in order, children before parents | 1 to 13, gates more |
//! | if the header has a `proof`, the SHA-256 of everything before it | 32 |
//! | the CRC-32 of everything before it | 4 |
//!
//! Numbers are little-endian and take 4 bytes unless stated otherwise. A node is a tag byte, then: nothing (0 false, 1
//! true), a literal code (2), a variable and two children (3), or a count and that many children (4 and, 5 or). The
//! code of a literal is twice its variable, plus 1 if it is negated.
//!
//! The header is an object with these members:
//! - `features`: the names;
//! - `schema`: how raw values become bits, or null;
//! - `marginals`: `rows` and `ones`, or null;
//! - `provenance`: free facts by name, among them the compiler's: `route`, `class`, `smooth`, `model` (the digest of
//!   the model's file) and `fixed` (the features of the model that are fixed in the circuit, and their values);
//! - `nodes`: how many there are;
//! - `root`;
//! - `classes`: pairs of a name and a root, of which the first is `root`; left out if there is one label;
//! - `values`: see below; left out if the file holds labels;
//! - `proof`: `method`, `of` (`model` or `table`) and `digest`, the SHA-256 of the model's file as this program writes
//!   it, or of the table; left out if nothing was proved.
//!
//! With `values`, the file holds numbers instead of labels (version 3), and the roots of classes mean nothing. `values`
//! has these members:
//! - `rule`: how the values decide (`sign`, `largest` or `number`);
//! - `parts`: each is a `feature` (an index), a `gate` (as in a model file), a `circuit` (a node) or a `diagram` with
//!   numbers at its leaves: how many `leaves` and `nodes` follow the nodes of the circuit, and its `root`. A leaf takes
//!   8 bytes; a node is a variable and two children;
//! - `values`: each has a `constant` and a weight for every part, as fractions.
//!
//! Version 1 has no `proof`; its free facts may contain `verified` with a method, which is a claim without evidence.
//!
//! A truncated or damaged file is refused, and so is one whose parts do not fit together or whose circuit is not sound.
//! A forger who also corrects the checksums can only change the file's statements about the outside world: see
//! [`Facts`](super::Facts).

use super::facts::ProofText;
use super::named::once_each;
use super::values_file::ValuesText;
use super::{
    Circuit, CircuitBuilder, CircuitError, Facts, NamedCircuit, Node, NodeId, NumberDiagram, NumberNode, Part, Verified,
};
use crate::data::{Binariser, WholeFile};
use crate::lit::{Digest, Digester, Var};
use crate::model::Marginals;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

const MAGIC: &[u8] = b"boolshap circuit\n";
/// The version written for labels; version 1 is still read.
const VERSION: u32 = 2;
/// The version written for values.
const VALUES_VERSION: u32 = 3;
/// The most bytes of a valid header.
const MAX_HEADER: u64 = 1 << 30;

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<ValuesText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proof: Option<ProofText>,
}

fn damaged(problem: impl Into<String>) -> CircuitError {
    CircuitError::Damaged { problem: problem.into() }
}

impl Header {
    fn read<R: Read>(input: &mut Summed<R>) -> Result<Self, CircuitError> {
        if input.take_bytes::<17>().map_err(|_| damaged("this is no circuit file"))? != *MAGIC {
            return Err(damaged("this is no circuit file"));
        }
        let version = input.read_number()?;
        if !(1..=VALUES_VERSION).contains(&version) {
            let known = format!("version {version} of the circuit format is not known (known: 1 to {VALUES_VERSION})");
            return Err(damaged(known));
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
        let header: Header = serde_json::from_slice(&header).map_err(|e| damaged(format!("the header: {e}")))?;
        if version == 1 && header.proof.is_some() {
            return Err(damaged("version 1 of the circuit format has no proofs"));
        }
        match (version == VALUES_VERSION) == header.values.is_some() {
            false => Err(damaged("values are what version 3 of the circuit format holds, and no other")),
            true => Ok(header),
        }
    }

    /// Refuses parts that do not fit together.
    fn check(&self) -> Result<(), CircuitError> {
        if let Some(schema) = &self.schema {
            Binariser::new(schema.columns().to_vec()).map_err(damaged)?;
            once_each("column", schema.columns().iter().map(|column| &column.column))?;
            if schema.features() != self.features {
                return Err(damaged("the schema makes other features than the circuit has"));
            }
        }
        let flaw = |marginals: &Marginals| marginals.flaw(self.features.len(), self.schema.as_ref());
        if let Some(flaw) = self.marginals.as_ref().and_then(flaw) {
            return Err(damaged(flaw));
        }
        once_each("class", self.classes.iter().map(|(name, _)| name))?;
        if self.classes.iter().any(|&(_, root)| u64::from(root) >= self.nodes) {
            return Err(damaged("the root of a class is unknown"));
        }
        if self.classes.first().is_some_and(|&(_, root)| root != self.root) {
            return Err(damaged("the root is not that of the first class"));
        }
        Ok(())
    }
}

impl NamedCircuit {
    /// Whether a file begins like a circuit file.
    pub fn recognises(path: &Path) -> io::Result<bool> {
        let mut start = Vec::new();
        File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut start)?;
        Ok(start == MAGIC)
    }

    /// Whether the content begins like a circuit file.
    pub fn begins(content: &[u8]) -> bool {
        content.starts_with(MAGIC)
    }

    /// Writes the whole file or nothing.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        self.write_whole(WholeFile::create(path)?)
    }

    /// Writes into a file that was created before, and finishes it.
    pub fn write_whole(&self, mut file: WholeFile) -> io::Result<()> {
        self.write(&mut file)?;
        file.finish()
    }

    /// Writes the content of the file.
    pub fn write(&self, target: impl Write) -> io::Result<()> {
        self.check_compiled().map_err(io::Error::other)?;
        let mut out = Summed::new(target);
        self.write_content(&mut out)?;
        if let Some(proof) = self.facts.verified.proof() {
            // The digest at the time of the proof: a reader detects any later change.
            out.write_all(&proof.circuit.0)?;
        }
        let sum = out.sum.clone().finalize();
        out.inner.write_all(&sum.to_le_bytes())
    }

    /// The digest of everything that precedes it in a file.
    pub(crate) fn content_digest(&self) -> Digest {
        let mut out = Summed::new(Digester::default());
        self.write_content(&mut out).expect("a digest takes everything");
        out.inner.finish()
    }

    fn write_content<T: Write>(&self, out: &mut Summed<T>) -> io::Result<()> {
        let header = Header {
            features: self.features.clone(),
            schema: self.binariser.clone(),
            marginals: self.marginals.clone(),
            provenance: self.all_facts(),
            nodes: self.circuit.stored_nodes() as u64,
            root: self.circuit.root().index() as u32,
            classes: self.classes.iter().map(|(name, root)| (name.clone(), root.index() as u32)).collect(),
            values: self.values.as_deref().map(ValuesText::of),
            proof: ProofText::of(&self.facts),
        };
        let header = serde_json::to_vec(&header)?;
        out.write_all(MAGIC)?;
        out.number(if self.values.is_some() { VALUES_VERSION } else { VERSION })?;
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
        self.write_diagrams(out)
    }

    fn write_diagrams<T: Write>(&self, out: &mut Summed<T>) -> io::Result<()> {
        for part in self.values.iter().flat_map(|values| values.parts()) {
            let Part::Diagram(diagram) = part else { continue };
            diagram.leaves().iter().try_for_each(|leaf| out.write_all(&leaf.to_le_bytes()))?;
            for node in diagram.nodes() {
                [node.var.index() as u32, node.lo, node.hi].iter().try_for_each(|&number| out.number(number))?;
            }
        }
        Ok(())
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, CircuitError> {
        Self::read(BufReader::with_capacity(1 << 20, File::open(path)?))
    }

    /// Reads the content of a file; a circuit that is not sound is refused.
    pub fn read(source: impl Read) -> Result<Self, CircuitError> {
        let mut input = Summed { digest: Some(Digester::default()), ..Summed::new(source) };
        let header = Header::read(&mut input)?;
        if header.proof.is_none() {
            input.digest = None;
        }
        let circuit = read_nodes(&mut input, &header)?;
        let diagrams = read_diagrams(&mut input, &header)?;
        let digests = match input.digest.take() {
            Some(digest) => Some((digest.finish(), Digest(input.take_bytes()?))),
            None => None,
        };
        let expected = input.sum.clone().finalize();
        if u32::from_le_bytes(input.take_bytes()?) != expected {
            return Err(damaged("the checksum does not fit: the file has been changed"));
        }
        if input.inner.read(&mut [0])? > 0 {
            return Err(damaged("something follows the end of the circuit"));
        }
        header.check()?;
        let mut named = Self::unchecked(circuit, header.features)?;
        named.binariser = header.schema;
        named.marginals = header.marginals;
        named.provenance = header.provenance;
        named.facts = Facts::take(&mut named.provenance).map_err(damaged)?;
        if let (Some(proof), Some((found, stated))) = (header.proof, digests) {
            if named.facts.verified != Verified::No {
                return Err(damaged("it is said in two ways how it was verified"));
            }
            named.facts.verified = proof.read(found, stated).map_err(damaged)?;
        }
        named.classes = header.classes.into_iter().map(|(name, root)| (name, NodeId::new(root as usize))).collect();
        if named.facts.class.is_some() && !named.classes.is_empty() {
            return Err(damaged("it is said to be one class, but holds several"));
        }
        if let Some(text) = &header.values {
            let values = text.read(named.features.len(), header.nodes, named.classes.len(), diagrams)?;
            named.values = Some(Arc::new(values));
        }
        named.checked()
    }
}

fn read_diagrams<R: Read>(input: &mut Summed<R>, header: &Header) -> Result<Vec<NumberDiagram>, CircuitError> {
    let mut diagrams = Vec::new();
    for text in header.values.as_ref().map_or(Vec::new(), ValuesText::diagrams) {
        let (mut leaves, mut nodes) = (Vec::new(), Vec::new());
        for _ in 0..text.leaves {
            leaves.push(f64::from_le_bytes(input.take_bytes()?));
        }
        for _ in 0..text.nodes {
            let [var, lo, hi] = [input.read_number()?, input.read_number()?, input.read_number()?];
            nodes.push(NumberNode { var: Var::new(var as usize), lo, hi });
        }
        diagrams.push(NumberDiagram::new(leaves, nodes, text.root, header.features.len())?);
    }
    Ok(diagrams)
}

fn read_nodes<R: Read>(input: &mut Summed<R>, header: &Header) -> Result<Circuit, CircuitError> {
    let mut builder = CircuitBuilder::new(header.features.len())?;
    let mut children = Vec::new();
    let variable = |index: u32| {
        let known = (index as usize) < header.features.len();
        known.then(|| Var::new(index as usize)).ok_or_else(|| damaged("a variable is unknown"))
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
            _ => return Err(damaged(format!("{tag} is the tag of no node"))),
        };
        builder.push(node)?;
    }
    builder.finish(NodeId::new(header.root as usize))
}

/// A reader or writer that computes the checksum of all bytes that pass; a reader may also compute their digest.
struct Summed<T> {
    inner: T,
    sum: crc32fast::Hasher,
    digest: Option<Digester>,
}

impl<T> Summed<T> {
    fn new(inner: T) -> Self {
        Summed { inner, sum: crc32fast::Hasher::new(), digest: None }
    }
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
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Err(damaged("the circuit is cut off")),
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
        if let Some(digest) = &mut self.digest {
            digest.write_all(&buffer[..count])?;
        }
        Ok(count)
    }
}
