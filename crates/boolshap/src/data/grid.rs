//! The layout of features that are the pixels of an image: a grid, stored row by row, and its division into regions.
//!
//! An H by W grid is the layout of H W features, of H W columns of a schema (a pixel of several bits is one column), or
//! of H W groups of neighbouring features, all of the same size. Models, and the circuits made from them, store it as
//! `grid` among their free facts.

use super::Binariser;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The name of the fact that holds the grid.
pub const GRID: &str = "grid";
/// The longest side allowed.
const MAX_SIDE: usize = 1 << 16;

/// The height and width of an image, in pixels or in regions.
///
/// ```
/// use boolshap::data::Grid;
/// let grid: Grid = "4x6".parse().unwrap();
/// assert_eq!((grid.height, grid.width, grid.to_string()), (4, 6, "4x6".to_string()));
/// // 2 by 3 regions: the pixel in row 3, column 1 is in the region of row 1, column 0.
/// assert_eq!(grid.region(3 * 6 + 1, "2x3".parse().unwrap()), (1, 0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// The number of rows.
    pub height: usize,
    /// The number of columns.
    pub width: usize,
}

impl FromStr for Grid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = |text: &str| text.trim().parse().ok().filter(|side| (1..=MAX_SIDE).contains(side));
        let sides = text.split_once(['x', 'X', '×']).and_then(|(height, width)| Some((side(height)?, side(width)?)));
        let (height, width) = sides.ok_or_else(|| format!("'{text}' is no height and width such as 28x28"))?;
        Ok(Grid { height, width })
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.height, self.width)
    }
}

impl Grid {
    /// The number of pixels or regions.
    pub fn cells(&self) -> usize {
        self.height * self.width
    }

    /// The grid among the facts of a model or circuit; an error if it does not fit the features.
    pub fn of_facts(
        facts: &BTreeMap<String, Value>,
        features: usize,
        schema: Option<&Binariser>,
    ) -> Result<Option<Self>, String> {
        let Some(fact) = facts.get(GRID) else { return Ok(None) };
        let text = fact.as_str().ok_or_else(|| format!("the grid {fact} is no text such as 28x28"))?;
        let grid: Grid = text.parse()?;
        grid.pixels(features, schema).map(|_| Some(grid))
    }

    /// The pixel of each feature; an error if these features cannot have this layout.
    pub fn pixels(&self, features: usize, schema: Option<&Binariser>) -> Result<Vec<usize>, String> {
        let cells = self.cells();
        if let Some(schema) = schema.filter(|schema| schema.columns().len() == cells) {
            let columns = schema.columns().iter().enumerate();
            return Ok(columns.flat_map(|(pixel, column)| std::iter::repeat_n(pixel, column.bits())).collect());
        }
        if features == 0 || !features.is_multiple_of(cells) {
            return Err(format!("a grid of {self} has {cells} pixels, but there are {features} features"));
        }
        let bits = features / cells;
        Ok((0..features).map(|feature| feature / bits).collect())
    }

    /// The region of a pixel, as the region's row and column. If the sides do not divide evenly, the regions are as
    /// equal as possible: their sides differ by at most one pixel.
    pub fn region(&self, pixel: usize, regions: Grid) -> (usize, usize) {
        let (row, column) = (pixel / self.width, pixel % self.width);
        (row * regions.height / self.height, column * regions.width / self.width)
    }

    /// Fails if some regions would have no pixels.
    pub fn check_regions(&self, regions: Grid) -> Result<(), String> {
        match regions.height <= self.height && regions.width <= self.width {
            true => Ok(()),
            false => Err(format!("{regions} are more than the {self} pixels, so that some would be empty")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_that_do_not_divide_are_split_evenly() {
        let grid = Grid { height: 28, width: 10 };
        let regions = Grid { height: 5, width: 3 };
        let mut sizes = vec![0; 15];
        for pixel in 0..grid.cells() {
            let (row, column) = grid.region(pixel, regions);
            sizes[row * 3 + column] += 1;
        }
        // Rows 6, 6, 6, 5, 5 in some order, columns 4, 3, 3.
        assert_eq!(sizes.iter().sum::<usize>(), 280);
        assert!(sizes.iter().all(|size| [15, 18, 20, 24].contains(size)), "{sizes:?}");
        assert!(grid.check_regions(regions).is_ok());
        let error = grid.check_regions(Grid { height: 5, width: 11 }).unwrap_err();
        assert_eq!(error, "5x11 are more than the 28x10 pixels, so that some would be empty");
    }

    #[test]
    fn a_grid_must_be_the_layout_of_the_features() {
        let grid: Grid = "2x3".parse().unwrap();
        assert_eq!(grid.pixels(6, None).unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(grid.pixels(12, None).unwrap()[..4], [0, 0, 1, 1]);
        assert_eq!(grid.pixels(7, None).unwrap_err(), "a grid of 2x3 has 6 pixels, but there are 7 features");
        assert!("2".parse::<Grid>().is_err() && "0x2".parse::<Grid>().is_err() && "ax2".parse::<Grid>().is_err());
    }
}
