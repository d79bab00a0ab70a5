"""What Daybefore's notebooks share, flat and small; it imports nothing of ours but itself (a set
may name a builder).

- tables, files, places, faults: what tables hold, where files lie, how a fault is told
- question_sets, sets: questions, answers and runs of any agents as tables; public_files, papers, calendar
- scores, matching, dates, boxes: one prediction and one answer -> a number
- means, paired, agreement: estimates with clustered intervals
- figures, plots, forms: what a reader sees

Above it stand `studies` (a folder a paper) and `daybefore` (what asks agents under a clock, and the
commands).
"""
