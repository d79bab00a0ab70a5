"""Pages of any make read as short passages; what is broken has none, and never stops a search."""

from daybefore.web.passages import MAX_CHARS, MAX_PASSAGES, read_page


def write_table(head, *rows):
    """Return an html table under a heading."""
    lines = [f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>"]
    lines += [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
    return f"<html><h1> Prices  today </h1><table>{''.join(lines)}</table></html>"


def read(text, content_type="text/html; charset=utf-8"):
    title, passages = read_page(text, content_type)
    return title, [passage.text for passage in passages], [passage.age for passage in passages]


def test_a_long_table_has_a_subject_a_name_the_newest_row_first():
    page = write_table(
        ["Date", "City", "Low", "High"], [1, "Oslo", 2, 3], [1, "Rome", 4, 5], [2, "Oslo", 6, "n/a"]
    )
    title, texts, ages = read(page)
    assert title == "Prices today"
    assert texts == ["Oslo (Low, High): 2: 6, n/a; 1: 2, 3", "Rome (Low, High): 1: 4, 5"]
    assert ages == [0, 0]


def test_of_a_subject_only_the_newest_passages_are_kept_with_their_ages():
    rows = [[f"day {i}", "Oslo", i] for i in range(200)]
    _, texts, ages = read(write_table(["Date", "City", "Low"], *rows))
    assert ages == list(range(MAX_PASSAGES))
    assert "day 199: 199" in texts[0] and not any("day 0: 0" in text for text in texts)
    assert all(len(text) <= MAX_CHARS + len("Oslo (Low): ") for text in texts)


def test_ranking_lists_articles_and_prose_are_read():
    page = "<h1>Charts</h1><section><h2>Week 2</h2><ol><li>X 5</li><li>Y  4</li></ol></section>"
    page += "<section><h2>Week 1</h2><ol><li>Y 9</li></ol></section><p>Some words.</p><footer>The end</footer>"
    title, texts, ages = read(page)
    assert (title, texts) == (
        "Charts",
        ["Week 2: 1. X 5; 2. Y 4", "Week 1: 1. Y 9", "Some words. The end"],
    )
    assert ages == [0, 1, 0]
    event = "<article><h2>Rain?</h2><p class='closes'>Closes 5 May</p><ul><li>Yes</li><li>No</li></ul>{}</article>"
    assert read(event.format(""))[1] == ["Rain? Options: Yes / No. Closes 5 May Not resolved yet."]
    over = event.format("<p class='resolution'>Yes</p>")
    assert read(over)[1] == ["Rain? Options: Yes / No. Closes 5 May Resolved: Yes."]
