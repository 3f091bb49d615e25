//! The numbers that a network's inputs can take, which a file does not always state.
//!
//! Names are those of QONNX and FINN, which also write them into their files: `BIPOLAR` is -1 and +1, `BINARY` 0 and 1,
//! `UINT2` 0 to 3, `INT3` -4 to 3, `TERNARY` -1 to 1, and `FIXED<6,2>` six bits with two before the point. Two have
//! plainer names here: `signs` and `bits`.

use std::str::FromStr;

/// The most bits of a number; every number becomes a level of a column.
const MAX_BITS: u32 = 8;

/// The numbers that an input can take, in ascending order.
#[derive(Debug, Clone, PartialEq)]
pub struct InputValues {
    numbers: Vec<f64>,
}

impl InputValues {
    /// -1 and +1.
    pub fn signs() -> Self {
        InputValues { numbers: vec![-1.0, 1.0] }
    }

    /// 0 and 1.
    pub fn bits() -> Self {
        InputValues { numbers: vec![0.0, 1.0] }
    }

    /// The numbers, ascending.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Whether there are two, so that rows of bits can represent them.
    pub fn are_two(&self) -> bool {
        self.numbers.len() == 2
    }

    fn whole(bits: u32, signed: bool, unit: f64) -> Self {
        let low = if signed { -(1i64 << (bits - 1)) } else { 0 };
        InputValues { numbers: (low..low + (1 << bits)).map(|number| number as f64 * unit).collect() }
    }
}

impl FromStr for InputValues {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let width = |text: &str| text.parse().ok().filter(|bits| (1..=MAX_BITS).contains(bits));
        let found = match name {
            "signs" | "BIPOLAR" => Some(Self::signs()),
            "bits" | "BINARY" => Some(Self::bits()),
            "TERNARY" => Some(InputValues { numbers: vec![-1.0, 0.0, 1.0] }),
            _ => {
                let of = |prefix: &str| name.strip_prefix(prefix);
                let fixed = of("FIXED<").and_then(|rest| rest.strip_suffix('>')?.split_once(','));
                match (of("UINT"), of("INT"), fixed) {
                    (Some(bits), ..) => width(bits).map(|bits| Self::whole(bits, false, 1.0)),
                    (_, Some(bits), _) => width(bits).map(|bits| Self::whole(bits, true, 1.0)),
                    (.., Some((bits, front))) => {
                        width(bits).zip(front.parse().ok()).and_then(|(bits, front): (u32, i32)| {
                            let unit = f64::from(front.clamp(-99, 99) - bits as i32).exp2();
                            (front.abs() < 99).then(|| Self::whole(bits, true, unit))
                        })
                    }
                    _ => None,
                }
            }
        };
        let known = "signs, bits, TERNARY, UINT1 to UINT8, INT1 to INT8, FIXED<6,2> and the like of up to 8 bits";
        found.ok_or_else(|| format!("'{name}' is not one of {known}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_numbers() {
        let numbers = |name: &str| name.parse::<InputValues>().unwrap().numbers;
        assert_eq!(numbers("UINT2"), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(numbers("INT2"), [-2.0, -1.0, 0.0, 1.0]);
        assert_eq!(numbers("FIXED<3,1>"), [-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75]);
        assert_eq!((numbers("BIPOLAR"), numbers("bits")), (vec![-1.0, 1.0], vec![0.0, 1.0]));
        for name in ["FLOAT32", "INT32", "UINT0", "FIXED<9,1>", "FIXED<3,1", "", "UINT"] {
            assert!(name.parse::<InputValues>().unwrap_err().contains("is not one of signs, bits"), "{name}");
        }
    }
}
