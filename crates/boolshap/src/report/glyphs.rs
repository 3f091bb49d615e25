//! A line of text as an outline.
//!
//! A text is split into runs of one direction, which are put into visual order (Unicode Standard Annex 9). In a run
//! every character takes its glyph from the first font that has it; letters of joined scripts take their shapes,
//! ligatures are formed, pairs are kerned, and accents are placed on their letters. Right-to-left runs are reversed at
//! the end, each letter with its accents.

use ttf_parser::gsub::SubstitutionSubtable;
use ttf_parser::opentype_layout::Lookup;
use ttf_parser::{GlyphId, OutlineBuilder};
use unicode_bidi::{BidiInfo, Level};
use zeno::{Command, PathBuilder, Transform};

use super::font::{Font, Shape, fonts};

/// Brackets that are mirrored in right-to-left runs, in pairs.
const MIRRORED: &str = "()[]{}<>\u{ab}\u{bb}\u{2039}\u{203a}\u{2264}\u{2265}";

#[derive(Clone, Copy)]
struct Glyph {
    char: char,
    font: &'static Font,
    id: GlyphId,
    is_mark: bool,
    /// The distance to the next glyph, in ems.
    advance: f32,
}

/// The outline and the length of a text in this size, on the line y = 0 from x = 0 to the right, with y growing
/// downwards.
pub(super) fn outlined(text: &str, size: f32) -> (Vec<Command>, f32) {
    let (mut path, mut pen) = (Vec::new(), 0.0);
    let bidi = BidiInfo::new(text, Some(Level::ltr()));
    for paragraph in &bidi.paragraphs {
        let (levels, runs) = bidi.visual_runs(paragraph, paragraph.range.clone());
        for run in runs {
            let is_turned = levels[run.start].is_rtl();
            let glyphs = glyphs(&text[run], is_turned);
            let mut letters: Vec<&[Glyph]> = glyphs.chunk_by(|_, next| next.is_mark).collect();
            if is_turned {
                letters.reverse();
            }
            for letter in letters {
                draw(letter, is_turned, (&mut pen, size), &mut path);
            }
        }
    }
    (path, pen * size)
}

/// Draws a letter with its accents and moves the pen, which counts in ems.
fn draw(letter: &[Glyph], is_turned: bool, (pen, size): (&mut f32, f32), path: &mut Vec<Command>) {
    let next = *pen + letter[0].advance;
    let mut places: Vec<(f32, f32)> = Vec::with_capacity(letter.len());
    for (index, glyph) in letter.iter().enumerate() {
        // An accent is placed on the previous one if there is a rule for the two, otherwise on the letter.
        let carriers = [index.saturating_sub(1), 0];
        let on = |&at: &usize| {
            let (x, y) = glyph.font.mark_on(letter[at].id, glyph.id).filter(|_| same_font(&letter[at], glyph))?;
            Some((places[at].0 + x, places[at].1 + y))
        };
        let place = match index {
            0 => (*pen, 0.0),
            // Without a rule its outline reaches back from the end of the letter.
            _ => carriers.iter().find_map(on).unwrap_or((if is_turned { *pen } else { next }, 0.0)),
        };
        places.push(place);
        let scale = size * glyph.font.ems(1);
        let transform = Transform::new(scale, 0.0, 0.0, -scale, place.0 * size, -place.1 * size);
        glyph.font.face().outline_glyph(glyph.id, &mut Pen { path, transform });
    }
    *pen = next;
}

/// The glyphs of a run, in reading order.
fn glyphs(run: &str, is_turned: bool) -> Vec<Glyph> {
    let mut glyphs: Vec<Glyph> = Vec::with_capacity(run.len());
    for char in run.chars() {
        let glyph = chosen(if is_turned { mirrored(char) } else { char }, glyphs.last());
        glyphs.push(glyph);
    }
    join(&mut glyphs);
    glyphs.retain(|glyph| !is_invisible(glyph.char));
    for font in fonts() {
        font.ligatures().iter().for_each(|lookup| ligate(&mut glyphs, font, lookup));
    }
    for glyph in &mut glyphs {
        glyph.advance =
            glyph.font.face().glyph_hor_advance(glyph.id).map_or(0.0, |units| glyph.font.ems(1) * f32::from(units));
    }
    if !is_turned {
        kern(&mut glyphs);
    }
    glyphs
}

/// The glyph of a character, from the first font that has it; for an accent, from the font of its letter if possible.
fn chosen(char: char, before: Option<&Glyph>) -> Glyph {
    let of = |font: &'static Font| font.face().glyph_index(char).map(|id| (font, id));
    let on_letter = before.and_then(|before| of(before.font)).filter(|(font, id)| font.is_mark(*id));
    let found = on_letter.or_else(|| fonts().iter().find_map(of));
    // A character that no font has becomes an empty box.
    let (font, id) = found.unwrap_or((&fonts()[0], GlyphId(0)));
    let is_mark = before.is_some_and(|before| !is_invisible(before.char)) && font.is_mark(id);
    Glyph { char, font, id, is_mark, advance: 0.0 }
}

