"""Find the part of a reply that holds its answer: the last box, else the last line (FutureX C.2; definitions.md 1.3).

Everything here is linear in the reply's length: braces are matched in one pass, patterns see bounded pieces.
"""

import html
import re
import unicodedata

MAX_ANSWER, MAX_BOXES, MAX_LINE = 5_000, 200, 1_000
"""Longest box and longest last line, in characters, and most boxes side by side that are read."""

CHARACTERS = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # full width
CHARACTERS |= dict.fromkeys([0x00A0, 0x202F, 0x205F, 0x3000, *range(0x2000, 0x200B)], " ")
CHARACTERS |= (
    dict.fromkeys(map(ord, "“”„«»「」『』《》"), '"')
    | dict.fromkeys(map(ord, "‘’"), "'")
    | {ord("。"): ".", 0x066A: "%", 0x2581: "_"}
)
CHARACTERS |= dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\r"))
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
"""How models of different families mark where their thinking begins and ends: tags, brackets, tokens, channels."""
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
"""What may lead to a box that shows the format, or says how sure one is, after a box that holds the answer."""
DENIED_AFTER = re.compile(
    r"[\s*$`)\\\]]*(?:is|was|would be|seems|looks)(?:n't\b|\s(?:wrong|incorrect|not\b|false|unlikely))|"
    r"[\s*$`)\\\],.]*(?:是?错误?的?|不对|不正确|不可能)",
    re.I,
)
ANSWER_AFTER = re.compile(r"(?:\banswer\b|答案)[ *_]{0,4}(?:is\b|是|为|:):?[ *_]{0,4}(?P<answer>[^\n]{1,80})", re.I)
"""What takes a box back: words after it, or another answer."""
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
REFUSAL = re.compile(
    r"\b(?:can\s?not|can't|could ?n[o']t|unable to|not able to|not possible to|impossible to|won't|will not|decline to|"
    r"refuse to|must decline)\b.{0,40}\b(?:predict|forecast|answer|determine|provide|give|know|say|make|foresee|assist|"
    r"help|comply|offer|speculate|tell|select|choose)"
    r"|\b(?:can\s?not|can't) be (?:\w+ ){0,2}(?:determined|predicted|known|answered|forecast)"
    r"|\b(?:unpredictable|not (?:yet )?(?:known|available|determinable|predictable)|no (?:valid |clear )?prediction)\b"
    r"|\b(?:insufficient|not enough|no) (?:information|data|evidence)\b|\bI (?:do not|don't) (?:know|have)\b"
    r"|\bas an? (?:AI|language model)\b|无法|不能预测|不知道|未知|不确定",
    re.I,
)
NO_VALUE = {"n/a", "na", "n.a", "nil", "none", "null", "nan", "unknown", "tbd", "tba", "unsure", "uncertain", "refuse"}
NO_VALUE |= {"undetermined", "indeterminate", "no answer", "not applicable", "pass", "abstain", "error"}

NAMED_LINE = re.compile(
    r"(?:^|[.!?;,]\s+)\W*"
    r"(?:(?:so|thus|therefore|hence|overall|finally|and|my|the|our|final|best|single|point|correct)[, ]+){0,5}"
    r"(?:answers?|predictions?|forecasts?|estimates?|choices?|conclusion)\b",
    re.I,
)
TAGGED = re.compile(
    r"<answer>(.*?)</answer>|\"(?:final[_ ]?)?(?:answer|prediction)\"\s*:\s*(?:\"([^\"]*)\"|(-?[0-9][^,}\s]*)\s*[,}])",
    re.I,
)
"""An answer that a tag or a key of JSON names, wherever it stands on the line."""
NAME_END = re.compile(r"(?<![0-9]):|:(?![0-9])|=|\b(?:is|are|be|was)\b", re.I)
CHINESE_LINE = re.compile(r"(?:答案|预测|结论)[^:不非]{0,20}?(?:是|为|:):?\s*")
OPENING = re.compile(
    r"(?:^|[.!?;,]\s+)\W*(?:(?:so|thus|therefore|hence),?\s+)?(?:I|we)(?: would|'d|'ll| will)?(?: finally)? "
    r"(?:predict|choose|select|pick|forecast|estimate|answer|go with)(?: that)?:?\s+",
    re.I,
)
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
    if text is None:
        raise Unreadable("unfinished thinking")
    if not text.strip():
        raise Unreadable("empty reply", "nothing follows the thinking")
    return unicodedata.normalize("NFC", text)


