// process: waiting - uses components
import { credsAuthenticator, connect } from '@nats-io/transport-node'
import { BusIdentityStorePort } from '../../core/bus/ports.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { needing } from '../support/components/needing.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { until } from '../support/until.ts'
import {
  closeClients,
  connectWith,
  credentialsFrom,
  newPerson,
  runJob,
  startBusFixture,
  type BusFixture,
  type GivenCredentials,
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

interface ListedToken {
  readonly id: number
  readonly uid: number
  readonly busPubKey: string
  readonly revoked: boolean
}
const tokensOf = async (token: string): Promise<readonly ListedToken[]> => {
  const answer = await fixture.service.send('GET', '/api/v1/user/settings/tokens/bus-tokens/', { token })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json as readonly ListedToken[]
}
const revoke = (token: string, id: number): Promise<ServiceAnswer> =>
  fixture.service.send('POST', `/api/v1/user/settings/tokens/bus-tokens/${id}/revoke/`, { token })

const cannotConnect = (given: GivenCredentials): Promise<true> =>
  until('the server refuses them', () =>
    connectWith(given).then(
      (open) => open.close().then(() => undefined),
      (error: Error) => (/authori[sz]ation|authentication/i.test(error.message) ? true : undefined),
    ),
  )

test('a revoked credential is disconnected and cannot reconnect', async (t) => {
  const alice = await newPerson(fixture.service)
  const [first, second] = [
    await credentialsFrom(fixture.service, 'credentials', alice.token),
    await credentialsFrom(fixture.service, 'credentials', alice.token),
  ]
  const [cut, kept] = [await connectWith(first), await connectWith(second)]
  const listed = await tokensOf(alice.token)
  t.is(listed.length, 2)
  t.like(listed[0], { uid: alice.id, accountType: 'user', productName: 'own', clusterID: '', revoked: false })
  const oldest = listed.at(-1)!
  t.is((await revoke(alice.token, oldest.id)).status, 200)
  await cut.closed()
  t.true(await cannotConnect(first))
  await kept.flush()
  const again = await connectWith(second)
  await again.flush()
  t.deepEqual(
    (await tokensOf(alice.token)).map(({ id, revoked }) => [id, revoked]),
    [
      [listed[0]!.id, false],
      [oldest.id, true],
    ],
  )
  t.is((await revoke(alice.token, oldest.id)).status, 200, 'twice is fine')
})

test("revoking another person's credential equals revoking an unknown one", async (t) => {
  const [alice, bob] = [await newPerson(fixture.service), await newPerson(fixture.service)]
  const given = await credentialsFrom(fixture.service, 'credentials', alice.token)
  const open = await connectWith(given)
  const [hers] = await tokensOf(alice.token)
  const [foreign, missing] = [await revoke(bob.token, hers!.id), await revoke(bob.token, 999_999)]
  t.is(foreign.status, 404)
  t.is(missing.status, 404)
  t.is((foreign.json as { message: string }).message, (missing.json as { message: string }).message)
  t.deepEqual(await tokensOf(bob.token), [])
  await runJob(fixture.service, 'bus.retireCredentials')
  await open.flush()
})

const endings: Readonly<Record<string, (person: Awaited<ReturnType<typeof newPerson>>) => Promise<ServiceAnswer>>> = {
  'another password': ({ username, token }) => {
    void token
    return fixture.service.send('PATCH', `/api/v1/admin/users/${username}`, {
      token: fixture.service.adminToken,
      body: { password: 'another-lantern-over-water-18' },
    })
  },
  'a prohibited login': ({ username }) =>
    fixture.service.send('PATCH', `/api/v1/admin/users/${username}`, {
      token: fixture.service.adminToken,
      body: { prohibit_login: true },
    }),
  'a deactivated account': ({ username }) =>
    fixture.service.send('PATCH', `/api/v1/admin/users/${username}`, {
      token: fixture.service.adminToken,
      body: { active: false },
    }),
  'a deleted account': ({ username }) =>
    fixture.service.send('DELETE', `/api/v1/admin/users/${username}`, { token: fixture.service.adminToken }),
}
for (const [what, end] of Object.entries(endings)) {
  test(`${what} ends every credential on the bus`, async (t) => {
    const person = await newPerson(fixture.service)
    const given = [
      await credentialsFrom(fixture.service, 'credentials', person.token),
      await credentialsFrom(fixture.service, 'credentials', person.token),
    ]
    const open = await Promise.all(given.map(connectWith))
    const answer = await end(person)
    t.true(answer.status < 300, answer.text)
    await runJob(fixture.service, 'bus.retireCredentials')
    await Promise.all(open.map((each) => each.closed()))
    for (const each of given) t.true(await cannotConnect(each))
  })
}

test('a demoted site admin loses admin credentials', async (t) => {
  const person = await newPerson(fixture.service)
  const make = (admin: boolean) =>
    fixture.service.send('PATCH', `/api/v1/admin/users/${person.username}`, {
      token: fixture.service.adminToken,
      body: { admin },
    })
  t.true((await make(true)).status < 300)
  const given = await credentialsFrom(fixture.service, 'admin_credentials', person.token)
  const open = await connectWith(given)
  const theirs = await connectWith(
    await credentialsFrom(fixture.service, 'admin_credentials', fixture.service.adminToken),
  )
  t.true((await make(false)).status < 300)
  await runJob(fixture.service, 'bus.retireCredentials')
  await open.closed()
  t.true(await cannotConnect(given))
  await theirs.flush()
})

test('credentials end with the token that requested them', async (t) => {
  const person = await newPerson(fixture.service)
  const expTime = Math.ceil(Date.now() / 1000) + 20
  const made = await fixture.service.send('POST', '/api/v1/user/settings/tokens/access-tokens', {
    token: person.token,
    body: { name: 'brief', expTime, scopes: ['all'] },
  })
  t.is(made.status, 201, made.text)
  const given = await credentialsFrom(fixture.service, 'credentials', (made.json as { token: string }).token)
  const open = await connectWith(given)
  await open.closed()
  t.true(Date.now() / 1000 >= expTime - 1)
  t.true(await cannotConnect(given))
})

test('of a purpose a person has twenty: one more ends the oldest', async (t) => {
  const person = await newPerson(fixture.service)
  const oldest = await credentialsFrom(fixture.service, 'credentials', person.token)
  const open = await connectWith(oldest)
  for (let count = 0; count < 20; count += 1) await credentialsFrom(fixture.service, 'credentials', person.token)
  await open.closed()
  t.true(await cannotConnect(oldest))
  const revoked = (await tokensOf(person.token)).filter((each) => each.revoked)
  t.is(revoked.length, 1)
})

test('credentials that others forged or changed are refused', async (t) => {
  const person = await newPerson(fixture.service)
  const given = await credentialsFrom(fixture.service, 'credentials', person.token)
  const file = Buffer.from(given.credentials, 'base64').toString()
  const claims = /-----BEGIN NATS USER JWT-----\n(.+)\n/.exec(file)?.[1] ?? ''
  const [head, payload, signature] = claims.split('.') as [string, string, string]
  const widened = { ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as { nats: object }) }
  widened.nats = { ...widened.nats, pub: {}, sub: {} }
  const forged = file.replace(
    claims,
    `${head}.${Buffer.from(JSON.stringify(widened)).toString('base64url')}.${signature}`,
  )
  await t.throwsAsync(
    connect({ servers: [fixture.url], authenticator: credsAuthenticator(Buffer.from(forged)), reconnect: false }),
    { message: /authori[sz]ation|authentication/i },
  )
  await t.throwsAsync(connect({ servers: [fixture.url], reconnect: false }), {
    message: /authori[sz]ation|authentication/i,
  })
})

