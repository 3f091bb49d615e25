//! Figures as PNG pictures, for papers and slides. Fonts come along, so that a picture is the same on every machine.

use std::sync::{Arc, OnceLock};

use resvg::{tiny_skia, usvg};

/// Beyond this many pixels a picture takes more memory than it is worth.
const MOST_PIXELS: f64 = 100e6;

/// Paints an SVG text as a PNG picture, `scale` pixels to its unit.
///
/// Texts are set in Noto Sans, and in DejaVu Sans where it has a sign that Noto Sans lacks; the machine's own fonts
/// are not looked at. A picture of more than 100 megapixels is refused.
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
    let options = usvg::Options { fontdb: Arc::clone(fonts()), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| format!("This SVG cannot be painted: {error}."))?;
    let size = tree.size();
    let side = |units: f32| (f64::from(units) * f64::from(scale)).ceil().max(1.0);
    let (width, height) = (side(size.width()), side(size.height()));
    if width * height > MOST_PIXELS {
        return Err(format!(
            "A picture of {width} by {height} pixels has more than 100 megapixels: take a smaller scale than {scale}, \
             or the SVG itself."
        ));
    }
    let mut picture = tiny_skia::Pixmap::new(width as u32, height as u32)
        .ok_or_else(|| format!("There is no room for a picture of {width} by {height} pixels."))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut picture.as_mut());
    picture.encode_png().map_err(|error| format!("The picture cannot be written as PNG: {error}."))
}

/// The fonts that come along; the first has the looks, the second the signs of logic and most alphabets.
fn fonts() -> &'static Arc<usvg::fontdb::Database> {
    static FONTS: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    FONTS.get_or_init(|| {
        let mut fonts = usvg::fontdb::Database::new();
        for font in [notosans::REGULAR_TTF, dejavu::sans::regular()] {
            fonts.load_font_source(usvg::fontdb::Source::Binary(Arc::new(font)));
        }
        fonts.set_sans_serif_family("Noto Sans");
        Arc::new(fonts)
    })
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
        // What no font has is painted as an empty box, here that of a private sign.
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
