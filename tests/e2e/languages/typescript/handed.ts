import { AsyncLocalStorage } from 'node:async_hooks';
import { defaultPayloadConverter } from '@temporalio/common';
import { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';

/** What a request hands to each try of a job. */
export type Handed = { firstRun?: string; key?: string; checkpoint?: unknown };

const storage = new AsyncLocalStorage<Handed>();

/** What was handed to the job that calls it. */
export const handed = (): Handed => storage.getStore() ?? {};

export class ReadsHanded implements ActivityInboundCallsInterceptor {
  async execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>): Promise<unknown> {
    const payload = input.headers['sluice-handed'];
    return storage.run(payload ? defaultPayloadConverter.fromPayload<Handed>(payload) : {}, () => next(input));
  }
}
