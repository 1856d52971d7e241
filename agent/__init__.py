"""The turn: threads and what was said in them, the hook runtime, the model's rounds. Knows nothing of memory."""
