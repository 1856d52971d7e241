"""The door for programs that speak HTTP: `pioneer http` and `serve --http`.

Rule 1: a request is judged by `rules` before a byte of its body is read; no route is exempt, unknown ones included.
Rule 2: every route calls the methods of `protocol.methods`; what they decide is not decided here again.
Rule 3: no state is kept from one request to the next.
Rule 4: uvicorn and h11 are met in `server` alone, by way of `uvicorn_parts`, and imported only when the door opens.
"""
