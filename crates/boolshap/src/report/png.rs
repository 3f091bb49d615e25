//! Figures as PNG pictures, for papers and slides. Fonts are bundled, so a picture is the same on every machine.
//!
//! A PNG file is a signature and chunks, each with its length, its name, its bytes and a checksum of name and bytes:
//! the size and type of the picture, its compressed rows, the end. Each row begins with its filter type, here none,
//! because that compresses figures best. (ISO/IEC 15948.)

use std::io::Write;

use flate2::{Compression, write::ZlibEncoder};

use super::canvas::Canvas;
use super::svg_painter::Figure;

/// The most pixels of a picture, to limit memory.
const MOST_PIXELS: f64 = 100e6;

/// Paints a figure of this module as a PNG picture, `scale` pixels to its unit.
///
/// Texts are set in Noto Sans, with DejaVu Sans for characters that Noto Sans lacks; the machine's own fonts are not
/// used. A picture of more than 100 megapixels is refused, and so is an SVG with elements or attributes that the
/// figures of this module do not use.
///
/// ```
/// use boolshap::report::{importance_figure, png};
/// let picture = png(&importance_figure(&[("x1".into(), 0.25)]), 2.0)?;
/// assert_eq!(&picture[1..4], b"PNG");
/// assert!(png("not an SVG", 1.0).is_err());
/// # Ok::<(), String>(())
/// ```
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, String> {
    if !(scale > 0.0 && scale.is_finite()) {
        return Err(format!("A picture needs a scale above 0, not {scale}."));
    }
    let unpaintable = |problem| format!("This SVG cannot be painted: {problem}.");
    let figure = Figure::read(svg).map_err(unpaintable)?;
    let side = |units: f32| (f64::from(units) * f64::from(scale)).ceil().max(1.0);
    let (width, height) = (side(figure.size().0), side(figure.size().1));
    if width * height > MOST_PIXELS {
        return Err(format!(
            "A picture of {width} by {height} pixels has more than 100 megapixels: take a smaller scale than {scale}, \
             or the SVG itself."
        ));
    }
    let mut canvas = Canvas::new(width as usize, height as usize);
    figure.paint(&mut canvas, scale).map_err(unpaintable)?;
    encoded(&canvas, [width as u32, height as u32]).map_err(|error| format!("The picture cannot be packed: {error}."))
}

fn encoded(canvas: &Canvas, [width, height]: [u32; 2]) -> std::io::Result<Vec<u8>> {
    const NO_FILTER: u8 = 0;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in canvas.rows() {
        packed.write_all(&[NO_FILTER])?;
        packed.write_all(&row)?;
    }
    // Eight bits per channel, RGBA; the only defined compression and filter methods; not interlaced.
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, bytes) in [(b"IHDR", header), (b"IDAT", packed.finish()?), (b"IEND", Vec::new())] {
        let chunk = [&name[..], &bytes].concat();
        file.extend((bytes.len() as u32).to_be_bytes());
        file.extend(&chunk);
        file.extend(crc32fast::hash(&chunk).to_be_bytes());
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::super::svg::{Anchor, Class, Svg, parsed::hostile_names};
    use super::*;

    fn text(text: &str) -> String {
        let mut svg = Svg::default();
        svg.text(Class::Ink, [20.0, 30.0, 20.0], Anchor::Middle, text);
        svg.finish(40.0, 40.0, "a text")
    }

    #[test]
    fn signs_are_painted_each_in_its_own_way() {
        // A character that no font has, here a private-use one, is painted as an empty box.
        let missing = png(&text("\u{f8ff}"), 1.0).unwrap();
        let blank = png(&text(" "), 1.0).unwrap();
        let mut seen = vec![missing, blank];
        for sign in
            "\u{2227}\u{2228}\u{ac}\u{22a4}\u{22a5}\u{2212}\u{2026}\u{2192}x\u{3b1}\u{436}\u{5d0}\u{639}".chars()
        {
            let picture = png(&text(&sign.to_string()), 1.0).unwrap();
            assert!(!seen.contains(&picture), "{sign}");
            assert_eq!(picture, png(&text(&sign.to_string()), 1.0).unwrap());
            seen.push(picture);
        }
    }

    #[test]
    fn a_picture_has_the_size_asked_for() {
        let side = |picture: &[u8], at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().unwrap());
        let picture = png(&text("x"), 2.5).unwrap();
        assert_eq!([side(&picture, 16), side(&picture, 20)], [100, 100]);
    }

    #[test]
    fn a_picture_can_be_read_back() {
        let svg = text("\u{5d0}x");
        let mut canvas = Canvas::new(80, 80);
        Figure::read(&svg).unwrap().paint(&mut canvas, 2.0).unwrap();
        let picture = png(&svg, 2.0).unwrap();
        let (mut rest, mut names, mut rows) = (&picture[8..], Vec::new(), Vec::new());
        while !rest.is_empty() {
            let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
            let (name, bytes) = (&rest[4..8], &rest[8..8 + length]);
            assert_eq!(rest[8 + length..12 + length], crc32fast::hash(&rest[4..8 + length]).to_be_bytes());
            if name == b"IDAT" {
                std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(bytes), &mut rows).unwrap();
            }
            names.push(name);
            rest = &rest[12 + length..];
        }
        assert_eq!(names, [b"IHDR", b"IDAT", b"IEND"]);
        for (row, expected) in rows.chunks(321).zip(canvas.rows()) {
            assert_eq!((row[0], &row[1..]), (0, &expected[..]));
        }
        assert_eq!(rows.len(), 80 * 321);
    }

    #[test]
    fn what_cannot_be_painted_is_refused_with_a_sentence() {
        assert!(png(&text("x"), 300.0).unwrap_err().contains("more than 100 megapixels"));
        assert!(png(&text("x"), f32::MAX).unwrap_err().contains("more than 100 megapixels"));
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(png(&text("x"), scale).unwrap_err().contains("scale above 0"));
        }
        assert!(png("<svg", 1.0).unwrap_err().contains("cannot be painted"));
        for name in hostile_names() {
            png(&text(&name.chars().take(100).collect::<String>()), 1.0).unwrap();
        }
    }
}
