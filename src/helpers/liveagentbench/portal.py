"""The portal that tasks begin at: the replay web's pages behind two menus, of domains and of their sources."""

import pandas as pd

from helpers.liveagentbench.tasks import PORTAL
from helpers.web.replay import Replay
from helpers.web.session import Answer

MENU_DATE = int(pd.Timestamp("2016-09-01T00:00:00Z").timestamp())
"""Menus are older than any task."""


def build_menus(sources):
    """Return {address: html} of the portal's menus.

    >>> list(build_menus({}))
    ['http://directory.replay/']
    """
    links = {PORTAL: {}}
    for source in sources.values():
        address = PORTAL + source.domain.lower().replace(" ", "-")
        links[PORTAL][address] = source.domain
        links.setdefault(address, {})[source.address] = source.name
    names = {PORTAL: "Contents"} | links[PORTAL]
    return {address: write_menu(names[address], sorted(items.items())) for address, items in links.items()}


def write_menu(title, items):
    """Return a page of links."""
    links = "\n".join(f"<li><a href='{address}'>{name}</a></li>" for address, name in items)
    return f"<!doctype html>\n<html lang='en'><body><h1>{title}</h1>\n<ul class='menu'>\n{links}\n</ul></body></html>\n"


class Portal(Replay):
    """Answers for the portal's menus, and for the pages behind them as the replay web does."""

    def __init__(self, sources):
        super().__init__(sources)
        self.menus = build_menus(sources)

    def answer(self, url, clock):
        """Return the `Answer` of a menu, else of a page, as of a moment."""
        if url in self.menus:
            return Answer(200, "text/html", self.menus[url], MENU_DATE)
        return super().answer(url, clock)
