"""The scikit-learn estimators: scikit-learn's checks, their bits, and circuits that equal the network."""

import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import boolshap
from boolshap import Binarizer, BnnClassifier
from boolshap.errors import InputError

HOUSES = pandas.DataFrame(
    {
        "rooms": [2, 3, 7, 8],
        "garden": [0, 1, 1, 0],
        "sold": [True, False, True, True],
        "place": ["town", "sea", "town", "hill"],
        "rating": pandas.Categorical([3, 1, 3, 2]),
    }
)


def all_inputs(features):
    return np.array(list(itertools.product([0, 1], repeat=features)), dtype=np.uint8)


@parametrize_with_checks([
    Binarizer(), Binarizer("median"), Binarizer("bins=3"), Binarizer("supervised=3"), BnnClassifier(), BnnClassifier(hidden=(13,))
])  # fmt: skip
def test_rules_of_scikit_learn(estimator, check):
    check(estimator)


def test_each_kind_of_column():
    binarizer = Binarizer().fit(HOUSES)
    names = binarizer.get_feature_names_out().tolist()
    assert names == [
        "rooms", "garden", "sold", "place=hill", "place=sea", "place=town", "rating=1", "rating=2", "rating=3",
    ]  # fmt: skip
    bits = binarizer.transform(HOUSES)
    assert bits.dtype == np.uint8 and bits.flags.c_contiguous
    assert bits.tolist() == [
        [0, 0, 1, 0, 0, 1, 0, 0, 1],
        [0, 1, 0, 0, 1, 0, 1, 0, 0],
        [1, 1, 1, 0, 0, 1, 0, 0, 1],
        [1, 0, 1, 1, 0, 0, 0, 1, 0],
    ]


@pytest.mark.parametrize("threshold, expected", [("mean", [0, 0, 0, 1]), ("median", [0, 0, 1, 1]), (1.5, [0, 1, 1, 1])])
def test_thresholds_are_strict(threshold, expected):
    column = np.array([[1.0], [2.0], [3.0], [10.0]])
    assert Binarizer(threshold).fit_transform(column).ravel().tolist() == expected
    assert Binarizer(4.0).fit_transform([[4.0], [5.0]]).ravel().tolist() == [0, 1]


def test_frames_arrays_and_lists_are_read_alike():
    plain = HOUSES.drop(columns="rating")
    expected = Binarizer().fit_transform(plain)
    assert (Binarizer().fit_transform(plain.to_numpy(dtype=object)) == expected).all()
    assert (Binarizer().fit_transform(plain.to_numpy(dtype=object).tolist()) == expected).all()
    frame = polars.DataFrame({name: plain[name].tolist() for name in plain})
    assert (Binarizer().fit_transform(frame) == expected).all()
    assert Binarizer().fit(frame).get_feature_names_out().tolist()[-1] == "place=town"
    categories = frame.with_columns(polars.col("place").cast(polars.Categorical))
    assert (Binarizer().fit_transform(categories) == expected).all()


def test_unknown_categories_are_zeros():
    binarizer = Binarizer().fit([["sea"], ["town"]])
    assert binarizer.transform([["moon"], ["sea"]]).tolist() == [[0, 0], [1, 0]]
    assert binarizer.get_feature_names_out().tolist() == ["x0=sea", "x0=town"]
    assert binarizer.get_feature_names_out(["place"]).tolist() == ["place=sea", "place=town"]


def test_output_as_a_frame():
    frame = Binarizer().set_output(transform="pandas").fit_transform(HOUSES)
    assert frame["place=sea"].tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    "table, message",
    [
        ({"a": [np.nan, np.nan]}, r"column 'a' has no values to fit: all are missing \(NaN\)"),
        ({"a": [1.0, np.inf]}, "column 'a', row 1: inf is not a finite number"),
        ({"a": pandas.Series(["x", 3], dtype=object)}, "column 'a', row 1: 3 is not a text"),
        ({"a": ["b", "c"], "a=b": [0, 1]}, "features: 'a=b' is there twice"),
        ({"a": []}, r"0 sample\(s\)"),
        ({}, r"0 (sample|feature)\(s\)"),
    ],
)
def test_tables_that_are_no_bits(table, message):
    with pytest.raises(ValueError, match=message):
        Binarizer().fit(pandas.DataFrame(table))


