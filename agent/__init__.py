"""The turn: threads and what was said in them, the hook runtime, the model's rounds. Knows nothing of memory.

turns/    a turn from its request to its end
prompt/   plan, history and blocks of a prompt; the injection ledger
hooks/    the runtime of hooks
files/    artifacts of messages
guidance/ instruction files and agent definitions
threads/  workspaces, threads, imported conversations
capture/  conversations of programs that know no memory
forget/   what leaves a conversation
rows/     the only SQL of this house
"""
