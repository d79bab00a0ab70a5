"""People's review of event cards: approve, or reject with one of the paper's eight labels
(WorldReasoner Appendix C).

A card is approved when it passes five checks; several may fail, and the first that does gives the
label. Reviews are kept as they are given (`forms`): a second thought stands beside the first, and
counts.
"""

import html
import json
from pathlib import Path

import pandas as pd

from helpers.means import summarize_clustered
from helpers.notebook_forms import keep_answer, open_form, read_answers
from studies.worldreasoner.hindsight.graphs import check_form

CHECKS = {
    "real": ("Fabricated", "Unverifiable", "PredictionNotEvent", "TooBroad"),
    "dated": ("WrongDate",),
    "supported": ("SourceMismatch",),
    "relevant": ("Noise",),
    "unique": ("Duplicate",),
}
"""Check -> the labels of a card that fails it, in the order in which the checks are made."""
LABELS = {label: check for check, labels in CHECKS.items() for label in labels}
APPROVED = "Approved"
COLUMNS = ["reviewer", "question_id", "node_id", "label", "reason"]


def keep_review(path, reviewer, question_id, node_id, label, reason=""):
    """Store one review: "Approved" or a label. Raises ValueError for another label, or a rejection
    without a reason."""
    if label != APPROVED and label not in LABELS:
        raise ValueError(
            f"a card is {APPROVED} or gets a label, {', '.join(LABELS)}; not {label!r}"
        )
    if label != APPROVED and not reason.strip():
        raise ValueError("Say in a few words why the card is rejected.")
    told = {
        "question_id": question_id,
        "node_id": node_id,
        "label": label,
        "reason": reason.strip(),
    }
    keep_answer(path, reviewer, f"{question_id}|{node_id}", told)


def read_reviews(path):
    """Return the reviews of a file, each reviewer's last of a card: reviewer, question_id, node_id,
    label, reason."""
    table = read_answers(path, COLUMNS[1:]).rename(columns={"person": "reviewer"})
    last = table.drop_duplicates(COLUMNS[:3], keep="last")
    return last[COLUMNS].sort_values(COLUMNS[:3], ignore_index=True)


def decide_cards(reviews):
    """Return one verdict a card: question_id, node_id, label, n_reviews; approved only where every
    reviewer approves.

    Of several labels that of the first check stands; of one check the first label.
    """
    order = [*LABELS, APPROVED]
    table = reviews.assign(label=pd.Categorical(reviews["label"], order, ordered=True))
    found = table.groupby(["question_id", "node_id"])["label"].agg(["min", "size"]).reset_index()
    return found.rename(columns={"min": "label", "size": "n_reviews"}).astype({"label": str})


def summarize_reviews(reviews):
    """Return the annotation summary (Table 6): of all cards approved, of each check passed, of each
    label given.

    A row each: what, hits, n, share, low, high (within 0 and 1); intervals by question, whose cards
    are of one making.
    """
    cards = decide_cards(reviews)
    failed = cards["label"].map(LABELS)
    flags = {"approved": failed.isna()} | {f"passes: {check}": failed != check for check in CHECKS}
    flags |= {f"label: {label}": cards["label"] == label for label in LABELS}
    wide = pd.DataFrame(flags).astype(float)
    table = summarize_clustered(wide, cards["question_id"], ends=(0, 1))
    table = table.assign(hits=wide.sum().astype(int)).rename_axis("what").reset_index()
    columns = "what hits n share low high n_clusters"
    return table.rename(columns={"mean": "share"})[columns.split()]


def read_reviewed(path):
    """Return the graphs of a JSON file to review, a list of them (`graphs.check_form`).

    Raises ValueError, naming the file, where it is not there, cannot be read, holds another form,
    or no card.
    """
    try:
        graphs = [check_form(graph) for graph in json.loads(Path(path).read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if not list_cards(graphs):
        raise ValueError(f"{path} holds no card to review")
    return graphs


def read_references(path):
    """Return {question_id: graph} of a file of graphs, without the cards that reviewers rejected.

    The reviews are those of reviews.sqlite in the file's folder; a card that nobody has seen stays.
    With a card go its edges and its impact. Raises ValueError as `read_reviewed`.
    """
    graphs = {graph["question_id"]: graph for graph in read_reviewed(path)}
    beside = Path(path).with_name("reviews.sqlite")
    if not beside.exists():
        return graphs
    cards = decide_cards(read_reviews(beside)).query("label != @APPROVED")
    for name, gone in cards.groupby("question_id")["node_id"].agg(set).items():
        for part in ("nodes", "edges", "impacts") if name in graphs else ():
            graphs[name][part] = [
                one
                for one in graphs[name][part]
                if gone.isdisjoint(one.get(end) for end in ("node_id", "cause", "effect"))
            ]
    return graphs


def list_cards(graphs):
    """Return the cards of graphs as they are reviewed, by question, then date, each with
    `question`, its outcome."""
    cards = []
    for graph in graphs:
        name = graph["question_id"]
        titles = {node["node_id"]: node["title"] for node in graph["nodes"]}
        about = {"question_id": name, "question": titles.get(graph["outcome_id"], name)}
        nodes = [node | about for node in graph["nodes"] if node["node_id"] != graph["outcome_id"]]
        cards += sorted(nodes, key=lambda node: (node["occurred_at"] or "9999", node["node_id"]))
    return cards


def write_card(card):
    """Return a card as HTML, all its words escaped."""
    rows = {
        "question": card["question"],
        "event": card["title"],
        "what": card.get("description"),
        "day": card["occurred_at"] or "undated",
        "sources": "; ".join(card["source_ids"]) or "none",
    }
    lines = [f"<p><b>{name}</b>: {html.escape(text)}</p>" for name, text in rows.items() if text]
    return "".join(lines)


def open_review(graphs, reviewer, path):
    """Return the form of one reviewer as a widget (`notebook_forms.open_form`): a card after the
    other, verdict and reason.

    It goes on with the first card that the reviewer has not seen.
    """
    cards = {(card["question_id"], card["node_id"]): card for card in list_cards(graphs)}

    def recall():
        kept = read_reviews(path).set_index(["question_id", "node_id"])
        own = kept[kept["reviewer"] == str(reviewer)].rename(columns={"label": "verdict"})
        return own[["verdict", "reason"]].to_dict("index")

    def show(key):
        return write_card(cards[key]), recall().get(key, {})

    def store(key, typed):
        keep_review(path, reviewer, *key, typed["verdict"], typed["reason"])
        return f"{len(recall())} of {len(cards)} cards reviewed", True

    titles = {key: f"{at}. {card['title'][:80]}" for at, (key, card) in enumerate(cards.items(), 1)}
    fields = {"verdict": [APPROVED, *LABELS], "reason": None}
    form = open_form(titles, fields, show, {"store and go on": store})
    seen = recall()
    form.children[0].value = next((key for key in cards if key not in seen), next(iter(cards)))
    return form
