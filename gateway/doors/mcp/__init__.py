"""The door for assistants that speak MCP: `pioneer mcp`.

Rule 1: the tools of a turn decide what is remembered, found and forgotten; this door only calls them.
Rule 2: only `server` and `streams` import the official SDK; everything else here is plain values.
"""
