"""Daybefore: reproduce and re-run four papers on judging language-model agents that forecast."""
