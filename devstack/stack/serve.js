// Runs dynalite or kinesalite on a port that the system chooses, on 127.0.0.1
// alone (kinesalite's own command line listens on every address), and says
// where: "listening 127.0.0.1:PORT". Options are the emulator's own, as JSON.
//
//   NODE_PATH=node_modules node serve.js dynalite '{"createTableMs":0}'
'use strict'

const [name, options] = process.argv.slice(2)
if (!['dynalite', 'kinesalite'].includes(name)) {
  console.error('usage: node serve.js dynalite|kinesalite [JSON options]')
  process.exit(2)
}
const server = require(name)(JSON.parse(options || '{}'))
server.on('error', (err) => {
  console.error(`${name}: ${err.message}`)
  process.exit(1)
})
// The guard keeps its connections; an emulator that closed an idle one while
// the next request is on its way would lose that request.
server.keepAliveTimeout = 0
server.requestTimeout = 0
server.listen(0, '127.0.0.1', () => console.log(`listening 127.0.0.1:${server.address().port}`))
