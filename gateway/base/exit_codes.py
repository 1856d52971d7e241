"""Exit codes of every process of the product.

Rule 1: the codes are those of sysexits.h, where it has one; docs/cli.md lists them, and a test compares.
"""

OK = 0
NEGATIVE = 1
"""The command found nothing, or the answer is no."""
USAGE = 64
DATA = 65
NO_INPUT = 66
UNAVAILABLE = 69
DEFECT = 70
CANNOT_WRITE = 73
IO_ERROR = 74
TRY_AGAIN = 75
REFUSED = 77
CONFIG = 78
HUNG_UP = 129
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143
