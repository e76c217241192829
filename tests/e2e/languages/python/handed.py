import contextvars
import json
from typing import Any

from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

# What a request hands to each try of a job: firstRun, key, checkpoint.
handed: contextvars.ContextVar[dict] = contextvars.ContextVar("handed", default={})


class _Inbound(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        payload = input.headers.get("sluice-handed")
        handed.set(json.loads(payload.data) if payload else {})
        return await super().execute_activity(input)


class ReadsHanded(Interceptor):
    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Inbound(super().intercept_activity(next))
