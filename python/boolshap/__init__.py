"""Exact SHAP scores for neural networks, by compiling them into Boolean circuits.

Three lines do it: a model becomes a circuit, the circuit an explainer, and the explainer gives the scores of rows.

>>> import boolshap
>>> circuit = boolshap.compile([([[1, 1, -1]], [0])], features=["rain", "wind", "roof"])
>>> explainer = boolshap.Explainer(circuit, [[0, 0, 0], [1, 1, 1]])
>>> explainer([[1, 1, 0]]).values.tolist()
[[0.25, 0.25, 0.0]]

The scores explain the decision, 0 or 1, or with `model_output="score"` the number that decides. Trees, forests,
boosting and linear models on raw columns are explained as they are, column by column: `Explainer(model, rows)`.
"""

import importlib
from typing import TYPE_CHECKING

from . import errors
from ._explainer import Explainer
from ._explanation import ExactExplanation, Explanation
from ._native import Circuit, Model, RealModel, __version__, load

if TYPE_CHECKING:
    from ._asker import Asker as Asker
    from ._asker import check as check
    from ._estimator import Binarizer as Binarizer
    from ._estimator import BnnClassifier as BnnClassifier
    from ._sources import compile as compile

#: Names that are imported on first use: estimators need scikit-learn, and the rest makes the import a third longer.
_LATER = {
    "Asker": "_asker",
    "Binarizer": "_estimator",
    "BnnClassifier": "_estimator",
    "check": "_asker",
    "compile": "_sources",
}

# Binarizer and BnnClassifier are public too, but a star import must not need scikit-learn.
__all__ = [
    "Asker",
    "Circuit",
    "ExactExplanation",
    "Explainer",
    "Explanation",
    "Model",
    "RealModel",
    "__version__",
    "check",
    "compile",
    "errors",
    "load",
]


def __dir__() -> list[str]:
    return sorted([*__all__, "Binarizer", "BnnClassifier"])


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module("." + _LATER[name], __name__), name)
    globals()[name] = found
    return found
