//! The split into training and test rows: stratified, so that every class has the same share in both, and drawn from the
//! seed.

use super::Seeded;

/// Tells for each row whether it is for testing. Of each class, the fraction rounded to the nearest whole row.
///
/// ```
/// use boolshap::data::split;
/// let test = split(&[0, 0, 0, 0, 1, 1], 0.5, 7);
/// assert_eq!(test[..4].iter().filter(|&&t| t).count(), 2);
/// assert_eq!(test[4..].iter().filter(|&&t| t).count(), 1);
/// ```
pub fn split(labels: &[u32], test_fraction: f64, seed: u64) -> Vec<bool> {
    let mut test = vec![false; labels.len()];
    let mut chance = Seeded::new(seed, 0);
    for class in 0..=labels.iter().copied().max().unwrap_or(0) {
        let mut rows: Vec<usize> = (0..labels.len()).filter(|&row| labels[row] == class).collect();
        chance.shuffle(&mut rows);
        let count = (rows.len() as f64 * test_fraction).round() as usize;
        rows[..count.min(rows.len())].iter().for_each(|&row| test[row] = true);
    }
    test
}