def test_columns_that_change_after_fit():
    binarizer = Binarizer().fit(HOUSES)
    assert (binarizer.transform(HOUSES.assign(garden=2))[:, 1] == 1).all()
    with pytest.raises(TypeError, match="column 'rooms', row 0: .* not 'many'"):
        binarizer.transform(HOUSES.assign(rooms="many"))
    with pytest.raises(ValueError, match="feature names should match"):
        binarizer.transform(HOUSES.rename(columns={"rooms": "doors"}))
    with pytest.raises(ValueError, match="threshold is 'mode'"):
        Binarizer("mode").fit(HOUSES)


def test_learns_a_function_and_its_circuit_is_the_network():
    X = all_inputs(6)
    y = np.where(X[:, :5].sum(axis=1) >= 3, "many", "few")
    classifier = BnnClassifier(hidden=(5,)).fit(X, y)
    answers = classifier.predict(X)
    assert (answers == y).mean() > 0.9
    assert classifier.classes_.tolist() == ["few", "many"] and classifier.thresholds_ is None
    assert classifier.model_.features == ["x0", "x1", "x2", "x3", "x4", "x5"]
    circuit = classifier.circuit(verify=True)
    assert (classifier.classes_[circuit.predict(X)] == answers).all()
    assert circuit.models == (answers == "many").sum()
    exact = boolshap.Explainer(circuit).exact(X)
    for row, values, base, answer in zip(X, exact.values, exact.base_values, answers):
        assert base + sum(values) == (answer == "many"), row
    copy = pickle.loads(pickle.dumps(classifier))
    assert copy.model_ == classifier.model_ and (copy.predict(X) == answers).all()


@pytest.mark.parametrize("bins", [2, 3, 5])
def test_bins_of_numbers_are_those_of_other_tools(bins):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :6].copy()
    X[::17, 2] = np.nan
    there = [column[~np.isnan(column)] for column in X.T]
    shares = [part / bins for part in range(1, bins)]
    quantiles = [np.quantile(column, shares, method="linear") for column in there]
    trees = [DecisionTreeClassifier(max_leaf_nodes=bins).fit(column[:, None], y[~np.isnan(raw)]) for column, raw in zip(there, X.T)]
    leaves = [np.sort(tree.tree_.threshold[tree.tree_.feature >= 0]) for tree in trees]
    for how, expected in ((f"bins={bins}", quantiles), (f"supervised={bins}", leaves)):
        binarizer = Binarizer(how).fit(X, y)
        for rule, raw, edges in zip(binarizer.rules_, X.T, expected):
            found = np.array(rule.edges if rule.kind == "bins" else [rule.threshold])
            # scikit-learn stores thresholds as float32.
            np.testing.assert_allclose(found, edges, rtol=1e-6)
            bits = rule.bits(raw)
            assert bits.shape[1] == len(rule.features) == (1 if rule.kind == "number" else bins)
            low, high = [-np.inf, *found], [*found, np.inf]
            if rule.kind == "bins":
                by_definition = np.stack([(raw > a) & (raw <= b) for a, b in zip(low, high)], axis=1)
                assert (bits == by_definition).all() and not bits[np.isnan(raw)].any()


def test_bins_carry_their_test_in_their_name_and_train_a_network():
    X, y = load_iris(return_X_y=True, as_frame=True)
    binarizer = Binarizer("supervised=3").set_output(transform="pandas").fit(X, y)
    names = binarizer.get_feature_names_out().tolist()
    assert sum(name.startswith("petal width (cm)=") for name in names) == 3 and names[-1].endswith("..")
    classifier = make_pipeline(binarizer, BnnClassifier()).fit(X, y)
    assert (classifier.predict(X) == y).mean() > 0.94
    with pytest.raises(InputError, match="requires y to be passed"):
        Binarizer("supervised=3").fit(X)
    for wrong in ("bins=1", "bins=", "bins=x", "supervised", "bins=2.5"):
        with pytest.raises(InputError, match=f"threshold is {wrong!r}, none of 'mean', 'median', 'bins=K', 'supervised=K'"):
            Binarizer(wrong).fit(X, y)
    constant = Binarizer("bins=3").fit([[3.0]] * 9 + [[4.0]])
    assert constant.rules_[0].kind == "number" and constant.transform([[3.0], [4.0]]).ravel().tolist() == [0, 1]


