//! Lanes: the number of sweeps done at once, their memory, and the mapping of lanes to the registers at hand.
//!
//! A block is always [`LANES`] sweeps wide, and a node's numbers fill whole cache lines. The number of registers that
//! this takes is found at run time: one of AVX-512, two of AVX2. Code is written once for "R registers of S" and
//! compiled for each of them. Lanes are independent, so the result of a lane depends neither on its neighbours nor on
//! R. AVX2 and AVX-512 multiply and add with one rounding, so both give the same bits; without either there are two
//! roundings.

use pulp::{Simd, WithSimd, bytemuck};

/// How many sweeps are done at once.
pub(super) const LANES: usize = 8;

/// One number per lane.
pub(super) type Lanes = [f64; LANES];

/// Memory for lanes, aligned to a cache line.
pub(super) struct Buffer {
    storage: Vec<f64>,
    start: usize,
    length: usize,
}

impl Buffer {
    /// Zeros, [`LANES`] for each of this many. Pages that are never touched take no memory.
    pub(super) fn new(length: usize) -> Self {
        const LINE: usize = 64;
        let numbers = length * LANES;
        let storage = vec![0.0; numbers + LINE / size_of::<f64>()];
        // If alignment is impossible, access is only slower.
        let start = storage.as_ptr().align_offset(LINE).min(LINE / size_of::<f64>());
        Buffer { storage, start, length: numbers }
    }

    #[inline]
    pub(super) fn lanes(&self) -> &[Lanes] {
        self.storage[self.start..][..self.length].as_chunks().0
    }

    #[inline]
    pub(super) fn lanes_mut(&mut self) -> &mut [Lanes] {
        self.storage[self.start..][..self.length].as_chunks_mut().0
    }

    /// The same as registers.
    #[inline(always)]
    pub(super) fn registers<S: Simd, const R: usize>(&mut self) -> &mut [[S::f64s; R]] {
        bytemuck::cast_slice_mut(&mut self.storage[self.start..][..self.length]).as_chunks_mut().0
    }
}

/// Work on `R` registers, which hold [`LANES`] numbers together.
pub(super) trait LaneWork {
    /// The result.
    type Output;

    /// Must always be inlined, like everything it calls, to be compiled for the registers at hand.
    fn run<S: Simd, const R: usize>(self, simd: S) -> Self::Output;
}

/// Selects the number of registers.
pub(super) struct Dispatch<W>(pub(super) W);

impl<W: LaneWork> WithSimd for Dispatch<W> {
    type Output = W::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> W::Output {
        match size_of::<S::f64s>() / size_of::<f64>() {
            8 => self.0.run::<S, { LANES / 8 }>(simd),
            4 => self.0.run::<S, { LANES / 4 }>(simd),
            2 => self.0.run::<S, { LANES / 2 }>(simd),
            width => {
                assert_eq!(width, 1, "registers of 1, 2, 4 or 8 floats");
                self.0.run::<S, LANES>(simd)
            }
        }
    }
}

/// The index of a node's slot: 16 bits as long as they suffice, which halves the tape.
///
/// 16 bits index 65,536 slots without bounds checks, since there are always that many (in memory that is not touched).
/// With 32 bits every access is checked; the cost is negligible beside the cache misses of such large circuits.
pub(super) trait SlotId: Copy + Send + Sync + 'static {
    /// The limit on the number of slots.
    const LIMIT: usize;
    /// Slots that can be indexed.
    type Slots<T>: ?Sized;

    /// The id of this slot, which must be below the limit.
    fn new(index: usize) -> Self;

    /// The slot's index.
    fn index(self) -> usize;

    /// The number of slots to allocate when this many are used.
    fn room(used: usize) -> usize;

    /// The slots as an indexable type; there must be [room](Self::room) for all.
    fn slots<T>(all: &mut [T]) -> &mut Self::Slots<T>;

    fn get<T: Copy>(self, slots: &Self::Slots<T>) -> T;

    fn set<T>(self, slots: &mut Self::Slots<T>, value: T);
}

impl SlotId for u16 {
    const LIMIT: usize = 1 << 16;
    type Slots<T> = [T; 1 << 16];

    #[inline(always)]
    fn new(index: usize) -> Self {
        debug_assert!(index < Self::LIMIT);
        index as u16
    }

    #[inline(always)]
    fn index(self) -> usize {
        self.into()
    }

    #[inline(always)]
    fn room(_: usize) -> usize {
        Self::LIMIT
    }

    #[inline(always)]
    fn slots<T>(all: &mut [T]) -> &mut [T; 1 << 16] {
        all.first_chunk_mut().expect("room for all that 16 bits name")
    }

    #[inline(always)]
    fn get<T: Copy>(self, slots: &[T; 1 << 16]) -> T {
        slots[usize::from(self)]
    }

    #[inline(always)]
    fn set<T>(self, slots: &mut [T; 1 << 16], value: T) {
        slots[usize::from(self)] = value;
    }
}

impl SlotId for u32 {
    const LIMIT: usize = u32::MAX as usize;
    type Slots<T> = [T];

    #[inline(always)]
    fn new(index: usize) -> Self {
        debug_assert!(index < Self::LIMIT);
        index as u32
    }

    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }

    #[inline(always)]
    fn room(used: usize) -> usize {
        used
    }

    #[inline(always)]
    fn slots<T>(all: &mut [T]) -> &mut [T] {
        all
    }

    #[inline(always)]
    fn get<T: Copy>(self, slots: &[T]) -> T {
        slots[self as usize]
    }

    #[inline(always)]
    fn set<T>(self, slots: &mut [T], value: T) {
        slots[self as usize] = value;
    }
}
