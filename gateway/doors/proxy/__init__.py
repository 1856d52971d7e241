"""The chat proxy: `pioneer proxy`. Programs that know no memory reach it by one changed address.

dialects/  how requests and answers are read, one pure module for each of the three

Rule 1: memory never delays or breaks a chat: the proxy is a process of its own that speaks to a spawned `pioneer serve`
within a deadline, and goes on without it.
Rule 2: what is passed on is the client's bytes; memory is inserted at places of them, and nothing else is written anew.
Rule 3: an answer goes on chunk by chunk as it comes, and is read after its last byte.
"""
