//! An image and what its pixels or regions contribute, one tile per class.
//!
//! Blue pushes away from a class and orange towards it: two colours that people with red-green colour blindness can
//! distinguish (Okabe and Ito's colours). All tiles share one scale, so that they can be compared.

use super::figure_text::{finite, number, shorten};
use super::svg::{Anchor, Class, Svg, WIDTH, sentence};
use crate::data::Grid;

/// The side of a tile, and the space between tiles.
const SIDE: f64 = 168.0;
const GAP: f64 = 15.0;
/// The number of tiles side by side.
const ACROSS: usize = 4;
/// The height of the two lines above a tile, and of the line below.
const HEAD: f64 = 38.0;
const FOOT: f64 = 26.0;

/// An image to be drawn with its scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Its title, such as `row 3`.
    pub title: String,
    /// The layout of the pixels.
    pub grid: Grid,
    /// The brightness of each pixel, from 0 to 1.
    pub image: Vec<f64>,
    /// The player of each pixel, whose borders are drawn.
    pub player_of: Vec<usize>,
    /// The names of the players.
    pub players: Vec<String>,
    /// The classes, or the only label.
    pub tiles: Vec<Tile>,
}

/// The scores of one class.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    /// The class.
    pub name: String,
    /// Whether it is the predicted class.
    pub predicted: bool,
    /// The base value, and the value of the image.
    pub values: [f64; 2],
    /// The score of each player.
    pub scores: Vec<f64>,
}

/// Draws the image and a heat map for each class.
///
/// ```
/// use boolshap::report::{Picture, Tile, image_figure};
/// let tile = Tile { name: "yes".into(), predicted: true, values: [0.0, 1.0], scores: vec![0.75, 0.25] };
/// let picture = Picture { title: "row 1".into(), grid: "1x2".parse().unwrap(), image: vec![1.0, 0.0],
///     player_of: vec![0, 1], players: vec!["left".into(), "right".into()], tiles: vec![tile] };
/// let svg = image_figure(&picture);
/// assert!(svg.contains("left: 0.750000") && svg.contains(">yes, predicted<"));
/// ```
pub fn image_figure(picture: &Picture) -> String {
    let grid = picture.grid;
    if picture.image.len() != grid.cells() || picture.player_of.len() != grid.cells() {
        return sentence("There is no image to show.");
    }
    let cell = (SIDE / grid.height.max(grid.width) as f64).floor().max(1.0);
    let side = [cell * grid.width as f64, cell * grid.height as f64];
    let step = [side[0].max(SIDE) + GAP, HEAD + side[1] + FOOT];
    let across = ACROSS.min(((WIDTH + GAP) / step[0]) as usize).max(1).min(picture.tiles.len() + 1);
    let width = WIDTH.max(across as f64 * step[0] - GAP + 2.0 * GAP);
    let left = (width - (across as f64 * step[0] - GAP)) / 2.0;
    let corner = |place: usize| {
        let (row, column) = (place / across, place % across);
        let indent = (step[0] - GAP - side[0]) / 2.0;
        [left + column as f64 * step[0] + indent, 8.0 + HEAD + row as f64 * step[1]]
    };
    let drawing = Drawing { picture, cell, side };
    let mut svg = Svg::default();
    drawing.image(&mut svg, corner(0));
    let scores = picture.tiles.iter().flat_map(|tile| &tile.scores);
    let largest = scores.map(|score| finite(*score).abs()).fold(0.0, f64::max);
    for (place, tile) in picture.tiles.iter().enumerate() {
        drawing.tile(&mut svg, corner(place + 1), tile, largest);
    }
    let rows = (picture.tiles.len() + 1).div_ceil(across);
    let foot = 8.0 + rows as f64 * step[1];
    legend(&mut svg, width / 2.0, foot + 12.0, largest);
    svg.finish(width, foot + 48.0, &format!("What the parts of {} contribute", picture.title))
}

struct Drawing<'p> {
    picture: &'p Picture,
    cell: f64,
    side: [f64; 2],
}

