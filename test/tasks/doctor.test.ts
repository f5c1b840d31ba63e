import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { moorage } from '../bus/bus-world.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { startNats } from '../support/components/nats-server.ts'
import { needing } from '../support/components/needing.ts'
import { testEnvironment } from '../support/service.ts'

const test = needing('nats')

test('the doctor says whether the bus keeps the progress of tasks', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-tasks-doctor-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const port = await reservedPort()
  const settings = { ...(await testEnvironment(folder, 'sqlite')), MOORAGE_BUS_URL: `nats://127.0.0.1:${port}` }
  const { printed } = await moorage(settings, 'bus', 'init', '--listen', `127.0.0.1:${port}`, '--websocket', `127.0.0.1:${await reservedPort()}`, '--store', '/STORE')
  const line = async (): Promise<string> => (await moorage(settings, 'doctor')).printed.split('\n').find((each) => each.includes(`nats://127.0.0.1:${port}`)) ?? ''
  const whole = await startNats(port, (store) => printed.replaceAll('/STORE', store))
  t.regex(await line(), /answers and knows the account/)
  await whole.stop()
  const poor = await startNats(port, (store) => printed.replaceAll('/STORE', store).replace(/^jetstream: \{[^}]*\}$/m, ''))
  t.teardown(() => poor.stop())
  t.regex(await line(), /keeps no streams/)
})
