import asyncio
import os

from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError


async def main() -> None:
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"], namespace=os.environ["TEMPORAL_NAMESPACE"])
    job = {"id": "copy", "activity": "Copy", "taskQueue": "python", "heartbeat": "5s", "input": {"rows": 100, "to": "rows"}}
    request = await client.start_workflow("Request", {"jobs": [job]}, id="request/copy", task_queue="sluice")
    await request.execute_update("suspend", {"reason": "deploy", "grace": "30s"})
    print(await request.query("status"))
    await request.execute_update("resume", {})
    try:
        print(await request.result())
    except WorkflowFailureError as err:
        if isinstance(err.cause, ApplicationError):
            print(err.cause.type, err.cause.message)  # RequestFailed, Expired, InvalidInput


asyncio.run(main())
