//! Reads the segments of an image from a PNG file: each colour is one player.

use super::{DataError, Grid};
use std::path::Path;
#[cfg(feature = "report")]
use std::{fs::File, io::BufReader};

/// The most pixels of an image.
#[cfg(feature = "report")]
const MAX_PIXELS: usize = 1 << 24;

/// The colour of each pixel, row by row, as `#rrggbb`, followed by `aa` if it is not opaque.
#[cfg(not(feature = "report"))]
pub fn read_segments(path: &Path) -> Result<(Grid, Vec<String>), DataError> {
    Err(DataError::Image { path: path.into(), message: "this build cannot read PNG files".into() })
}

/// The colour of each pixel, row by row, as `#rrggbb`, followed by `aa` if it is not opaque.
#[cfg(feature = "report")]
pub fn read_segments(path: &Path) -> Result<(Grid, Vec<String>), DataError> {
    let wrong = |message: String| DataError::Image { path: path.into(), message };
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mut decoder = png::Decoder::new_with_limits(BufReader::new(file), png::Limits { bytes: 16 * MAX_PIXELS });
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|error| wrong(error.to_string()))?;
    let (height, width) = (reader.info().height as usize, reader.info().width as usize);
    if height.saturating_mul(width) > MAX_PIXELS {
        return Err(wrong(format!("it has {height}x{width} pixels, more than any features have")));
    }
    let size = reader.output_buffer_size().ok_or_else(|| wrong("it is too large".into()))?;
    let mut bytes = vec![0; size];
    let frame = reader.next_frame(&mut bytes).map_err(|error| wrong(error.to_string()))?;
    let samples = frame.color_type.samples();
    let hex = |parts: &[u8]| parts.iter().map(|part| format!("{part:02x}")).collect::<String>();
    let colour = |pixel: &[u8]| match *pixel {
        [grey] => format!("#{}", hex(&[grey; 3])),
        [grey, 255] => format!("#{}", hex(&[grey; 3])),
        [grey, alpha] => format!("#{}", hex(&[grey, grey, grey, alpha])),
        [r, g, b, 255] => format!("#{}", hex(&[r, g, b])),
        _ => format!("#{}", hex(pixel)),
    };
    let rows = bytes.chunks_exact(frame.line_size).take(height);
    let colours = rows.flat_map(|row| row.chunks_exact(samples).take(width)).map(colour).collect();
    Ok((Grid { height, width }, colours))
}