impl Drawing<'_> {
    fn image(&self, svg: &mut Svg, [x, y]: [f64; 2]) {
        let middle = x + self.side[0] / 2.0;
        svg.name(Class::Ink, [middle, y - 22.0, 14.0], Anchor::Middle, SIDE, &self.picture.title);
        svg.text(Class::Muted, [middle, y - 7.0, 12.0], Anchor::Middle, "the image");
        self.pixels(svg, [x, y], 1.0);
        self.frame(svg, [x, y], Class::Grid, 1.0);
    }

    fn tile(&self, svg: &mut Svg, [x, y]: [f64; 2], tile: &Tile, largest: f64) {
        let middle = x + self.side[0] / 2.0;
        let name = if tile.predicted { format!("{}, predicted", tile.name) } else { tile.name.clone() };
        svg.name(Class::Ink, [middle, y - 22.0, 14.0], Anchor::Middle, SIDE, &name);
        let [base, value] = tile.values.map(|value| number(finite(value), 4));
        svg.text(Class::Muted, [middle, y - 7.0, 12.0], Anchor::Middle, &format!("from {base} to {value}"));
        for (player, [left, top, width]) in self.runs() {
            let score = finite(tile.scores.get(player).copied().unwrap_or(0.0));
            if score == 0.0 {
                continue;
            }
            let place = [x + left * self.cell, y + top * self.cell, width * self.cell, self.cell];
            let called = self.picture.players.get(player).map_or("", String::as_str);
            let tip = format!("{}: {}", shorten(called, 40.0), number(score, 6));
            let class = if score > 0.0 { Class::Towards1 } else { Class::Towards0 };
            svg.rect(class, place, strength(score, largest), Some(&tip));
        }
        self.pixels(svg, [x, y], 0.22);
        self.borders(svg, [x, y]);
        match tile.predicted {
            true => self.frame(svg, [x, y], Class::Line, 2.5),
            false => self.frame(svg, [x, y], Class::Grid, 1.0),
        }
    }

    /// Neighbouring pixels of a row that belong to the same player: their player, and left, top and width in pixels.
    fn runs(&self) -> Vec<(usize, [f64; 3])> {
        let width = self.picture.grid.width;
        let mut runs: Vec<(usize, [f64; 3])> = Vec::new();
        for (row, players) in self.picture.player_of.chunks_exact(width).enumerate() {
            for (column, &player) in players.iter().enumerate() {
                match runs.last_mut() {
                    Some((last, [_, top, length])) if column > 0 && *last == player && *top == row as f64 => {
                        *length += 1.0
                    }
                    _ => runs.push((player, [column as f64, row as f64, 1.0])),
                }
            }
        }
        runs
    }

    /// Draws the pixels in ink; the brightest get this opacity.
    fn pixels(&self, svg: &mut Svg, [x, y]: [f64; 2], opacity: f64) {
        for (pixel, &value) in self.picture.image.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            let (row, column) = (pixel / self.picture.grid.width, pixel % self.picture.grid.width);
            let place = [x + column as f64 * self.cell, y + row as f64 * self.cell, self.cell, self.cell];
            svg.rect(Class::Ink, place, opacity * value.min(1.0), None);
        }
    }

    /// The lines between players of several pixels.
    fn borders(&self, svg: &mut Svg, [x, y]: [f64; 2]) {
        let (grid, of) = (self.picture.grid, &self.picture.player_of);
        let mut path = String::new();
        for pixel in 0..grid.cells() {
            let (row, column) = (pixel / grid.width, pixel % grid.width);
            let [left, top] = [x + column as f64 * self.cell, y + row as f64 * self.cell];
            if column > 0 && of[pixel] != of[pixel - 1] {
                path += &format!("M{left:.1} {top:.1}v{:.1}", self.cell);
            }
            if row > 0 && of[pixel] != of[pixel - grid.width] {
                path += &format!("M{left:.1} {top:.1}h{:.1}", self.cell);
            }
        }
        // If every pixel is a player, lines would hide the colours.
        let players = of.iter().max().map_or(0, |last| last + 1);
        if !path.is_empty() && 2 * players <= of.len() {
            svg.path(Class::Grid, &path, " stroke-width=\"0.7\"", None);
        }
    }

    fn frame(&self, svg: &mut Svg, [x, y]: [f64; 2], class: Class, stroke: f64) {
        let [width, height] = self.side;
        let path = format!("M{x:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}Z");
        svg.path(class, &path, &format!(" stroke-width=\"{stroke}\""), None);
    }
}

