//! A model of raw columns and its background rows, as requests use them: the players, the output and the class.

use super::resolve::read_players;
use super::{
    ClassChoice, DistributionFrom, Error, ModelOutput, PlayersFrom, RawExplainer, RawTable, Request, RowsFrom,
};
use crate::data::RawRows;
use crate::lit::Watch;
use crate::model::RawModel;

/// A model of raw columns and its background, for requests that may ask different things.
pub struct RawGame {
    model: RawModel,
    background: RawRows,
    owners: Option<Vec<String>>,
    /// The explainer for requests that ask for nothing else.
    opening: RawExplainer,
    class: Option<ClassChoice>,
}

impl RawGame {
    /// The game of a model against the rows of a file, as a request says.
    pub fn of_request(model: RawModel, request: &Request, watch: &Watch<'_>) -> Result<Self, Error> {
        refuse(request)?;
        let DistributionFrom::Background(RowsFrom::File(path)) = &request.distribution else {
            let why = "of a model on raw columns is background:FILE, the rows to compare with";
            return Err(Error::setting("distribution", why));
        };
        let table = RawTable::open(path, &model.columns)?;
        let background = table.read(watch)?;
        let owners = owners_of(&model, &request.players)?;
        let output = request.model_output.unwrap_or(ModelOutput::Score);
        let class = request.class.clone();
        let opening =
            RawExplainer::prepare(model.clone(), &background, owners.as_deref(), output, class.as_ref(), None, watch)
                .map_err(|error| table.in_table(error, 1))?;
        Ok(RawGame { model, background, owners, opening, class })
    }

    /// The model.
    pub fn model(&self) -> &RawModel {
        &self.model
    }

    /// The explainer for requests that ask for nothing else.
    pub fn opening(&self) -> &RawExplainer {
        &self.opening
    }

    /// How many background rows there are.
    pub fn background_rows(&self) -> usize {
        self.background.len()
    }

    /// Passes the explainer of a request's class to `work`: the one that is ready, or a temporary one.
    pub fn explaining<T>(
        &self,
        request: &Request,
        watch: &Watch<'_>,
        work: impl FnOnce(&RawExplainer) -> Result<T, Error>,
    ) -> Result<T, Error> {
        refuse(request)?;
        let output = self.opening.model_output();
        if request.model_output.is_some_and(|asked| asked != output) {
            return Err(Error::setting("model_output", format!("can only be '{}' here", output.name())));
        }
        if request.class.is_none() || request.class == self.class {
            return work(&self.opening);
        }
        let (owners, class) = (self.owners.as_deref(), request.class.as_ref());
        work(&RawExplainer::prepare(self.model.clone(), &self.background, owners, output, class, None, watch)?)
    }
}

impl RawExplainer {
    /// Explains a model against the rows of a file, as a request says.
    pub fn of_request(model: RawModel, request: &Request, watch: &Watch<'_>) -> Result<Self, Error> {
        Ok(RawGame::of_request(model, request, watch)?.opening)
    }
}

/// The name of the player of each column; nothing if every column is a player.
fn owners_of(model: &RawModel, players: &PlayersFrom) -> Result<Option<Vec<String>>, Error> {
    Ok(match players {
        PlayersFrom::Features | PlayersFrom::Columns => None,
        PlayersFrom::File(path) => {
            let players = read_players(path, &model.columns)?;
            Some((0..model.columns.len()).map(|column| players.names()[players.of(column)].clone()).collect())
        }
        PlayersFrom::Named(of) => {
            let unknown = of.keys().find(|name| !model.columns.contains(name));
            if let Some(name) = unknown {
                return Err(Error::setting("players", format!("names '{name}', which is no column")));
            }
            Some(model.columns.iter().map(|column| of.get(column).unwrap_or(column).clone()).collect())
        }
        PlayersFrom::Regions(_) => {
            return Err(Error::setting("regions", "are for pixels, and this model takes raw columns"));
        }
    })
}

/// Refuses settings that games of raw columns do not have.
fn refuse(request: &Request) -> Result<(), Error> {
    request.check()?;
    if request.constraint.is_some() {
        return Err(Error::setting("constraint", "is for bits, and this model takes raw columns"));
    }
    if request.engine.is_some() {
        return Err(Error::setting("engine", "is for circuits, and this is a model on raw columns"));
    }
    Ok(())
}
