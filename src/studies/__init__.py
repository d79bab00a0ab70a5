"""A folder a paper: its protocol, and the study behind a notebook that is too long for it.

futurex, worldreasoner, liveagentbench, proof_of_time; audit holds the papers' printed numbers to
account. No folder imports from another.
"""
