// process: own - starts and stops components
import { connect } from '@nats-io/transport-node'
import { reservedPort } from '../support/components/reserved-port.ts'
import { startNats } from '../support/components/nats-server.ts'
import { needing } from '../support/components/needing.ts'

const test = needing('nats')

test('a message goes from one client to another, also after a crash of the server', async (t) => {
  const port = await reservedPort()
  const server = await startNats(port, () => `listen: "127.0.0.1:${port}"\n`)
  try {
    for (const round of ['before', 'after']) {
      const [sender, reader] = [await connect({ port }), await connect({ port })]
      const subscription = reader.subscribe('words', { max: 1 })
      await reader.flush()
      sender.publish('words', round)
      for await (const message of subscription) t.is(message.string(), round)
      await sender.close()
      await reader.close()
      if (round === 'before') {
        await server.kill()
        await server.restart()
      }
    }
  } finally {
    await server.stop()
  }
})
