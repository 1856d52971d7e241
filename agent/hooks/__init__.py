"""The hook runtime: order, deadline and diagnostics of what houses contribute to a turn."""
