"""The readers of requests and answers, one module for each of three dialects; pure."""
