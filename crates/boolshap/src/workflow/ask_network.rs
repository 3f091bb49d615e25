//! Questions to a network that is too large to be compiled: one sufficient reason, the minimum one, the radius, and bias of rows
//! and of the network, by SAT on the network's own clauses. What the solver does not decide within its limit is undecided.

use super::ask_answers::bit_text;
use super::certificates::{CertificateFolder, constraint_of};
use super::player_names::named_players;
use super::{AskRequest, DistributionFrom, Error, ErrorKind, Question};
use crate::circuit::{CircuitBuilder, NamedCircuit};
use crate::data::Entities;
use crate::lit::Watch;
use crate::model::Model;
use crate::query::{BiasClaim, Claim, ClassifierBiasClaim, Extent, Moves, NearestClaim, SetsClaim};
use crate::query::{NetworkSolver, QueryError, Space, Terms};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Networks of more inputs are not compiled to be asked.
const MOST_COMPILED: usize = 40;
/// Conflicts of the solver for one of the questions that an answer takes.
const CONFLICTS: u64 = 200_000;
/// Inputs that are decided otherwise, for the minimum reason.
const DIFFERENCES: usize = 2_000;

/// A network and a question.
pub struct NetworkAsker {
    model: Model,
    request: AskRequest,
    class: Option<usize>,
    space: Space,
    /// Players that a reason may have, the most preferred first.
    ranked: Vec<usize>,
    protected: Vec<usize>,
}

impl NetworkAsker {
    /// Whether a model is better asked in this way.
    pub fn is_for(model: &Model) -> bool {
        model.network.inputs() > MOST_COMPILED
    }

    /// Makes a network ready for a question; refuses those that need a circuit.
    pub fn prepare(model: Model, request: &AskRequest) -> Result<Self, Error> {
        request.check()?;
        let known = match request.question {
            Question::Reason => !request.all && request.limit.is_none_or(|limit| limit == 1) && request.share.is_none(),
            Question::Robustness => request.radius.is_none() && !request.mean,
            Question::Bias => request.distribution.is_none(),
            _ => false,
        };
        if !known || request.prefer.iter().any(|name| name == "score") {
            return Err(Error::input(format!(
                "the network has {} inputs: beyond {MOST_COMPILED} it is not compiled, and asked by SAT for one reason, the \
                 minimum reason, the radius and bias only",
                model.network.inputs()
            )));
        }
        let names = named(&model)?;
        let space = Space::new(request.scores(DistributionFrom::Uniform).players(&names)?, request.formula()?)?;
        let players = |setting, given: &[String]| named_players(setting, given, &names, &space);
        let excluded = players("exclude", &request.exclude)?;
        let mut ranked = players("prefer", &request.prefer)?;
        for player in 0..space.players().len() {
            if !ranked.contains(&player) {
                ranked.push(player);
            }
        }
        ranked.retain(|player| !excluded.contains(player));
        let protected = players("protected", &request.protected)?;
        let class = request.class.as_ref();
        let class = class.map(|class| class.number(model.network.classes(), &model.class_names())).transpose()?;
        Ok(NetworkAsker { model, request: request.clone(), class, space, ranked, protected })
    }

    /// A folder for certificates of its answers.
    pub fn certificates(&self, folder: PathBuf) -> Result<CertificateFolder, Error> {
        CertificateFolder::of_model(folder, self.model.clone(), self.class, self.space.clone())
    }

    fn solver<'a>(&'a self, watch: &Watch<'a>) -> Result<NetworkSolver<'a>, QueryError> {
        let players = (0..self.space.players().len()).map(|player| self.space.members(player).to_vec()).collect();
        let one_hot = (0..self.space.players().len()).filter(|&player| self.space.players().is_one_hot(player));
        let one_hot = one_hot.map(|player| self.space.members(player).to_vec()).collect();
        let terms = Terms { players, one_hot, constraint: constraint_of(&self.space) };
        NetworkSolver::new(&self.model.network, self.class, terms, CONFLICTS, watch)
    }

    /// What is said of the network as a whole, beside the rows.
    pub fn overall(
        &self,
        certificates: Option<&mut CertificateFolder>,
        watch: &Watch<'_>,
    ) -> Result<Map<String, Value>, Error> {
        let mut all = Map::new();
        if self.request.question != Question::Bias {
            return Ok(all);
        }
        let pair = self.solver(watch).and_then(|solver| solver.biased_pair(&self.protected)).map_err(Error::from);
        match pair {
            Ok(pair) => {
                let (protected, biased) = (self.names(&self.protected), pair.is_some());
                all.insert("classifier_biased".into(), biased.into());
                all.insert("witness".into(), json!(pair.map(|pair| pair.map(|input| bit_text(&input)))));
                if let Some(folder) = certificates {
                    let claim = ClassifierBiasClaim { protected, biased, inputs: None };
                    folder.add("bias", Claim::ClassifierBias(claim), watch)?;
                }
            }
            Err(error) if is_undecided(&error) => {
                all.insert("classifier_biased".into(), Value::Null);
                all.insert("witness".into(), Value::Null);
                all.insert("undecided".into(), error.to_string().into());
            }
            Err(error) => return Err(error),
        }
        Ok(all)
    }

