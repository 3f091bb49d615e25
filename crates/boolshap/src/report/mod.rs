//! What people look at.

mod timing_figure;

pub use timing_figure::{Series, timing_figure};
