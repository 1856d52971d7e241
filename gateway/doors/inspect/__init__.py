"""The inspect page: a person sees in a browser what the gateway learned and why, and takes it back.

Rule 1: a page reads and changes memory by the methods of `protocol.methods` alone.
Rule 2: the session's name stands in the path. There is no cookie, and no address of the page works without its session.
Rule 3: every change is a form with a token of its own; every page works without scripts.
Rule 4: stored text is never read as markup: the template engine escapes it, and it is cut by length.
Rule 5: Jinja2 is imported by the first request for a page, and by nothing else.
"""
