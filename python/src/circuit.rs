//! Circuits: read, made of tables and trees, kept, and asked.

use crate::arrays::rows_of;
use crate::errors::{Failure, Kind};
use crate::work::work;
use boolshap::circuit::check::{self, Determinism};
use boolshap::circuit::{self, Lowering, NamedCircuit, lower_forest, lower_obdd, lower_sdd, read_d4, read_nnf};
use boolshap::data::{Bits, Cells};
use boolshap::diagram::{CompileOptions, SddFile, SddManager, Vtree, compile_clauses, reduce_table};
use boolshap::formula::read_dimacs;
use boolshap::lit::{Lit, Watch};
use boolshap::model::{self, Forest, TreeNode};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::fmt::LowerHex;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// More variables than this would take gigabytes for their names alone.
const MAX_VARIABLES: usize = 10_000_000;
/// Forests end here unless told otherwise.
const MAX_FOREST_NODES: usize = 50_000_000;

#[pyclass(frozen, module = "boolshap._native")]
pub(crate) struct Circuit(pub(crate) NamedCircuit);

/// Feature, children where it is 0 and 1, and class weights, of each node.
type Tree<'py> =
    (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray2<'py, f64>);

/// A raw column.
#[derive(FromPyObject)]
enum Column<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Texts(Vec<Option<String>>),
}

#[pymethods]
impl Circuit {
    #[staticmethod]
    fn load(py: Python<'_>, path: &str) -> PyResult<Self> {
        work(py, None, |_| Ok(Circuit(NamedCircuit::load(Path::new(path)).map_err(|e| Failure::from(e).at(path))?)))
    }

    #[staticmethod]
    fn from_bytes(content: &[u8]) -> Result<Self, Failure> {
        Ok(Circuit(NamedCircuit::read(content)?))
    }

    /// A circuit or formula in another program's format, told by its ending.
    #[staticmethod]
    #[pyo3(signature = (path, variables, features, max_nodes, timeout))]
    fn read_foreign(
        py: Python<'_>,
        path: &str,
        variables: Option<usize>,
        features: Option<Vec<String>>,
        max_nodes: Option<usize>,
        timeout: Option<f64>,
    ) -> PyResult<Self> {
        work(py, timeout, |watch| {
            let circuit = foreign(Path::new(path), variables, max_nodes, watch).map_err(|failure| failure.at(path))?;
            let features = features.unwrap_or_else(|| model::Model::default_features(circuit.variables()));
            Ok(Circuit(NamedCircuit::new(circuit, features)?))
        })
    }

