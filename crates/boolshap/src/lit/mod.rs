//! Types that every stage uses: variables, literals, words of 64 assignments, digests, and limits on long
//! computations.

mod clock;
mod digest;
mod literal;
mod numbers;
mod remedy;
mod watch;
mod words;

pub use clock::Instant;
pub use digest::Digest;
pub(crate) use digest::Digester;
pub use literal::{Lit, Var};
pub use numbers::{duration, roughly, thousands};
pub use remedy::{ColumnRemedy, Remedy};
pub use watch::{Meter, Pieces, Progress, Stopped, Watch};
pub use words::LOW_VARIABLES;