    /// Answers the wanted rows of a file as JSON objects, in their order.
    pub fn ask_file(
        &self,
        path: &Path,
        mut certificates: Option<&mut CertificateFolder>,
        sink: &mut dyn FnMut(&Value) -> Result<(), Error>,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let mut entities =
            Entities::open(path, &self.model.features, self.model.binariser.as_ref(), self.request.input)?;
        let mut solver = self.solver(watch)?;
        let (mut seen, last) = (0, self.request.rows.iter().max().copied());
        while let Some(batch) = entities.next_batch()? {
            for at in 0..batch.bits.rows() {
                let row = batch.first_row + at as u64;
                seen = row;
                if !self.request.rows.is_empty() && !self.request.rows.contains(&row) {
                    continue;
                }
                watch.step(row - 1, batch.expected_rows.unwrap_or(0))?;
                let bits = batch.bits.row(at);
                if let Some(flaw) = self.space.flaw(&bits) {
                    return Err(Error::input(format!("row {row} {flaw}")).in_file(path));
                }
                let (answer, claim) = self.answer(&mut solver, row, &bits)?;
                if let (Some(folder), Some(claim)) = (certificates.as_deref_mut(), claim) {
                    folder.add(&format!("{}-{row}", self.request.question.name()), claim, watch)?;
                }
                sink(&answer)?;
            }
        }
        match last.filter(|&last| last > seen) {
            Some(last) => Err(Error::input(format!("row {last} is not there: there are {seen} rows")).in_file(path)),
            None => Ok(()),
        }
    }

    /// The answer for a row, and what it claims.
    fn answer(&self, solver: &mut NetworkSolver<'_>, row: u64, bits: &[bool]) -> Result<(Value, Option<Claim>), Error> {
        let label = solver.decide(bits);
        let mut answer = json!({"row": row, "prediction": label});
        let found = match self.request.question {
            Question::Robustness => self.radius(solver, bits, label, &mut answer),
            Question::Bias => self.bias(solver, bits, label, &mut answer),
            _ => self.reason(solver, bits, label, &mut answer),
        };
        match found.map_err(Error::from) {
            Ok(claim) => Ok((answer, Some(claim))),
            Err(error) if is_undecided(&error) => {
                answer["undecided"] = error.to_string().into();
                Ok((answer, None))
            }
            Err(error) => Err(error),
        }
    }

    fn names(&self, players: &[usize]) -> Vec<String> {
        players.iter().map(|&player| self.space.players().names()[player].clone()).collect()
    }

    fn reason(
        &self,
        solver: &mut NetworkSolver<'_>,
        bits: &[bool],
        label: usize,
        answer: &mut Value,
    ) -> Result<Claim, QueryError> {
        let smallest = self.request.minimum || self.request.limit.is_some();
        let found = match smallest {
            true => solver.minimum(bits, &self.ranked, DIFFERENCES)?,
            false => solver.reason(bits, &self.ranked)?,
        };
        let sets: Vec<Vec<String>> = found.iter().map(|set| self.names(set)).collect();
        // How many there are is not known, unless there are none.
        answer["reasons"] = json!(sets);
        answer["count"] = if sets.is_empty() { 0.into() } else { Value::Null };
        answer["complete"] = if sets.is_empty() { true.into() } else { Value::Null };
        let mut allowed = self.ranked.clone();
        allowed.sort_unstable();
        let among = (allowed.len() < self.space.players().len()).then(|| self.names(&allowed));
        let extent = match (sets.is_empty(), smallest) {
            (true, _) => Extent::All,
            (false, true) => Extent::Smallest,
            (false, false) => Extent::Some,
        };
        Ok(Claim::Reasons(SetsClaim { entity: bit_text(bits), label, sets, among, extent }))
    }

    fn radius(
        &self,
        solver: &mut NetworkSolver<'_>,
        bits: &[bool],
        label: usize,
        answer: &mut Value,
    ) -> Result<Claim, QueryError> {
        let found = solver.nearest(bits)?;
        let radius = found.as_ref().map(|(radius, _)| *radius);
        answer["radius"] = json!(radius);
        answer["input"] = json!(found.as_ref().map(|(_, input)| bit_text(input)));
        Ok(Claim::Nearest(NearestClaim {
            entity: bit_text(bits),
            label,
            to: None,
            costs: BTreeMap::new(),
            moves: Moves::default(),
            distance: radius.map(|radius| radius.to_string()),
            inputs: found.iter().map(|(_, input)| bit_text(input)).collect(),
            count: None,
            within: None,
        }))
    }

    fn bias(
        &self,
        solver: &mut NetworkSolver<'_>,
        bits: &[bool],
        label: usize,
        answer: &mut Value,
    ) -> Result<Claim, QueryError> {
        let other = solver.biased(bits, &self.protected)?;
        answer["biased"] = other.is_some().into();
        answer["other"] = json!(other.as_ref().map(|input| bit_text(input)));
        let protected = self.names(&self.protected);
        Ok(Claim::DecisionBias(BiasClaim { entity: bit_text(bits), label, protected, biased: other.is_some() }))
    }
}

/// Whether an error says that a limit was reached, and not that a person stopped the work.
fn is_undecided(error: &Error) -> bool {
    error.kind() == ErrorKind::Limit && error.stopped().is_none()
}

/// The model's names on a circuit that is not looked at.
fn named(model: &Model) -> Result<NamedCircuit, Error> {
    let mut builder = CircuitBuilder::new(model.features.len())?;
    let root = builder.constant(false)?;
    Ok(NamedCircuit::unchecked(builder.finish(root)?, model.features.clone())?.with_model(model))
}
