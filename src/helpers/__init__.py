"""Daybefore: reproduce and re-run four papers on judging language-model agents that forecast.

`from daybefore import events, run, predictions, score, compare, draw` does most of it. Where things are:

- store, tables, faults, question_sets: files and tables, what they may hold, how a fault is told; figures, plots
- web: pages as of a moment; events: questions; models: asking a model; agents: who forecasts; replies: what they said
- scoring: answers, scores, runs by name (`scoring.runs.load_scores`); stats: intervals, pairs, regression
- formats: files of others; futurex, worldreasoner, liveagentbench, proof_of_time, audit: a room a paper
- cli: the commands
"""
