//! The report: the page and its figures.
//!
//! A [`Subject`] describes a circuit in words, [`Rows`] are the data grouped into kinds, a [`Survey`] has the scores of
//! all kinds. [`Page`] puts them into one HTML file, or fills the live page of a server. Figures are drawn here as
//! SVG, so that the same drawing can be used on the page, in a paper and on a slide; a charting library for browsers
//! would add megabytes to every page and could not write files. The page's own script draws the waterfall of a selected
//! row.

mod axis;
mod beeswarm_dots;
mod beeswarm_figure;
#[cfg(feature = "page")]
mod beside;
#[cfg(feature = "report")]
mod canvas;
#[cfg(feature = "page")]
mod carried;
mod circuit_figure;
mod dependence_figure;
mod figure_text;
#[cfg(feature = "report")]
mod font;
#[cfg(feature = "report")]
mod glyphs;
mod graph_figure;
mod graph_layout;
mod heat_map_figure;
mod image;
mod image_figure;
mod importance_figure;
#[cfg(feature = "page")]
mod live;
#[cfg(feature = "page")]
mod live_figures;
#[cfg(feature = "page")]
mod page;
#[cfg(feature = "report")]
mod page_file;
#[cfg(feature = "page")]
mod page_waterfall;
mod performance;
#[cfg(feature = "report")]
mod png;
mod row_search;
mod rows;
mod rows_figure;
mod short_names;
mod survey;
mod svg;
#[cfg(feature = "report")]
mod svg_painter;
mod timing_figure;
mod waterfall_figure;
mod words;

pub use crate::data::short_number;
pub use crate::lit::thousands;
pub use beeswarm_figure::{SwarmDot, SwarmRow, SwarmValue, beeswarm_figure, narrow_beeswarm_figure};
#[cfg(feature = "page")]
pub use beside::Beside;
#[cfg(feature = "page")]
pub use carried::{Carried, CarriedRows, MOST_CARRIED_BYTES, split_carried};
pub use circuit_figure::{MAX_DRAWN_NODES, circuit_figure};
pub use dependence_figure::{DependencePoint, dependence_figure};
pub use graph_figure::{EdgeStyle, Graph, GraphKind, GraphNode, graph_figure};
pub use heat_map_figure::heat_map_figure;
pub use image::picture;
pub use image_figure::{Picture, Tile, image_figure};
pub use importance_figure::{importance_figure, narrow_importance_figure};
#[cfg(feature = "page")]
pub use live::{LiveReport, PageChoice};
#[cfg(feature = "page")]
pub use live_figures::FigureAsked;
#[cfg(feature = "page")]
pub use page::{Figure, Page};
#[cfg(feature = "report")]
use page_file::served_html;
#[cfg(feature = "report")]
pub use page_file::{ENGINE_MODULE, PAGE_SCRIPT, PAGE_STYLE};
pub use performance::Performance;
#[cfg(feature = "report")]
pub use png::png;
pub use row_search::{RowOrder, RowSearch};
pub use rows::{RawColumn, RawValue, RowTable, Rows};
pub use rows_figure::{HeatRow, rows_figure};
pub use short_names::short_names;
pub use survey::Survey;
pub use timing_figure::{Series, timing_figure};
pub use waterfall_figure::{Waterfall, WaterfallStep, waterfall_figure};
pub use words::{ColumnWords, FeatureWords, Subject, base_words, game_words};