fn mirrored(char: char) -> char {
    match MIRRORED.chars().position(|other| other == char) {
        Some(index) => MIRRORED.chars().nth(index ^ 1).unwrap_or(char),
        None => char,
    }
}

/// Whether a character only controls how others are shown.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// Gives letters of joined scripts their shapes.
fn join(glyphs: &mut [Glyph]) {
    // The zero-width joiner and the tatweel join on both sides.
    let always = |glyph: &Glyph| matches!(glyph.char, '\u{200d}' | '\u{640}');
    let letters: Vec<usize> = (0..glyphs.len()).filter(|&at| !glyphs[at].is_mark).collect();
    let joined: Vec<bool> = letters
        .windows(2)
        .map(|pair| (&glyphs[pair[0]], &glyphs[pair[1]]))
        .map(|(left, right)| {
            (always(left) || left.font.joins_after(left.id)) && (always(right) || right.font.joins_before(right.id))
        })
        .collect();
    for (index, &at) in letters.iter().enumerate() {
        let before = index > 0 && joined[index - 1];
        let after = joined.get(index) == Some(&true);
        let shape = match (before, after) {
            (true, true) => Shape::Medial,
            (true, false) => Shape::Final,
            (false, true) => Shape::Initial,
            (false, false) => continue,
        };
        glyphs[at].id = glyphs[at].font.shaped(glyphs[at].id, shape);
    }
}

/// Merges glyphs according to the rules of this lookup.
fn ligate(glyphs: &mut Vec<Glyph>, font: &'static Font, lookup: &Lookup<'static>) {
    let mut at = 0;
    while at < glyphs.len() {
        if let Some((id, parts)) = ligature(&glyphs[at..], font, lookup) {
            glyphs[at].id = id;
            for part in parts.iter().rev() {
                glyphs.remove(at + part);
            }
        }
        at += 1;
    }
}

/// The glyph that replaces the first glyph and some later ones, and the positions of the latter.
fn ligature(glyphs: &[Glyph], font: &'static Font, lookup: &Lookup<'static>) -> Option<(GlyphId, Vec<usize>)> {
    let first = glyphs.first().filter(|glyph| std::ptr::eq(glyph.font, font))?;
    lookup.subtables.into_iter::<SubstitutionSubtable<'_>>().find_map(|table| {
        let SubstitutionSubtable::Ligature(table) = table else { return None };
        let ligatures = table.ligature_sets.get(table.coverage.get(first.id)?)?;
        ligatures.into_iter().find_map(|ligature| {
            let mut candidates = (1..glyphs.len()).filter(|&at| !(lookup.flags.ignore_marks() && glyphs[at].is_mark));
            let fits = |&at: &usize, part: GlyphId| glyphs[at].id == part && same_font(&glyphs[at], first);
            let parts = ligature.components.into_iter().map(|part| candidates.next().filter(|at| fits(at, part)));
            Some((ligature.glyph, parts.collect::<Option<Vec<usize>>>()?))
        })
    })
}

/// Moves pairs of letters together.
fn kern(glyphs: &mut [Glyph]) {
    let letters: Vec<usize> = (0..glyphs.len()).filter(|&at| !glyphs[at].is_mark).collect();
    for pair in letters.windows(2) {
        let (left, right) = (glyphs[pair[0]], glyphs[pair[1]]);
        if same_font(&left, &right) {
            glyphs[pair[0]].advance += left.font.kerning(left.id, right.id);
        }
    }
}

fn same_font(one: &Glyph, other: &Glyph) -> bool {
    std::ptr::eq(one.font, other.font)
}

/// Transforms the outline of a glyph to its place.
struct Pen<'a> {
    path: &'a mut Vec<Command>,
    transform: Transform,
}

