//! The two bundled fonts, and the rules for adjacent glyphs in their OpenType tables.
//!
//! A font stores rules in numbered lookups and refers to them by features: `init`, `medi` and `fina` give a letter of a
//! joined script its shape in a word, `rlig`, `liga` and `ccmp` merge several glyphs into one, `kern` adjusts the space
//! between a pair, `mark` and `mkmk` put an accent on its letter. The same rules tell which letters join: a letter with
//! a final shape joins the one before, a letter with an initial shape the one after. Rules that depend on a wider
//! context are ignored; the alphabets of these fonts are readable without them.

use std::sync::OnceLock;

use ttf_parser::gpos::{Anchor, AnchorMatrix, MarkArray, PairAdjustment, PositioningSubtable};
use ttf_parser::gsub::{SingleSubstitution, SubstitutionSubtable};
use ttf_parser::opentype_layout::{Coverage, LayoutTable, Lookup};
use ttf_parser::{Face, GlyphId, Tag, gdef::GlyphClass};

/// The position of a letter in a word of a joined script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Initial,
    Medial,
    Final,
}

/// A font, with the lookups of its features at hand.
pub(super) struct Font {
    face: Face<'static>,
    initial: Vec<Lookup<'static>>,
    medial: Vec<Lookup<'static>>,
    last: Vec<Lookup<'static>>,
    ligatures: Vec<Lookup<'static>>,
    kerning: Vec<Lookup<'static>>,
    marks: Vec<Lookup<'static>>,
}

/// The fonts: the first for its looks, the second for logic symbols and most alphabets.
pub(super) fn fonts() -> &'static [Font; 2] {
    static FONTS: OnceLock<[Font; 2]> = OnceLock::new();
    FONTS.get_or_init(|| [notosans::REGULAR_TTF, dejavu::sans::regular()].map(Font::new))
}

impl Font {
    fn new(bytes: &'static [u8]) -> Self {
        let face = Face::parse(bytes, 0).expect("a font that comes along is whole");
        let glyphs = |tags: &[&[u8; 4]]| face.tables().gsub.map_or(Vec::new(), |table| lookups(&table, tags));
        let places = |tags: &[&[u8; 4]]| face.tables().gpos.map_or(Vec::new(), |table| lookups(&table, tags));
        Font {
            initial: glyphs(&[b"init"]),
            medial: glyphs(&[b"medi"]),
            last: glyphs(&[b"fina"]),
            ligatures: glyphs(&[b"ccmp", b"rlig", b"liga"]),
            kerning: places(&[b"kern"]),
            marks: places(&[b"mark", b"mkmk"]),
            face,
        }
    }

    pub(super) fn face(&self) -> &Face<'static> {
        &self.face
    }

    /// Whether the glyph is an accent or a vowel sign on the glyph before it.
    pub(super) fn is_mark(&self, glyph: GlyphId) -> bool {
        self.face.tables().gdef.is_some_and(|gdef| gdef.glyph_class(glyph) == Some(GlyphClass::Mark))
    }

    /// Whether a letter joins the one before it.
    pub(super) fn joins_before(&self, letter: GlyphId) -> bool {
        substitute(&self.last, letter).is_some()
    }

    /// Whether a letter joins the one after it.
    pub(super) fn joins_after(&self, letter: GlyphId) -> bool {
        substitute(&self.initial, letter).is_some() || substitute(&self.medial, letter).is_some()
    }

    /// The letter in this shape, or unchanged if the font has no such shape.
    pub(super) fn shaped(&self, letter: GlyphId, shape: Shape) -> GlyphId {
        let lookups = match shape {
            Shape::Initial => &self.initial,
            Shape::Medial => &self.medial,
            Shape::Final => &self.last,
        };
        substitute(lookups, letter).unwrap_or(letter)
    }

    /// The rules that merge several glyphs into one, in their order.
    pub(super) fn ligatures(&self) -> &[Lookup<'static>] {
        &self.ligatures
    }

    /// By how much a glyph moves towards the next one, in ems.
    pub(super) fn kerning(&self, left: GlyphId, right: GlyphId) -> f32 {
        let moved = self.kerning.iter().find_map(|lookup| {
            lookup.subtables.into_iter::<PositioningSubtable<'_>>().find_map(|table| match table {
                PositioningSubtable::Pair(pairs) => pair(&pairs, left, right),
                _ => None,
            })
        });
        self.ems(moved.unwrap_or(0))
    }

    /// The offset of a mark from the origin of the glyph that carries it, in ems to the right and up.
    pub(super) fn mark_on(&self, carrier: GlyphId, mark: GlyphId) -> Option<(f32, f32)> {
        let place =
            |lookup: &Lookup<'static>| lookup.subtables.into_iter().find_map(|table| anchor(table, carrier, mark));
        // If several rules apply, the last one holds.
        self.marks.iter().rev().find_map(place).map(|(x, y)| (self.ems(x), self.ems(y)))
    }

    /// A length in the font's units as a part of the font size.
    pub(super) fn ems(&self, units: i16) -> f32 {
        f32::from(units) / f32::from(self.face.units_per_em())
    }
}

