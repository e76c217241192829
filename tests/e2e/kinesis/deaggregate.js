// Reads records of a stream, a line of JSON each, takes them apart with the public
// de-aggregator of the Kinesis Producer Library's format, whose path is the first
// argument, checksums checked, and writes a line of JSON for each user record.
const { deaggregateSync } = require(process.argv[2])

const lines = require('node:fs').readFileSync(0, 'utf8').split('\n').filter(Boolean)
for (const line of lines) {
  const { Data, PartitionKey } = JSON.parse(line)
  const record = { data: Data, partitionKey: PartitionKey, sequenceNumber: '1' }
  deaggregateSync(record, true, (error, records) => {
    if (error) throw error
    for (const r of records) {
      process.stdout.write(JSON.stringify({ Data: r.data, PartitionKey: r.partitionKey, ExplicitHashKey: r.explicitPartitionKey || '' }) + '\n')
    }
  })
}
