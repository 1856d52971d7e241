"""The one write path: gather, decide, apply; and the answers that are kept under idempotency keys."""
