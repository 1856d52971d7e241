"""The prompt of a turn: its plan, its history, its blocks within their budgets, and the ledger of what was injected."""
