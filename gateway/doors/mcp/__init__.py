"""The door for assistants that speak MCP: `pioneer mcp`.

Rule 1: the tools of a turn decide what this door remembers, finds and forgets; the door decides nothing itself.
Rule 2: the official SDK is met in `server` alone; everything else here is plain values.
"""
