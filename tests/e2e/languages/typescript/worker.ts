import { NativeConnection, Worker } from '@temporalio/worker';
import { ReadsHanded } from './handed';
import * as jobs from './jobs';

async function main(): Promise<void> {
  const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS });
  const worker = await Worker.create({
    connection,
    namespace: process.env.TEMPORAL_NAMESPACE,
    taskQueue: 'typescript',
    activities: jobs,
    interceptors: { activity: [() => ({ inbound: new ReadsHanded() })] },
    maxHeartbeatThrottleInterval: '1s', // a suspension travels in the answers to heartbeats
  });
  await worker.run(); // until SIGTERM or SIGINT
}

main().catch((err) => {
  console.error(err);
  process.exitCode = 1;
});
