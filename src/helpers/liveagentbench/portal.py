"""The portal that tasks begin at: the replay web's pages behind two menus, of domains and of their sources."""

import pandas as pd

from helpers.liveagentbench.tasks import PORTAL
from helpers.web.replay import Replay
from helpers.web.session import Answer

MENU_DATE = int(pd.Timestamp("2016-09-01T00:00:00Z").timestamp())
"""Menus are older than any task."""


class Portal(Replay):
    """Answers for the portal's `menus` ({address: html}), and for the pages behind them as the replay web does."""

    def __init__(self, sources):
        super().__init__(sources)
        links = {PORTAL: {}}
        for source in sources.values():
            address = PORTAL + source.domain.lower().replace(" ", "-")
            links[PORTAL][address] = source.domain
            links.setdefault(address, {})[source.address] = source.name
        names, self.menus = {PORTAL: "Contents"} | links[PORTAL], {}
        for address, items in links.items():
            shown = "\n".join(f"<li><a href='{link}'>{name}</a></li>" for link, name in sorted(items.items()))
            body = f"<h1>{names[address]}</h1>\n<ul class='menu'>\n{shown}\n</ul>"
            self.menus[address] = f"<!doctype html>\n<html lang='en'><body>{body}</body></html>\n"

    def answer(self, url, clock):
        """Return the `Answer` of a menu, else of a page, as of a moment."""
        if url in self.menus:
            return Answer(200, "text/html", self.menus[url], MENU_DATE)
        return super().answer(url, clock)
