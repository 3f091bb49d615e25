//! A small SVG writer shared by the figures: shapes that a page can theme, and escaped texts.

use super::figure_text::{escape, shorten, shown};
use std::fmt::Write;

/// The width of figures, unless their content needs more.
pub(super) const WIDTH: f64 = 720.0;
/// The width of figures for a phone, in which names are above the shapes that they name.
pub(super) const NARROW: f64 = 360.0;
const FONT: &str = "Ubuntu, 'Helvetica Neue', Arial, sans-serif";

/// The role of a shape: its class, by which a page themes it, and its default style without a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Text.
    Ink,
    /// Secondary text, and shapes for everything else.
    Muted,
    /// Faint lines.
    Grid,
    /// Main lines.
    Line,
    /// Amounts without a direction.
    Bar,
    /// Contributions towards 1.
    Towards1,
    /// Contributions towards 0.
    Towards0,
    /// A feature that is 1.
    One,
    /// A feature that is 0.
    Zero,
}

impl Class {
    fn attributes(self) -> &'static str {
        match self {
            Self::Ink => "class=\"ink\" fill=\"#222222\"",
            Self::Muted => "class=\"muted\" fill=\"#666666\"",
            Self::Grid => "class=\"grid\" fill=\"none\" stroke=\"#dddddd\"",
            Self::Line => "class=\"line\" fill=\"none\" stroke=\"#222222\"",
            Self::Bar => "class=\"bar\" fill=\"#009e73\"",
            Self::Towards1 => "class=\"towards1\" fill=\"#d55e00\"",
            Self::Towards0 => "class=\"towards0\" fill=\"#0072b2\"",
            Self::One => "class=\"one\" fill=\"#7d3c6f\"",
            Self::Zero => "class=\"zero\" fill=\"#d9a3cb\"",
        }
    }
}

/// How a text is aligned to its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// An unfinished drawing; the size is given at the end.
#[derive(Debug, Default)]
pub(super) struct Svg {
    body: String,
}

impl Svg {
    /// Writes one element. `rest` holds further attributes, already escaped; a page shows the tip as a tooltip.
    fn put(&mut self, element: &str, class: Class, tip: Option<&str>, rest: &str) {
        let tip = tip.map(|tip| format!(" data-tip=\"{}\"", escape(tip))).unwrap_or_default();
        writeln!(self.body, "<{element} {}{rest}{tip}/>", class.attributes()).expect("a text takes everything");
    }

    pub(super) fn rect(&mut self, class: Class, [x, y, width, height]: [f64; 4], opacity: f64, tip: Option<&str>) {
        let opacity = if opacity < 1.0 { format!(" fill-opacity=\"{opacity:.3}\"") } else { String::new() };
        let rest = format!(" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"{opacity}");
        self.put("rect", class, tip, &rest);
    }

    /// A cell of a heat map, with the row that a page opens on a click.
    pub(super) fn cell(&mut self, class: Class, place: [f64; 4], opacity: f64, row: Option<u64>, tip: &str) {
        let [x, y, width, height] = place;
        let row = row.map(|row| format!(" data-row=\"{row}\"")).unwrap_or_default();
        let rest = format!(
            " x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill-opacity=\"{opacity:.2}\"{row}"
        );
        self.put("rect", class, Some(tip), &rest);
    }

    /// A line, dashed if `dashes` is a dash pattern.
    pub(super) fn line(&mut self, class: Class, [x1, y1, x2, y2]: [f64; 4], dashes: &str) {
        let mut rest = format!(" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"");
        if !dashes.is_empty() {
            write!(rest, " stroke-dasharray=\"{}\"", escape(dashes)).expect("a text takes everything");
        }
        self.put("line", class, None, &rest);
    }

    /// A dot; `row` is the example that a page opens on a click.
    pub(super) fn circle(&mut self, class: Class, [x, y, radius]: [f64; 3], row: Option<u64>, tip: Option<&str>) {
        let row = row.map(|row| format!(" data-row=\"{row}\"")).unwrap_or_default();
        let rest = format!(" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.2}\" fill-opacity=\"0.8\"{row}");
        self.put("circle", class, tip, &rest);
    }

    /// A path with data `d`; `more` holds attributes made of numbers and constants only.
    pub(super) fn path(&mut self, class: Class, d: &str, more: &str, tip: Option<&str>) {
        self.put("path", class, tip, &format!(" d=\"{}\"{more}", escape(d)));
    }

    /// A text in full.
    pub(super) fn text(&mut self, class: Class, [x, y, size]: [f64; 3], anchor: Anchor, text: &str) {
        self.put_text(class, &format!("x=\"{x:.1}\" y=\"{y:.1}\""), size, anchor, (&escape(text), ""));
    }

    /// A text shortened to `room`; its full form is its title and its tip.
    pub(super) fn name(&mut self, class: Class, [x, y, size]: [f64; 3], anchor: Anchor, room: f64, name: &str) {
        let more = format!(" data-tip=\"{}\"", escape(shown(name)));
        let inner = format!("<title>{}</title>{}", escape(shown(name)), escape(&shorten(name, room / size)));
        self.put_text(class, &format!("x=\"{x:.1}\" y=\"{y:.1}\""), size, anchor, (&inner, &more));
    }

    /// The same, slanted upwards to the right.
    pub(super) fn slanted_name(&mut self, class: Class, [x, y, size]: [f64; 3], room: f64, name: &str) {
        let more = format!(" data-tip=\"{}\"", escape(shown(name)));
        let inner = format!("<title>{}</title>{}", escape(shown(name)), escape(&shorten(name, room / size)));
        let place = format!("transform=\"translate({x:.1} {y:.1}) rotate(-45)\"");
        self.put_text(class, &place, size, Anchor::Start, (&inner, &more));
    }

    fn put_text(&mut self, class: Class, place: &str, size: f64, anchor: Anchor, (inner, more): (&str, &str)) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let class = class.attributes();
        writeln!(self.body, "<text {class} {place} font-size=\"{size}\"{anchor}{more}>{inner}</text>")
            .expect("a text takes everything");
    }

    /// The complete document; `label` is for screen readers.
    pub(super) fn finish(self, width: f64, height: f64, label: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{}\" font-family=\"{FONT}\" \
             font-size=\"13\">\n<rect class=\"paper\" fill=\"#ffffff\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
            escape(label),
            self.body,
        )
    }
}

