// process: own - ends processes or changes its own
import { BusIdentityStorePort } from '../../core/bus/ports.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { needing } from '../support/components/needing.ts'
import { until } from '../support/until.ts'
import {
  closeClients,
  connectWith,
  credentialsFrom,
  listen,
  moorage,
  newPerson,
  runJob,
  startBusFixture,
  type BusFixture,
} from './bus-fixture.ts'

const test = needing('nats')

let fixture: BusFixture
test.before(async () => {
  fixture = await startBusFixture()
})
test.after.always(async () => {
  await closeClients()
  await fixture?.stop()
})

const tokensOf = async (token: string) =>
  (await fixture.service.send('GET', '/api/v1/user/settings/tokens/bus-tokens', { token })).json as {
    id: number
    revoked: boolean
  }[]
const busIsBack = () =>
  until('readiness shows the bus', async () => ((await readiness()).includes('[+] bus') ? true : undefined))
const readiness = async () => (await fetch(`${fixture.service.opsUrl}/readyz?verbose`)).text()

test.serial('HTTP continues without the bus, and credentials are 503', async (t) => {
  const person = await newPerson(fixture.service)
  await credentialsFrom(fixture.service, 'credentials', person.token)
  await busIsBack()
  await fixture.nats.kill()
  await until('readiness shows that the bus is away', async () =>
    (await readiness()).includes('[-] bus') ? true : undefined,
  )
  t.regex(await readiness(), /\nok\n/)
  const refused = await fixture.service.send('GET', '/api/v1/user/bus/credentials', { token: person.token })
  t.is(refused.status, 503)
  t.regex((refused.json as { message: string }).message, /message bus does not answer/)
  t.true(Number(refused.headers['retry-after']) > 0)
  t.is((await tokensOf(person.token)).length, 1)
  t.is((await fixture.service.send('GET', '/api/v1/user', { token: person.token })).status, 200)
  await fixture.nats.restart()
  await connectWith(await credentialsFrom(fixture.service, 'credentials', person.token))
  t.is((await tokensOf(person.token)).length, 2)
})

test.serial('a revocation during an outage is applied when the bus returns', async (t) => {
  const person = await newPerson(fixture.service)
  const given = await credentialsFrom(fixture.service, 'credentials', person.token)
  await (await connectWith(given)).close()
  await fixture.nats.kill()
  const [token] = await tokensOf(person.token)
  t.is(
    (
      await fixture.service.send('POST', `/api/v1/user/settings/tokens/bus-tokens/${token!.id}/revoke`, {
        token: person.token,
      })
    ).status,
    200,
  )
  await fixture.nats.restart()
  await busIsBack()
  await runJob(fixture.service, 'bus.retireCredentials')
  await t.throwsAsync(connectWith(given), { message: /authori[sz]ation|authentication/i })
})

test.serial('a server without data gets all accounts and revocations again', async (t) => {
  const person = await newPerson(fixture.service)
  const [kept, ended] = [
    await credentialsFrom(fixture.service, 'credentials', person.token),
    await credentialsFrom(fixture.service, 'credentials', person.token),
  ]
  const admins = await credentialsFrom(fixture.service, 'admin_credentials', fixture.service.adminToken)
  const [newest] = await tokensOf(person.token)
  t.is(
    (
      await fixture.service.send('POST', `/api/v1/user/settings/tokens/bus-tokens/${newest!.id}/revoke`, {
        token: person.token,
      })
    ).status,
    200,
  )
  const [adminToken] = await tokensOf(fixture.service.adminToken)
  t.is(
    (
      await fixture.service.send('POST', `/api/v1/user/settings/tokens/bus-tokens/${adminToken!.id}/revoke`, {
        token: fixture.service.adminToken,
      })
    ).status,
    200,
  )
  await fixture.nats.restart({ wipe: true })
  await t.throwsAsync(connectWith(kept), undefined, 'the wiped server knows no account')
  await busIsBack()
  await runJob(fixture.service, 'bus.reconcileClaims')
  const open = await connectWith(kept)
  const heard = listen(open, 'natjobs.resp.r1')
  await open.flush()
  const sender = await connectWith(
    await credentialsFrom(fixture.service, 'admin_credentials', fixture.service.adminToken),
  )
  sender.publish(`natjobs.resp.${person.id}.r1`, 'again')
  await until('a message', () => (heard.heard.length > 0 ? true : undefined))
  await t.throwsAsync(connectWith(ended), { message: /authori[sz]ation|authentication/i })
  await t.throwsAsync(
    connectWith(admins),
    { message: /authori[sz]ation|authentication/i },
    "also of the platform's account, which the server starts with",
  )
})

test.serial('the account of a deleted owner is closed permanently', async (t) => {
  const person = await newPerson(fixture.service)
  await credentialsFrom(fixture.service, 'credentials', person.token)
  t.is(
    (
      await fixture.service.send('DELETE', `/api/v1/admin/users/${person.username}`, {
        token: fixture.service.adminToken,
      })
    ).status,
    204,
  )
  await runJob(fixture.service, 'bus.retireCredentials')
  const account = await fixture.service.running.container
    .resolve(BusIdentityStorePort)
    .find('account', person.id as AccountId)
  t.truthy(account?.closedAt)
  t.is(account?.pushedRevision, account?.revision)
})

test.serial('concurrent and repeated commands print the same keys', async (t) => {
  const words = ['bus', 'init', '--json'] as const
  const answers = await Promise.all([moorage(fixture.settings, ...words), moorage(fixture.settings, ...words)])
  const [one, two] = answers.map(({ printed }) => JSON.parse(printed) as Record<string, string>)
  t.deepEqual(one, two)
  t.regex(one!['configuration']!, /resolver: \{\n {2}type: full/)
  // A seed has 58 characters; a public key has 56, and may have these two in it.
  t.notRegex(one!['configuration']!, /\bS[OAU][A-Z2-7]{56}\b/, 'no seed')
})

test.serial('doctor says whether the bus answers and knows this deployment', async (t) => {
  const busLine = async (settings: Readonly<Record<string, string>>) => {
    const { printed } = await moorage(settings, 'doctor', '--json')
    return (JSON.parse(printed) as { findings: { subject: string; state: string; message: string }[] }).findings.find(
      ({ subject }) => subject === 'bus',
    )
  }
  t.like(await busLine(fixture.settings), { state: 'ok' })
  t.like(await busLine({ ...fixture.settings, MOORAGE_BUS_URL: 'nats://127.0.0.1:1' }), { state: 'problem' })
  const other = await startBusFixture()
  try {
    const stranger = await busLine({ ...fixture.settings, MOORAGE_BUS_URL: other.url })
    t.like(stranger, { state: 'problem' })
    t.regex(stranger!.message, /refuses the keys of this deployment/)
  } finally {
    await other.stop()
  }
})
