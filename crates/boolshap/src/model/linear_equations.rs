//! Solves symmetric positive definite linear equations: directly by Cholesky decomposition, or by conjugate gradients
//! if the matrix is too large to be stored (Hestenes and Stiefel 1952, doi 10.6028/jres.049.044).
//!
//! Sums are taken in a fixed order, so equal equations have equal solutions for any number of threads.

use crate::lit::{Stopped, Watch};

/// The residual, relative to the right-hand side, at which conjugate gradients stop.
const RESIDUAL: f64 = 1e-10;
/// The most iterations of conjugate gradients; Newton's line search tolerates a slightly inaccurate solution.
const MAX_ITERATIONS: usize = 500;

/// Solves `matrix x = right`, given the lower triangle of the matrix, row by row.
pub(super) fn solve(mut matrix: Vec<f64>, right: &[f64]) -> Vec<f64> {
    let size = right.len();
    for row in 0..size {
        let (above, rest) = matrix.split_at_mut(row * size);
        let line = &mut rest[..size];
        for column in 0..row {
            let before = &above[column * size..][..size];
            line[column] = (line[column] - dot(&line[..column], &before[..column])) / before[column];
        }
        let square = line[row] - dot(&line[..row], &line[..row]);
        // Rounding can reduce a tiny pivot to 0 or below.
        line[row] = square.max(f64::MIN_POSITIVE.sqrt()).sqrt();
    }
    let mut x = right.to_vec();
    for row in 0..size {
        let line = &matrix[row * size..][..size];
        x[row] = (x[row] - dot(&line[..row], &x[..row])) / line[row];
    }
    for row in (0..size).rev() {
        let line = &matrix[row * size..][..size];
        x[row] /= line[row];
        let value = x[row];
        x[..row].iter_mut().zip(line).for_each(|(x, factor)| *x -= factor * value);
    }
    x
}

/// Solves `A x = right`, where `times` multiplies A by a vector.
pub(super) fn conjugate_gradients(
    right: &[f64],
    times: impl Fn(&[f64]) -> Vec<f64>,
    watch: &Watch<'_>,
) -> Result<Vec<f64>, Stopped> {
    let mut x = vec![0.0; right.len()];
    let mut residual = right.to_vec();
    let mut direction = residual.clone();
    let mut square = dot(&residual, &residual);
    let enough = square * RESIDUAL * RESIDUAL;
    for _ in 0..MAX_ITERATIONS {
        if square <= enough {
            break;
        }
        watch.check()?;
        let image = times(&direction);
        let length = square / dot(&direction, &image);
        x.iter_mut().zip(&direction).for_each(|(x, d)| *x += length * d);
        residual.iter_mut().zip(&image).for_each(|(r, i)| *r -= length * i);
        let next = dot(&residual, &residual);
        direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + next / square * *d);
        square = next;
    }
    Ok(x)
}

/// The dot product, in eight partial sums.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        (0..8).for_each(|lane| lanes[lane] += a[lane] * b[lane]);
    }
    a_rest.iter().zip(b_rest).fold(lanes.iter().sum(), |sum, (a, b)| sum + a * b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;

    #[test]
    fn solutions_solve() {
        let mut chance = Seeded::new(1, 0);
        for size in [1, 2, 7, 8, 9, 30] {
            let factor: Vec<f64> = (0..size * size).map(|_| chance.unit() - 0.5).collect();
            // F F^T + 1, written out.
            let entry = |i: usize, j: usize| {
                let product: f64 = (0..size).map(|k| factor[i * size + k] * factor[j * size + k]).sum();
                product + f64::from(u8::from(i == j))
            };
            let right: Vec<f64> = (0..size).map(|_| chance.unit()).collect();
            let matrix = (0..size * size).map(|place| entry(place / size, place % size)).collect();
            let times =
                |x: &[f64]| (0..size).map(|i| (0..size).map(|j| entry(i, j) * x[j]).sum()).collect::<Vec<f64>>();
            for x in [solve(matrix, &right), conjugate_gradients(&right, times, &Watch::unlimited()).unwrap()] {
                let image = times(&x);
                assert!(image.iter().zip(&right).all(|(a, b)| (a - b).abs() < 1e-9), "{size}");
            }
        }
    }
}
