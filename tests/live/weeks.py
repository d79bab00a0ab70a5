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


def kind(name, prompt, level, box, written=None, truth=None, score=1.0):
    """Return a kind of question: what stands in the model's box, as it is submitted, the true answer, its score."""
    written = box if written is None else written
    return name, prompt, level, box, written, written if truth is None else truth, score


LAKES, MILLS = ["Alm", "Bex", "Cor", "Dun"], ["Ost", "West", "Nord", "Sud"]
TIN = "What will the closing price of tin be on day {n}? Report in US dollars."
KINDS = [
    kind("yes", ask("Will harbour {n} freeze before Sunday?", TWO % ("Yes", "No")), 1, "Yes"),
    kind("two", ask("Rowers vs. Drifters, race {n}", TWO % ("Rowers", "Drifters")), 1, "Drifters", None, "Rowers", 0.0),
    kind("one", ask_letters("Who wins regatta {n}?", ["Rowers", "Drifters", "Neither"], ONE), 1, "C", "C", "['C']"),
    kind("several", ask_letters("Which lakes of group {n} rise?", LAKES), 2, "C, A", "A, C", "['A', 'C']"),
    kind("half", ask_letters("Which mills of row {n} turn?", MILLS), 2, "A", "A", "A, B", 2 / 3),
    kind("name", ask("Which team will win cup {n}?"), 3, "Timber Wolves"),
    kind("number", ask("How many boats will cross strait {n}?"), 4, "1,250", "1250", "1300", 1 - (50 / 65) ** 2),
    kind("unit", ask(TIN), 4, "112.5", "112.5 US dollars", "112.5"),
    kind("percent", ask("What will be the turnout in town {n} (in %)?"), 4, "54.2%", "54.2%", "60", 0.0),
    kind("ranking", ask("Name the top 3 songs of chart {n} in order."), 4, "Ash; Birch; Cedar", "Ash, Birch, Cedar",
         "['Ash', 'Cedar', 'Birch']", 0.0),
    kind("date", ask("On what date will ferry {n} resume?"), 3, "7 March 2026", "2026-03-07"),
    kind("zh_yes", ZH_HARBOUR, 1, "否"),
    kind("zh_letters", ZH_LAKES, 2, "A，C", "A, C", "['A', 'C']"),
    kind("zh_points", "第{n}日上证指数收盘多少点？" + ZH, 4, "3120.55点", "3120.55 点", "3120.55"),
    kind("zh_name", "谁将赢得第{n}届棋赛冠军？" + ZH, 3, "王小明"),
    kind("zh_names", "第{n}周票房前三名的电影依次是哪些？" + ZH, 4, "春江、远山、星河", "春江, 远山, 星河",
         "['春江', '远山', '星河']"),
    kind("strange", ask("Describe the weather on island {n} in one word."), 3, "stormy"),
    kind("silent", ask("Who will chair council {n}?"), 3, None, "", "Ada Berg", 0.0),
]  # fmt: skip


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


AGENT = """
[{name}]
model = "openai/mock-1"
api_base = "{address}"
usd_per_million = {{ input = 1.0, output = 2.0 }}
max_tokens = 300
"""


def write_agents(folder, address, *names, more=""):
    """Write the reader's table of agents that all ask one model."""
    tables = [AGENT.format(name=name, address=address) for name in names or ["my_model"]]
    (folder / "agents.toml").write_text("".join(tables) + more)
