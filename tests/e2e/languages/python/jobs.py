import asyncio

from temporalio import activity
from temporalio.exceptions import ApplicationError

from handed import handed


@activity.defn(name="Copy")
async def copy(input: dict) -> dict:
    """Copies rows, a few a second, and goes on after the last that was copied."""
    if input["rows"] <= 0:
        raise ApplicationError(f"rows: must be above 0, not {input['rows']}", type="InvalidInput", non_retryable=True)
    first = handed.get().get("checkpoint") or 0
    row = first
    try:
        while row < input["rows"]:
            with open(input["to"], "a") as rows:
                rows.write(f"{row}\n")  # the work
            row += 1
            activity.heartbeat(row)  # what is done; suspensions and lost workers are gone on from here
            await asyncio.sleep(0.1)  # raises once the job is asked to stop
    except asyncio.CancelledError:
        if activity.is_worker_shutdown():
            raise ApplicationError("the worker stops", {}, row, type="WorkerStopping")
        raise
    return {"key": handed.get().get("key"), "from": first}
