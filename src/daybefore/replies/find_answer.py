"""Find the part of a reply that holds its answer: the last box, else the last line (FutureX C.2;
definitions.md 1.3).

Everything here is linear in the reply's length: braces are matched in one pass, patterns see
bounded pieces.
"""

import html
import re
import unicodedata

from helpers.boxed_answers import BOX, MAX_ANSWER, MAX_LINE, PLACEHOLDER, Unreadable, strip_thinking

CHARACTERS = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # full width
CHARACTERS |= dict.fromkeys([0x00A0, 0x202F, 0x205F, 0x3000, *range(0x2000, 0x200B)], " ")
CHARACTERS |= (
    dict.fromkeys(map(ord, "“”„«»「」『』《》"), '"')
    | dict.fromkeys(map(ord, "‘’"), "'")
    | {ord("。"): ".", 0x066A: "%", 0x2581: "_"}
)
CHARACTERS |= dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\r"))
DENIED_AFTER = re.compile(
    r"[\s*$`)\\\]]*(?:is|was|would be|seems|looks)(?:n't\b|\s(?:wrong|incorrect|not\b|false|unlikely))|"
    r"[\s*$`)\\\],.]*(?:是?错误?的?|不对|不正确|不可能)",
    re.I,
)
ANSWER_AFTER = re.compile(
    r"(?:\banswer\b|答案)[ *_]{0,4}(?:is\b|是|为|:):?[ *_]{0,4}(?P<answer>[^\n]{1,80})", re.I
)
"""What takes a box back: words after it, or another answer."""
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
NO_VALUE = {
    "n/a",
    "na",
    "n.a",
    "nil",
    "none",
    "null",
    "nan",
    "unknown",
    "tbd",
    "tba",
    "unsure",
    "uncertain",
    "refuse",
}
NO_VALUE |= {
    "undetermined",
    "indeterminate",
    "no answer",
    "not applicable",
    "pass",
    "abstain",
    "error",
}

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


def prepare_reply(reply):
    """Return a reply's text after its thinking, with plain spaces, quotes and ASCII forms of
    full-width characters.

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


def find_last_line(text):
    """Return (content, name): what the last line with words says, and how it calls itself an
    answer.

    The name is ":" where a colon or an equals sign parts it from the answer, or where it stands
    alone on the line above; "is" where a verb does; "alone" where the line is the whole text and
    has none; "" elsewhere. Lines of markup only are passed over. Raises Unreadable when the line is
    longer than MAX_LINE or holds a box that only quotes the format.

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
            return clean_content(rest.lstrip(":= ")), ":" if cut.group() in ":=" or rest[:1] in [
                *":="
            ] else "is"
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
SIGNS = {
    "times": "×",
    "cdot": "×",
    "pm": "±",
    "approx": "≈",
    "sim": "≈",
    "to": ">",
    "rightarrow": ">",
    "succ": ">",
}
SIGNS |= {
    "gt": ">",
    "lt": "<",
    "geq": "≥",
    "ge": "≥",
    "leq": "≤",
    "le": "≤",
    "neq": "≠",
    "textminus": "-",
}
SIGNS |= {
    "degree": "°",
    "textdegree": "°",
    "euro": "€",
    "pounds": "£",
    "ldots": "...",
    "dots": "...",
    "mu": "µ",
}
SIGNS |= dict.fromkeys(["geqslant", "gtrsim", "gg"], "≥") | dict.fromkeys(
    ["leqslant", "lesssim", "ll"], "≤"
)
SIGNS |= {
    "texttimes": "×",
    "simeq": "≈",
    "texteuro": "€",
    "textendash": "–",
    "textemdash": "–",
    "ne": "≠",
}
ACCENTED = re.compile(r"(?<=[^\W\d_])\\([~\"'^`])([A-Za-z])|\\([~\"'^`c])\{([A-Za-z])\}")
"""LaTeX's accents: within a word, or with braces around the letter."""
COMMAND = (
    r"(?:text|math|bf|rm|[dt]?frac|times|cdot|boxed|left|right|circ|quad|pm|approx|sim|geq|leq)"
)
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
        (
            rf"\\(?:{FONT}|bf|rm|it|left|right|[bB]igg?[lr]?|displaystyle|f?boxed|fbox)(?![A-Za-z])",
            " ",
        ),
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
    """Return what a box or a line says without LaTeX, markdown, HTML marks, outer quotes and
    brackets.

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
    text = re.sub(
        r"(?<!\d)\*\*|\*\*(?!\d)|[{}`]|\\(?![A-Za-z]{2}|[0-9])", "", TIE.sub(" ", text)
    ).strip()
    text = (
        re.sub(r"\$([^$\n]*)\$", r"\1", text)
        if text.count("$") % 2 == 0 and text.startswith("$")
        else text
    )
    return _peel(text.replace(DOLLAR, "$"))


def _peel(text):
    """Take off marks around the whole text: quotes, brackets, asterisks."""
    text = (
        re.sub(r"^(_{1,3})(.*)\1$", r"\2", text.strip(" \t\n*"), flags=re.S)
        .rstrip(",;")
        .lstrip("~ ")
    )
    for left, right in ("[]", "()", '""', "''"):
        inner = text[1:-1]
        is_number = left == "(" and re.fullmatch(r"[-+\d., ]*", inner)
        if (
            len(text) > 2
            and text[0] + text[-1] == left + right
            and not {left, right} & set(inner)
            and not is_number
        ):
            return _peel(inner)
    return text


def check_answer(content):
    """Raise Unreadable when a cleaned answer is empty, a placeholder, or says that there is none.

    >>> check_answer("PREDICTION")
    Traceback (most recent call last):
    ...
    helpers.boxed_answers.Unreadable: empty box
    """
    if PLACEHOLDER.fullmatch(content[:200]):
        raise Unreadable("empty box")
    if content.strip(" .!").casefold() in NO_VALUE or REFUSAL.search(content):
        raise Unreadable("refusal")
