import asyncio
import os
import signal
from datetime import timedelta

from temporalio.client import Client
from temporalio.worker import Worker

from handed import ReadsHanded
from jobs import copy


async def main() -> None:
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"], namespace=os.environ["TEMPORAL_NAMESPACE"])
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with Worker(
        client,
        task_queue="python",
        activities=[copy],
        interceptors=[ReadsHanded()],
        max_heartbeat_throttle_interval=timedelta(seconds=1),
    ):
        await stop.wait()


asyncio.run(main())
