"""The shell: process, transport, files, worker threads, adapters to libraries, wiring, command line."""

__version__ = "0.1.0"
