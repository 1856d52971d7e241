"""Bundles: durable memory as a text that another home imports."""
