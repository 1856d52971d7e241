"""Durable jobs: the queue, the states, the retries, the runner."""
