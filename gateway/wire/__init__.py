"""JSON-RPC 2.0 over pipes: bytes, lines, requests, one client's session."""
