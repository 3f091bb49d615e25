"""Probabilities close to 0 and 1: floats are within their stated bound, and cases without an answer are refused for the
right reason, with the same message by every engine."""

import itertools
from fractions import Fraction

import pytest

from fuzzing import decimal
from games import Formula, compile_formula, exact_rows, explain, refused, write_table

FEATURES = ["a", "b", "c", "d"]
RARE = ["2e-16", "1e-5", "1e-12", "1e-40", "1e-300", "5e-324"]


def set_up(boolshap, clauses, constraint, probabilities, rows):
    compile_formula(boolshap, Formula(4, clauses), FEATURES)
    Formula(4, constraint).write(boolshap.folder / "k.cnf")
    write_table(boolshap.folder / "p.csv", ["feature", "probability"], zip(FEATURES, probabilities))
    write_table(boolshap.folder / "e.csv", FEATURES, rows)
    return ["c.bsc", "e.csv", "--distribution", "product:p.csv", "--constraint", "k.cnf"]


@pytest.mark.parametrize("near_one", [False, True])
@pytest.mark.parametrize("rare", RARE)
def test_rare_values_under_a_constraint(boolshap, rare, near_one):
    """At least two of the first three are rare, so that every number is a quotient of very small ones."""
    sign = -1 if near_one else 1
    probabilities = [factor * Fraction(rare) for factor in (1, 2, 3)]
    probabilities = [decimal(1 - p if near_one else p) for p in probabilities]
    constraint = [[sign * i, sign * j] for i, j in itertools.combinations((1, 2, 3), 2)]
    rows = [row for row in itertools.product((0, 1), repeat=4) if Formula(4, constraint)(row)]
    arguments = set_up(boolshap, [[1, 4], [-2, 3], [-1, -4]], constraint, [*probabilities, "0.3"], rows)
    for index in ["shapley", "banzhaf", "interaction"]:
        exact = exact_rows(boolshap, *arguments, "--index", index)
        header, floats, said = explain(boolshap, *arguments, "--index", index)
        assert 0 < said["error_bound"] < 1e-13
        for row, true in zip(floats, exact, strict=True):
            for cell, fraction in zip(row, (true[name] for name in header), strict=True):
                assert abs(Fraction(cell) - Fraction(fraction)) <= Fraction(said["error_bound"])


def test_scores_worked_out_by_hand(boolshap):
    """The label is a, given (a or b): v is p / (p + q) for p and q of the same order of magnitude, and 1 or 0 with one
    of them known."""
    arguments = set_up(boolshap, [[1]], [[1, 2]], ["2e-16", "6e-16", "0.5", "0.5"], [(1, 0, 0, 0), (0, 1, 0, 0)])
    (_, found, said) = explain(boolshap, *arguments)
    p, q = Fraction("2e-16"), Fraction("6e-16")
    base = p / (p + q - p * q)
    # v for a = 1: empty set base, a 1, b (which is 0) 1, both 1. v for b = 1: empty set base, a 0, b p, both 0.
    expected = [[1, base, (1 - base) / 2, (1 - base) / 2], [0, base, (-base - p) / 2, (p - base) / 2]]
    for row, numbers in zip(found, expected, strict=True):
        for cell, number in zip(row, numbers):
            assert abs(Fraction(cell) - number) <= Fraction(said["error_bound"])
    assert abs(base - Fraction(1, 4)) < Fraction(1, 10 ** 15)


def test_fractions_have_no_error(boolshap):
    arguments = set_up(boolshap, [[1, 2]], [[1, 3]], ["0.1"] * 4, [(1, 0, 0, 0)])
    assert explain(boolshap, *arguments, "--exact")[2]["error_bound"] == 0
    assert 0 < explain(boolshap, *arguments[:2])[2]["error_bound"] < 1e-13


@pytest.mark.parametrize("probabilities", [["0"] * 4, ["0", "0", "1", "0.5"]])
@pytest.mark.parametrize("options", [[], ["--exact"], ["--engine", "brute-force"], ["--engine", "brute-force", "--exact"]])
def test_a_constraint_of_probability_zero(boolshap, probabilities, options):
    arguments = set_up(boolshap, [[1, 2]], [[1, 2]], probabilities, [(1, 0, 0, 0), (0, 1, 1, 0)])
    said = refused(boolshap, 1, *arguments, *options)
    assert said == ("boolshap: the constraint has probability 0 under the distribution, so nothing can be expected given "
                    "it\n")


@pytest.mark.parametrize("options", [[], ["--exact"], ["--engine", "brute-force"]])
def test_what_is_nearly_certain_is_not_certain(boolshap, options):
    """1 - 1e-40 is 1 in floats, yet the value 0 can occur; if it is impossible, the error says so."""
    nearly = decimal(1 - Fraction("1e-40"))
    arguments = set_up(boolshap, [[1, 2]], [[-1, -2]], [nearly, nearly, "0.5", "0.5"], [(0, 1, 0, 0), (1, 0, 1, 1)])
    _, rows, _ = explain(boolshap, *arguments, *options)
    assert [round(float(Fraction(cell)), 12) for cell in rows[0][:4]] == [1, 1, 0, 0]
    arguments = set_up(boolshap, [[1, 2]], [[-1, -2]], ["1", nearly, "0.5", "0.5"], [(1, 0, 0, 0)])
    assert explain(boolshap, *arguments, *options)
    # With b = 1 the constraint requires a = 0, which is impossible.
    arguments = set_up(boolshap, [[1, 2]], [[-1, -2]], ["1", nearly, "0.5", "0.5"], [(1, 0, 0, 0), (0, 1, 0, 0)])
    assert "row 2: some of its values cannot occur together" in refused(boolshap, 1, *arguments, *options)


def test_decimals_beyond_the_range_of_floats(boolshap):
    arguments = set_up(boolshap, [[1, 2]], [[1, 3]], ["1e-400", "0.5", "0.5", "0.5"], [(1, 0, 0, 0)])
    said = refused(boolshap, 1, *arguments)
    assert "row 1: the probability '1e-400' of 'a' is smaller than the smallest that can be read, 5e-324" in said
    # Any number of digits is read.
    arguments = set_up(boolshap, [[1, 2]], [[1, 3]], ["0." + "9" * 1000, "0.5", "0.5", "0.5"], [(1, 0, 0, 0)])
    (row,) = exact_rows(boolshap, *arguments)
    assert Fraction(row["base_value"]) > 1 - Fraction(1, 10 ** 999)
    explain(boolshap, *arguments)
