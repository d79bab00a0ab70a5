"""`daybefore source --source name` (make source SOURCE=name): try one source by itself, from its page to its scores."""

import pandas as pd

from helpers.agents.registry import predict_events
from helpers.calendar import ZONE, list_days, stamp_moment
from helpers.columns import check_name
from helpers.commands.main import build_parser
from helpers.outcomes.answers import acquire_answers
from helpers.outcomes.scores import build_matrix, score_predictions, select_headline
from helpers.papers import get_constant
from helpers.questions.events import collect_events
from helpers.world.crawl import open_world
from helpers.world.sources import load_sources

SEED = 20161010


def try_source(source_id, window, *, local=False):
    """Print a source's page, events, predictions, answers and mean scores, and return them as a dict.

    Raises ValueError naming what is wrong.
    """
    check_name("source", source_id)
    sources = load_sources(local=local)
    if source_id not in sources:
        raise ValueError(
            f"no source is called {source_id!r}; write data/sources/{source_id}.toml, or take one of "
            f"{', '.join(sources)}"
        )
    with open_world(local=local) as connect:
        crawler = connect()
        first = stamp_moment(pd.Timestamp(list_days(window)[0], tz=ZONE))
        observations, _ = crawler.observe(source_id, first)
        print(f"page {sources[source_id].address} as of {first}: {len(observations)} values, the last are")
        print(observations.tail(3).to_string(index=False))
        share = get_constant("futurex", "keep_binary")
        chosen = {source_id: sources[source_id]}
        events, screenings = collect_events(chosen, crawler, window, seed=SEED, keep_binary=share)
        answers, _ = acquire_answers(events, crawler)
        predictions = predict_events(events, crawler)
    print(f"\n{len(events)} events kept, {int(screenings['is_dropped'].sum())} dropped:")
    print(screenings.loc[screenings["is_dropped"], "reason"].value_counts().to_string() or "none dropped")
    shown = events[["event_id", "kind", "level"]].assign(question=events["prompt"].str.split("\n").str[0].str[:90])
    known = answers.set_index("event_id")["value"]
    last = predictions[predictions["agent_id"] == "last_value"].set_index("event_id")["value"]
    shown = shown.assign(last_value=shown["event_id"].map(last), answer=shown["event_id"].map(known))
    print("\n" + shown.head(8).to_string(index=False))
    rows = select_headline(score_predictions(predictions, answers, events), events)
    matrix = build_matrix(rows, sorted(rows["agent_id"].unique()))
    table = pd.DataFrame({"n": matrix.notna().sum(), "mean score": matrix.mean().round(3)})
    table = table.sort_values("mean score", ascending=False)
    print("\n" + table.to_string())
    page = {"address": sources[source_id].address, "as_of": first, "n_values": len(observations)}
    scores = table.rename(columns={"mean score": "score"}).rename_axis("agent").reset_index().to_dict("records")
    kept = shown.astype(object).where(shown.notna(), None).to_dict("records")
    return {"source": source_id, "window": window, "page": page, "events": kept, "scores": scores}


def main(arguments=None):
    """Read the command line and try the source; returns what was found."""
    parser = build_parser("source")
    parser.add_argument("--source", required=True, help="the source's id: the name of its toml file")
    parser.add_argument("--window", default="A", help="A, C1 or C2 (default A)")
    parser.add_argument("--local", action="store_true", help="also sources that may be loaded but not passed on")
    options = parser.parse_args(arguments)
    try:
        return try_source(options.source, options.window, local=options.local)
    except (ValueError, FileNotFoundError) as problem:
        raise SystemExit(f"daybefore source: {problem}") from None


if __name__ == "__main__":
    main()