def strip_thinking(text):
    """Return what follows a reply's thinking, without a model's own marks; None where its thinking never ended.

    >>> strip_thinking("<think>A?</think>B<|im_end|>"), strip_thinking("[THINK]A? But wait")
    ('B', None)
    """
    if DETAILS.search(text):
        text = DETAILS.sub("<think>", text).replace("</details>", "</think>")
    after = text[max((match.end() for match in THOUGHT_END.finditer(text)), default=0) :]
    return None if THOUGHT_START.search(after) else SPECIAL.sub("", after)


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
    """Return the last box as a list; with it the boxes that stand beside it, or on list lines just above.

    Boxes that only quote the format ("for example ...", "... for a single option", or a placeholder behind an answer)
    or are denied ("do not answer ...") do not count. Raises Unreadable when the last box is not closed, when it may
    only be an aside to another before it, and for more than MAX_BOXES side by side.

    >>> [box[2] for box in select_boxes(r"first \\boxed{A}; on reflection \\boxed{B}, \\boxed{C}")]
    ['B', 'C']
    """
    boxes = [box for box in find_boxes(text)[-2 * MAX_BOXES :] if not _is_example(text, box)]
    boxes = [box for box in boxes[:-1] if not _is_shown(box[2])] + boxes[-1:]
    while len(boxes) > 1 and boxes[-1][2] is not None and ASIDE_BEFORE.search(text[: boxes[-1][0]][-60:]):
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


def _is_shown(content):
    """Say whether a box only shows the format; a letter alone may be an option's."""
    if content is None or re.fullmatch(r"\s*[A-Za-z]\s*", content):
        return False
    return bool(SHOWN.fullmatch(content.strip()[:60]))


def _is_example(text, box):
    start, end, _ = box
    return bool(EXAMPLE_BEFORE.search(text[max(0, start - 30) : start]) or EXAMPLE_AFTER.match(text[end : end + 30]))


def _are_joined(text, first, second):
    between = text[first[1] : second[0]]
    if len(between) > 300:
        return False
    if SIDE_BY_SIDE.fullmatch(re.sub(r"\\[a-z]{1,9}", " ", between)):
        return True
    line = text[max(0, first[0] - 20) : first[0]].rpartition("\n")[2]
    return bool(re.fullmatch(BULLET, line) and NEXT_ITEM.fullmatch(between))


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
    opening = CHINESE_LINE.search(line) or OPENING.search(line)
    if opening:
        return clean_content(line[opening.end() :]), "is"
    above = lines[-2].strip()[-MAX_LINE:] if len(lines) > 1 else ""
    named = NAMED_LINE.match(above)
    if named and not re.search(r"\w", above[named.end() :]):
        return clean_content(line), ":"
    return clean_content(line), "" if above else "alone"


