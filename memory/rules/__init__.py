"""Pure decisions of durable memory: no row, no clock, no model is read here."""
