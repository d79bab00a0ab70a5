# What an agent's tools run in where bubblewrap cannot be had (src/daybefore/agents/docker.py), built by hand:
#   docker build -t daybefore-sandbox -f .ci/sandbox.Dockerfile .ci
FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends python3-pandas && rm -rf /var/lib/apt/lists/*
