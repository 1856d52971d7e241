"""A typed client of the Pioneer gateway: `Client` for asyncio, `Sync` for everything else.

Rule 1: msgspec is the only dependency. The messages stand in `pioneer_client.protocol`, a copy of the gateway's own.
"""

from pioneer_client.client import Client, Notice, Restarted
from pioneer_client.errors import GatewayDied, GatewayError
from pioneer_client.sync import Sync

__all__ = ["Client", "GatewayDied", "GatewayError", "Notice", "Restarted", "Sync"]
