//! Sixty-four assignments in a machine word: bit `k` of a variable's word is its value in assignment `k`.

/// The words of the first six variables when 64 assignments are numbered so that variable `v` is bit `v` of the number.
///
/// ```
/// use boolshap::lit::LOW_VARIABLES;
/// for (variable, word) in LOW_VARIABLES.iter().enumerate() {
///     assert!((0..64).all(|number| word >> number & 1 == number >> variable & 1));
/// }
/// ```
pub const LOW_VARIABLES: [u64; 6] = [
    0xAAAA_AAAA_AAAA_AAAA,
    0xCCCC_CCCC_CCCC_CCCC,
    0xF0F0_F0F0_F0F0_F0F0,
    0xFF00_FF00_FF00_FF00,
    0xFFFF_0000_FFFF_0000,
    0xFFFF_FFFF_0000_0000,
];
