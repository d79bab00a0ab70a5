"""A model server for the bench, in a process apart: answers chat completions after a latency;
prints its address."""

import asyncio
import json
import re
import sys

MESSAGE = {"role": "assistant", "content": "It rests on the base rate.\nFinal answer: \\boxed{A}"}
BODY = {
    "id": "bench",
    "object": "chat.completion",
    "created": 1,
    "model": "bench",
    "choices": [{"index": 0, "finish_reason": "stop", "message": MESSAGE}],
    "usage": {"prompt_tokens": 150, "completion_tokens": 20, "total_tokens": 170},
}


async def answer(reader, writer, latency_s, reply):
    """Answer the requests of a connection until its client hangs up."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            size = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            await reader.readexactly(int(size[1]))
            await asyncio.sleep(latency_s)
            writer.write(reply)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve(latency_s):
    """Serve on a free port of loopback until the process ends."""
    body = json.dumps(BODY).encode()
    reply = (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        % len(body)
        + body
    )
    server = await asyncio.start_server(
        lambda r, w: answer(r, w, latency_s, reply), "127.0.0.1", 0, backlog=1000
    )
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
