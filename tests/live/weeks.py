"""Weeks of a challenge in the documented forms, with questions of ours, and what a model says to each."""

import hashlib
import os

TAIL = (
    "\nIMPORTANT: Your final answer must be put into a box, in this form:\n{form}\n"
    "Give no other form and make one clear prediction."
)
LETTERS = (
    "all correct option(s), with commas between. For example: \\boxed{A} for one option or \\boxed{B, C} for several."
)
ONE = "the letter of the one right option, as \\boxed{LETTER}"
TWO = "\\boxed{%s} or \\boxed{%s}"
OPEN = "\\boxed{YOUR_PREDICTION}"
ZH_HARBOUR = "事件：第{n}号港口周日前会结冰吗？\n最终答案写成 \\boxed{{是}} 或 \\boxed{{否}}。"
ZH_LAKES = "哪些湖（第{n}组）水位会上升？\nA. 东湖\nB. 西湖\nC. 南湖\n请选出所有正确选项，如 \\boxed{{A, B}}。"
ZH = "\n重要提示：最终答案必须写成 \\boxed{{你的预测}} 的形式。"


def ask(question, form=OPEN):
    return f'The event to be predicted: "{question}"' + TAIL.format(form=form)


def ask_letters(question, options, form=LETTERS):
    lines = "\n".join(f"{letter}.  the outcome be {text}" for letter, text in zip("ABCDEFGH", options))  # noqa: B905
    return f'The event to be predicted: "{question}\n{lines}"' + TAIL.format(form=form)


# (name, prompt, level, the model's box, the prediction as submitted, the true answer, its score)
KINDS = [
    ("yes", ask("Will harbour {n} freeze before Sunday?", TWO % ("Yes", "No")), 1, "Yes", "Yes", "Yes", 1.0),
    (
        "two",
        ask("Rowers vs. Drifters, race {n}", TWO % ("Rowers", "Drifters")),
        1,
        "Drifters",
        "Drifters",
        "Rowers",
        0.0,
    ),
    ("one", ask_letters("Who wins regatta {n}?", ["Rowers", "Drifters", "Neither"], ONE), 1, "C", "C", "['C']", 1.0),
    (
        "several",
        ask_letters("Which lakes of group {n} rise?", ["Alm", "Bex", "Cor", "Dun"]),
        2,
        "C, A",
        "A, C",
        "['A', 'C']",
        1.0,
    ),
    ("half", ask_letters("Which mills of row {n} turn?", ["Ost", "West", "Nord", "Sud"]), 2, "A", "A", "A, B", 2 / 3),
    ("name", ask("Which team will win cup {n}?"), 3, "Timber Wolves", "Timber Wolves", "Timber Wolves", 1.0),
    ("number", ask("How many boats will cross strait {n}?"), 4, "1,250", "1250", "1300", 1 - (50 / 65) ** 2),
    (
        "unit",
        ask("What will the closing price of tin be on day {n}? Report in US dollars."),
        4,
        "112.5",
        "112.5 US dollars",
        "112.5",
        1.0,
    ),
    ("percent", ask("What will be the turnout in town {n} (in %)?"), 4, "54.2%", "54.2%", "60", 0.0),
    (
        "ranking",
        ask("Name the top 3 songs of chart {n} in order."),
        4,
        "Ash; Birch; Cedar",
        "Ash, Birch, Cedar",
        "['Ash', 'Cedar', 'Birch']",
        0.8,
    ),
    ("date", ask("On what date will ferry {n} resume?"), 3, "7 March 2026", "2026-03-07", "2026-03-07", 1.0),
    ("zh_yes", ZH_HARBOUR, 1, "否", "否", "否", 1.0),
    ("zh_letters", ZH_LAKES, 2, "A，C", "A, C", "['A', 'C']", 1.0),
    ("zh_points", "第{n}日上证指数收盘多少点？" + ZH, 4, "3120.55点", "3120.55 点", "3120.55", 1.0),
    ("zh_name", "谁将赢得第{n}届棋赛冠军？" + ZH, 3, "王小明", "王小明", "王小明", 1.0),
    (
        "zh_names",
        "第{n}周票房前三名的电影依次是哪些？" + ZH,
        4,
        "春江、远山、星河",
        "春江, 远山, 星河",
        "['春江', '远山', '星河']",
        1.0,
    ),
    ("strange", ask("Describe the weather on island {n} in one word."), 3, "stormy", "stormy", "stormy", 1.0),
    ("silent", ask("Who will chair council {n}?"), 3, None, "", "Ada Berg", 0.0),
]


def make_week(week, n=61, end="2026-03-08"):
    """Return (rows of the data set, {question's words: what the model says}, {id: (prediction, answer, score)})."""
    rows, said, expected = [], {}, {}
    for i in range(n):
        name, prompt, level, box, prediction, answer, score = KINDS[i % len(KINDS)]
        prompt = prompt.replace("{n}", f"{week}{i:03}").replace("{{", "{").replace("}}", "}")
        row_id = hashlib.sha1(f"{week} {i}".encode()).hexdigest()[:24]
        rows.append({"id": row_id, "prompt": prompt, "end_time": end, "level": level})
        said[f"{week}{i:03}"] = f"I weighed it.\nFinal answer: \\boxed{{{box}}}" if box else "I cannot tell."
        expected[row_id] = (prediction, answer, score)
    return rows, said, expected


def make_model(said):
    """Return the mock provider's `answer`: what the model says to the question whose number its prompt holds."""

    def answer(asked):
        text = asked["messages"][-1]["content"]
        return {"content": next((reply for key, reply in said.items() if key in text), "no such question")}

    return answer


def make_checkout(folder, root, agents):
    """Make a checkout of links to the repository's, with a reader's own agents (toml); returns its settings."""
    (folder / "src").symlink_to(root / "src")
    (folder / "data").mkdir()
    for path in (root / "data").iterdir():
        if path.name not in ("agents.local.toml", "runs", "weeks"):
            (folder / "data" / path.name).symlink_to(path)
    (folder / "data/agents.local.toml").write_text(agents)
    return {"DAYBEFORE_ROOT": str(folder), "PYTHONPATH": os.pathsep.join([str(root / "src"), str(folder)])}
