import { appendFile } from 'node:fs/promises';
import { CancelledFailure, heartbeat, sleep } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { handed } from './handed';

/** Copies rows, a few a second, and goes on after the last that was copied. */
export async function Copy(input: { rows: number; to: string }): Promise<{ key?: string; from: number }> {
  if (!(input.rows > 0)) {
    throw ApplicationFailure.nonRetryable(`rows: must be above 0, not ${input.rows}`, 'InvalidInput');
  }
  const { key, checkpoint } = handed();
  const from = typeof checkpoint === 'number' ? checkpoint : 0;
  let row = from;
  try {
    while (row < input.rows) {
      await appendFile(input.to, `${row}\n`); // the work
      heartbeat(++row); // what is done; lost workers are gone on from here
      await sleep('100ms'); // rejects once the job is asked to stop
    }
  } catch (err) {
    if (!(err instanceof CancelledFailure)) throw err;
    if (err.message === 'WORKER_SHUTDOWN') {
      throw ApplicationFailure.create({ type: 'WorkerStopping', message: 'the worker stops', details: [{}, row] });
    }
    throw new CancelledFailure('stopped', [row]); // a suspension goes on from here, to the row
  }
  return { key, from };
}