def test_one_seed_is_one_network():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :12]
    classifier = BnnClassifier(hidden=4, epochs=8)
    first = classifier.fit(X, y).model_.to_json()
    assert clone(classifier).fit(X, y).model_.to_json() == first
    order = np.random.default_rng(1).permutation(len(X))
    bits = classifier.bits(X)
    as_bits = clone(classifier).fit(bits, y).model_
    assert clone(classifier).fit(bits[order], y.to_numpy()[order]).model_ == as_bits
    assert clone(classifier).set_params(random_state=8).fit(X, y).model_.to_json() != first


@pytest.mark.parametrize("hidden", ["auto", (4,)])
def test_a_row_of_some_weight_is_so_many_rows(hidden):
    X, y = load_breast_cancer(return_X_y=True)
    X, counts = X[:200, :6], np.random.default_rng(3).integers(0, 4, 200)
    classifier = BnnClassifier(hidden=hidden, epochs=5)
    weighted = classifier.fit(X, y[:200], sample_weight=counts)
    repeated = clone(classifier).fit(np.repeat(X, counts, axis=0), np.repeat(y[:200], counts))
    assert weighted.model_ == repeated.model_ and (weighted.thresholds_ == repeated.thresholds_).all()
    unweighted = clone(classifier).fit(X, y[:200])
    assert (unweighted.thresholds_ != weighted.thresholds_).any()
    with pytest.raises(InputError, match="sample_weight 0.5 is not a whole number"):
        classifier.fit(X, y[:200], sample_weight=np.full(200, 0.5))
    with pytest.raises(InputError, match="leaves a class without rows"):
        classifier.fit(X, y[:200], sample_weight=y[:200])


def test_where_a_network_is_drawn_from_and_what_is_said(capsys):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :8]
    classifier = BnnClassifier(hidden=(4,), epochs=4)
    drawn = lambda state: clone(classifier).set_params(random_state=state).fit(X, y).model_
    assert drawn(np.random.RandomState(5)) == drawn(np.random.RandomState(5)) != drawn(np.random.RandomState(6))
    assert drawn(np.random.default_rng(5)) == drawn(np.random.default_rng(5))
    assert drawn(None) != drawn(None)
    assert capsys.readouterr().out == ""
    quiet, loud = BnnClassifier(n_jobs=1).fit(X, y), BnnClassifier(n_jobs=2, verbose=1).fit(X, y)
    assert quiet.model_ == loud.model_ and capsys.readouterr().out.startswith("chosen: ")


def test_a_class_that_counts_more_is_answered_more():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :4]
    for hidden in ("auto", (3,)):
        shares = [
            BnnClassifier(hidden=hidden, class_weight=weight).fit(X, y).predict(X).mean()
            for weight in ({0: 50, 1: 1}, None, {0: 1, 1: 50})
        ]
        assert shares[0] < shares[1] < shares[2], (hidden, shares)


def test_several_classes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    pipeline = make_pipeline(Binarizer("median").set_output(transform="pandas"), BnnClassifier(hidden=(8,)))
    pipeline.fit(X, names[y])
    classifier = pipeline[-1]
    circuit = classifier.circuit()
    assert circuit.classes == names.tolist() and circuit.features == X.columns.tolist()
    inputs = all_inputs(4)
    assert (circuit.predict(inputs) == classifier.model_.predict(inputs)).all()
    values = boolshap.Explainer(circuit).shap_values(inputs)
    assert values.shape == (16, 4, 3)
    assert np.abs(values.sum(axis=2)).max() < 1e-12, "the classes' labels add up to 1 whatever is known"