/// The opacity of a score; even the smallest is visible.
fn strength(score: f64, largest: f64) -> f64 {
    if largest > 0.0 { 0.06 + 0.94 * (score.abs() / largest) } else { 0.0 }
}

/// Draws the meaning of the colours.
fn legend(svg: &mut Svg, middle: f64, y: f64, largest: f64) {
    const STEPS: usize = 24;
    if largest == 0.0 {
        svg.text(Class::Muted, [middle, y + 12.0, 13.0], Anchor::Middle, "No part of the image contributes anything.");
        return;
    }
    let (left, part) = (middle - 144.0, 12.0);
    for step in 0..STEPS {
        let score = (step as f64 + 0.5) / STEPS as f64 * 2.0 - 1.0;
        let class = if score > 0.0 { Class::Towards1 } else { Class::Towards0 };
        svg.rect(class, [left + step as f64 * part, y, part, 11.0], strength(score, 1.0), None);
    }
    for (at, value) in [(0.0, -largest), (0.5, 0.0), (1.0, largest)] {
        let text = if value == 0.0 { "0".to_string() } else { number(value, 4) };
        svg.text(Class::Muted, [left + at * 288.0, y + 25.0, 12.0], Anchor::Middle, &text);
    }
    svg.text(Class::Muted, [left - 12.0, y + 10.0, 13.0], Anchor::End, "away from the class");
    svg.text(Class::Muted, [left + 300.0, y + 10.0, 13.0], Anchor::Start, "towards the class");
}

#[cfg(test)]
mod tests {
    use super::super::svg::parsed::{hostile_names, parsed, tips};
    use super::*;

    fn picture(scores: &[f64], classes: usize) -> Picture {
        let tile = |class: usize| Tile {
            name: format!("class {class}"),
            predicted: class == 1,
            values: [0.25, 1.0],
            scores: scores.iter().map(|score| score * (class as f64 + 1.0)).collect(),
        };
        Picture {
            title: "row 1".into(),
            grid: Grid { height: 2, width: 4 },
            image: vec![1.0, 0.0, 0.5, 0.0, 0.0, 1.0, 0.0, 0.0],
            player_of: vec![0, 0, 1, 1, 0, 0, 1, 1],
            players: vec!["left".into(), "right".into()],
            tiles: (0..classes).map(tile).collect(),
        }
    }

    #[test]
    fn each_region_has_its_colour_in_each_tile() {
        let svg = image_figure(&picture(&[0.5, -0.25], 10));
        parsed(&svg);
        // Two rows of pixels, two regions, ten tiles.
        let regions: Vec<String> = tips(&svg).into_iter().filter(|tip| tip.contains("t: ")).collect();
        assert_eq!(regions.len(), 40);
        assert!(svg.contains("left: 5.00000") && svg.contains("right: \u{2212}2.50000"));
        assert_eq!(svg.matches(", predicted<").count(), 2, "its title and its text");
    }

    #[test]
    fn odd_input_is_drawn() {
        assert!(image_figure(&picture(&[0.0, 0.0], 1)).contains("No part of the image contributes anything."));
        let mut odd = picture(&[f64::NAN, f64::INFINITY], 2);
        odd.players = hostile_names();
        parsed(&image_figure(&odd));
        odd.image.pop();
        assert!(image_figure(&odd).contains("There is no image to show."));
    }
}