    /// A function given by its class on every input.
    #[staticmethod]
    fn of_table(
        py: Python<'_>,
        values: PyReadonlyArray1<'_, u8>,
        features: Vec<String>,
        classes: Vec<String>,
    ) -> PyResult<Self> {
        let values: Vec<u8> = values.as_array().iter().copied().collect();
        let variables = features.len();
        if variables > 32 || values.len() != 1 << variables {
            let found = values.len();
            return Err(Failure::input(format!(
                "a table of {variables} features has 2^{variables} values, not {found}"
            ))
            .into());
        }
        if let Some(value) = values.iter().find(|&&value| usize::from(value) >= classes.len()) {
            return Err(Failure::input(format!("the value {value} is none of the {} classes", classes.len())).into());
        }
        let circuit_of = |class: u8, watch: &Watch<'_>| -> Result<circuit::Circuit, Failure> {
            let word = |chunk: &[u8]| {
                chunk.iter().enumerate().fold(0, |word, (bit, &value)| word | u64::from(value == class) << bit)
            };
            let words = values.chunks(64).map(word).collect();
            Ok(lower_obdd(&reduce_table(variables, words, usize::MAX, watch)?)?.compacted()?)
        };
        work(py, None, |watch| {
            let circuits = asked_classes(classes.len())
                .map(|class| circuit_of(class as u8, watch))
                .collect::<Result<Vec<_>, Failure>>()?;
            of_classes(circuits, features, classes)
        })
    }

    /// A tree or a forest.
    #[staticmethod]
    #[pyo3(signature = (trees, features, classes, max_nodes, timeout))]
    fn of_trees(
        py: Python<'_>,
        trees: Vec<Tree<'_>>,
        features: Vec<String>,
        classes: Vec<String>,
        max_nodes: Option<usize>,
        timeout: Option<f64>,
    ) -> PyResult<Self> {
        let nodes = trees
            .iter()
            .enumerate()
            .map(|(number, tree)| nodes_of(tree).map_err(|failure| failure.at(format!("tree {}", number + 1))));
        let nodes = nodes.collect::<Result<Vec<_>, Failure>>()?;
        let forest = Forest::new(features.len(), classes.len(), nodes).map_err(Failure::from)?;
        work(py, timeout, |watch| {
            let asked: Vec<usize> = asked_classes(classes.len()).collect();
            let circuits = lower_forest(&forest, &asked, max_nodes.unwrap_or(MAX_FOREST_NODES), watch)?;
            of_classes(circuits, features, classes)
        })
    }

    fn save(&self, path: &str) -> Result<(), Failure> {
        self.0.save(Path::new(path)).map_err(|error| Failure::new(Kind::File, format!("{path}: {error}")))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut content = Vec::new();
        self.0.write(&mut content)?;
        Ok(PyBytes::new(py, &content))
    }

    #[getter]
    fn features(&self) -> Vec<String> {
        self.0.features.clone()
    }

    /// The names of the classes; none of a circuit that says yes or no.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.classes.iter().map(|(name, _)| name.clone()).collect()
    }

    #[getter]
    fn nodes(&self) -> usize {
        self.0.circuit.graph_size().0
    }

    #[getter]
    fn edges(&self) -> usize {
        self.0.circuit.graph_size().1
    }

    /// On how many inputs the answer is yes.
    #[getter]
    fn models<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let count = work(py, None, |_| Ok(self.0.circuit.model_count()))?;
        integer(py, &count)
    }

    #[getter]
    fn raw_columns(&self) -> Option<Vec<String>> {
        let columns = self.0.binariser.as_ref()?.columns();
        Some(columns.iter().map(|column| column.column.clone()).collect())
    }

    #[getter]
    fn marginals(&self) -> Option<Vec<f64>> {
        let marginals = self.0.marginals.as_ref().filter(|marginals| marginals.rows > 0)?;
        Some(marginals.ones.iter().map(|&ones| ones as f64 / marginals.rows as f64).collect())
    }

    #[getter]
    fn provenance(&self) -> String {
        serde_json::to_string(&self.0.provenance).expect("texts and numbers are always JSON")
    }

    fn predict<'py>(&self, py: Python<'py>, bits: PyReadonlyArray2<'_, u8>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let rows = rows_of(&bits, &self.0.features)?;
        Ok(PyArray1::from_vec(py, work(py, None, |watch| classes_of(&self.0, &rows, watch))?))
    }

    /// Raw columns as bits.
    fn binarise<'py>(&self, py: Python<'py>, columns: Vec<Column<'_>>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let Some(binariser) = &self.0.binariser else {
            return Err(Failure::input("the circuit does not say how raw values become bits").into());
        };
        let expected = binariser.columns().len();
        if columns.len() != expected {
            return Err(Failure::input(format!("{} columns were given for {expected}", columns.len())).into());
        }
        let length = |column: &Column<'_>| match column {
            Column::Numbers(numbers) => numbers.as_array().len(),
            Column::Texts(texts) => texts.len(),
        };
        let rows = columns.first().map_or(0, length);
        if columns.iter().any(|column| length(column) != rows) {
            return Err(Failure::input("the columns are not equally long").into());
        }
        let cells: Vec<Cells> = columns
            .into_iter()
            .map(|column| match column {
                Column::Numbers(numbers) => Cells::of_numbers(numbers.as_array().iter().copied().collect()),
                Column::Texts(texts) => Cells::of_texts(&texts),
            })
            .collect();
        let bits =
            work(py, None, |_| Ok(binariser.encode_cells("the rows", rows, &cells.iter().collect::<Vec<_>>())?))?;
        let features = bits.features();
        let mut bytes = vec![0u8; rows * features];
        for feature in 0..features {
            for (word, &bits) in bits.feature(feature).iter().enumerate() {
                for lane in 0..(rows - word * 64).min(64) {
                    bytes[(word * 64 + lane) * features + feature] = (bits >> lane & 1) as u8;
                }
            }
        }
        let array = numpy::ndarray::Array2::from_shape_vec((rows, features), bytes);
        Ok(PyArray2::from_owned_array(py, array.expect("whole rows")))
    }
}

/// The classes that get a circuit: of two the second is enough.
fn asked_classes(classes: usize) -> std::ops::Range<usize> {
    if classes == 2 { 1..2 } else { 0..classes }
}

fn of_classes(
    circuits: Vec<circuit::Circuit>,
    features: Vec<String>,
    classes: Vec<String>,
) -> Result<Circuit, Failure> {
    if let [only] = &circuits[..] {
        let mut named = NamedCircuit::new(only.clone(), features)?;
        named.provenance.insert("classes".into(), classes.into());
        return Ok(Circuit(named));
    }
    Ok(Circuit(NamedCircuit::join(&circuits, features, classes)?))
}