def test_cuts_are_the_nearest_floats_in_any_order_of_rows():
    rng = np.random.default_rng(5)
    columns = [np.full(49, 0.003), rng.normal(size=49) * 10.0 ** rng.integers(-300, 300, 49), np.full(49, 1.7e308)]
    columns += [rng.integers(1, 9, 49) * 5e-324, rng.integers(0, 1000, 49) / 1000]
    X = np.stack(columns, axis=1)
    means = [float(sum(map(Fraction, column)) / len(column)) for column in X.T]
    for _ in range(3):
        rng.shuffle(X)
        assert [rule.threshold for rule in Binarizer().fit(X).rules_] == means
        assert [rule.threshold for rule in Binarizer("median").fit(X).rules_] == np.median(X, axis=0).tolist()
        assert not Binarizer().fit_transform(X)[:, [0, 2]].any()
        classifier = BnnClassifier(hidden=(1,), epochs=1).fit(X, np.arange(49) % 2)
        assert classifier.thresholds_.tolist() == means
    # With an even number of rows, the mean of the two middle values, even if their sum overflows.
    rule = Binarizer("median").fit([[1.7e308], [1.5e308], [0.0], [1.6e308]]).rules_[0]
    assert rule.threshold == float((Fraction(1.5e308) + Fraction(1.6e308)) / 2)


def test_auto_cuts_at_means_and_the_circuit_knows():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :10]
    classifier = BnnClassifier(hidden=(6,), epochs=10).fit(X, y)
    assert np.allclose(classifier.thresholds_, X.mean())
    bits = classifier.bits(X)
    assert (bits == (X > X.mean()).to_numpy()).all()
    circuit = classifier.circuit()
    assert circuit.raw_columns == X.columns.tolist()
    assert (circuit.predict(X) == classifier.predict(X)).all()
    assert (circuit.predict(bits, input="bits") == classifier.predict(X)).all()
    explainer = boolshap.Explainer(circuit, X.iloc[:50])
    of_bits = boolshap.Explainer(circuit, X.iloc[:50], input="bits")
    assert (explainer.shap_values(X) == of_bits.shap_values(bits)).all()
    assert json.loads(classifier.model_.to_json())["schema"][0]["column"] == "mean radius"


@pytest.mark.parametrize("binarize, cut", [("auto", 2.0), (3.0, 3.0)])
def test_a_value_at_the_threshold_is_not_above_it(binarize, cut):
    X = np.array([[1.0, 0.0], [2.0, 4.0], [3.0, 2.0]])
    classifier = BnnClassifier(hidden=(2,), epochs=2, binarize=binarize).fit(X, [0, 1, 1])
    assert classifier.thresholds_.tolist() == [cut, cut]
    assert classifier.bits([[cut, cut + 1e-9]]).tolist() == [[0, 1]]
    frame = pandas.DataFrame([[cut, cut + 1e-9]], columns=classifier.circuit().raw_columns)
    assert classifier.circuit().binarise(frame).tolist() == [[0, 1]], "the circuit cuts where the classifier does"


