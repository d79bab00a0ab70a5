"""What FutureX's past questions show: scores above guessing by form, what the options' order tells.

Tables are those of data/public: futurex_past_events (a row a question) and futurex_past_scores (a
row an agent and question), built by tools/public/futurex_past.py.
"""

import pandas as pd

from helpers.means import summarize_clustered
from helpers.scores import build_matrix

FORMS = ("yes or no", "one of two names", "one of several", "several right")


def tabulate_forms(scores, events):
    """Return each agent's mean score by form, and above the exact mean of guessing: a row an agent
    and form.

    Under "all", the first, stands who predicted more forms than one. Columns: form, agent_id, mean,
    chance, above, low, high (95% by cluster), n, n_clusters.
    """
    matrix = build_matrix(scores, sorted(scores["agent_id"].unique()))
    facts = events.set_index("event_id").reindex(matrix.index)
    own = facts["form"]
    parts = []
    for form in ["all", *[form for form in FORMS if (own == form).any()]]:
        part = (
            matrix.loc[:, matrix.notna().groupby(own).any().sum() > 1]
            if form == "all"
            else matrix[own == form]
        )
        above = part.sub(facts["guess"].reindex(part.index), axis=0)
        found = summarize_clustered(above, facts["cluster_id"]).rename(columns={"mean": "above"})
        found = found.assign(mean=part.mean(), chance=part.mean() - found["above"], form=form)
        parts.append(found.rename_axis("agent_id").reset_index())
    table = pd.concat(parts, ignore_index=True).query("n > 0")
    return table["form agent_id mean chance above low high n n_clusters".split()].reset_index(
        drop=True
    )


def measure_order(events):
    """Return how often the right options stand first in the file, a row a form: n, n_clusters,
    seen, expected, gain, low, high, p; expected is that of a drawn order.
    """
    parts = []
    for form, part in events.dropna(subset="is_first").groupby("form"):
        part = part.set_index("event_id")
        found = summarize_clustered(
            (part["is_first"] - part["first_chance"]).to_frame("gain"), part["cluster_id"]
        )
        counts = {
            "form": form,
            "seen": part["is_first"].sum(),
            "expected": part["first_chance"].sum(),
        }
        parts.append(
            counts | found.rename(columns={"mean": "gain"}).drop(columns="se").iloc[0].to_dict()
        )
    return pd.DataFrame(parts)
