"""The last box of a reply, behind its thinking (FutureX C.2; definitions.md 1.3)."""

import re

MAX_ANSWER, MAX_BOXES, MAX_LINE = 5_000, 200, 1_000
"""Longest box and longest last line, in characters, and most boxes side by side that are read."""
DASHES = re.compile("[‐-―−﹣˗]")
"""What is written for a minus or a hyphen."""

THOUGHT = (
    r"(?:[a-z0-9]{1,20}[:_-]|ant)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|scratchpad|reflection|analysis|cot)"
    r"(?:[_:-]\w{1,40})?"
)
THOUGHT_END = re.compile(
    rf"(?:[<◁]|&lt;)/{THOUGHT}(?:[>▷]|&gt;)|\[/think(?:ing)?\]"
    rf"|<\|(?:/|end_(?:of_)?){THOUGHT}\|>|<\|(?:think(?:ing)?|thought)_end\|>|<channel\|>|<unused95>"
    r"|<\|channel\|>\s{0,3}final\b[^<>]{0,40}(?:<\|constrain\|>[^<>]{0,40})?<\|message\|>|assistantfinal(?-i:(?![a-z]))"
    r"|<\|im_start\|>\s?answer\b|^[ *#]{0,6}here(?: is|'s) my response:|^\.\.\.done thinking\.",
    re.I | re.M,
)
THOUGHT_START = re.compile(
    rf"(?:[<◁]|&lt;){THOUGHT}(?:\s[^<>]{{0,200}})?(?:[>▷]|&gt;)|(?-i:\[THINK(?:ING)?\])"
    rf"|<\|(?:begin_(?:of_)?|start_(?:of_)?)?{THOUGHT}\|>|<\|channel\|?>|<unused94>|<\|im_start\|>\s?think"
    r"|\A\s{0,9}(?:(?-i:analysis(?:[A-Z]|\s))|[*#]{0,4}here(?: is|'s) my thought process:|thinking\.\.\.\s{0,3}\n)",
    re.I,
)
"""How models of different families mark where their thinking begins and ends: tags, brackets,
tokens, channels."""
DETAILS = re.compile(r"<details\b[^<>]{0,200}reasoning[^<>]{0,200}>", re.I)
"""Thinking as some servers fold it away; it ends where the fold does."""
SPECIAL = re.compile(r"<\|[a-z_]{1,30}\|>|</?s>|<(?:eos|end_of_turn)>", re.I)

BOX = re.compile(r"(?:(?<![A-Za-z])(?:boxed|fbox|framebox)|\x08oxed)\s{0,3}\\?\{")
EXAMPLE_BEFORE = re.compile(
    r"(?:\be\.g\.|\b(?:for (?:example|instance)|such as|nor|rather than|instead of)|(?:\bnot|n't|\bnever)"
    r"(?: (?:answer|choose|pick|select|say|write|use|put))?|[例比]如|不是|不要?(?:选|回答|填))[,:]?[\s`$\"'(\\{}~]*$",
    re.I,
)
"""What leads to a box that is quoted or denied, and is none."""
EXAMPLE_AFTER = re.compile(
    r"[`$\"')\\]*\s*(?:for (?:a single|multiple|several)|(?:format|form|notation|syntax|style|command|template)\b)",
    re.I,
)
ASIDE_BEFORE = re.compile(
    r"(?:\b(?:format|form|notation|syntax|style|template|asked|requested|required|inside|within|using|use|write|as)\b|"
    r"\b(?:confidence|probability|certainty|likelihood|chance)\b)[^.\n\\]{0,30}$",
    re.I,
)
"""What may lead to a box that shows the format, or says how sure one is, after a box that holds the
answer."""
SIDE_BY_SIDE = re.compile(
    r"[\W\d]*(?:(?:and|or|then|to|also|maybe|perhaps|possibly|plus|[和或及与])[\W\d]*){0,3}", re.I
)
BULLET = r"[ \t]*(?:[-*•+]|\d{1,2}[.)])[ \t]*[*$`\\(]*"
NEXT_ITEM = re.compile(rf"[^\n]*\n\s*{BULLET}")

PLACEHOLDER = re.compile(
    r"[\W_]*|(?:your|the|my|final|insert|[\W_])*\s*(?:prediction|answer|forecast|choice|letters?|number|value|date)"
    r"(?:[\W_]|here)*|y{4}-mm-dd",
    re.I,
)
SHOWN = re.compile(r"[xXnN.?…_ ]+|\\?[lc]?dots|<[^<>]*>|" + PLACEHOLDER.pattern, re.I)
"""What stands in a box that only shows the format."""