impl Pen<'_> {
    fn at(&self, x: f32, y: f32) -> zeno::Point {
        self.transform.transform_point(zeno::Point::new(x, y))
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let to = self.at(x, y);
        self.path.move_to(to);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let to = self.at(x, y);
        self.path.line_to(to);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (by, to) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(by, to);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (from, by, to) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.curve_to(from, by, to);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> (Vec<Command>, f32) {
        outlined(text, 20.0)
    }

    /// Letters set one by one, each at the end of the previous one.
    fn one_by_one(letters: &[&str]) -> (Vec<Command>, f32) {
        letters.iter().fold((Vec::new(), 0.0), |(mut path, pen), letter| {
            let (outline, length) = line(letter);
            path.extend(outline.iter().map(|command| command.transform(&Transform::translation(pen, 0.0))));
            (path, pen + length)
        })
    }

    /// The parts of a glyph may come in any order.
    fn assert_same((one, length): (Vec<Command>, f32), (other, other_length): (Vec<Command>, f32), text: &str) {
        let sorted = |path: &[Command], side: fn(&zeno::Point) -> f32| -> Vec<f32> {
            let ends = path.iter().filter_map(|command| match command {
                Command::MoveTo(to) | Command::LineTo(to) | Command::QuadTo(_, to) | Command::CurveTo(_, _, to) => {
                    Some(side(to))
                }
                Command::Close => None,
            });
            let mut sides: Vec<f32> = ends.collect();
            sides.sort_by(f32::total_cmp);
            sides
        };
        assert!((length - other_length).abs() < 0.01, "{text}: {length} {other_length}");
        for side in [|point: &zeno::Point| point.x, |point: &zeno::Point| point.y] {
            let (one, other) = (sorted(&one, side), sorted(&other, side));
            assert_eq!(one.len(), other.len(), "{text}");
            assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 0.01), "{text}");
        }
    }

    #[test]
    fn directions_are_seen_as_people_read_them() {
        let (alef, bet, gimel) = ("\u{5d0}", "\u{5d1}", "\u{5d2}");
        assert_same(line("\u{5d0}\u{5d1}\u{5d2}"), one_by_one(&[gimel, bet, alef]), "Hebrew");
        assert_same(line("n \u{5d0}\u{5d1}x"), one_by_one(&["n", " ", bet, alef, "x"]), "Hebrew within Latin");
        assert_same(line("\u{5d0}\u{5d1}12"), one_by_one(&["12", bet, alef]), "numbers run to the right");
        assert_same(line("\u{5d0}(\u{5d1})\u{5d2}"), one_by_one(&[gimel, "(", bet, ")", alef]), "brackets are turned");
    }

    #[test]
    fn joined_letters_have_the_shapes_of_the_presentation_forms() {
        for (letters, forms) in [
            ("\u{628}", "\u{fe8f}"),
            ("\u{628}\u{628}", "\u{fe91}\u{fe90}"),
            ("\u{628}\u{628}\u{628}", "\u{fe91}\u{fe92}\u{fe90}"),
            // Alef and dal join only the letter before them.
            ("\u{628}\u{627}\u{628}", "\u{fe91}\u{fe8e}\u{fe8f}"),
            ("\u{62f}\u{633}\u{62f}", "\u{fea9}\u{feb3}\u{feaa}"),
            ("\u{644}\u{627}", "\u{fefb}"),
            ("\u{628}\u{644}\u{627}", "\u{fe91}\u{fefc}"),
            // The zero-width non-joiner and joiner.
            ("\u{628}\u{200c}\u{628}", "\u{fe8f}\u{fe8f}"),
            ("\u{628}\u{200d}\u{200c}\u{628}", "\u{fe91}\u{fe8f}"),
            ("\u{639}\u{645}\u{631} 65", "\u{fecb}\u{fee4}\u{feae} 65"),
        ] {
            assert_same(line(letters), line(forms), letters);
        }
        // A vowel sign between two letters does not keep them from joining.
        let vowel = line("\u{628}\u{64e}\u{628}");
        assert!((vowel.1 - line("\u{fe91}\u{fe90}").1).abs() < 0.01);
        assert!(vowel.0.len() > line("\u{fe91}\u{fe90}").0.len());
    }

    #[test]
    fn accents_lie_on_their_letters() {
        for (parts, whole) in [("e\u{301}", "\u{e9}"), ("u\u{308}", "\u{fc}"), ("n\u{303}", "\u{f1}")] {
            let ((parts_path, length), (whole_path, whole_length)) = (line(parts), line(whole));
            assert!((length - whole_length).abs() < 0.01, "{whole}");
            let (one, other) = (
                zeno::bounds(&parts_path, zeno::Fill::NonZero, None),
                zeno::bounds(&whole_path, zeno::Fill::NonZero, None),
            );
            for (a, b) in [(one.min, other.min), (one.max, other.max)] {
                assert!(a.distance_to(b) < 0.6, "{whole}: {a:?} {b:?}");
            }
        }
    }

    #[test]
    fn pairs_are_kerned_and_invisible_characters_take_no_room() {
        assert!(line("AV").1 < one_by_one(&["A", "V"]).1 - 0.3);
        assert_same(line("a\u{200b}\u{feff}b"), line("ab"), "invisible");
        assert_eq!(line("").1, 0.0);
        // A mark without a letter is drawn alone.
        assert!(!line("\u{301}").0.is_empty());
    }
}
