"""Every plot of shap that the package promises, drawn from our explanations.

If BOOLSHAP_PLOTS is set, the pictures are written to that folder for inspection.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.image
import matplotlib.pyplot as plt
import matplotlib.text
import numpy as np
import pandas
import pytest
import shap
from conftest import Network

from boolshap import Circuit, Explainer

NAMES = ["rain", "wind", "roof", "door", "lamp", "dog"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    given = os.environ.get("BOOLSHAP_PLOTS")
    place = pathlib.Path(given) if given else tmp_path_factory.mktemp("plots")
    place.mkdir(parents=True, exist_ok=True)
    return place


@pytest.fixture(autouse=True)
def fresh_figures() -> Iterator[None]:
    plt.close("all")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def explanation() -> Any:
    circuit = Network(6, [5], seed=3).circuit(features=NAMES)
    random = np.random.default_rng(0)
    return Explainer(circuit, random.integers(0, 2, (20, 6)))(random.integers(0, 2, (60, 6)))


@pytest.fixture(scope="module")
def of_columns(raw_circuit: Circuit) -> Any:
    random = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "age": random.normal(40, 12, 60).round(1),
            "sea": random.choice(["far", "island", "near"], 60),
            "open": random.integers(0, 2, 60),
        }
    )
    return Explainer(raw_circuit, table.iloc[:20], players="columns")(table)


def finish(path: pathlib.Path) -> list[str]:
    """Saves the figure, checks that it is not empty, and returns all its texts."""
    figure = plt.gcf()
    figure.canvas.draw()
    texts = [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_visible()]
    figure.savefig(path, bbox_inches="tight", dpi=80)
    picture = matplotlib.image.imread(path)[..., :3]
    # The drawing has several colours and is not confined to one corner.
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20
    inked = (picture < 0.9).any(axis=2)
    assert inked.any(axis=1).mean() > 0.3 and inked.any(axis=0).mean() > 0.3
    return [text for text in texts if text.strip()]


def contains(texts: list[str], wanted: list[str]) -> None:
    for word in wanted:
        assert any(word in text for text in texts), (word, texts)


def shown(score: float) -> str:
    """A score in the format of waterfall and bar plots: no trailing zeros, and a typographic minus sign."""
    return f"{score:+.2f}".rstrip("0").rstrip(".").replace("-", "\u2212")


Plot = Callable[[Any], object]
PLOTS: list[tuple[str, Plot]] = [
    ("waterfall", lambda of: shap.plots.waterfall(of[0], show=False)),
    ("beeswarm", lambda of: shap.plots.beeswarm(of, show=False)),
    ("bar", lambda of: shap.plots.bar(of, show=False)),
    ("bar of a row", lambda of: shap.plots.bar(of[0], show=False)),
    ("heatmap", lambda of: shap.plots.heatmap(of, show=False)),
    ("force", lambda of: shap.plots.force(of[0], matplotlib=True, show=False)),
]


@pytest.mark.parametrize(("name", "plot"), PLOTS, ids=[name for name, _ in PLOTS])
def test_plots_of_bits(name: str, plot: Plot, explanation: Any, folder: pathlib.Path) -> None:
    plot(explanation)
    texts = finish(folder / f"bits {name}.png")
    contains(texts, [feature for feature, value in zip(NAMES, explanation.values[0]) if name != "force" or value])
    if name in ("waterfall", "bar of a row"):
        contains(texts, [shown(score) for score in explanation.values[0]])
    if name == "bar":
        contains(texts, [shown(score) for score in np.abs(explanation.values).mean(axis=0)])
    if name == "force":
        contains(texts, [f"{explanation.base_values[0] + explanation.values[0].sum():.2f}"])


@pytest.mark.parametrize(("name", "plot"), PLOTS, ids=[name for name, _ in PLOTS])
def test_plots_of_columns(name: str, plot: Plot, of_columns: Any, folder: pathlib.Path) -> None:
    plot(of_columns)
    texts = finish(folder / f"columns {name}.png")
    contains(texts, [feature for feature, value in zip(of_columns.feature_names, of_columns.values[0]) if value])
    if name in ("waterfall", "bar of a row"):
        contains(texts, [shown(score) for score in of_columns.values[0]])
        contains(texts, [str(value) for value in of_columns.display_data[0]])


@pytest.mark.parametrize("feature", ["rain", "dog"])
def test_scatter_of_bits(feature: str, explanation: Any, folder: pathlib.Path) -> None:
    shap.plots.scatter(explanation[:, feature], color=explanation, show=False)
    texts = finish(folder / f"bits scatter {feature}.png")
    contains(texts, [feature])
    points = np.asarray(plt.gcf().axes[0].collections[0].get_offsets())
    place = NAMES.index(feature)
    assert sorted(points[:, 1]) == pytest.approx(sorted(explanation.values[:, place]))


@pytest.mark.parametrize("feature", ["age", "sea"])
def test_scatter_of_columns(feature: str, of_columns: Any, folder: pathlib.Path) -> None:
    shap.plots.scatter(of_columns[:, feature], show=False)
    texts = finish(folder / f"columns scatter {feature}.png")
    contains(texts, [feature])


def test_plots_of_a_class(folder: pathlib.Path) -> None:
    circuit = Network(6, [5], seed=2, outputs=3).circuit(features=NAMES, classes=["low", "middle", "high"])
    rows = np.random.default_rng(0).integers(0, 2, (40, 6))
    of_classes = Explainer(circuit, rows[:10])(rows)
    shap.plots.beeswarm(of_classes[:, :, "high"], show=False)
    contains(finish(folder / "class beeswarm.png"), NAMES)
    plt.close("all")
    shap.plots.waterfall(of_classes[0, :, 1], show=False)
    contains(finish(folder / "class waterfall.png"), NAMES)
