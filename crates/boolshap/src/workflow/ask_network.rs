//! Questions to a network that is too large to be compiled: one sufficient reason, the minimum one, the radius, and bias of rows
//! and of the network, by SAT on the network's own clauses. What the solver does not decide within its limit is undecided.

use super::ask_answers::bit_text;
use super::certificates::{Certificates, constraint_of};
use super::player_names::named_players;
use super::{AskRequest, DistributionFrom, Error, ErrorKind, Question, Summary};
use crate::circuit::{CircuitBuilder, NamedCircuit};
use crate::data::{Bits, Entities};
use crate::lit::Watch;
use crate::model::Model;
use crate::query::{BiasClaim, Claim, ClassifierBiasClaim, Extent, Moves, NearestClaim, SetsClaim};
use crate::query::{NetworkSolver, QueryError, Space, Terms};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Networks with more inputs are not compiled for questions.
const MOST_COMPILED: usize = 40;
/// The solver's limit on conflicts for each SAT question that an answer takes.
const CONFLICTS: u64 = 200_000;
/// The most inputs with another decision that are collected for the minimum reason.
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
    /// Whether a model is better asked without compiling it.
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
        let names = Self::names(&model)?;
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

    /// A placeholder circuit with the network's names, for reading rows.
    pub fn names(model: &Model) -> Result<NamedCircuit, Error> {
        let mut builder = CircuitBuilder::new(model.features.len())?;
        let root = builder.constant(false)?;
        Ok(NamedCircuit::unchecked(builder.finish(root)?, model.features.clone())?.with_model(model))
    }

    /// Certificates of its answers, in a folder or returned.
    pub fn certificates(&self, folder: Option<PathBuf>) -> Result<Certificates, Error> {
        Certificates::of_model(folder, self.model.clone(), self.class, self.space.clone())
    }

    fn solver<'a>(&'a self, watch: &Watch<'a>) -> Result<NetworkSolver<'a>, QueryError> {
        let players = (0..self.space.players().len()).map(|player| self.space.members(player).to_vec()).collect();
        let one_hot = (0..self.space.players().len()).filter(|&player| self.space.players().is_one_hot(player));
        let one_hot = one_hot.map(|player| self.space.members(player).to_vec()).collect();
        let terms = Terms { players, one_hot, constraint: constraint_of(&self.space) };
        NetworkSolver::new(&self.model.network, self.class, terms, CONFLICTS, watch)
    }

    /// All answers as one JSON object, for rows in memory if there are any.
    pub fn json_of_rows(
        &self,
        rows: Option<&Bits>,
        mut certificates: Option<&mut Certificates>,
        watch: &Watch<'_>,
    ) -> Result<Value, Error> {
        let mut answers = Vec::new();
        if let Some(rows) = rows {
            let mut solver = self.solver(watch)?;
            for at in 0..rows.rows() {
                let row = at as u64 + 1;
                watch.step(at as u64, rows.rows() as u64)?;
                answers.push(self.ask_row(&mut solver, row, &rows.row(at), certificates.as_deref_mut(), watch)?);
            }
        }
        self.json(answers, certificates, watch)
    }

    /// The same for the wanted rows of a file.
    pub fn json_of_file(
        &self,
        path: &Path,
        mut certificates: Option<&mut Certificates>,
        watch: &Watch<'_>,
    ) -> Result<Value, Error> {
        let mut entities =
            Entities::open(path, &self.model.features, self.model.binariser.as_ref(), self.request.input)?;
        let mut solver = self.solver(watch)?;
        let mut answers = Vec::new();
        let (mut seen, last) = (0, self.request.rows.iter().max().copied());
        while let Some(batch) = entities.next_batch()? {
            for at in 0..batch.bits.rows() {
                let row = batch.first_row + at as u64;
                seen = row;
                if !self.request.rows.is_empty() && !self.request.rows.contains(&row) {
                    continue;
                }
                watch.step(row - 1, batch.expected_rows.unwrap_or(0))?;
                let answer = self.ask_row(&mut solver, row, &batch.bits.row(at), certificates.as_deref_mut(), watch);
                answers.push(answer.map_err(|error| error.in_file(path))?);
            }
        }
        match last.filter(|&last| last > seen) {
            Some(last) => Err(Error::row(last, format!("is not there: there are {seen} rows")).in_file(path)),
            None => self.json(answers, certificates, watch),
        }
    }

    fn ask_row(
        &self,
        solver: &mut NetworkSolver<'_>,
        row: u64,
        bits: &[bool],
        certificates: Option<&mut Certificates>,
        watch: &Watch<'_>,
    ) -> Result<Value, Error> {
        if let Some(flaw) = self.space.flaw(bits) {
            return Err(Error::row(row, flaw));
        }
        let (mut answer, claim) = self.answer(solver, row, bits)?;
        if let (Some(certificates), Some(claim)) = (certificates, claim) {
            let made = certificates.add(&format!("{}-{row}", self.request.question.name()), claim, watch)?;
            if let Some(made) = made {
                answer["certificates"] = json!([made.json()]);
            }
        }
        Ok(answer)
    }

    /// The rows' answers and all other fields as JSON.
    fn json(
        &self,
        rows: Vec<Value>,
        mut certificates: Option<&mut Certificates>,
        watch: &Watch<'_>,
    ) -> Result<Value, Error> {
        let mut all = Map::new();
        match self.request.question {
            Question::Bias => {
                let biased = rows.iter().filter(|row| row["biased"] == true).count();
                self.bias_of_network(&mut all, certificates.as_deref_mut(), watch)?;
                all.insert("biased_rows".into(), biased.into());
            }
            Question::Robustness => {
                let mut summary = Summary::default();
                let radii = rows.iter().filter_map(|row| row["radius"].as_u64());
                radii.for_each(|radius| *summary.radii.entry(radius as usize).or_default() += 1);
                summary.put_radii(&mut all);
            }
            _ => {}
        }
        if let Some(certificates) = certificates {
            certificates.put_notes(&mut all);
        }
        let mut answer = json!({"question": self.request.question.name(), "rows": rows});
        all.into_iter().for_each(|(key, value)| answer[key] = value);
        Ok(answer)
    }

    fn bias_of_network(
        &self,
        all: &mut Map<String, Value>,
        certificates: Option<&mut Certificates>,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let mut put = |key: &str, value: Value| drop(all.insert(key.into(), value));
        let pair = self.solver(watch).and_then(|solver| solver.biased_pair(&self.protected)).map_err(Error::from);
        match pair {
            Ok(pair) => {
                let (protected, biased) = (self.player_names(&self.protected), pair.is_some());
                put("classifier_biased", biased.into());
                put("witness", json!(pair.map(|pair| pair.map(|input| bit_text(&input)))));
                let claim = ClassifierBiasClaim { protected, biased, inputs: None };
                let made = certificates.map(|all| all.add("bias", Claim::ClassifierBias(claim), watch)).transpose()?;
                if let Some(made) = made.flatten() {
                    put("certificates", json!([made.json()]));
                }
            }
            Err(error) if is_undecided(&error) => {
                put("classifier_biased", Value::Null);
                put("witness", Value::Null);
                put("undecided", error.to_string().into());
            }
            Err(error) => return Err(error),
        }
        Ok(())
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
                let open: &[&str] = match self.request.question {
                    Question::Robustness => &["radius", "input"],
                    Question::Bias => &["biased", "other"],
                    _ => &["reasons", "count", "complete"],
                };
                open.iter().for_each(|&key| answer[key] = Value::Null);
                answer["undecided"] = error.to_string().into();
                Ok((answer, None))
            }
            Err(error) => Err(error),
        }
    }

    fn player_names(&self, players: &[usize]) -> Vec<String> {
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
        let sets: Vec<Vec<String>> = found.iter().map(|set| self.player_names(set)).collect();
        // Their number is unknown, unless it is 0.
        answer["reasons"] = json!(sets);
        answer["count"] = if sets.is_empty() { 0.into() } else { Value::Null };
        answer["complete"] = if sets.is_empty() { true.into() } else { Value::Null };
        let mut allowed = self.ranked.clone();
        allowed.sort_unstable();
        let among = (allowed.len() < self.space.players().len()).then(|| self.player_names(&allowed));
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
        let protected = self.player_names(&self.protected);
        Ok(Claim::DecisionBias(BiasClaim { entity: bit_text(bits), label, protected, biased: other.is_some() }))
    }
}

/// Whether an error means that a limit was reached, and not that the work was stopped.
fn is_undecided(error: &Error) -> bool {
    error.kind() == ErrorKind::Limit && error.stopped().is_none()
}
