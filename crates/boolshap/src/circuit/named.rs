//! A circuit with everything needed to explain raw rows.
//!
//! Circuits read from files or assembled from other code's parts are checked for soundness here.

use super::check::{Effort, soundness};
use super::{Circuit, CircuitBuilder, CircuitError, Facts, Node, NodeId, Proof, ProofOf, Values, Verified};
use crate::data::{Binariser, CodedColumn, Grid};
use crate::lit::Digest;
use crate::model::{Marginals, Model, Network, Output};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// A self-contained circuit, with names, binarisation, marginals and facts.
#[derive(Debug, Clone)]
pub struct NamedCircuit {
    /// The circuit; its variables are the features, in order.
    pub circuit: Arc<Circuit>,
    /// If it holds a circuit for each class, their names and roots; `circuit` itself is then that of the first.
    pub classes: Vec<(String, NodeId)>,
    /// If there is no circuit, the network that was not compiled, and why; such a file cannot be written.
    pub network: Option<Arc<Uncompiled>>,
    /// If it holds numbers instead of labels: one value, or one for each class. The roots in `classes` then mean
    /// nothing.
    pub values: Option<Arc<Values>>,
    /// The names of the features.
    pub features: Vec<String>,
    /// How raw rows become bits, if that is known.
    pub binariser: Option<Binariser>,
    /// How often each feature was 1 in training, if that is known.
    pub marginals: Option<Marginals>,
    /// The compiler's facts, and the evidence for them.
    pub facts: Facts,
    /// Where its model comes from: free facts by name.
    pub provenance: BTreeMap<String, Value>,
}

/// A network that was not compiled.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncompiled {
    /// The network.
    pub network: Arc<Network>,
    /// The model that it belongs to, which is saved in its place.
    pub model: Arc<Model>,
    /// Whether its scores, the numbers before the decision, are asked for instead of its label.
    pub scores: bool,
    /// Why it was not compiled.
    pub why: String,
}

impl NamedCircuit {
    /// The names and origin of a model whose network is not compiled: its label or its scores can be explained against
    /// background rows. With two classes, only the label of the second is explained, but the scores of both.
    pub(crate) fn of_network(model: &Model, why: String, scores: bool) -> Result<Self, CircuitError> {
        let mut builder = CircuitBuilder::new(model.features.len())?;
        let root = builder.constant(false)?;
        let never = builder.finish(root)?;
        let mut named = Self::unchecked(never, model.features.clone())?.with_model(model);
        let several = match model.network.output() {
            Output::Step(_) => false,
            Output::Argmax(all) => scores || all.len() > 2,
        };
        if several {
            named.classes = model.class_names().into_iter().map(|name| (name, NodeId::new(0))).collect();
        }
        let (network, model) = (Arc::new(model.network.clone()), Arc::new(model.clone()));
        named.network = Some(Arc::new(Uncompiled { network, model, scores, why }));
        Ok(named)
    }

    /// The layout of the features, if they are the pixels of an image.
    pub fn grid(&self) -> Result<Option<Grid>, String> {
        Grid::of_facts(&self.provenance, self.features.len(), self.binariser.as_ref())
    }

    /// Whether it holds scores instead of labels.
    pub fn is_of_scores(&self) -> bool {
        self.values.is_some() || self.network.as_ref().is_some_and(|network| network.scores)
    }

    /// Fails if there is no circuit.
    pub fn check_compiled(&self) -> Result<(), CircuitError> {
        match &self.network {
            None => Ok(()),
            Some(network) => Err(CircuitError::NotCompiled { why: network.why.clone() }),
        }
    }

    /// A circuit with names only; it must be sound.
    pub fn new(circuit: impl Into<Arc<Circuit>>, features: Vec<String>) -> Result<Self, CircuitError> {
        Self::unchecked(circuit, features)?.checked()
    }

    /// A circuit that computes what a model does, with the model's names, binarisation and marginals; it must be sound.
    pub fn of_model(circuit: impl Into<Arc<Circuit>>, model: &Model) -> Result<Self, CircuitError> {
        Self::unchecked(circuit, model.features.clone())?.with_model(model).checked()
    }

    /// The circuits of all classes of a model; they must be sound.
    pub fn of_classes(circuits: &[Circuit], model: &Model) -> Result<Self, CircuitError> {
        Self::unchecked_classes(circuits, model)?.checked()
    }

    /// A circuit for each class, one after another in one arena; they must be sound.
    pub fn join(circuits: &[Circuit], features: Vec<String>, names: Vec<String>) -> Result<Self, CircuitError> {
        Self::unchecked_join(circuits, features, names)?.checked()
    }

    /// A circuit that is sound because of how it was made.
    pub(crate) fn unchecked(circuit: impl Into<Arc<Circuit>>, features: Vec<String>) -> Result<Self, CircuitError> {
        let circuit = circuit.into();
        if features.len() != circuit.variables() {
            return Err(CircuitError::WrongLength { expected: circuit.variables(), found: features.len() });
        }
        once_each("feature", &features)?;
        let (classes, facts, provenance) = (Vec::new(), Facts::default(), BTreeMap::new());
        Ok(NamedCircuit {
            circuit,
            classes,
            network: None,
            values: None,
            features,
            binariser: None,
            marginals: None,
            facts,
            provenance,
        })
    }