fn nodes_of((feature, lo, hi, weights): &Tree<'_>) -> Result<Vec<TreeNode>, Failure> {
    let (feature, lo, hi, weights) = (feature.as_array(), lo.as_array(), hi.as_array(), weights.as_array());
    let nodes = feature.len();
    if [lo.len(), hi.len(), weights.nrows()] != [nodes; 3] {
        return Err(Failure::input("its arrays are not equally long"));
    }
    let index = |value: i64| {
        usize::try_from(value).map_err(|_| Failure::input(format!("{value} is the number of no node or feature")))
    };
    let node = |at: usize| match feature[at] {
        -1 => Ok(TreeNode::Leaf(weights.row(at).to_vec())),
        feature => Ok(TreeNode::Split { feature: index(feature)?, children: [index(lo[at])?, index(hi[at])?] }),
    };
    (0..nodes).map(node).collect()
}

/// 0 and 1, or the class.
fn classes_of(named: &NamedCircuit, rows: &Bits, watch: &Watch<'_>) -> Result<Vec<u32>, Failure> {
    let circuits = match named.classes.len() {
        0 => vec![named.circuit.clone()],
        classes => (0..classes).map(|class| named.class(class)).collect::<Result<_, _>>()?,
    };
    let mut evaluators: Vec<_> = circuits.iter().map(circuit::Evaluator::new).collect();
    let mut found = Vec::with_capacity(rows.rows());
    for block in 0..rows.blocks() {
        watch.check()?;
        let words = rows.block(block);
        let answers = evaluators.iter_mut().map(|evaluator| evaluator.words(&words));
        let answers: Vec<u64> = answers.collect::<Result<_, _>>()?;
        for lane in 0..(rows.rows() - block * 64).min(64) {
            let is = |answer: u64| answer >> lane & 1 == 1;
            found.push(match answers[..] {
                [answer] if named.classes.is_empty() => u32::from(is(answer)),
                _ => {
                    let class = answers.iter().position(|&answer| is(answer));
                    class.ok_or_else(|| Failure::new(Kind::File, "some row has no class: the file is damaged"))? as u32
                }
            });
        }
    }
    Ok(found)
}

fn foreign(
    path: &Path,
    variables: Option<usize>,
    max_nodes: Option<usize>,
    watch: &Watch<'_>,
) -> Result<circuit::Circuit, Failure> {
    let open = || File::open(path).map(BufReader::new).map_err(|e| Failure::new(Kind::File, e));
    let text = |path: &Path| std::fs::read_to_string(path).map_err(|e| Failure::new(Kind::File, e).at(path.display()));
    let few = |variables: usize| match variables {
        0..=MAX_VARIABLES => Ok(()),
        _ => Err(Failure::input(format!("{variables} variables are more than the {MAX_VARIABLES} that are taken"))),
    };
    let circuit = match path.extension().and_then(|extension| extension.to_str()) {
        Some("cnf" | "dimacs") => {
            let cnf = read_dimacs(open()?, "the formula")?;
            few(cnf.variables())?;
            let clauses: Vec<Vec<Lit>> = cnf.clauses().map(|clause| clause.lits().collect()).collect();
            let mut options = CompileOptions::default();
            options.max_nodes = max_nodes.unwrap_or(options.max_nodes);
            let compiled = compile_clauses(cnf.variables(), clauses.iter().map(Vec::as_slice), &options, watch)?;
            return Ok(lower_sdd(&compiled.manager, compiled.root, Lowering::Decisions)?);
        }
        Some("sdd") => {
            let vtree_path = path.with_extension("vtree");
            let vtree = Vtree::parse(&text(&vtree_path)?).map_err(|e| Failure::from(e).at(vtree_path.display()))?;
            let file = SddFile::parse(&text(path)?, &vtree)?;
            let mut manager = SddManager::new(vtree);
            let root = manager.load(&file, watch)?;
            return Ok(lower_sdd(&manager, root, Lowering::Decisions)?);
        }
        Some("nnf") => read_nnf(open()?)?,
        Some("ddnnf") => {
            let variables = variables.ok_or_else(|| {
                Failure::input(
                    "a .ddnnf file does not say how many variables there are: give the features or variables",
                )
            })?;
            few(variables)?;
            read_d4(open()?, variables)?
        }
        _ => return Err(Failure::input("the ending is none of .cnf, .sdd, .nnf and .ddnnf")),
    };
    few(circuit.variables())?;
    check::decomposability(&circuit).map_err(Failure::input)?;
    match check::determinism(&circuit, check::Effort::default(), watch)? {
        Determinism::Holds => Ok(circuit),
        Determinism::Fails(violation) => Err(Failure::input(violation)),
        Determinism::Undecided { node, variables } => Err(Failure::new(
            Kind::Limit,
            format!("whether or-gate {node} over {variables} variables is deterministic was not decided"),
        )),
    }
}

/// A whole number of any size. In hexadecimal, because Python refuses long decimals.
pub(crate) fn integer<'py>(py: Python<'py>, number: &impl LowerHex) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<pyo3::types::PyInt>().call1((PyString::new(py, &format!("{number:x}")), 16))
}
