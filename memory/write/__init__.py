"""The one write path: gather, decide, apply, and the answer that is kept under an idempotency key."""
