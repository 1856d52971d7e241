"""The public language of durable memory."""
