//! Suggests larger players where too many differ between a row and its background.

use super::{Error, Explainer};
use crate::data::{Bits, Grid};
use crate::explain::{Distribution, EntityProblem, ExplainError, MAX_DIFFERING};

impl Explainer {
    /// The same error; if too many players differ, it names the finest regions of which few enough differ in this row.
    pub(super) fn with_hint(&self, error: Error, rows: &Bits) -> Error {
        match error {
            Error::Explain(ExplainError::Entity {
                entity,
                problem: EntityProblem::TooManyDiffer { differ, limit, .. },
            }) => {
                let hint = match self.finest_regions(&rows.row(entity)) {
                    Some((regions, most)) => format!("; of {regions} regions {most} differ"),
                    None => "; larger players are needed, such as regions of an image".into(),
                };
                let problem = EntityProblem::TooManyDiffer { differ, limit, hint };
                ExplainError::Entity { entity, problem }.into()
            }
            other => other,
        }
    }

    /// The finest regions, as square as possible, of which few enough differ from each background row to be tried.
    fn finest_regions(&self, entity: &[bool]) -> Option<(Grid, usize)> {
        let blurred = self.blurred(entity);
        let background = match (&blurred, self.distribution()) {
            (Some(own), _) | (None, Distribution::Background(own)) => own,
            _ => return None,
        };
        let circuit = self.circuit();
        let grid = circuit.grid().ok()??;
        let pixels = grid.pixels(circuit.features.len(), circuit.binariser.as_ref()).ok()?;
        let differing: Vec<Vec<usize>> = (0..background.rows())
            .map(|row| (0..entity.len()).filter(|&j| background.get(row, j) != entity[j]).map(|j| pixels[j]).collect())
            .collect();
        let most = |regions: Grid| {
            let count = |pixels: &Vec<usize>| {
                let mut seen = vec![false; regions.cells()];
                for &pixel in pixels {
                    let (row, column) = grid.region(pixel, regions);
                    seen[row * regions.width + column] = true;
                }
                seen.into_iter().filter(|&seen| seen).count()
            };
            differing.iter().map(count).max().unwrap_or(0)
        };
        let larger = grid.height.max(grid.width);
        let candidates = (1..=larger).rev().map(|side| Grid {
            height: (grid.height * side).div_ceil(larger),
            width: (grid.width * side).div_ceil(larger),
        });
        candidates.map(|regions| (regions, most(regions))).find(|(_, most)| *most <= MAX_DIFFERING)
    }
}
