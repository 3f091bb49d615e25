//! The only source of randomness: ChaCha with 8 rounds, a fixed algorithm, so a seed gives the same numbers on every
//! machine and with every version of the libraries.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// A seeded generator.
#[derive(Debug, Clone)]
pub struct Seeded(ChaCha8Rng);

impl Seeded {
    /// The generator for a seed and a purpose: different purposes have independent streams.
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(purpose);
        Seeded(rng)
    }

    /// A number from 0 to `bound - 1`, uniformly distributed.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "the bound is positive");
        let bound = bound as u64;
        // Values from the incomplete last round would favour small numbers.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let draw = self.0.next_u64();
            if draw < limit {
                return (draw % bound) as usize;
            }
        }
    }

    /// 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 up to but not including 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_fixed_numbers() {
        let mut items: Vec<usize> = (0..10).collect();
        Seeded::new(7, 0).shuffle(&mut items);
        assert_eq!(items, [2, 7, 0, 6, 3, 4, 8, 1, 9, 5]);
        let mut sorted = items;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn purposes_differ_and_draws_stay_below() {
        let draws = |purpose| (0..100).map(|_| Seeded::new(7, purpose).below(1000)).next();
        assert_ne!(draws(0), draws(1));
        let mut chance = Seeded::new(1, 2);
        let mut seen = [0u32; 6];
        (0..6000).for_each(|_| seen[chance.below(6)] += 1);
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert!((0..1000).all(|_| (0.0..1.0).contains(&chance.unit())));
    }
}