DOLLAR = "\N{FULLWIDTH DOLLAR SIGN}"
FONT = r"(?:text|math)(?:bf|it|rm|sf|tt|sc|up|md|sl|normal|cal|bb|ord|bin|rel|op|punct|inner)?"
SIGNS = {"times": "×", "cdot": "×", "pm": "±", "approx": "≈", "sim": "≈", "to": ">", "rightarrow": ">", "succ": ">"}
SIGNS |= {"gt": ">", "lt": "<", "geq": "≥", "ge": "≥", "leq": "≤", "le": "≤", "neq": "≠", "textminus": "-"}
SIGNS |= {"degree": "°", "textdegree": "°", "euro": "€", "pounds": "£", "ldots": "...", "dots": "...", "mu": "µ"}
SIGNS |= dict.fromkeys(["geqslant", "gtrsim", "gg"], "≥") | dict.fromkeys(["leqslant", "lesssim", "ll"], "≤")
SIGNS |= {"texttimes": "×", "simeq": "≈", "texteuro": "€", "textendash": "–", "textemdash": "–", "ne": "≠"}
ACCENTED = re.compile(r"(?<=[^\W\d_])\\([~\"'^`])([A-Za-z])|\\([~\"'^`c])\{([A-Za-z])\}")
"""LaTeX's accents: within a word, or with braces around the letter."""
COMMAND = r"(?:text|math|bf|rm|[dt]?frac|times|cdot|boxed|left|right|circ|quad|pm|approx|sim|geq|leq)"
ACCENTS = {"~": "\u0303", '"': "\u0308", "'": "\u0301", "^": "\u0302", "`": "\u0300", "c": "\u0327"}
LATEX = [
    (re.compile(pattern), new)
    for pattern, new in [
        (r"\\n(?=\s*(?:\d{1,2}[.)、]|[-*•])\s?)", "\n"),
        (rf"\\\\(?!{COMMAND})|<br\s*/?>", "\n"),
        (rf"\\{FONT}\s?\{{([.,-])\}}", r"\1"),
        (r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}", r" \1/\2"),
        (r"\\[dt]?frac ?([0-9])([0-9])", r" \1/\2"),
        (r"\^\{?\\circ\}?", "°"),
        (rf"\\({'|'.join(SIGNS)})(?![A-Za-z])", lambda match: SIGNS[match.group(1)]),
        (r"\{,\}", ","),
        (r"\\!", ""),
        (r"\\(?:[,;: ]|q?quad\b)|\\(?:begin|end)\{[a-z]+\*?\}(?:\{[lcr| ]+\})?", " "),
        (r"\\\$", DOLLAR),
        (r"\\([%&#_{}])", r"\1"),
        (rf"\\(?:{FONT}|bf|rm|it|left|right|[bB]igg?[lr]?|displaystyle|f?boxed|fbox)(?![A-Za-z])", " "),
        (r"\\(?:underline|emph|operatorname|mbox|[lL]arge|[hH]uge|bullet|item)(?![A-Za-z])", " "),
        (r"</?(?:b|i|strong|em|p|code|span|answer)>", " "),
    ]
]
TIE = re.compile(
    r"(?<=[,;:.)\]}&])~+|(?<=[^\W_]{2})~(?=[^\W\d_])|(?<=[^\W_])~(?=[^\W\d_]{2}|[%°$\\&(])|"
    r"(?<=[A-Za-z&])~(?=\d|[^\W_]{2})"
)
"""LaTeX's space, where it can be neither "about" nor a range."""


def clean_content(content):
    """Return what a box or a line says without LaTeX, markdown, HTML marks, outer quotes and brackets.

    Raises Unreadable for content longer than MAX_ANSWER.

    >>> clean_content(r"**\\text{Manchester City}**"), clean_content("$1{,}234$"), clean_content(r"25^\\circ C")
    ('Manchester City', '1,234', '25° C')
    """
    if len(content) > MAX_ANSWER:
        raise Unreadable("answer too long")
    text = re.sub(r"[ \t]+", " ", html.unescape(content).translate(CHARACTERS))
    text = ACCENTED.sub(lambda found: (found[2] or found[4]) + ACCENTS[found[1] or found[3]], text)
    text = unicodedata.normalize("NFC", text)
    text = re.sub(r" ?\n[ \n]*", "\n", text)
    text = TIE.sub(" ", text)
    for pattern, new in LATEX:
        text = pattern.sub(new, text)
    text = re.sub(r"(?<!\d)\*\*|\*\*(?!\d)|[{}`]|\\(?![A-Za-z]{2}|[0-9])", "", TIE.sub(" ", text)).strip()
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
