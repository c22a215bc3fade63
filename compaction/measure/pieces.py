"""The weights by which pieces of files are chosen (`compaction.excerpts`), fitted: which pieces were edited after each cut.

Logistic regression with a small penalty, by Newton's method, in plain Python: there are seven features.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt

from compaction.excerpts import Weights, features_of
from compaction.masks import calls_of
from compaction.measure.cuts import Case
from compaction.measure.future import demand, folded, said
from compaction.summary.survey import survey
from sessions.meters.tokens import count

PENALTY = 10.0  # on weights of features scaled to one standard deviation
ROUNDS = 12

type Row = tuple[tuple[float, ...], bool]


def rows_of(case: Case) -> list[Row]:
    """Each piece of the files known at the cut, by its features, and whether a text that was replaced afterwards lies in it, wholly or in part."""
    snapshot = case.snapshot
    wanted = demand(said(snapshot.items), said(case.future)).edits
    if not wanted:
        return []
    surveyed = survey(snapshot.items, calls_of(snapshot))
    out: list[Row] = []
    for texts, features in features_of(snapshot, surveyed, count):
        worked = worked_on([folded(text) for text in texts], wanted)
        out.extend((found, n in worked) for n, found in enumerate(features))
    return out


def worked_on(pieces: Sequence[str], wanted: Sequence[str]) -> set[int]:
    """Which of a file's pieces, in order, any of the texts lies in, wholly or in part; white space folded on both sides."""
    text = ""
    bounds: list[tuple[int, int]] = []
    for piece in pieces:
        bounds.append((len(text), len(text) + len(piece)))
        text += f"{piece} " if piece else ""
    out: set[int] = set()
    for edit in wanted:
        at = text.find(edit)
        while at >= 0:
            stop = at + len(edit)
            out.update(n for n, (first, last) in enumerate(bounds) if max(first, at) < min(last, stop))
            at = text.find(edit, at + 1)
    return out


def fit(rows: Sequence[Row]) -> Weights | None:
    """The weights that fit these rows; None where nothing was edited."""
    if not any(label for _, label in rows):
        return None
    size = len(rows[0][0])
    means = [sum(x[n] for x, _ in rows) / len(rows) for n in range(size)]
    spreads = [sqrt(sum((x[n] - means[n]) ** 2 for x, _ in rows) / len(rows)) or 1.0 for n in range(size)]
    scaled = [(1.0, *((x[n] - means[n]) / spreads[n] for n in range(size))) for x, _ in rows]
    labels = [float(label) for _, label in rows]
    beta = [0.0] * (size + 1)
    for _ in range(ROUNDS):
        gradient = [0.0] + [PENALTY * b for b in beta[1:]]
        hessian = [[PENALTY if n == m and n else 0.0 for m in range(size + 1)] for n in range(size + 1)]
        for x, label in zip(scaled, labels, strict=True):
            p = 1 / (1 + exp(-sum(b * v for b, v in zip(beta, x, strict=True))))
            for n, v in enumerate(x):
                gradient[n] += (p - label) * v
                steep = p * (1 - p) * v
                for m in range(n + 1):
                    hessian[n][m] += steep * x[m]
        for n in range(size + 1):
            for m in range(n):
                hessian[m][n] = hessian[n][m]
        beta = [b - d for b, d in zip(beta, _solved(hessian, gradient), strict=True)]
    plain = [b / spread for b, spread in zip(beta[1:], spreads, strict=True)]
    return Weights(beta[0] - sum(w * m for w, m in zip(plain, means, strict=True)), *plain)


def _solved(matrix: list[list[float]], vector: list[float]) -> list[float]:
    """Gauss with pivots; the matrix is small and well made by its penalty."""
    rows = [[*row, value] for row, value in zip(matrix, vector, strict=True)]
    size = len(rows)
    for n in range(size):
        pivot = max(range(n, size), key=lambda m: abs(rows[m][n]))
        rows[n], rows[pivot] = rows[pivot], rows[n]
        for m in range(n + 1, size):
            factor = rows[m][n] / rows[n][n]
            for k in range(n, size + 1):
                rows[m][k] -= factor * rows[n][k]
    out = [0.0] * size
    for n in range(size - 1, -1, -1):
        out[n] = (rows[n][size] - sum(rows[n][m] * out[m] for m in range(n + 1, size))) / rows[n][n]
    return out
