//! A blurred copy of an image of bits: every pixel becomes the median of the pixels around it.
//!
//! The window of radius R around a pixel has 2 R + 1 rows and columns, cut at the edge. A window with an even number of
//! pixels may have two medians: a pixel keeps its own level if it lies between them, otherwise it gets the nearer one.
//! Medians commute with thresholds, so the raw image is not needed: each bit becomes the majority of the same bit over
//! the pixels in the window, and keeps its value in a tie. This is exact, and a pixel that has a level keeps having
//! one.

use super::{Binariser, Bits, Code, Grid};

/// How rows of bits are blurred.
#[derive(Debug, Clone, PartialEq)]
pub struct Blur {
    radius: usize,
    grid: Grid,
    /// The features of each pixel.
    pixels: Vec<Vec<usize>>,
    /// Whether pixels are one-hot: the only bit that is 1 gives the level.
    one_hot: bool,
}

impl Blur {
    /// The blur of features with this layout; an error if the pixels do not share the same ordered levels.
    pub fn new(radius: usize, grid: Grid, features: usize, schema: Option<&Binariser>) -> Result<Self, String> {
        if radius == 0 || radius > grid.height.max(grid.width) {
            return Err(format!(
                "a radius of {radius} blurs nothing on a grid of {grid}: it is at least 1 and at most a side"
            ));
        }
        let mut pixels = vec![Vec::new(); grid.cells()];
        let of_feature = grid.pixels(features, schema)?;
        of_feature.iter().enumerate().for_each(|(feature, &pixel)| pixels[pixel].push(feature));
        let columns =
            schema.filter(|schema| schema.columns().len() == grid.cells()).map_or(&[][..], Binariser::columns);
        let has_order = |code: &Code| matches!(code, Code::Above(_) | Code::Boolean | Code::Values(_) | Code::Bins(_));
        if let Some(column) = columns.iter().find(|column| !has_order(&column.code) || column.has_missing_bit()) {
            return Err(format!("the values of '{}' have no order, so that pixels have no median", column.name()));
        }
        let one_hot = columns.first().is_some_and(|column| column.is_one_hot());
        if pixels.iter().any(|own| own.len() != pixels[0].len())
            || columns.iter().any(|column| column.is_one_hot() != one_hot)
        {
            return Err("pixels have different numbers of levels, so that they have no median".into());
        }
        Ok(Blur { radius, grid, pixels, one_hot })
    }

    /// A blurred row.
    pub fn of(&self, row: &[bool]) -> Bits {
        let levels: Vec<Vec<bool>> = self.pixels.iter().map(|own| self.steps(own, row)).collect();
        let mut blurred = row.to_vec();
        for pixel in 0..self.pixels.len() {
            let steps: Vec<bool> = (0..levels[pixel].len()).map(|step| self.median(&levels, pixel, step)).collect();
            let level = steps.iter().filter(|step| **step).count();
            for (place, &feature) in self.pixels[pixel].iter().enumerate() {
                blurred[feature] = if self.one_hot { place == level } else { steps[place] };
            }
        }
        let mut bits = Bits::new(row.len());
        bits.push(&blurred);
        bits
    }

    /// The bits of a pixel in thermometer code; for a one-hot pixel, whether its level is at least 1, 2, ...
    fn steps(&self, own: &[usize], row: &[bool]) -> Vec<bool> {
        match self.one_hot {
            false => own.iter().map(|&feature| row[feature]).collect(),
            true => (1..own.len()).map(|step| own[step..].iter().any(|&feature| row[feature])).collect(),
        }
    }

    /// The majority value of a step over the window around a pixel; the pixel's own value in a tie.
    fn median(&self, levels: &[Vec<bool>], pixel: usize, step: usize) -> bool {
        let (row, column) = (pixel / self.grid.width, pixel % self.grid.width);
        let near = |at: usize, side: usize| at.saturating_sub(self.radius)..=(at + self.radius).min(side - 1);
        let (mut ones, mut all) = (0, 0);
        for y in near(row, self.grid.height) {
            for x in near(column, self.grid.width) {
                ones += usize::from(levels[y * self.grid.width + x][step]);
                all += 1;
            }
        }
        match (2 * ones).cmp(&all) {
            std::cmp::Ordering::Equal => levels[pixel][step],
            more => more.is_gt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;

    fn grid(text: &str) -> Grid {
        text.parse().unwrap()
    }

    /// The median by sorting; of two medians, the one nearer to the pixel's own level.
    fn sorted_median(image: &[usize], grid: Grid, radius: i64, pixel: usize) -> usize {
        let (y, x) = ((pixel / grid.width) as i64, (pixel % grid.width) as i64);
        let is_near = |other: &usize| {
            let (v, u) = ((other / grid.width) as i64, (other % grid.width) as i64);
            (v - y).abs() <= radius && (u - x).abs() <= radius
        };
        let mut window: Vec<usize> = (0..grid.cells()).filter(is_near).map(|other| image[other]).collect();
        window.sort_unstable();
        let (low, high) = (window[(window.len() - 1) / 2], window[window.len() / 2]);
        image[pixel].clamp(low, high)
    }

    #[test]
    fn thermometers_and_levels_are_blurred_to_their_medians() {
        let mut chance = Seeded::new(3, 0);
        for (layout, radius) in [("3x4", 1), ("5x5", 2), ("1x6", 1), ("4x4", 3)] {
            let grid = grid(layout);
            let image: Vec<usize> = (0..grid.cells()).map(|_| chance.below(4)).collect();
            let blur = Blur::new(radius, grid, 3 * grid.cells(), None).unwrap();
            let row: Vec<bool> = image.iter().flat_map(|&level| (0..3).map(move |step| level > step)).collect();
            let blurred = blur.of(&row).row(0);
            let one_hot = Blur { one_hot: true, ..Blur::new(radius, grid, 4 * grid.cells(), None).unwrap() };
            let row: Vec<bool> = image.iter().flat_map(|&level| (0..4).map(move |one| level == one)).collect();
            let of_levels = one_hot.of(&row).row(0);
            for pixel in 0..grid.cells() {
                let expected = sorted_median(&image, grid, radius as i64, pixel);
                assert_eq!(blurred[3 * pixel..][..3], [expected > 0, expected > 1, expected > 2]);
                assert_eq!(of_levels[4 * pixel..][..4].iter().position(|one| *one), Some(expected));
            }
        }
    }

    #[test]
    fn a_radius_must_blur_something() {
        assert!(Blur::new(0, grid("3x3"), 9, None).unwrap_err().contains("blurs nothing"));
        assert!(Blur::new(4, grid("3x3"), 9, None).unwrap_err().contains("at most a side"));
        assert!(Blur::new(1, grid("3x3"), 10, None).unwrap_err().contains("10 features"));
    }
}
