// process: waiting - uses components
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import test from 'ava'
import { StartRefused } from '../../composition/part/boot.ts'
import { needing } from '../support/components/needing.ts'
import { environmentOn, start } from './start-fixture.ts'

for (const database of ['sqlite', 'mysql'] as const) {
  const each = database === 'mysql' ? needing('mariadb') : test
  each(
    `${database}: of two instances that start at once one makes the first admin, with a password that works`,
    async (t) => {
      const environment = await environmentOn(t, database)
      const services = await Promise.all([start(environment), start(environment)])
      t.teardown(() => Promise.all(services.map((service) => service.stop())))
      const made = services.flatMap(({ firstAdmin }) => firstAdmin ?? [])
      t.is(made.length, 1)
      const [{ username = '', generatedPassword = '' } = {}] = made
      t.regex(generatedPassword, /^[a-z2-9]{5}(-[a-z2-9]{5}){3}$/)
      for (const { baseUrl } of services) {
        const authorization = `Basic ${Buffer.from(`${username}:${generatedPassword}`).toString('base64')}`
        t.is((await fetch(`${baseUrl}/api/v1/user`, { headers: { authorization } })).status, 200)
      }
    },
  )
}

test('the second start creates no user and shows no password', async (t) => {
  const environment = await environmentOn(t, 'sqlite')
  const first = await start(environment)
  t.truthy(first.firstAdmin?.generatedPassword)
  await first.stop()
  const second = await start(environment)
  t.teardown(() => second.stop())
  t.is(second.firstAdmin, undefined)
})

test('a password against the policy stops the start without being printed', async (t) => {
  const environment = { ...(await environmentOn(t, 'sqlite')), MOORAGE_ADMIN_PASSWORD: 'short-canary'.slice(0, 7) }
  const error = await t.throwsAsync(start(environment), { instanceOf: StartRefused })
  t.regex(error.message, /first site admin admin cannot be made/)
  t.notRegex(error.message, /short-c/)
})

test('a start that cannot listen creates no user: the next one shows the password', async (t) => {
  const environment = await environmentOn(t, 'sqlite')
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as AddressInfo
  await t.throwsAsync(start({ ...environment, MOORAGE_LISTEN: `127.0.0.1:${port}` }), {
    instanceOf: StartRefused,
    message: /another process listens there/,
  })
  taken.close()
  const service = await start(environment)
  t.teardown(() => service.stop())
  t.truthy(service.firstAdmin?.generatedPassword)
})
