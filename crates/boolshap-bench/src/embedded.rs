//! Embedded data: the California housing data as the distinct rows of its 13 bits with their counts by class and split,
//! and a network trained on them. Both were made by this program from the raw file: `boolshap train housing.csv
//! --target median_house_value -o assets/model.json --tally assets/rows.csv`.

use anyhow::{Context, anyhow, bail};
use boolshap::Model;
use boolshap::data::{Code, Tally, quote_csv};

const MODEL: &str = include_str!("../assets/model.json");
const ROWS: &str = include_str!("../assets/rows.csv");

/// The embedded network.
pub fn embedded_model() -> anyhow::Result<Model> {
    Model::from_json(MODEL).map_err(|e| anyhow!("the embedded model: {e}"))
}

/// The embedded training and test rows.
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

/// The same rows as a raw table that `boolshap train` can read, with one row for each block. The original numbers are
/// not embedded; each is replaced by the whole number next to the threshold, on its side. The bits are those of the
/// data.
pub fn embedded_table(model: &Model, rows: &Tally) -> anyhow::Result<String> {
    let binariser = model.binariser.as_ref().context("the embedded model knows no columns")?;
    let target = &model.provenance["target"];
    let (name, threshold) = (target["column"].as_str(), target["code"]["above"].as_f64());
    let (name, threshold) = (name.context("the target's name")?, threshold.context("the target's threshold")?);
    let columns = binariser.columns().iter().map(|column| quote_csv(&column.column).into_owned());
    let mut text = columns.chain([quote_csv(name).into_owned()]).collect::<Vec<_>>().join(",") + "\n";
    for row in 0..rows.rows().rows() {
        let bits = rows.rows().row(row);
        let (mut cells, mut at) = (Vec::new(), 0);
        for column in binariser.columns() {
            let width = column.bits();
            cells.push(match &column.code {
                Code::Above(threshold) => side(*threshold, bits[at]),
                Code::Categories(values) => {
                    let chosen = (0..width).find(|&bit| bits[at + bit]);
                    chosen.map_or(String::new(), |bit| quote_csv(&values[bit]).into_owned())
                }
                _ => bail!("the embedded model has a column that cannot be written back"),
            });
            at += width;
        }
        for (class, &count) in rows.counts()[row].iter().enumerate() {
            let line = format!("{},{}\n", cells.join(","), side(threshold, class == 1));
            (0..count).for_each(|_| text.push_str(&line));
        }
    }
    Ok(text)
}

/// The whole number next to a threshold, above it or not.
fn side(threshold: f64, is_above: bool) -> String {
    let below = threshold.floor();
    (if is_above { below + 1.0 } else { below }).to_string()
}
