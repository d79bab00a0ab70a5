"""The portal that tasks begin at: the replay web's pages behind two menus or, where a value lies deep, three."""

import pandas as pd

from helpers.liveagentbench.tasks import PORTAL, PORTALS
from helpers.web.replay import Replay
from helpers.web.session import Answer

MENU_DATE = int(pd.Timestamp("2016-09-01T00:00:00Z").timestamp())
"""Menus are older than any task."""


def build_menus(sources):
    """Return {address: html} of both portals: domains, then sources; in the deep one subdomains between them.

    >>> len(build_menus({}))
    2
    """
    menus = {}
    for root, depth in ((PORTAL, 1), (PORTALS["deep"], 2)):
        tree = {(): {}}
        for source in sources.values():
            path = (source.domain, source.subdomain)[:depth]
            for n in range(depth):
                tree.setdefault(path[:n], {})[name_menu(root, path[: n + 1])] = path[n]
            tree.setdefault(path, {})[source.address] = source.name
        for path, links in tree.items():
            menus[name_menu(root, path)] = write_menu(" / ".join(path) or "Contents", sorted(links.items()))
    return menus


def name_menu(root, path):
    """Return a menu's address.

    >>> name_menu("http://directory.replay/", ("Health", "Dengue fever"))
    'http://directory.replay/health/dengue-fever'
    """
    return root + "/".join(part.lower().replace(" ", "-") for part in path)


def write_menu(title, items):
    """Return a page of links."""
    links = "\n".join(f"<li><a href='{address}'>{name}</a></li>" for address, name in items)
    return f"<!doctype html>\n<html lang='en'><body><h1>{title}</h1>\n<ul class='menu'>\n{links}\n</ul></body></html>\n"


class Portal(Replay):
    """Answers for both portals' menus, and for the pages behind them as the replay web does.

    With `is_down` the menus answer, and every page behind them answers that its site is down.
    """

    def __init__(self, sources, *, is_down=False):
        super().__init__(sources)
        self.menus, self.is_down = build_menus(sources), is_down

    def answer(self, url, clock):
        """Return the `Answer` of a menu, else of a page, as of a moment."""
        if url in self.menus:
            return Answer(200, "text/html", self.menus[url], MENU_DATE)
        return Answer(503) if self.is_down else super().answer(url, clock)
