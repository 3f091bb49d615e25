//! The split into training and test rows: random with a seed, and stratified, so that every class has the same share in
//! both.

use super::Seeded;

/// Marks the test rows: the given fraction of all rows, distributed among the classes by their sizes (rows left over by
/// rounding go to the classes that lost most by it).
///
/// ```
/// use boolshap::data::split;
/// let test = split(&[0, 0, 0, 0, 0, 1, 1, 1], 0.5, 7);
/// assert_eq!(test.iter().filter(|&&t| t).count(), 4);
/// assert_eq!(test[5..].iter().filter(|&&t| t).count(), 1);
/// ```
pub fn split(labels: &[u32], test_fraction: f64, seed: u64) -> Vec<bool> {
    let classes = labels.iter().max().map_or(0, |&label| label as usize + 1);
    let mut rows_of = vec![Vec::new(); classes];
    labels.iter().enumerate().for_each(|(row, &label)| rows_of[label as usize].push(row));
    let shares: Vec<f64> = rows_of.iter().map(|rows| rows.len() as f64 * test_fraction).collect();
    let mut counts: Vec<usize> = shares.iter().map(|share| share.floor() as usize).collect();
    let mut by_loss: Vec<usize> = (0..classes).collect();
    by_loss.sort_by(|&a, &b| shares[b].fract().total_cmp(&shares[a].fract()));
    let missing = (labels.len() as f64 * test_fraction).round() as usize - counts.iter().sum::<usize>();
    by_loss.iter().take(missing).for_each(|&class| counts[class] += 1);
    let mut test = vec![false; labels.len()];
    let mut chance = Seeded::new(seed, 0);
    for (rows, count) in rows_of.iter_mut().zip(counts) {
        chance.shuffle(rows);
        rows[..count].iter().for_each(|&row| test[row] = true);
    }
    test
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_gets_its_share_of_every_fraction() {
        for (zeros, ones, twos) in [(5, 3, 0), (10, 1, 1), (1, 1, 1), (0, 7, 2), (100, 50, 25)] {
            let labels: Vec<u32> = [vec![0; zeros], vec![1; ones], vec![2; twos]].concat();
            for percent in 0..100 {
                let fraction = percent as f64 / 100.0;
                let test = split(&labels, fraction, percent);
                let share = labels.len() as f64 * fraction;
                assert_eq!(test.iter().filter(|&&t| t).count(), share.round() as usize);
                for (class, size) in [zeros, ones, twos].into_iter().enumerate() {
                    let chosen = (0..labels.len()).filter(|&row| test[row] && labels[row] == class as u32).count();
                    assert!((chosen as f64 - size as f64 * fraction).abs() < 1.0);
                }
            }
        }
    }
}