Box = tuple[int, int, str | None]
"""Where a box begins and ends in a text, and its content, None where it is never closed."""


class Unreadable(ValueError):
    """A reply holds no valid answer: a short reason, and optionally a detail."""

    def __str__(self) -> str:
        return ": ".join(str(part) for part in self.args if part)


def strip_thinking(text: str) -> str | None:
    """Return what follows a reply's thinking, without a model's own marks; None where its thinking
    never ended.

    >>> strip_thinking("<think>A?</think>B<|im_end|>"), strip_thinking("[THINK]A? But wait")
    ('B', None)
    """
    if DETAILS.search(text):
        text = DETAILS.sub("<think>", text).replace("</details>", "</think>")
    after = text[max((match.end() for match in THOUGHT_END.finditer(text)), default=0) :]
    return None if THOUGHT_START.search(after) else SPECIAL.sub("", after)


def find_boxes(text: str) -> list[Box]:
    """Return [(start, end, content)] of the outermost boxes; content is None where the box is never
    closed.

    >>> find_boxes(r"so \\boxed{\\text{A}} or \\boxed{B")
    [(3, 19, '\\\\text{A}'), (23, 30, None)]
    """
    closing = {}
    stack = []
    for brace in re.finditer(r"[{}]", text):
        if brace.group() == "{":
            stack.append(brace.start())
        elif stack:
            closing[stack.pop()] = brace.start()
    boxes = []
    done = 0
    for match in BOX.finditer(text):
        if match.start() < done:
            continue
        end = closing.get(match.end() - 1)
        start = match.start() - (1 if text[match.start() - 1 : match.start()] == "\\" else 0)
        done = match.end() if end is None else end + 1
        boxes.append((start, done, None if end is None else text[match.end() : end]))
    return boxes


def select_boxes(text: str) -> list[Box]:
    """Return the last box as a list; with it the boxes that stand beside it, or on list lines just
    above.

    Boxes that only quote the format ("for example ...", "... for a single option", or a placeholder
    behind an answer) or are denied ("do not answer ...") do not count. Raises Unreadable when the
    last box is not closed, when it may only be an aside to another before it, and for more than
    MAX_BOXES side by side.

    >>> [box[2] for box in select_boxes(r"first \\boxed{A}; on reflection \\boxed{B}, \\boxed{C}")]
    ['B', 'C']
    """
    boxes = [box for box in find_boxes(text)[-2 * MAX_BOXES :] if not _is_example(text, box)]
    boxes = [box for box in boxes[:-1] if not _is_shown(box[2])] + boxes[-1:]
    while (
        len(boxes) > 1
        and boxes[-1][2] is not None
        and ASIDE_BEFORE.search(text[: boxes[-1][0]][-60:])
    ):
        if boxes[-1][2].strip() == (boxes[-2][2] or "").strip():
            break
        if not SHOWN.fullmatch(boxes[-1][2].strip()[:60]):
            contents = [str(box[2])[:20] for box in boxes[-2:]]
            raise Unreadable("boxes in conflict", " | ".join(contents))
        boxes.pop()
    if not boxes:
        return []
    if boxes[-1][2] is None:
        raise Unreadable("unclosed box")
    group = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        if box[2] is None or not _are_joined(text, box, group[-1]):
            break
        group.append(box)
        if len(group) > MAX_BOXES:
            raise Unreadable("answer too long", f"more than {MAX_BOXES} boxes side by side")
    return group[::-1]


def _is_shown(content: str | None) -> bool:
    """Say whether a box only shows the format; a letter alone may be an option's."""
    if content is None or re.fullmatch(r"\s*[A-Za-z]\s*", content):
        return False
    return bool(SHOWN.fullmatch(content.strip()[:60]))


def _is_example(text: str, box: Box) -> bool:
    start, end, _ = box
    return bool(
        EXAMPLE_BEFORE.search(text[max(0, start - 30) : start])
        or EXAMPLE_AFTER.match(text[end : end + 30])
    )


def _are_joined(text: str, first: Box, second: Box) -> bool:
    between = text[first[1] : second[0]]
    if len(between) > 300:
        return False
    if SIDE_BY_SIDE.fullmatch(re.sub(r"\\[a-z]{1,9}", " ", between)):
        return True
    line = text[max(0, first[0] - 20) : first[0]].rpartition("\n")[2]
    return bool(re.fullmatch(BULLET, line) and NEXT_ITEM.fullmatch(between))
