"""Forms that hold a model's answers to what their parser reads: JSON schemas, and grammars (GBNF)
for local models."""

from itertools import combinations
from math import comb

MAX_RULES = 3000
"""A ranking's grammar has a rule for each set of options already named; beyond so many it is
refused."""

NAME_RULE = r"name ::= [^;{}\\\n ] [^;{}\\\n]{0,59}"
"""A name in an open ranking: up to 60 characters that neither end a box nor separate names."""

STEP_GRAMMAR = r"""root ::= "{\"thought\": \"" text "\", \"action\": " turn "}"
turn ::= look | "\"answer\", \"input\": \"\""
look ::= ("\"search\"" | "\"open\"") ", \"input\": \"" text "\""
text ::= [^"\\\n] [^"\\\n]{0,159}"""
"""One turn of a step-by-step agent (agents.searching.STEP_SCHEMA), with texts of at most 160
characters."""


def make_schema(**properties):
    """Return the JSON schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def demand_json(name, schema):
    """Return the option of a request that holds the reply to a JSON schema, by the provider's
    structured output."""
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": name, "schema": schema, "strict": True},
        }
    }


def quote_literal(text):
    r"""Return a text as a literal of llama.cpp's grammar language.

    >>> print(quote_literal('say "a"'))
    "say \"a\""
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


NUMBER = '"-"? ("0" | [1-9] [0-9]{0,11}) ("." [0-9]{1,6})?'
SHARE = '"0" | "1" | "0." [0-9]{1,2}'
QUANTILES = ("0.05", "0.25", "0.5", "0.75", "0.95")
"""Of a number, the probabilities whose quantiles a model is asked for."""


def write_stated(kind, options, before="%s=", after="", between="; "):
    """Return the rules `stated` and `share`: of every option its probability, or of a number its
    quantiles.

    `before` and `after` are what stands around each value, %s for the option's letter or the
    quantile's probability.
    """
    is_choice = kind in ("single", "multi")
    names = options if is_choice else QUANTILES
    end = f" {quote_literal(after)}" if after else ""
    parts = [f"{quote_literal(before % name)} share{end}" for name in names]
    return [
        f"stated ::= {f' {quote_literal(between)} '.join(parts)}",
        f"share ::= {SHARE if is_choice else NUMBER}",
    ]


def build_grammar(kind, options=None, k=1, *, states=False):
    r"""Return a grammar (GBNF) whose only texts are final answers of an event: the prompt's last
    line with its box.

    `kind`: single (one letter of `options`), multi (one or more letters, ascending, none twice),
    ranking (`k` of `options`, none twice, or without options `k` names), number (digits, a sign, a
    decimal point), date (a day of this or the last century). With `states` a line of probabilities,
    or of quantiles, comes first. Raises ValueError for another kind, or a ranking too large for a
    grammar.

    >>> print(build_grammar("single", ["A", "B"]))
    root ::= "Final answer: \\boxed{" answer "}"
    answer ::= "A" | "B"
    >>> print(build_grammar("multi", ["A", "B"]))
    root ::= "Final answer: \\boxed{" answer "}"
    answer ::= from0
    from0 ::= "A" (", " from1)? | from1
    from1 ::= "B"
    """
    options = list(options or [])
    if kind == "single":
        rules = ["answer ::= " + " | ".join(map(quote_literal, options))]
    elif kind == "multi":
        rules = ["answer ::= from0"]
        for i, literal in enumerate(
            map(quote_literal, options), 1
        ):  # it, alone or with later ones, or later ones
            rules += [
                f"from{i - 1} ::= {literal}" + f' (", " from{i})? | from{i}' * (i < len(options))
            ]
    elif kind == "ranking" and options:
        rules = write_ranking_rules(sorted(options), k)
    elif kind == "ranking":
        rules = ["answer ::= " + ' "; " '.join(["name"] * k), NAME_RULE]
    elif kind == "number":
        rules = [f"answer ::= {NUMBER}"]
    elif kind == "date":
        rules = ['answer ::= ("19" | "20") [0-9]{2} "-" [01] [0-9] "-" [0-3] [0-9]']
    else:
        raise ValueError(
            f"no grammar for kind {kind!r}; there are single, multi, ranking, number and date"
        )
    word = "Quantiles" if kind == "number" else "Probabilities"
    first = ""
    if states:
        first = f'"{word}: " stated "\\n" '
        rules = [*rules, *write_stated(kind, options)]
    return "\n".join([f'root ::= {first}"Final answer: \\\\boxed{{" answer "}}"', *rules])


def write_ranking_rules(entities, k):
    """Return the rules for ordered lists of k different entities: one for each set that may have
    been named before."""
    n = len(entities)
    if k > n:
        raise ValueError(f"a ranking of {k} places needs as many entities, there are {n}")
    n_rules = sum(comb(n, size) for size in range(k))
    if n_rules > MAX_RULES:
        raise ValueError(
            f"a ranking of {k} out of {n} needs {n_rules} rules, more than the {MAX_RULES} a server takes"
        )

    def name_rule(taken):
        return "after-" + "-".join(map(str, sorted(taken))) if taken else "answer"

    rules = []
    for taken in (named for size in range(k) for named in combinations(range(n), size)):
        is_last = len(taken) == k - 1
        left = [i for i in range(n) if i not in taken]
        rests = ["" if is_last else f' "; " {name_rule((*taken, i))}' for i in left]
        parts = [quote_literal(entities[i]) + rest for i, rest in zip(left, rests, strict=True)]
        rules.append(f"{name_rule(taken)} ::= {' | '.join(parts)}")
    return rules
