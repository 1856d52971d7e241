"""Durable memory: stable facts, preferences, decisions. Callers propose; this house decides and can say why."""
