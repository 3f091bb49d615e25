//! What the program carries with it: the California housing data as the distinct rows of its 13 bits with their counts by
//! class and split, and a network trained on them. Both were made by this program from the raw file:
//! `boolshap train housing.csv --target median_house_value -o assets/model.json --tally assets/rows.csv`.

use anyhow::{Context, anyhow};
use boolshap::Model;
use boolshap::data::Tally;

const MODEL: &str = include_str!("../assets/model.json");
const ROWS: &str = include_str!("../assets/rows.csv");

/// The network that the program carries.
pub fn embedded_model() -> anyhow::Result<Model> {
    Model::from_json(MODEL).map_err(|e| anyhow!("the embedded model: {e}"))
}

/// The training and test rows that the program carries.
pub fn embedded_rows(features: usize) -> anyhow::Result<(Tally, Tally)> {
    let mut counted = [Vec::new(), Vec::new()];
    for line in ROWS.lines().skip(1) {
        let cells = line.split(',').map(str::parse).collect::<Result<Vec<u64>, _>>().context("the embedded rows")?;
        let row: Vec<bool> = cells[..features].iter().map(|&bit| bit == 1).collect();
        counted[0].push((row.clone(), cells[features..features + 2].to_vec()));
        counted[1].push((row, cells[features + 2..].to_vec()));
    }
    let [training, testing] = counted.map(|counted| Tally::from_counts(features, counted.into_iter()));
    Ok((training, testing))
}