def test_in_pipelines_and_searches():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :10].assign(size=np.where(X["mean area"] > 600, "large", "small"))
    pipeline = make_pipeline(Binarizer(), BnnClassifier(epochs=15))
    scores = cross_val_score(pipeline, X, y, cv=3)
    rival = cross_val_score(make_pipeline(Binarizer(), LogisticRegression()), X, y, cv=3)
    assert scores.mean() > rival.mean() - 0.02
    grid = {"bnnclassifier__hidden": [(3,), (6,)], "binarizer__threshold": ["mean", "median"]}
    search = GridSearchCV(pipeline, grid, cv=2)
    search.fit(X, y)
    assert search.best_score_ > 0.85
    best = search.best_estimator_
    circuit = best[-1].circuit()
    assert (circuit.predict(best[0].transform(X)) == best.predict(X)).all()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"hidden": (3, 0)}, "hidden has the value 0; it takes whole numbers from 1 on"),
        ({"hidden": (2.5,)}, "hidden has the value 2.5"),
        ({"hidden": "some"}, "hidden 'some' is neither auto"),
        ({"weights": "real"}, "weights 'real' is not one of binary"),
        ({"class_weight": "fair"}, "class_weight is 'fair': None, 'balanced' or a dictionary"),
        ({"class_weight": {5: 1}}, "class_weight names 5, which is not among the labels"),
        ({"class_weight": {1: 0}}, "class_weight of 1 is 0, not a number above 0"),
        ({"random_state": -1}, "random_state has the value -1"),
        ({"random_state": 2**70}, "it takes whole numbers up to 18446744073709551615"),
        ({"n_jobs": 0}, "n_jobs has the value 0"),
        ({"n_jobs": 10**9}, "n_jobs has the value 1000000000; it takes whole numbers up to 512"),
        ({"verbose": -1}, "verbose has the value -1"),
        ({"epochs": 0}, "epochs has the value 0"),
        ({"patience": True}, "patience has the value True"),
        ({"batch_size": 0}, "batch_size has the value 0"),
        ({"learning_rate": 0}, "learning_rate is 0"),
        ({"learning_rate": np.nan}, "learning_rate is nan"),
        ({"binarize": "sometimes"}, "binarize is 'sometimes', none of 'auto' and no finite number"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    X = all_inputs(3)
    with pytest.raises(ValueError, match=message):
        BnnClassifier(**settings).fit(X, X[:, 0])


def test_no_hidden_layer_and_one_threshold_for_all():
    X = np.random.default_rng(4).normal(size=(200, 5))
    y = (X[:, :3] > 0.25).sum(axis=1) >= 2
    classifier = BnnClassifier(hidden=(), binarize=0.25).fit(X, y)
    assert classifier.score(X, y) > 0.8 and classifier.model_.shape == "5-1"
    assert (classifier.bits(X) == (X > 0.25)).all() and classifier.classes_.tolist() == [False, True]
    assert (boolshap.compile(classifier).predict(classifier.bits(X), input="bits") == classifier.predict(X)).all()


def test_auto_beside_logistic_regression_in_any_order_of_rows():
    X, y = load_breast_cancer(return_X_y=True)
    classifier = BnnClassifier().fit(X[::2], y[::2])
    bits = classifier.bits(X)
    rival = LogisticRegression(max_iter=10_000).fit(bits[::2], y[::2])
    assert classifier.score(X[1::2], y[1::2]) >= rival.score(bits[1::2], y[1::2]) - 0.01
    provenance = json.loads(classifier.model_.to_json())["provenance"]
    assert provenance["weights"].startswith("integer:") and provenance["choice"].startswith("chosen: one neuron")
    order = np.random.default_rng(1).permutation(len(bits[::2]))
    models = [BnnClassifier().fit(rows, labels).model_ for rows, labels in
              [(bits[::2], y[::2]), (bits[::2][order], y[::2][order])]]  # fmt: skip
    assert models[0] == models[1]
    assert (classifier.circuit(verify=True).predict(bits, input="bits") == classifier.predict(X)).all()


@pytest.mark.parametrize("hidden, weights", [((), "integer:3"), ((4,), "ternary"), ("auto", "binary"), ("auto", "integer:5")])
def test_weights_stay_within_their_range(hidden, weights):
    X, y = load_iris(return_X_y=True)
    classifier = BnnClassifier(hidden=hidden, weights=weights, epochs=10).fit(X, y)
    model = json.loads(classifier.model_.to_json())
    assert model["provenance"]["weights"] == weights
    layers = [[row["weights"] for row in layer] for layer in [*model["hidden"], model["output"]["argmax"]]]
    largest = int(weights.split(":")[1]) if ":" in weights else 1
    # Texts of signs only mean weights +-1.
    for rows in layers:
        numbers = {abs(int(word)) for row in rows if set(row) - set("+-") for word in row.split()} - {0}
        # The scores of classes share a scale, which makes their biases whole.
        unit = math.gcd(*numbers)
        assert all(number <= largest * unit for number in numbers), rows
        assert weights != "binary" or len(numbers) <= 1
    assert classifier.score(X, y) > 0.6


def test_balanced_classes_find_the_rare_one():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (600, 5))
    y = (rng.random(600) < np.where(X[:, 0] & X[:, 1], 0.3, 0.02)).astype(int)
    for hidden in ("auto", (3,)):
        equal = BnnClassifier(hidden=hidden).fit(X, y).predict(X)
        balanced = BnnClassifier(hidden=hidden, class_weight="balanced").fit(X, y).predict(X)
        assert balanced[y == 1].mean() > max(0.5, equal[y == 1].mean())


