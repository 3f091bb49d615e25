//! Paints the SVG of this crate's figures: `rect`, `line`, `circle`, `path`, `polyline` and `text` in one `svg`.
//!
//! It supports the attributes that the figures use: places and sizes as plain numbers or percentages; `fill`, `stroke`
//! and `font-size`, which a shape may inherit; `translate` and `rotate`. Anything else that would change the picture is
//! an error, never silently ignored; attributes for pages and screen readers have no effect.

use roxmltree::{Document, Node};
use zeno::{Angle, Command, Fill, PathBuilder, PathData, Stroke, Transform};

use super::canvas::{Canvas, Paint};
use super::glyphs::outlined;

/// Coordinates beyond this are a mistake, and too large for the rasteriser's arithmetic.
const FARTHEST: f32 = 1e6;
/// Attributes that elements may have but that do not affect the picture.
const NO_LOOKS: [&str; 7] = ["class", "data-tip", "data-row", "role", "aria-label", "font-family", "viewBox"];

type Result<T> = std::result::Result<T, String>;

/// A figure that has been read.
pub(super) struct Figure<'a> {
    document: Document<'a>,
    /// Left, top, width and height of the view.
    view: [f32; 4],
}

impl<'a> Figure<'a> {
    pub(super) fn read(svg: &'a str) -> Result<Self> {
        let document = Document::parse(svg).map_err(|error| error.to_string())?;
        let root = document.root_element();
        if root.tag_name().name() != "svg" {
            return Err(format!("it is a <{}>", root.tag_name().name()));
        }
        let view = numbers(root.attribute("viewBox").ok_or("it has no viewBox")?)?;
        let view: [f32; 4] = view.try_into().map_err(|_| "its viewBox has not four numbers")?;
        match view[2] > 0.0 && view[3] > 0.0 {
            true => Ok(Figure { document, view }),
            false => Err("it has no size".into()),
        }
    }

    pub(super) fn size(&self) -> (f32, f32) {
        (self.view[2], self.view[3])
    }

    /// Paints the whole figure, with `scale` pixels per unit.
    pub(super) fn paint(&self, canvas: &mut Canvas, scale: f32) -> Result<()> {
        let place = Transform::translation(-self.view[0], -self.view[1]).then_scale(scale, scale);
        let mut elements = self.document.root_element().children().filter(Node::is_element);
        elements.try_for_each(|element| Shape { element, figure: self }.paint(canvas, &place, scale))
    }
}

/// One element.
struct Shape<'a> {
    element: Node<'a, 'a>,
    figure: &'a Figure<'a>,
}

