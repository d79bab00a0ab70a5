"""The bench's rows of other libraries, in an environment apart: python tools/bench/peers.py NAME N
[SECONDS]."""

import os
import sys
import tempfile

from measuring import draw_factors, measure, serve, write_texts


def inspect(n, latency_s):
    """The questions by inspect-ai, which logs every sample."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    os.environ["OPENAI_API_KEY"] = "none"
    rows = [
        Sample(f"Will synthetic event {i} come about?", choices=["Yes", "No"], target="A")
        for i in range(n)
    ]
    task = Task(dataset=MemoryDataset(rows), solver=multiple_choice(), scorer=choice())
    with serve(latency_s) as address, tempfile.TemporaryDirectory() as folder:
        how = {
            "model_base_url": address,
            "model_args": {"responses_api": False},
            "log_dir": folder,
            "display": "none",
        }

        def ask():
            (log,) = eval(task, model="openai/bench", max_connections=50, max_samples=50, **how)
            if log.status != "success":
                raise SystemExit(f"inspect-ai: {log.error.message}")

        measure(ask)


def statsmodels(n):
    """The regression by statsmodels' formulas."""
    import statsmodels.formula.api as smf

    rows = draw_factors(n)
    model = "score ~ C(agent_id) + C(domain) + C(level)"
    how = {"cov_type": "cluster", "cov_kwds": {"groups": rows["event_id"]}}
    measure(lambda: smf.ols(model, rows).fit(**how).summary2())


def pyfixest(n):
    """The regression by pyfixest."""
    from pyfixest import feols

    rows = draw_factors(n)
    model = "score ~ C(agent_id) + C(domain) + C(level)"
    measure(lambda: feols(model, rows, vcov={"CRV1": "event_id"}).tidy())


def bm25s(n):
    """A hundred queries by bm25s, its index made first."""
    import bm25s as library

    texts, queries = write_texts(n, 40), write_texts(100, 5, seed=9)

    def search_all():
        index = library.BM25()
        index.index(library.tokenize(texts, show_progress=False), show_progress=False)
        index.retrieve(library.tokenize(queries, show_progress=False), k=10, show_progress=False)

    measure(search_all)


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]), *map(float, sys.argv[3:]))
