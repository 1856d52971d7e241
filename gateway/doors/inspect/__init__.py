"""The inspect page: what the gateway learned, why, and how it is taken back, for a person with a browser.

Rule 1: a page shows what the methods of `protocol.methods` answer, and changes by them alone.
Rule 2: a session stands in the path. There is no cookie, and no address of the page works without its session.
Rule 3: a change is a form with a token of its own; every page works without scripts.
Rule 4: stored text is text: it is escaped by the template engine, cut by length, and never read as markup.
Rule 5: Jinja2 is imported by the first request for a page, and by nothing else.
"""
