//! Networks as folders of CSV files: `blk1/`, `blk2/`, ..., `out_blk/`, each with `lin_weight.csv` (one row for each
//! output neuron), `lin_bias.csv` and, for the blocks before the last, `bn_weight`, `bn_bias`, `bn_mean`, `bn_var`.
//!
//! Batch normalisation here divides by the root of `bn_var` itself: the epsilon is 0 by default. Numbers are decimals,
//! read exactly.

use super::ModelError;
use super::fold::{BatchNorm, DenseLayer};
use super::import::{ImportOptions, Stack, weights_of_kernel};
use super::number::parse_decimal;
use dashu_ratio::RBig;
use std::path::{Path, PathBuf};

const NORM_FILES: [&str; 4] = ["bn_weight.csv", "bn_bias.csv", "bn_mean.csv", "bn_var.csv"];

pub(crate) fn read(folder: &Path, options: &ImportOptions) -> Result<Stack, ModelError> {
    let wrong = |message: String| ModelError::Format { path: folder.into(), message };
    let entries = std::fs::read_dir(folder).map_err(|source| ModelError::Io { path: folder.into(), source })?;
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry.map_err(|source| ModelError::Io { path: folder.into(), source })?.file_name();
        if let Some(number) = name.to_str().and_then(|name| name.strip_prefix("blk")) {
            numbers.push(number.parse::<usize>().map_err(|_| wrong(format!("blk{number} is not a numbered block")))?);
        }
    }
    numbers.sort_unstable();
    if let Some(gap) = (1..).zip(&numbers).find_map(|(expected, &found)| (expected != found).then_some(expected)) {
        return Err(wrong(format!("blk{gap} is missing")));
    }
    let names = numbers.iter().map(|number| format!("blk{number}")).chain(["out_blk".to_string()]);
    let mut stack = Stack { layers: Vec::new(), notes: Vec::new() };
    for name in names {
        let block = folder.join(&name);
        let kernel = read_matrix(&block.join("lin_weight.csv"))?;
        let weights = weights_of_kernel(&name, kernel, false, options, &mut stack.notes)?;
        let bias = match block.join("lin_bias.csv") {
            file if file.exists() => read_vector(&file)?,
            _ => vec![RBig::ZERO; weights.len()],
        };
        let has_norm = NORM_FILES.iter().any(|file| block.join(file).exists());
        let norm = has_norm.then(|| read_norm(&block, &name, options)).transpose()?;
        stack.layers.push(DenseLayer { name, weights, bias, norm });
    }
    Ok(stack)
}

fn read_norm(block: &Path, name: &str, options: &ImportOptions) -> Result<BatchNorm, ModelError> {
    // If one of the files exists, all must: a missing one is an error, not a layer without normalisation.
    let [gamma, beta, mean, variance] = NORM_FILES.map(|file| read_vector(&block.join(file)));
    Ok(BatchNorm {
        name: name.into(),
        gamma: gamma?,
        beta: beta?,
        mean: mean?,
        variance: variance?,
        epsilon: options.bn_epsilon.clone().unwrap_or(RBig::ZERO),
    })
}

/// All numbers of a file as one vector, whether written as a row or a column.
fn read_vector(path: &Path) -> Result<Vec<RBig>, ModelError> {
    let rows = read_matrix(path)?;
    if rows.len() > 1 && rows.iter().any(|row| row.len() > 1) {
        let message = format!("a vector is expected, not {} rows", rows.len());
        return Err(ModelError::Format { path: path.into(), message });
    }
    Ok(rows.into_iter().flatten().collect())
}

fn read_matrix(path: &Path) -> Result<Vec<Vec<RBig>>, ModelError> {
    let text = std::fs::read_to_string(path).map_err(|source| ModelError::Io { path: PathBuf::from(path), source })?;
    let mut rows = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    for (line, row) in text.lines().enumerate().filter(|(_, row)| !row.trim().is_empty()) {
        let cells = row.split(',').enumerate().map(|(column, cell)| {
            parse_decimal(cell).ok_or_else(|| ModelError::Format {
                path: path.into(),
                message: format!("line {}, value {}: '{}' is not a finite number", line + 1, column + 1, cell.trim()),
            })
        });
        rows.push(cells.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(rows)
}
