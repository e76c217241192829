import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';

async function main(verb: string, id: string, to: string, rows: string): Promise<unknown> {
  const connection = await Connection.connect({ address: process.env.TEMPORAL_ADDRESS });
  const client = new Client({ connection, namespace: process.env.TEMPORAL_NAMESPACE });
  const request = client.workflow.getHandle(id);
  switch (verb) {
    case 'start': {
      const job = { id: 'copy', activity: 'Copy', taskQueue: 'typescript', heartbeat: '5s', input: { rows: Number(rows), to } };
      const taskQueue = process.env.SLUICE_TASK_QUEUE ?? 'sluice'; // of Sluice's workers
      await client.workflow.start('Request', { workflowId: id, taskQueue, args: [{ jobs: [job] }] });
      return id;
    }
    case 'suspend': // answered when the job has stopped
      return request.executeUpdate('suspend', { args: [{ reason: 'deploy', grace: '30s' }] });
    case 'resume':
      return request.executeUpdate('resume', { args: [{}] });
    case 'status':
      return request.query('status');
    default:
      return request.result();
  }
}

main(process.argv[2], process.argv[3], process.argv[4], process.argv[5]).then(
  (answer) => console.log(JSON.stringify(answer)),
  (err) => {
    const cause = err instanceof WorkflowFailedError ? err.cause : err;
    const type = cause instanceof ApplicationFailure ? cause.type : undefined; // RequestFailed, Expired, InvalidInput
    console.error(type ?? 'error', cause.message);
    process.exitCode = 1;
  },
);
