"""Generated from the contract: schemas, tables of settings, reference pages."""
