"""The shell: doors, process, store, adapters to libraries, and the wiring that joins the houses.

base/       clock, ids, logs, health, durable files
wire/       JSON-RPC over pipes, and one client's session
store/      the database file, its schema, its damage
home/       the home folder, its settings, keys and owners
files/      files that messages carry
jobs/       the durable queue and its runner
embedding/  embedding models and their spaces
providers/  model providers, one adapter a dialect
secrets/    the secret scanner
care/       backup, doctor, the look after a start
imports/    conversations of other programs
passes/     scheduled maintenance
play/       demo and replay
doors/      the command line and MCP
"""

__version__ = "0.1.0"
