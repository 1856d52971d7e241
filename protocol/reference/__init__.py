"""What is generated from the contract: schemas, tables of settings, reference pages."""