impl Shape<'_> {
    fn paint(&self, canvas: &mut Canvas, place: &Transform, scale: f32) -> Result<()> {
        let (path, known): (Vec<Command>, &[&str]) = match self.element.tag_name().name() {
            "title" => return Ok(()),
            "rect" => (self.rect()?, &["x", "y", "width", "height"]),
            "line" => (self.line()?, &["x1", "y1", "x2", "y2"]),
            "circle" => (self.circle()?, &["cx", "cy", "r"]),
            "path" => (self.path()?, &["d"]),
            "polyline" => (self.polyline()?, &["points"]),
            "text" => (self.text()?, &["x", "y", "font-size", "text-anchor"]),
            other => return Err(format!("it has a <{other}>")),
        };
        let looks = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "transform"];
        let is_known = |name: &str| [known, &looks, &NO_LOOKS].concat().contains(&name);
        if let Some(other) = self.element.attributes().find(|attribute| !is_known(attribute.name())) {
            return Err(format!("a <{}> has the attribute '{}'", self.element.tag_name().name(), other.name()));
        }
        let place = self.transform()?.then(place);
        let path: Vec<Command> = path.iter().map(|command| command.transform(&place)).collect();
        if !path.iter().all(is_near) {
            return Err("it has a place that is far outside".into());
        }
        let is_line = self.element.tag_name().name() == "line";
        if let Some(paint) = self.paint_of("fill", "#000000")?.filter(|_| !is_line) {
            canvas.paint(&path, Fill::NonZero.into(), paint);
        }
        if let Some(paint) = self.paint_of("stroke", "none")? {
            let dashes = self.element.attribute("stroke-dasharray").map_or(Ok(Vec::new()), numbers)?;
            let dashes: Vec<f32> = dashes.iter().map(|dash| dash * scale).collect();
            let mut stroke = Stroke::new(self.number("stroke-width", 1.0)? * scale);
            if !dashes.is_empty() {
                stroke.dash(&dashes, 0.0);
            }
            canvas.paint(&path, stroke.into(), paint);
        }
        Ok(())
    }

    fn rect(&self) -> Result<Vec<Command>> {
        let (width, height) = self.figure.size();
        let (width, height) = (self.length("width", width)?, self.length("height", height)?);
        let corner = (self.number("x", 0.0)?, self.number("y", 0.0)?);
        let mut path = Vec::new();
        if width > 0.0 && height > 0.0 {
            path.add_rect(corner, width, height);
        }
        Ok(path)
    }

    fn line(&self) -> Result<Vec<Command>> {
        let mut path = Vec::new();
        path.move_to((self.number("x1", 0.0)?, self.number("y1", 0.0)?));
        path.line_to((self.number("x2", 0.0)?, self.number("y2", 0.0)?));
        Ok(path)
    }

    fn circle(&self) -> Result<Vec<Command>> {
        let (centre, radius) = ((self.number("cx", 0.0)?, self.number("cy", 0.0)?), self.number("r", 0.0)?);
        let mut path = Vec::new();
        if radius > 0.0 {
            path.add_circle(centre, radius);
        }
        Ok(path)
    }

    fn path(&self) -> Result<Vec<Command>> {
        let data = self.element.attribute("d").unwrap_or_default();
        // The path parser skips what it does not understand.
        let is_known = |char: char| "MmLlHhVvCcSsQqTtAaZz0123456789+-.eE, ".contains(char);
        match zeno::validate_svg(data) {
            Ok(()) if data.chars().all(is_known) => {}
            _ => return Err(format!("a path is '{data}'")),
        }
        Ok(data.commands().collect())
    }

    fn polyline(&self) -> Result<Vec<Command>> {
        let points = numbers(self.element.attribute("points").unwrap_or_default())?;
        let mut path = Vec::new();
        for (index, point) in points.chunks_exact(2).enumerate() {
            let to = (point[0], point[1]);
            if index == 0 {
                path.move_to(to)
            } else {
                path.line_to(to)
            };
        }
        Ok(path)
    }

    fn text(&self) -> Result<Vec<Command>> {
        let mut text = String::new();
        for child in self.element.children() {
            match child.is_text() {
                true => text += child.text().unwrap_or_default(),
                false if child.has_tag_name(("http://www.w3.org/2000/svg", "title")) => {}
                false => return Err("a text has parts".into()),
            }
        }
        let words: Vec<&str> = text.split([' ', '\t', '\n', '\r']).filter(|word| !word.is_empty()).collect();
        let size = self.inherited("font-size").map_or(Ok(16.0), number)?;
        let (path, length) = outlined(&words.join(" "), size);
        let before = match self.inherited("text-anchor").unwrap_or("start") {
            "start" => 0.0,
            "middle" => length / 2.0,
            "end" => length,
            other => return Err(format!("a text has the anchor '{other}'")),
        };
        let place = Transform::translation(self.number("x", 0.0)? - before, self.number("y", 0.0)?);
        Ok(path.iter().map(|command| command.transform(&place)).collect())
    }

    fn inherited(&self, name: &str) -> Option<&str> {
        self.element.ancestors().find_map(|node| node.attribute(name))
    }

    fn number(&self, name: &str, otherwise: f32) -> Result<f32> {
        self.element.attribute(name).map_or(Ok(otherwise), number)
    }

    /// A number, or a percentage of a whole.
    fn length(&self, name: &str, whole: f32) -> Result<f32> {
        match self.element.attribute(name).and_then(|text| text.strip_suffix('%')) {
            Some(part) => Ok(number(part)? / 100.0 * whole),
            None => self.number(name, 0.0),
        }
    }

    /// Reads a list of `translate(x y)` and `rotate(degrees)`; the last is applied first.
    fn transform(&self) -> Result<Transform> {
        let mut whole = Transform::IDENTITY;
        for step in self.element.attribute("transform").unwrap_or_default().split_inclusive(')') {
            let wrong = || format!("a transform is '{}'", step.trim());
            let (name, rest) = step.split_once('(').ok_or_else(wrong)?;
            let numbers = numbers(rest.strip_suffix(')').ok_or_else(wrong)?)?;
            let step = match (name.trim(), numbers.as_slice()) {
                ("translate", &[x, y]) => Transform::translation(x, y),
                ("rotate", &[degrees]) => Transform::rotation(Angle::from_degrees(degrees)),
                _ => return Err(wrong()),
            };
            whole = step.then(&whole);
        }
        Ok(whole)
    }

    fn paint_of(&self, name: &str, otherwise: &str) -> Result<Option<Paint>> {
        let opacity = if name == "fill" { self.number("fill-opacity", 1.0)? } else { 1.0 };
        let opacity = (opacity.clamp(0.0, 1.0) * 255.0).round() as u8;
        let colour = colour(self.inherited(name).unwrap_or(otherwise))?;
        Ok(colour.map(|colour| Paint { colour, opacity }))
    }
}