test('every issue and every end is in the audit log, and no key is in any log', async (t) => {
  const person = await newPerson(fixture.service)
  const given = await credentialsFrom(fixture.service, 'credentials', person.token)
  const [token] = await tokensOf(person.token)
  t.is((await revoke(person.token, token!.id)).status, 200)
  const log = await fixture.service.send('GET', '/api/v1/user/audit', { token: person.token })
  const text = log.text
  t.is(log.status, 200, text)
  for (const action of ['bus_account.created', 'bus_credentials.issued', 'bus_credentials.revoked'])
    t.true(text.includes(action), action)
  const file = Buffer.from(given.credentials, 'base64').toString()
  const seed = /\bSU[A-Z2-7]{56}\b/.exec(file)?.[0] ?? ''
  t.not(seed, '')
  for (const place of [text, fixture.service.logText(), fixture.nats.output()]) t.false(place.includes(seed))
})

test('an account on the bus belongs to one owner, in any order and number of requests', async (t) => {
  const person = await newPerson(fixture.service)
  const other = await fixture.second()
  await credentialsFrom(other, 'credentials', fixture.service.adminToken)
  const all = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((turn) =>
      credentialsFrom(turn % 2 === 0 ? fixture.service : other, 'credentials', person.token),
    ),
  )
  const open = await Promise.all(all.map(connectWith))
  for (const each of open) await each.flush()
  const issuers = new Set(
    all.map(({ credentials }) => {
      const claims = /JWT-----\n(.+)\n/.exec(Buffer.from(credentials, 'base64').toString())?.[1] ?? ''
      return (JSON.parse(Buffer.from(claims.split('.')[1] ?? '', 'base64url').toString()) as { iss: string }).iss
    }),
  )
  const account = await fixture.service.running.container
    .resolve(BusIdentityStorePort)
    .find('account', person.id as AccountId)
  t.deepEqual([...issuers], [account?.publicKey])
})
