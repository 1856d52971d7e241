"""What leaves a conversation: deleted threads, redacted tool events, places that say a forgotten memory's words."""
