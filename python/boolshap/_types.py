"""Names for the types that the native module takes and gives."""

import os
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

#: A path of a file.
PathLike: TypeAlias = "str | os.PathLike[str]"
#: Which output of a model is explained.
ModelOutput = Literal["label", "score"]
#: How to read rows.
Reading = Literal["auto", "raw", "bits"]
#: C-contiguous, of shape (rows, features), with the values 0 and 1
Bits: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float64]
#: for each node: feature (-1 at a leaf), child where it is 0, child where it is 1, class weights at a leaf
Tree: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]
#: for each node: column (-1 at a leaf), threshold, child where it is at most that, the other child, whether missing values go to
#: the first, numbers at a leaf; and the output that they belong to, if it is one
RawTree: TypeAlias = (
    "tuple[npt.NDArray[np.int64], Floats, npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_], Floats, int | None]"
)
#: Which algorithm.
EngineName = Literal["fast", "table", "paper", "brute-force"]
#: What fills in absent players.
Distribution = Literal["uniform", "product", "background", "empirical", "reference"]
#: Which value of the game.
Index = Literal[
    "shapley", "banzhaf", "interaction", "owen", "taylor:1", "taylor:2", "taylor:3", "ksii:1", "ksii:2", "ksii:3"
]