def test_rows_that_make_no_sense():
    X = all_inputs(3)
    classifier = BnnClassifier(hidden=(2,), epochs=3).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="column 'x1', row 0: 2 is neither 0 nor 1"):
        classifier.predict([[0, 2, 0]])
    with pytest.raises(ValueError, match="column 'x1', row 0: nan is neither 0 nor 1"):
        classifier.predict([[0, np.nan, 0]])
    with pytest.raises(ValueError, match="2 features"):
        classifier.predict([[0, 1]])
    with pytest.raises(ValueError, match="one class"):
        BnnClassifier().fit(X, np.ones(8))
    with pytest.raises(ValueError, match="column 'x0', row 0: 0.5 is neither 0 nor 1"):
        BnnClassifier(binarize=None).fit(X + 0.5, X[:, 0])
    with pytest.raises(NotFittedError):
        BnnClassifier().circuit()
    assert not hasattr(classifier, "predict_proba"), "the network decides; it has no probability"


def test_missing_values_are_one_rule():
    """A missing value is above no threshold: in fit, in predict, in bits and in explanations."""
    random = np.random.default_rng(4)
    X = random.normal(size=(200, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[random.random(X.shape) < 0.2] = np.nan
    classifier = BnnClassifier(hidden=(3,), epochs=5).fit(X, y)
    assert np.array_equal(classifier.thresholds_, [mean_of(X[~np.isnan(X[:, place]), place]) for place in range(4)])
    circuit = classifier.circuit()
    assert np.array_equal(circuit.binarise(X), classifier.bits(X))
    assert np.array_equal(circuit.predict(X), classifier.predict(X))
    explanation = boolshap.Explainer(circuit, X[:50])(X)
    assert np.abs(explanation.base_values + explanation.values.sum(axis=1) - classifier.predict(X)).max() < 1e-9
    with pytest.raises(ValueError, match="column 'x0' has no values to fit"):
        BnnClassifier().fit(np.column_stack([np.full(200, np.nan), X]), y)
    with pytest.raises(ValueError, match="infinity|finite"):
        classifier.predict([[np.inf, 0, 0, 0]])


def mean_of(numbers):
    return float(sum(map(Fraction, numbers.tolist())) / len(numbers))


def test_missing_values_of_a_table():
    table = pandas.DataFrame({"rooms": [2.0, np.nan, 7.0], "garden": [0, 1, None], "place": ["sea", None, "sea"]})
    binarizer = Binarizer().fit(table)
    assert binarizer.get_feature_names_out().tolist() == ["rooms", "garden", "place=(missing)", "place=sea"]
    assert binarizer.transform(table).tolist() == [[0, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1]]


def test_thresholds_do_not_depend_on_the_order_of_rows():
    random = np.random.default_rng(5)
    X = random.normal(size=(500, 3)) * 10.0 ** random.integers(-8, 8, size=(500, 3))
    y = (X[:, 0] > 0).astype(int)
    orders = [random.permutation(500) for _ in range(5)]
    fitted = [BnnClassifier(hidden=(2,), epochs=2).fit(X[order], y[order]) for order in orders]
    assert all(np.array_equal(one.thresholds_, fitted[0].thresholds_) for one in fitted)
    assert all(one.model_ == fitted[0].model_ for one in fitted)
    cuts = [[rule.threshold for rule in Binarizer().fit(X[order]).rules_] for order in orders]
    assert all(cut == cuts[0] for cut in cuts)


def test_a_fold_that_shows_only_bits():
    """A column of numbers that happens to contain only 0 and 1 in one fold."""
    X = np.array([[0, 3], [1, 4], [0, 5], [1, 6], [2, 1], [5, 9]])
    binarizer = Binarizer().fit(X[:4])
    assert binarizer.transform(X)[:, 0].tolist() == [0, 1, 0, 1, 1, 1]
    digits, labels = load_digits(return_X_y=True)
    digits, labels = digits[:300], labels[:300] % 2
    scores = cross_val_score(make_pipeline(Binarizer(), BnnClassifier(hidden=(), epochs=2)), digits, labels, cv=3)
    assert np.isfinite(scores).all()
