"""Each kind of check on small operands whose answer is known."""

import pytest

from studies.audit import checks

CASES = [
    ("sum", 25, [[8], [7, 8], [2]], 0, 25, True),
    ("sum", 24, [[8], [7, 8], [2]], 1, 25, True),
    ("sum", None, [[8], [7]], 0, 15, None),
    ("mean", 2, [[1], [3]], 0, 2, True),
    ("count", 2, [[5], [5]], 0, 2, True),
    ("count_above", 3, [[9.9, 10], [11, 12], [10]], 0, 3, True),
    ("distinct", 1, [[5], [5]], 0, 1, True),
    ("words", 5, [["a|b|c|d|e"]], 0, 5, True),
    ("difference", 294, [[487], [193]], 0, 294, True),
    ("product", 12, [[3], [4]], 0, 12, True),
    ("ratio", 0.5, [[1], [2]], 0, 0.5, True),
    ("share", 35.8, [[600, 30], [1759]], 0.05, 100 * 630 / 1759, True),
    ("change", 50, [[2], [3]], 0, 50, True),
    ("feasible", 75.3, [[75.3], [81]], 0.05, 100 * 61 / 81, True),
    ("feasible", 23.1, [[23.1], [122]], 0.05, 100 * 28 / 122, False),
    ("feasible", 24.3, [[24.3], [210, 212, 214]], 0.05, 100 * 52 / 214, True),  # nor far from 51 of 210
    ("feasible", 24.3, [[24.3], [212]], 0.05, 100 * 52 / 212, False),
    ("weighted", 30, [[0.2, 0.5], [20, 10]], 0, 30, True),
    ("rank", 2, [[23.0], [52.6, 4.5, 23.0]], 0, 2, True),
    ("largest", "b", [["a", "b"], [1, 2]], 0, "b", True),
    ("largest", "a", [["a", "b"], [1]], 0, None, None),  # one value is blank
    ("days", 7, [["2025-07-24"], ["2025-07-31"]], 0, 7, True),
    ("same", 195, [[195], [195]], 0, 195, True),
    ("same", 195, [[195], [128]], 0, 128, False),
    ("nearest", 195, [[190], [194]], 1, 194, True),
    ("nearest", 195, [[190], [194]], 0.5, 194, False),
    ("same_set", "a|b", [["b|a"]], 0, "b|a", True),
    ("same_set", "a|b", [["b|a|c"]], 0, "b|a|c", False),
    ("subset", "a|b", [["b|c"], ["a"]], 0, "b|c|a", True),
    ("subset", "a|d", [["b|c"], ["a"]], 0, "b|c|a", False),
    ("disjoint", "a|b", [["c"], ["d|e"]], 0, "c|d|e", True),
    ("disjoint", "a|b", [["c"], ["d|b"]], 0, "c|d|b", False),
    ("readings", 30000, [[600, 522]], 0, 1122, False),
    ("readings", 13, [[6], [7]], 0, 13, True),
    ("readings", "each", [["some"]], 0, "some", False),
    ("first_gap", None, [[9], [1], [5], [3], [2], [2]], 0, "8 against 2", True),
    ("first_gap", None, [[9], [1], [5], [14]], 0, "8 against 9", False),
    ("order", None, [[3], [1, 3], [1]], 0, "3 > 2 > 1", True),
    ("order", None, [[3], [3]], 0, "3 > 3", False),  # a tie is no order
    ("gaps_fall", None, [[1], [4], [5], [3]], 0, "3 > 2", True),  # whatever the sign
    ("gaps_fall", None, [[5], [3], [1], [4]], 0, "2 > 3", False),
    ("dates_rise", None, [["2025-01"], ["2025-01-02"]], 0, "2025-01-01, 2025-01-02", True),
    ("dates_rise", None, [["2025-01"], ["2025-01-01"]], 0, "2025-01-01, 2025-01-01", False),
    ("highest", None, [[11, 9], [5], [8]], 0, "9 against 8", True),
    ("highest", None, [[8], [5], [8]], 0, "8 against 8", False),
    ("within", None, [[84.8], [70], [100]], 0, "70 to 100", True),
    ("within", 91, [[31], [90]], 0, "31 to 90", False),
    ("within", None, [[1, 11], [0], [10]], 0, "0 to 10", False),
    ("at_least", 10, [[3], [12]], 0, 12, True),
    ("at_least", 10, [[3], [7.2]], 0, 7.2, False),
    ("at_most", 50, [[37.5], [33]], 0, 37.5, True),
    ("at_most", 50, [[37.5], [51]], 0, 51, False),
    ("balance", None, [["a|b|c|d|e"], [3], [2]], 0, "5 against 5", True),
    ("balance", None, [["a|b|c|d|e"], [3], [3]], 0, "5 against 6", False),
    ("one_size", None, [[16.39, 13.11, 21.31], [374]], 0.01, "61 fits 3 of 3", True),
    ("one_size", None, [[12.37, 9.28, 31.18], [374]], 0.01, "97 fits 2 of 3", False),
    ("partition", 158, [[16.39, 13.11, 21.31], [12.37, 9.28]], 0.01, 158, True),  # 61 and 97
    ("partition", 160, [[16.39, 13.11, 21.31], [12.37, 9.28]], 0.01, 158, False),  # next are 122 and 97
    ("pooled", 54.2, [[60], [10], [20], [10], [24]], 0.05, "33.33 to 50", False),
    ("pooled", 50, [[60], [10], [20], [7, 10], [24]], 0.05, "33.33 to 50", True),  # 20% fits 2 of 10, not 1 of 7
]


@pytest.mark.parametrize(("kind", "published", "groups", "tolerance", "recomputed", "holds"), CASES)
def test_each_kind_of_check(kind, published, groups, tolerance, recomputed, holds):
    found, judged = checks.run_check(kind, published, groups, tolerance)
    assert judged is holds
    assert found == (pytest.approx(recomputed, abs=1e-4) if isinstance(recomputed, int | float) else recomputed)


def test_every_kind_is_tried_and_every_judgement_both_ways():
    assert {case[0] for case in CASES} == {*checks.VALUES, *checks.JUDGEMENTS}
    assert not {*checks.VALUES} & {*checks.JUDGEMENTS}
    for kind in checks.JUDGEMENTS:
        assert {case[-1] for case in CASES if case[0] == kind} == {True, False}, kind
