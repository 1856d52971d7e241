"""The readers of requests and answers, one module for each of three dialects; pure.

Each has `read(body, wrappers)` for a request, `begin_answer()` for an answer that streams, and `fold(data)` for one
that came whole.
"""
