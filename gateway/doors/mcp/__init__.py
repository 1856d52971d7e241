"""The door for assistants that speak MCP: `pioneer mcp`.

Rule 1: what is remembered, found and forgotten here is decided by the tools of a turn; nothing of it is decided twice.
Rule 2: the official SDK is met in `server` alone; everything else here is plain values.
"""
