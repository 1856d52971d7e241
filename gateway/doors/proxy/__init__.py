"""The chat proxy: `pioneer proxy`. A program that knows nothing of memory uses it once its model's address is changed.

dialects/  the readers of requests and answers, one pure module for each of three APIs

Rule 1: memory never delays a chat beyond a deadline and never breaks one: the proxy is a process of its own, which asks
a spawned `pioneer serve` and goes on without its answer.
Rule 2: the client's own bytes are passed on; what memory adds is inserted between them.
Rule 3: an answer is passed on chunk by chunk as it comes; memory reads it beside that.
"""