fn is_near(command: &Command) -> bool {
    let near = |points: &[zeno::Point]| points.iter().all(|point| point.x.abs().max(point.y.abs()) <= FARTHEST);
    match *command {
        Command::MoveTo(to) | Command::LineTo(to) => near(&[to]),
        Command::QuadTo(by, to) => near(&[by, to]),
        Command::CurveTo(from, by, to) => near(&[from, by, to]),
        Command::Close => true,
    }
}

/// Parses a colour: `#rrggbb`, `#rgb`, `white`, `black` or `none`.
fn colour(text: &str) -> Result<Option<[u8; 3]>> {
    let wrong = || format!("it has the colour '{text}'");
    let digits = match text {
        "none" => return Ok(None),
        "white" => return Ok(Some([255; 3])),
        "black" => return Ok(Some([0; 3])),
        _ => text.strip_prefix('#').ok_or_else(wrong)?,
    };
    let digits = digits.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8));
    match *digits.collect::<Option<Vec<u8>>>().ok_or_else(wrong)? {
        [r, g, b] => Ok(Some([r * 17, g * 17, b * 17])),
        [r, red, g, green, b, blue] => Ok(Some([16 * r + red, 16 * g + green, 16 * b + blue])),
        _ => Err(wrong()),
    }
}

fn number(text: &str) -> Result<f32> {
    let number = text.trim().parse::<f32>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("'{text}' is not a number"))
}

