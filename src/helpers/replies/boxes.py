"""Find the part of a reply that holds its answer: the last box, else the last line (FutureX C.2; definitions.md 1.3).

Everything here is linear in the reply's length: braces are matched in one pass, patterns see bounded pieces.
"""

import html
import re

MAX_ANSWER, MAX_BOXES, MAX_LINE = 5_000, 200, 1_000
"""Longest box and longest last line, in characters, and most boxes side by side that are read."""

CHARACTERS = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # full width
CHARACTERS |= dict.fromkeys([0x00A0, 0x202F, 0x205F, 0x3000, *range(0x2000, 0x200B)], " ")
CHARACTERS |= dict.fromkeys(map(ord, "“”„«»「」『』"), '"') | dict.fromkeys(map(ord, "‘’"), "'") | {ord("。"): "."}
CHARACTERS |= dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\r"))
DASHES = re.compile("[‐-―−﹣˗]")
"""What is written for a minus or a hyphen."""

THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning)>|<\|channel\|>final<\|message\|>", re.I)
THOUGHT_START = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.I)
SPECIAL = re.compile(r"<\|[a-z_]{1,30}\|>|</s>|<end_of_turn>", re.I)

BOX = re.compile(r"(?:(?<![A-Za-z])(?:boxed|fbox)|\x08oxed)\s{0,3}\\?\{")
EXAMPLE_BEFORE = re.compile(
    r"(?:\be\.g\.|\b(?:for (?:example|instance)|such as|nor|rather than|instead of)|(?:\bnot|n't|\bnever)"
    r"(?: (?:answer|choose|pick|select|say|write|use|put))?|[例比]如|不是|不要?(?:选|回答|填))[,:]?[\s`$\"'(\\{}~]*$",
    re.I,
)
"""What leads to a box that is quoted or denied, and is none."""
ASIDE_BEFORE = re.compile(
    r"\b(?:format|form|template|confidence|probability|certainty|likelihood)\b[^.\n\\]{0,30}$", re.I
)
"""What leads to a box that shows the format, or says how sure one is."""
DENIED_AFTER = re.compile(
    r"[\s*$`)\\\],.]*(?:(?:is|was|seems|looks)(?:n't\b|\s(?:wrong|incorrect|not\b|false|unlikely))|"
    r"是?错误?的?|不对|不正确|不可能)",
    re.I,
)
ANSWER_AFTER = re.compile(r"(?:\banswer\b|答案)[ *_]{0,4}(?:is\b|是|为|:):?[ *_]{0,4}(?P<answer>[^\n]{1,80})", re.I)
"""What takes a box back: words after it, or another answer."""
SENTENCE_END = re.compile(r"(?<!\d)[.!?](?:\s|$)")
"""What parts two boxes; not the dot after a place of a list."""

PLACEHOLDER = re.compile(
    r"[\W_]*|(?:your|the|my|final|insert|[\W_])*\s*(?:prediction|answer|forecast|choice|letters?|number|value|date)"
    r"(?:[\W_]|here)*|y{4}-mm-dd",
    re.I,
)
SHOWN = re.compile(r"[xXnN.?…_ ]+|\\?[lc]?dots|<[^<>]*>|(?=[^\W_])(?:" + PLACEHOLDER.pattern + ")", re.I)
"""What stands in a box that only shows the format."""
REFUSAL = re.compile(
    r"\b(?:can\s?not|can't|could ?n[o']t|unable to|not able to|not possible to|impossible to|won't|will not|decline to|"
    r"refuse to)\b.{0,40}\b(?:predict|forecast|answer|determine|provide|give|know|say|make|foresee|assist|help|choose)"
    r"|\b(?:can\s?not|can't) be (?:\w+ ){0,2}(?:determined|predicted|known|answered|forecast)"
    r"|\b(?:unpredictable|not (?:yet )?(?:known|available|determinable|predictable))\b"
    r"|\b(?:insufficient|not enough|no) (?:information|data|evidence)\b|\bI (?:do not|don't) (?:know|have)\b"
    r"|\bas an? (?:AI|language model)\b|无法|不能预测|不知道|未知|不确定",
    re.I,
)
NO_VALUE = set("n/a na n.a nil none null nan unknown tbd unsure uncertain undetermined pass abstain error".split())
NO_VALUE |= {"no answer", "not applicable"}