/// A document that shows a sentence instead of a figure.
pub(super) fn sentence(text: &str) -> String {
    let mut svg = Svg::default();
    svg.text(Class::Muted, [WIDTH / 2.0, 45.0, 13.0], Anchor::Middle, text);
    svg.finish(WIDTH, 80.0, text)
}

/// Inspects figures, for the tests of all of them.
#[cfg(test)]
pub(super) mod parsed {
    use roxmltree::Document;

    /// Names that try to break a figure.
    pub(in super::super) fn hostile_names() -> Vec<String> {
        let names = [
            "</text><script>alert(1)</script>",
            "\" onload=\"alert('1')",
            "",
            "\u{0}\u{1}\u{b}\u{fffe}\u{ffff}\u{7f}",
            "\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
            "\u{202e}turned",
            "]]>&amp;&#0;<!--",
            "a\nb\tc",
        ];
        names.map(String::from).into_iter().chain([String::from("\u{65e5}\u{672c}").repeat(5000)]).collect()
    }

    /// Checks that a figure is well-formed, has no active content, and that all its shapes can be themed.
    pub(in super::super) fn parsed(svg: &str) -> Document<'_> {
        let document = Document::parse(svg).expect("a figure is XML");
        for element in document.descendants().filter(|node| node.is_element()) {
            let name = element.tag_name().name();
            assert!(["svg", "rect", "text", "line", "circle", "path", "title"].contains(&name), "{name}");
            assert!(element.attributes().all(|attribute| !attribute.name().starts_with("on")), "{name}");
            assert!(["svg", "title"].contains(&name) || element.attribute("class").is_some(), "{name}");
            for attribute in element.attributes().filter(|attribute| attribute.name() != "data-tip") {
                let value = attribute.value();
                assert!(!value.contains("NaN") && !value.contains("inf"), "{name} {}={value}", attribute.name());
            }
        }
        assert_eq!(document.root_element().attribute("role"), Some("img"));
        document
    }

    /// The tips of all shapes, in order, without those of shortened names.
    pub(in super::super) fn tips(svg: &str) -> Vec<String> {
        let document = parsed(svg);
        let shapes = document.descendants().filter(|node| node.is_element() && node.tag_name().name() != "text");
        shapes.filter_map(|shape| shape.attribute("data-tip").map(String::from)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::parsed::{hostile_names, parsed};
    use super::*;

    #[test]
    fn written_texts_are_read_back() {
        for name in hostile_names() {
            let mut svg = Svg::default();
            svg.rect(Class::Bar, [0.0, 0.0, 1.0, 1.0], 0.5, Some(&name));
            svg.name(Class::Ink, [0.0, 0.0, 10.0], Anchor::End, 100.0, &name);
            svg.slanted_name(Class::Ink, [0.0, 0.0, 10.0], 100.0, &name);
            let svg = svg.finish(10.0, 10.0, &name);
            let document = parsed(&svg);
            let titles: Vec<_> = document
                .descendants()
                .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "title")))
                .collect();
            assert_eq!(titles.len(), 2);
            if name.starts_with(['<', ']']) {
                assert_eq!(titles[0].text(), Some(name.as_str()));
                assert_eq!(document.root_element().attribute("aria-label"), Some(name.as_str()));
            }
        }
        parsed(&sentence("<nothing>"));
    }
}