/// Numbers separated by whitespace or commas.
fn numbers(text: &str) -> Result<Vec<f32>> {
    text.split([' ', ',', '\t', '\n', '\r']).filter(|word| !word.is_empty()).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paints elements on 40 by 40 units, one pixel each, and returns the opacity of every pixel.
    fn painted(elements: &str) -> Vec<Vec<u8>> {
        rows(elements, 40.0, 40.0, 1.0).iter().map(|row| row.iter().map(|pixel| pixel[3]).collect()).collect()
    }

    fn rows(elements: &str, width: f32, height: f32, scale: f32) -> Vec<Vec<[u8; 4]>> {
        let svg =
            format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\">{elements}</svg>");
        let mut canvas = Canvas::new((width * scale) as usize, (height * scale) as usize);
        Figure::read(&svg).unwrap().paint(&mut canvas, scale).unwrap();
        canvas.rows().map(|row| row.as_chunks().0.to_vec()).collect()
    }

    fn refused(elements: &str) -> String {
        let svg = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\">{elements}</svg>");
        Figure::read(&svg).unwrap().paint(&mut Canvas::new(9, 9), 1.0).expect_err(elements)
    }

    /// The bounding box of all painted pixels: left, top, right and bottom.
    fn ink(picture: &[Vec<u8>]) -> [usize; 4] {
        let all = (0..40).flat_map(|y| (0..40).map(move |x| (x, y))).filter(|&(x, y)| picture[y][x] > 0);
        all.fold([40, 40, 0, 0], |[l, t, r, b], (x, y)| [l.min(x), t.min(y), r.max(x + 1), b.max(y + 1)])
    }

    #[test]
    fn a_rectangle_covers_exactly_its_pixels() {
        for scale in [1, 3] {
            let element = "<rect x=\"2\" y=\"3\" width=\"5\" height=\"4\" fill=\"#0072b2\"/>";
            let picture = rows(element, 12.0, 10.0, scale as f32);
            for (y, row) in picture.iter().enumerate() {
                for (x, pixel) in row.iter().enumerate() {
                    let is_inside = (2..7).contains(&(x / scale)) && (3..7).contains(&(y / scale));
                    assert_eq!(*pixel, if is_inside { [0, 0x72, 0xb2, 255] } else { [0; 4] }, "{x} {y}");
                }
            }
        }
        let half = painted("<rect x=\"0.5\" y=\"0\" width=\"2\" height=\"1\"/>");
        assert!(half[0][0].abs_diff(128) < 2 && half[0][1] == 255 && half[0][2].abs_diff(128) < 2, "{:?}", half[0]);
        assert_eq!(painted("<rect width=\"100%\" height=\"50%\"/>").concat(), [[255; 800], [0; 800]].concat());
    }

    #[test]
    fn colours_are_mixed_by_opacity() {
        let below = "<rect width=\"40\" height=\"40\" fill=\"#fff\"/>";
        let element = format!("{below}<rect width=\"40\" height=\"40\" fill=\"#d55e00\" fill-opacity=\"0.4\"/>");
        let expected = [0xd5, 0x5e, 0x00].map(|colour: u32| (0.4 * f64::from(colour) + 0.6 * 255.0).round() as u8);
        assert_eq!(rows(&element, 40.0, 40.0, 1.0)[20][20][..3], expected);
        let alone = rows("<rect width=\"40\" height=\"40\" fill=\"#d55e00\" fill-opacity=\"0.4\"/>", 40.0, 40.0, 1.0);
        let off =
            alone[20][20].iter().zip([0xd5, 0x5e, 0x00, 102]).map(|(one, other): (&u8, u8)| one.abs_diff(other)).max();
        assert!(off <= Some(1), "{:?}", alone[20][20]);
    }

    #[test]
    fn lines_are_as_wide_and_as_long_as_they_say() {
        let picture = painted("<line x1=\"4\" y1=\"5.5\" x2=\"34\" y2=\"5.5\" stroke=\"#222222\"/>");
        let expected: Vec<u8> = (0..40).map(|x| if (4..34).contains(&x) { 255 } else { 0 }).collect();
        assert_eq!((&picture[5], &picture[4], &picture[6]), (&expected, &vec![0; 40], &vec![0; 40]));
        let dashed =
            "<line x1=\"7\" y1=\"2\" x2=\"7\" y2=\"32\" stroke=\"#222\" stroke-width=\"2\" stroke-dasharray=\"5 4\"/>";
        let picture = painted(dashed);
        for (y, row) in picture.iter().enumerate() {
            let expected = if (2..32).contains(&y) && (y - 2) % 9 < 5 { 255 } else { 0 };
            assert_eq!([row[5], row[6], row[7], row[8]], [0, expected, expected, 0], "{y}");
        }
        let picture =
            painted("<polyline points=\"3,3.5 20,3.5 20,30\" fill=\"none\" stroke=\"#222222\" stroke-width=\"2\"/>");
        assert_eq!((ink(&picture), picture[20][12]), ([3, 2, 21, 30], 0));
    }

    #[test]
    fn a_circle_covers_what_samples_say() {
        let (x, y, radius) = (20.3, 18.9, 11.7);
        let elements = [
            format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"),
            format!(
                "<path d=\"M{} {y}a{radius} {radius} 0 0 1 {} 0a{radius} {radius} 0 0 1 -{} 0Z\"/>",
                x - radius,
                2.0 * radius,
                2.0 * radius
            ),
        ];
        for element in elements {
            let picture = painted(&element);
            for at in 0..1600 {
                let samples = (0..1024).filter(|sample| {
                    let place = |index: usize, part: usize| index as f64 + (part as f64 + 0.5) / 32.0;
                    (place(at % 40, sample % 32) - x).hypot(place(at / 40, sample / 32) - y) < radius
                });
                let expected = samples.count() as f64 / 1024.0 * 255.0;
                assert!(
                    (f64::from(picture[at / 40][at % 40]) - expected).abs() < 8.0,
                    "{at}: {} {expected}",
                    picture[at / 40][at % 40]
                );
            }
        }
    }

    #[test]
    fn lines_longer_than_the_package_can_count_are_painted_too() {
        let picture = rows("<path d=\"M0 0L60000 40L0 40Z\"/>", 60000.0, 40.0, 1.0);
        let covered: f64 = picture.iter().flatten().map(|pixel| f64::from(pixel[3]) / 255.0).sum();
        assert!((covered / (60000.0 * 20.0) - 1.0).abs() < 0.005, "{covered}");
        assert_eq!((picture[39][10_000][3], picture[0][10_000][3]), (255, 0));
    }

    #[test]
    fn texts_keep_to_their_anchor() {
        let text = |rest: &str| painted(&format!("<text y=\"25\" font-size=\"13\" {rest}>Hxg</text>"));
        let (_, length) = outlined("Hxg", 13.0);
        assert!(length as f64 <= 13.0 * super::super::figure_text::width_of("Hxg"), "{length}");
        for (rest, from) in [
            ("x=\"1\"", 1.0),
            ("x=\"20\" text-anchor=\"middle\"", 20.0 - length / 2.0),
            ("x=\"39\" text-anchor=\"end\"", 39.0 - length),
        ] {
            let [left, top, right, bottom] = ink(&text(rest)).map(|side| side as f32);
            // Letters have small side bearings; the g descends below the baseline, and the H is lower than the font
            // size.
            assert!(left >= from.floor() && left <= from + 3.0, "{rest}: {left}");
            assert!(right <= (from + length).ceil() && right >= from + length - 3.0, "{rest}: {right}");
            assert!(top > 25.0 - 13.0 && top < 17.0 && bottom > 25.0 && bottom < 30.0, "{rest}: {top} {bottom}");
        }
    }

    #[test]
    fn transforms_move_and_turn() {
        let turned = painted("<rect width=\"4\" height=\"2\" transform=\"translate(10 20) rotate(-90)\"/>");
        assert_eq!(ink(&turned), [10, 16, 12, 20]);
        let title = "<text font-size=\"20\" transform=\"translate(5 30)\"><title>long form</title>x</text>";
        assert_eq!(painted(title), painted("<text font-size=\"20\" x=\"5\" y=\"30\">\n  x </text>"));
    }

    #[test]
    fn what_a_figure_cannot_have_is_refused() {
        for (elements, word) in [
            ("<g/>", "<g>"),
            ("<rect opacity=\"0.5\"/>", "'opacity'"),
            ("<rect fill=\"url(#a)\"/>", "'url(#a)'"),
            ("<rect fill=\"#12345\"/>", "'#12345'"),
            ("<rect x=\"1em\"/>", "'1em'"),
            ("<rect x=\"NaN\"/>", "'NaN'"),
            ("<rect width=\"1e30\" height=\"1\"/>", "far outside"),
            ("<path d=\"M0 0Lx\"/>", "path"),
            ("<text><tspan>x</tspan></text>", "parts"),
            ("<text text-anchor=\"left\">x</text>", "'left'"),
            ("<text transform=\"scale(2)\">x</text>", "'scale(2)'"),
        ] {
            let message = refused(elements);
            assert!(message.contains(word), "{elements}: {message}");
        }
        for svg in ["<html/>", "<svg/>", "<svg viewBox=\"0 0 1\"/>", "<svg viewBox=\"0 0 0 1\"/>"] {
            assert!(Figure::read(svg).is_err(), "{svg}");
        }
    }
}
