//! A canvas of pixels, onto which outlines are painted one over the other.
//!
//! An outline covers part of a pixel, from 0 to 255; its colour is blended in by that part. Pixels are stored with
//! premultiplied alpha, so that blending uses the same formula for colours and opacity.

use zeno::{Command, Mask, PathBuilder, Point, Scratch, Style};

/// Straight lines longer than this many pixels are split, because the rasteriser counts in 32 bits.
const LONGEST_LINE: f32 = 4096.0;

/// A colour and its opacity, each from 0 to 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paint {
    pub(super) colour: [u8; 3],
    pub(super) opacity: u8,
}

pub(super) struct Canvas {
    width: usize,
    pixels: Vec<[u8; 4]>,
    scratch: Scratch,
}

impl Canvas {
    /// An empty canvas.
    pub(super) fn new(width: usize, height: usize) -> Self {
        Canvas { width, pixels: vec![[0; 4]; width * height], scratch: Scratch::new() }
    }

    /// Paints an outline, in pixels from the upper left corner.
    pub(super) fn paint(&mut self, path: &[Command], style: Style<'_>, paint: Paint) {
        if path.is_empty() {
            return;
        }
        let path = in_short_lines(path);
        let bounds = self.scratch.bounds(&path, style, None);
        let height = self.pixels.len() / self.width;
        let (left, right) = clipped(bounds.min.x, bounds.max.x, self.width);
        let (top, bottom) = clipped(bounds.min.y, bounds.max.y, height);
        if left >= right || top >= bottom {
            return;
        }
        let mut covered = vec![0; (right - left) * (bottom - top)];
        Mask::with_scratch(&path, &mut self.scratch)
            .style(style)
            .offset((-(left as f32), -(top as f32)))
            .size((right - left) as u32, (bottom - top) as u32)
            .render_into(&mut covered, None);
        for (row, covered) in (top..bottom).zip(covered.chunks(right - left)) {
            let pixels = &mut self.pixels[row * self.width + left..row * self.width + right];
            pixels.iter_mut().zip(covered).for_each(|(pixel, &part)| mix(pixel, part, paint));
        }
    }

    /// The rows of the picture, each pixel as red, green, blue and opacity.
    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<u8>> {
        self.pixels.chunks(self.width).map(|row| row.iter().flat_map(|&pixel| plain(pixel)).collect())
    }
}

/// The whole pixels between two borders that lie in the picture.
fn clipped(from: f32, to: f32, length: usize) -> (usize, usize) {
    (from.floor().max(0.0) as usize, (to.ceil().max(0.0) as usize).min(length))
}

fn mix(pixel: &mut [u8; 4], covered: u8, Paint { colour: [red, green, blue], opacity }: Paint) {
    let part = u32::from(times(covered, opacity));
    for (old, new) in pixel.iter_mut().zip([red, green, blue, 255]) {
        *old = ((u32::from(*old) * (255 - part) + u32::from(new) * part + 127) / 255) as u8;
    }
}

fn times(one: u8, other: u8) -> u8 {
    ((u32::from(one) * u32::from(other) + 127) / 255) as u8
}

/// A pixel with its plain colours, not premultiplied.
fn plain(pixel: [u8; 4]) -> [u8; 4] {
    let opacity = u32::from(pixel[3]);
    match opacity {
        0 | 255 => pixel,
        _ => {
            let colour = |at: usize| ((u32::from(pixel[at]) * 255 + opacity / 2) / opacity).min(255) as u8;
            [colour(0), colour(1), colour(2), pixel[3]]
        }
    }
}

/// The same outline in short straight lines: curves are flattened as finely as a picture can show, long lines split.
fn in_short_lines(path: &[Command]) -> Vec<Command> {
    let mut short = Vec::with_capacity(4 * path.len());
    let (mut start, mut here) = (Point::ZERO, Point::ZERO);
    for &command in path {
        // Everything but a move is treated as a curve with two control points, straight lines included.
        let [from, by, to] = match command {
            Command::MoveTo(to) => {
                short.move_to(to);
                (start, here) = (to, to);
                continue;
            }
            Command::LineTo(to) => [here, to, to],
            Command::QuadTo(by, to) => [here + (by - here) * (2.0 / 3.0), to + (by - to) * (2.0 / 3.0), to],
            Command::CurveTo(from, by, to) => [from, by, to],
            Command::Close => [here, start, start],
        };
        let pieces = match command {
            Command::LineTo(_) | Command::Close => (here.distance_to(to) / LONGEST_LINE).ceil(),
            // The error falls with the square of the number of pieces: this keeps it below a fiftieth of a pixel.
            _ => 1.0 + (3.0 * (here.distance_to(from) + from.distance_to(by) + by.distance_to(to)).sqrt()).ceil(),
        };
        for piece in 1..pieces as u32 {
            let part = piece as f32 / pieces;
            let rest = 1.0 - part;
            let (first, last) = (here * rest + from * (3.0 * part), by * (3.0 * rest) + to * part);
            short.line_to(first * (rest * rest) + last * (part * part));
        }
        match command {
            Command::Close => short.close(),
            _ => short.line_to(to),
        };
        here = to;
    }
    short
}