/// Finds the lookups of some features, for any script and its default language, in the order of the font.
fn lookups(table: &LayoutTable<'static>, tags: &[&[u8; 4]]) -> Vec<Lookup<'static>> {
    let languages = table.scripts.into_iter().filter_map(|script| script.default_language);
    let features = languages.flat_map(|language| language.feature_indices.into_iter());
    let features = features.filter_map(|index| table.features.get(index));
    let wanted = features.filter(|feature| tags.iter().any(|tag| feature.tag == Tag::from_bytes(tag)));
    let mut indices: Vec<u16> = wanted.flat_map(|feature| feature.lookup_indices.into_iter()).collect();
    indices.sort_unstable();
    indices.dedup();
    indices.into_iter().filter_map(|index| table.lookups.get(index)).collect()
}

fn substitute(lookups: &[Lookup<'static>], glyph: GlyphId) -> Option<GlyphId> {
    lookups.iter().find_map(|lookup| {
        lookup.subtables.into_iter::<SubstitutionSubtable<'_>>().find_map(|table| match table {
            SubstitutionSubtable::Single(SingleSubstitution::Format1 { coverage, delta }) => {
                coverage.get(glyph).map(|_| GlyphId(glyph.0.wrapping_add_signed(delta)))
            }
            SubstitutionSubtable::Single(SingleSubstitution::Format2 { coverage, substitutes }) => {
                substitutes.get(coverage.get(glyph)?)
            }
            _ => None,
        })
    })
}

fn pair(pairs: &PairAdjustment<'_>, left: GlyphId, right: GlyphId) -> Option<i16> {
    let index = pairs.coverage().get(left)?;
    let (moved, _) = match pairs {
        PairAdjustment::Format1 { sets, .. } => sets.get(index)?.get(right)?,
        PairAdjustment::Format2 { classes, matrix, .. } => matrix.get((classes.0.get(left), classes.1.get(right)))?,
    };
    Some(moved.x_advance)
}

fn anchor(table: PositioningSubtable<'_>, carrier: GlyphId, mark: GlyphId) -> Option<(i16, i16)> {
    match table {
        PositioningSubtable::MarkToBase(table) => {
            let row = table.base_coverage.get(carrier)?;
            meet(&table.anchors, row, (&table.mark_coverage, &table.marks), mark)
        }
        PositioningSubtable::MarkToLigature(table) => {
            // The marks of all its letters lie on the first one.
            let letters = table.ligature_array.get(table.ligature_coverage.get(carrier)?)?;
            meet(&letters, 0, (&table.mark_coverage, &table.marks), mark)
        }
        PositioningSubtable::MarkToMark(table) => {
            let row = table.mark2_coverage.get(carrier)?;
            meet(&table.mark2_matrix, row, (&table.mark1_coverage, &table.marks), mark)
        }
        _ => None,
    }
}

/// The offset that moves a mark's anchor onto the carrier's anchor for the mark's class, in this row of anchors.
fn meet(
    anchors: &AnchorMatrix<'_>,
    row: u16,
    (coverage, marks): (&Coverage<'_>, &MarkArray<'_>),
    mark: GlyphId,
) -> Option<(i16, i16)> {
    let (class, from): (u16, Anchor<'_>) = marks.get(coverage.get(mark)?)?;
    let to = anchors.get(row, class)?;
    Some((to.x.wrapping_sub(from.x), to.y.wrapping_sub(from.y)))
}