TAGGED = re.compile(
    r"<answer>(.*?)</answer>|\"(?:final[_ ]?)?(?:answer|prediction)\"\s*:\s*(?:\"([^\"]*)\"|(-?[0-9][^,}\s]*)\s*[,}])",
    re.I,
)
"""An answer that a tag or a key of JSON names, wherever it stands on the line."""
NAMED_LINE = re.compile(
    r"(?:^|[.!?;,]\s+)\W*"
    r"(?:(?:so|thus|therefore|hence|finally|and|my|the|our|final|best|correct)[, ]+){0,5}"
    r"(?:answers?|predictions?|forecasts?|estimates?|choices?|conclusion)\b|(?:答案|预测|结论)(?=[^不非]*$)",
    re.I,
)
NAME_END = re.compile(r"(?<![0-9]):|:(?![0-9])|=|\b(?:is|are|be|was)\b|[是为]", re.I)
"""How a line calls itself an answer, and what parts the name from the answer."""
MARKUP_ONLY = re.compile(r"[\s`*_~$\\\[\](){}#>|=.-]*(?:json|text|latex)?\s*", re.I)


class Unreadable(ValueError):
    """A reply holds no valid answer: a short reason, and optionally a detail."""

    def __str__(self):
        return ": ".join(str(part) for part in self.args if part)


def prepare_reply(reply):
    """Return a reply's text after its thinking, with plain spaces, quotes and ASCII forms of full-width characters.

    Raises Unreadable for an empty reply and for thinking that never ended.

    >>> prepare_reply("<think>A? B?</think>Final:　Ｂ")
    'Final: B'
    """
    text = reply.translate(CHARACTERS) if isinstance(reply, str) else ""
    if not text.strip():
        raise Unreadable("empty reply")
    text = strip_thinking(text)
    if THOUGHT_START.search(text):
        raise Unreadable("unfinished thinking")
    if not text.strip():
        raise Unreadable("empty reply", "nothing follows the thinking")
    return text


def strip_thinking(text):
    """Return what follows a reply's thinking, without a model's own marks.

    >>> strip_thinking("<think>A?</think>B<|im_end|>")
    'B'
    """
    return SPECIAL.sub("", text[max((match.end() for match in THOUGHT_END.finditer(text)), default=0) :])


def find_boxes(text):
    """Return [(start, end, content)] of the outermost boxes; content is None where the box is never closed.

    >>> find_boxes(r"so \\boxed{\\text{A}} or \\boxed{B")
    [(3, 19, '\\\\text{A}'), (23, 30, None)]
    """
    closing, stack = {}, []
    for brace in re.finditer(r"[{}]", text):
        if brace.group() == "{":
            stack.append(brace.start())
        elif stack:
            closing[stack.pop()] = brace.start()
    boxes, done = [], 0
    for match in BOX.finditer(text):
        if match.start() < done:
            continue
        end = closing.get(match.end() - 1)
        start = match.start() - (1 if text[match.start() - 1 : match.start()] == "\\" else 0)
        done = match.end() if end is None else end + 1
        boxes.append((start, done, None if end is None else text[match.end() : end]))
    return boxes


def select_boxes(text):
    """Return the last box as a list; with it those before it that no end of a sentence parts from it.

    A box that is quoted or denied ("for example ...", "not ...") does not count, nor beside others one that shows the
    format. Raises Unreadable when the last box is not closed, or may only tell how sure one is of another before it,
    and for more than MAX_BOXES together.

    >>> [box[2] for box in select_boxes(r"first \\boxed{A}. On reflection \\boxed{B}, \\boxed{C}")]
    ['B', 'C']
    """
    boxes = [box for box in find_boxes(text) if not EXAMPLE_BEFORE.search(text[max(0, box[0] - 30) : box[0]])]
    boxes = [box for box in boxes if not SHOWN.fullmatch((box[2] or "").strip()[:60])] or boxes
    if not boxes:
        return []
    *before, (start, _, last) = boxes
    if last is None:
        raise Unreadable("unclosed box")
    if before and ASIDE_BEFORE.search(text[max(0, start - 60) : start]):
        raise Unreadable("boxes in conflict", last[:20])
    group = [boxes[-1]]
    for box in reversed(before):
        if box[2] is None or SENTENCE_END.search(text[box[1] : group[-1][0]]):
            break
        group.append(box)
        if len(group) > MAX_BOXES:
            raise Unreadable("answer too long", f"more than {MAX_BOXES} boxes side by side")
    return group[::-1]