    /// Adds a model's binarisation, marginals and origin.
    pub(crate) fn with_model(mut self, model: &Model) -> Self {
        self.binariser = model.binariser.clone();
        self.marginals = model.marginals.clone();
        self.provenance = Self::provenance_of(model);
        self
    }

    /// The free facts that a circuit takes over from a model, without any that the model's file claims about a circuit.
    pub(crate) fn provenance_of(model: &Model) -> BTreeMap<String, Value> {
        let mut provenance = model.provenance.clone();
        Facts::disown(&mut provenance);
        if let Some(classes) = &model.classes {
            provenance.insert("classes".into(), classes.as_slice().into());
        }
        provenance
    }

    /// The circuits of all classes of a model, sound because of how they were made.
    pub(crate) fn unchecked_classes(circuits: &[Circuit], model: &Model) -> Result<Self, CircuitError> {
        let name = |class: usize| model.classes.as_ref().and_then(|names| names.get(class).cloned());
        let names = (0..circuits.len()).map(|class| name(class).unwrap_or_else(|| class.to_string())).collect();
        Ok(Self::unchecked_join(circuits, model.features.clone(), names)?.with_model(model))
    }

    /// A circuit for each class, sound because of how they were made.
    pub(crate) fn unchecked_join(
        circuits: &[Circuit],
        features: Vec<String>,
        names: Vec<String>,
    ) -> Result<Self, CircuitError> {
        once_each("class", &names)?;
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
        Ok(NamedCircuit { classes, ..Self::unchecked(builder.finish(root)?, features)? })
    }

    /// Refuses a circuit that is not sound, and records the or-gates that cannot be decided.
    pub(super) fn checked(mut self) -> Result<Self, CircuitError> {
        self.facts.undecided = soundness(&self.circuit, &self.roots(), self.facts.smooth, Effort::READING)?;
        Ok(self)
    }

    /// The roots of all classes, or of the only label; for values, those of the parts that are circuits.
    pub fn roots(&self) -> Vec<NodeId> {
        match (&self.values, self.classes.is_empty()) {
            (Some(values), _) => values.roots(),
            (None, true) => vec![self.circuit.root()],
            (None, false) => self.classes.iter().map(|(_, root)| *root).collect(),
        }
    }

    /// Nodes, edges and fan-in of all classes together, with each literal and constant counted once.
    pub fn graph_size(&self) -> (usize, usize, usize) {
        self.circuit.graph_size_from(&self.roots())
    }

    /// The same for each class.
    pub fn class_sizes(&self) -> Vec<(usize, usize, usize)> {
        self.classes.iter().map(|(_, root)| self.circuit.graph_size_from(&[*root])).collect()
    }

    /// The circuit of one class, or of the only label.
    pub fn label(&self, class: Option<usize>) -> Result<Arc<Circuit>, CircuitError> {
        let classes = self.classes.len();
        self.check_compiled()?;
        if self.values.is_some() {
            return Err(CircuitError::OnlyScores);
        }
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
            _ if self.values.is_some() => Err(CircuitError::OnlyScores),
            0 => Ok(vec![self.label(None)?]),
            classes => (0..classes).map(|class| self.label(Some(class))).collect(),
        }
    }

    /// The meaning of each prediction, by number: the classes, or the meanings of 0 and 1 for a single label; `None` if
    /// not known.
    pub fn prediction_names(&self) -> Option<Vec<String>> {
        if !self.classes.is_empty() {
            return Some(self.classes.iter().map(|(name, _)| name.clone()).collect());
        }
        let known = self.provenance.get("classes").and_then(|classes| serde_json::from_value(classes.clone()).ok());
        let of_target = || {
            let target = self.provenance.get("target")?;
            serde_json::from_value(target.clone()).ok().map(|target: CodedColumn| target.classes())
        };
        let names: Vec<String> = known.or_else(of_target)?;
        match (self.facts.class, names.len()) {
            // The label "the answer is class K" of a network with several classes.
            (Some(class), count) if count > 2 => {
                let name = names.get(class)?;
                Some(vec![format!("not {name}"), name.clone()])
            }
            (None | Some(1), 2) => Some(names),
            (Some(0), 2) => Some(names.into_iter().rev().collect()),
            _ => None,
        }
    }

    /// The free facts together with the compiler's, as a file stores them; proofs are not included.
    pub fn all_facts(&self) -> BTreeMap<String, Value> {
        let mut facts = self.provenance.clone();
        self.facts.put(&mut facts);
        facts
    }

    /// Records that the circuit was proved in its present state; after any later change, the proof does not match any
    /// more.
    pub(crate) fn set_proved(&mut self, method: &str, of: ProofOf, source: Digest) {
        let proof = |circuit| Verified::Proved(Proof { method: method.into(), of, source, circuit });
        self.facts.verified = proof(Digest::of(&[]));
        self.facts.verified = proof(self.content_digest());
    }
}

/// Refuses a name that occurs twice.
pub(super) fn once_each<'a>(
    what: &'static str,
    names: impl IntoIterator<Item = &'a String>,
) -> Result<(), CircuitError> {
    let mut seen = HashSet::new();
    match names.into_iter().find(|name| !seen.insert(*name)) {
        Some(name) => Err(CircuitError::NameTwice { what, name: name.clone() }),
        None => Ok(()),
    }
}