def find_last_line(text):
    """Return (content, name): what the last line with words says, and how it calls itself an answer.

    The name is ":" where a colon or an equals sign parts it from the answer, or where it stands alone on the line
    above; "is" where a verb does; "alone" where the line is the whole text and has none; "" elsewhere. Lines of markup
    only are passed over. Raises Unreadable when the line is longer than MAX_LINE or holds a box that only quotes the
    format.

    >>> find_last_line("Polls favour her.\\n**Final answer: B**\\n---"), find_last_line("B."), find_last_line("Hm.\\nB")
    (('B', ':'), ('B.', 'alone'), ('B', ''))
    """
    lines = [line for line in text.split("\n") if not MARKUP_ONLY.fullmatch(line[:MAX_LINE])]
    line = lines[-1].strip() if lines else ""
    if len(line) > MAX_LINE or not line or BOX.search(line):
        raise Unreadable("refusal" if REFUSAL.search(text) else "no answer")
    tagged = list(TAGGED.finditer(line))
    if tagged:
        return clean_content(next(part for part in tagged[-1].groups() if part is not None)), ":"
    for name in reversed(list(NAMED_LINE.finditer(line))):
        cut = NAME_END.search(line, name.end())
        if cut:
            rest = line[cut.end() :].lstrip(" *_")
            return clean_content(rest.lstrip(":= ")), ":" if cut.group() in ":=" or rest[:1] in [*":="] else "is"
    above = lines[-2].strip()[-MAX_LINE:] if len(lines) > 1 else ""
    named = NAMED_LINE.match(above)
    if named and not re.search(r"\w", above[named.end() :]):
        return clean_content(line), ":"
    return clean_content(line), "" if above else "alone"


DOLLAR = "\N{FULLWIDTH DOLLAR SIGN}"
FONT = r"(?:text|math)(?:bf|it|rm|sf|tt|normal)?"
SIGNS = {"times": "×", "cdot": "×", "pm": "±", "approx": "≈", "sim": "≈", "to": ">", "rightarrow": ">", "succ": ">"}
SIGNS |= {"gt": ">", "lt": "<", "geq": "≥", "ge": "≥", "leq": "≤", "le": "≤", "textminus": "-", "dots": "..."}
LATEX = [
    (re.compile(pattern), new)
    for pattern, new in [
        (r"\\\\(?!text|math|boxed|times)|<br\s*/?>", "\n"),
        (rf"(?:\\{FONT}\s?)?\{{([.,-])\}}", r"\1"),
        (r"\^\{?\\circ\}?", "°"),
        (rf"\\({'|'.join(SIGNS)})(?![A-Za-z])", lambda match: SIGNS[match.group(1)]),
        (r"\\!", ""),
        (r"\\\$", DOLLAR),
        (
            rf"\\(?:[,;: ]|(?:{FONT}|bf|rm|left|right|displaystyle|q?quad|f?boxed|fbox)(?![A-Za-z]))|</?(?:b|em|code)>",
            " ",
        ),
        (r"\\([%&#_{}])", r"\1"),
    ]
]


def clean_content(content):
    """Return what a box or a line says without LaTeX, markdown, HTML marks, outer quotes and brackets.

    Raises Unreadable for content longer than MAX_ANSWER.

    >>> clean_content(r"**\\text{Manchester City}**"), clean_content("$1{,}234$"), clean_content(r"25^\\circ C")
    ('Manchester City', '1,234', '25° C')
    """
    if len(content) > MAX_ANSWER:
        raise Unreadable("answer too long")
    text = re.sub(r"[ \t]+", " ", html.unescape(content).translate(CHARACTERS))
    text = re.sub(r" ?\n[ \n]*", "\n", re.sub(r"(?<=[,;a-z0-9}])~(?=\\?[A-Za-z])", " ", text))  # LaTeX's space
    for pattern, new in LATEX:
        text = pattern.sub(new, text)
    text = re.sub(r"(?<!\d)\*\*|\*\*(?!\d)|[{}`]|\\(?![A-Za-z]{2}|[0-9])", "", text).strip()
    text = re.sub(r"\$([^$\n]*)\$", r"\1", text) if text.count("$") % 2 == 0 and text.startswith("$") else text
    return _peel(text.replace(DOLLAR, "$"))


def _peel(text):
    """Take off marks around the whole text: quotes, brackets, asterisks."""
    text = re.sub(r"^(_{1,3})(.*)\1$", r"\2", text.strip(" \t\n*"), flags=re.S).rstrip(",;").lstrip("~ ")
    for left, right in ("[]", "()", '""', "''"):
        inner = text[1:-1]
        is_number = left == "(" and re.fullmatch(r"[-+\d., ]*", inner)
        if len(text) > 2 and text[0] + text[-1] == left + right and not {left, right} & set(inner) and not is_number:
            return _peel(inner)
    return text


def check_answer(content):
    """Raise Unreadable when a cleaned answer is empty, a placeholder, or says that there is none.

    >>> check_answer("PREDICTION")
    Traceback (most recent call last):
    ...
    helpers.replies.boxes.Unreadable: empty box
    """
    if PLACEHOLDER.fullmatch(content[:200]):
        raise Unreadable("empty box")
    if content.strip(" .!").casefold() in NO_VALUE or REFUSAL.search(content):
        raise Unreadable("refusal")
