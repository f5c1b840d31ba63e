// process: waiting - uses components
import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import { makeNatsMint } from '../../adapters/bus/nats-mint.ts'
import type { IssueDeps } from '../../core/bus/credentials.ts'
import { makeIssueCredentials } from '../../core/bus/credentials.ts'
import { BusIdentityStorePort, BusUnitOfWorkPort, BusUserStorePort } from '../../core/bus/ports.ts'
import { AuthenticatorPort } from '../../core/identity/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { secret } from '../../core/kernel/secret.ts'
import { callOf } from '../sql/call.ts'
import { needing } from '../support/components/needing.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { plantBusToken } from '../support/plant-bus-token.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import type { BusFixture } from './bus-fixture.ts'
import {
  closeClients,
  connectWith,
  credentialsFrom,
  listen,
  newPerson,
  publishRefusal,
  runJob,
  startBusFixture,
} from './bus-fixture.ts'

const withNats = needing('nats')

let fixture: BusFixture
withNats.before(async () => {
  fixture = await startBusFixture()
})
withNats.after.always(async () => {
  await closeClients()
  await fixture?.stop()
})

const platform = async () =>
  connectWith(await credentialsFrom(fixture.service, 'admin_credentials', fixture.service.adminToken))

withNats('a user hears the own tenant, without the tenant in the subject, and nothing of another user', async (t) => {
  const [alice, bob] = [await newPerson(fixture.service), await newPerson(fixture.service)]
  const given = await credentialsFrom(fixture.service, 'credentials', alice.token)
  t.deepEqual(given.endpoints, [fixture.url])
  const [hers, his] = [
    await connectWith(given),
    await connectWith(await credentialsFrom(fixture.service, 'credentials', bob.token)),
  ]
  const progress = listen(hers, 'natjobs.resp.r1')
  const notices = listen(hers, 'notifications')
  const foreign = listen(his, 'natjobs.resp.>')
  await hers.flush()
  await his.flush()
  const sender = await platform()
  sender.publish(`natjobs.resp.${alice.id}.r1`, 'for alice')
  sender.publish(`notifications.${alice.id}`, 'note')
  sender.publish(`natjobs.resp.${bob.id}.r1`, 'for bob')
  await until('all three', () =>
    progress.heard.length > 0 && notices.heard.length > 0 && foreign.heard.length > 0 ? true : undefined,
  )
  t.deepEqual(progress.heard, [{ subject: 'natjobs.resp.r1', text: 'for alice' }])
  t.deepEqual(notices.heard, [{ subject: 'notifications', text: 'note' }])
  t.deepEqual(foreign.heard, [{ subject: 'natjobs.resp.r1', text: 'for bob' }])
})

withNats('a user may publish nowhere and subscribe to nothing but the own subjects', async (t) => {
  const [alice, bob] = [await newPerson(fixture.service), await newPerson(fixture.service)]
  const hers = await connectWith(await credentialsFrom(fixture.service, 'credentials', alice.token))
  for (const subject of [
    'natjobs.resp.r1',
    `natjobs.resp.${bob.id}.r1`,
    'notifications',
    'anything',
    '$SYS.REQ.SERVER.PING',
    '$JS.API.INFO',
    '_INBOX.x',
  ]) {
    t.regex((await publishRefusal(hers, subject)) ?? `published to ${subject}`, /permissions violation/i, subject)
  }
  for (const subject of ['>', `notifications.${bob.id}`, 'natjobs.queue.>', 'clusters.>', '$SYS.>', '$JS.>', '*']) {
    const { refused } = listen(hers, subject)
    t.regex(await until(`a refusal of ${subject}`, refused), /permissions violation/i, subject)
  }
  // Allowed by its form and still only the own account's: the other tenant's messages do not come here.
  const form = listen(hers, `natjobs.resp.${bob.id}.*`)
  const witness = listen(hers, 'natjobs.resp.end')
  await hers.flush()
  const sender = await platform()
  sender.publish(`natjobs.resp.${bob.id}.r1`, 'for bob')
  sender.publish(`natjobs.resp.${alice.id}.end`, 'for alice')
  await until('the own message', () => (witness.heard.length > 0 ? true : undefined))
  t.deepEqual(form.heard, [])
  t.is(form.refused(), undefined)
})

withNats('credentials for progress and notifications hear every tenant and may do nothing else', async (t) => {
  const watcher = await connectWith(
    await credentialsFrom(fixture.service, 'user_credentials', fixture.service.adminToken),
  )
  const heard = listen(watcher, 'natjobs.resp.*.*')
  const notices = listen(watcher, 'notifications.*')
  await watcher.flush()
  const sender = await platform()
  sender.publish('natjobs.resp.77.a', '1')
  sender.publish('natjobs.resp.78.b', '2')
  sender.publish('notifications.78', '3')
  await until('every message', () => (heard.heard.length >= 2 && notices.heard.length >= 1 ? true : undefined))
  t.regex((await publishRefusal(watcher, 'natjobs.resp.77.a')) ?? '', /permissions violation/i)
  for (const subject of ['>', 'natjobs.queue.>', 'clusters.a.resources.x', '_INBOX.>', '$JS.API.>']) {
    t.regex(await until(`a refusal of ${subject}`, listen(watcher, subject).refused), /permissions violation/i, subject)
  }
})

withNats('credentials for the resource history of clusters hear that and may do nothing else', async (t) => {
  const watcher = await connectWith(
    await credentialsFrom(fixture.service, 'cluster-resource-history', fixture.service.adminToken),
  )
  const heard = listen(watcher, 'clusters.*.resources.>')
  await watcher.flush()
  const sender = await platform()
  sender.publish('clusters.c1.resources.pods.web', 'changed')
  await until('the change', () => (heard.heard.length > 0 ? true : undefined))
  t.regex((await publishRefusal(watcher, 'clusters.c1.resources.pods.web')) ?? '', /permissions violation/i)
  for (const subject of ['>', 'clusters.>', 'natjobs.resp.>', 'notifications.*', '_INBOX.>']) {
    t.regex(await until(`a refusal of ${subject}`, listen(watcher, subject).refused), /permissions violation/i, subject)
  }
})

withNats(
  "an admin's credentials reach everything of the platform's account, streams included, and no other account",
  async (t) => {
    const admin = await platform()
    const info = await admin.request('$JS.API.INFO', '', { timeout: 5_000 })
    t.falsy(info.json<{ error?: unknown }>().error)
    const alice = await newPerson(fixture.service)
    const hers = await connectWith(await credentialsFrom(fixture.service, 'credentials', alice.token))
    const inbox = listen(hers, '_INBOX.hers')
    const progress = listen(hers, 'natjobs.resp.done')
    await hers.flush()
    admin.publish('_INBOX.hers', 'from outside')
    admin.publish(`natjobs.resp.${alice.id}.done`, 'end')
    await until('the end', () => (progress.heard.length > 0 ? true : undefined))
    t.deepEqual(inbox.heard, [])
  },
)

withNats(
  'credentials are issued to the user only: not to ordinary users by the routes of admins, and not under sudo',
  async (t) => {
    const alice = await newPerson(fixture.service)
    for (const path of ['admin_credentials', 'user_credentials', 'cluster-resource-history']) {
      t.is((await fixture.service.send('GET', `/api/v1/user/bus/${path}`, { token: alice.token })).status, 403, path)
    }
    for (const path of ['credentials', 'admin_credentials', 'user_credentials', 'cluster-resource-history']) {
      t.is(
        (
          await fixture.service.send('GET', `/api/v1/user/bus/${path}?sudo=${alice.username}`, {
            token: fixture.service.adminToken,
          })
        ).status,
        403,
        path,
      )
      t.is((await fixture.service.send('GET', `/api/v1/user/bus/${path}`)).status, 401, path)
    }
    const readOnly = await fixture.service.tokenFor(alice.username, ['read:user'])
    t.is((await fixture.service.send('GET', '/api/v1/user/bus/credentials', { token: readOnly })).status, 403)
  },
)

let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service?.stop())

test('a token that is deleted while its bus account opens gets no credentials', async (t) => {
  const { container } = service.running
  const person = await newPerson(service)
  const authenticated = await container
    .resolve(AuthenticatorPort)
    .authenticate({ kind: 'token', token: secret(person.token) }, undefined, '192.0.2.1')
  const principal = unwrap(authenticated)
  await plantBusToken(service, person.id)
  const account = await container.resolve(BusIdentityStorePort).find('account', person.id as AccountId)
  if (account === undefined) throw new Error('no account was planted')
  const issued = () => container.resolve(BusUserStorePort).list(person.id as AccountId, { page: 1, limit: 50 })
  const before = (await issued()).total
  const issue = makeIssueCredentials({
    clock: container.resolve(ClockPort),
    unitOfWork: container.resolve(BusUnitOfWorkPort),
    identities: container.resolve(BusIdentityStorePort),
    mint: makeNatsMint(container.resolve(ClockPort)),
    server: { isConfigured: true, endpoints: [] },
    openAccount: async () => {
      const path = `/api/v1/users/${person.username}/tokens/${principal.tokenId}`
      const deleted = await service.send('DELETE', path, { basic: [person.username, person.password] })
      t.is(deleted.status, 204, deleted.text)
      return right(account)
    },
  } as unknown as IssueDeps)
  const input = { ownerId: person.id as AccountId, login: person.username, purpose: 'own', lifeSeconds: 60 } as const
  t.is(tagOf(await issue({ ...callOf(), principal }, input)), 'BusRefused')
  t.is((await issued()).total, before)
})

/** Lists and endings work without a bus, on what was issued while there was one. */
let tokensService: TestService
test.before(async () => {
  tokensService = await startService()
})
test.after.always(() => tokensService.stop())

test('credential routes name the setting when messages stay in the process', async (t) => {
  for (const path of ['credentials', 'admin_credentials', 'user_credentials', 'cluster-resource-history']) {
    const answer = await tokensService.send('GET', `/api/v1/user/bus/${path}`, { token: tokensService.adminToken })
    t.is(answer.status, 404, path)
    t.like(answer.json, { code: 'BusHasNoCredentials' })
    t.regex((answer.json as { message: string }).message, /MOORAGE_BUS_URL/)
  }
  t.deepEqual(
    (await tokensService.send('GET', '/api/v1/user/settings/tokens/bus-tokens', { token: tokensService.adminToken }))
      .json,
    [],
  )
  await runJob(tokensService, 'bus.retireCredentials')
  await runJob(tokensService, 'bus.reconcileClaims')
})

test('only owners of an organization list and end its bus tokens', async (t) => {
  const [owner, stranger] = [await newPerson(tokensService), await newPerson(tokensService)]
  const organization = async (person: typeof owner, username: string) =>
    (
      (await tokensService.send('POST', '/api/v1/orgs', { token: person.token, body: { username } })).json as {
        id: number
      }
    ).id
  const [id, otherId] = [await organization(owner, 'harbour'), await organization(stranger, 'lagoon')]
  const [token, otherToken] = [await plantBusToken(tokensService, id), await plantBusToken(tokensService, otherId)]
  const listed = await tokensService.send('GET', '/api/v1/orgs/harbour/tokens/bus-tokens/', { token: owner.token })
  t.deepEqual(listed.json, [
    {
      id: token,
      uid: id,
      accountType: 'organization',
      busPubKey: `U-${id}`,
      clusterID: '',
      productName: 'own',
      revoked: false,
    },
  ] as never)
  const revoke = (person: typeof owner, org: string, tokenId: number) =>
    tokensService.send('POST', `/api/v1/orgs/${org}/tokens/bus-tokens/${tokenId}/revoke`, { token: person.token })
  t.is((await revoke(owner, 'harbour', otherToken)).status, 404)
  t.is((await revoke(stranger, 'harbour', token)).status, 403)
  t.is(
    (await tokensService.send('GET', '/api/v1/orgs/harbour/tokens/bus-tokens', { token: stranger.token })).status,
    403,
  )
  t.is((await revoke(owner, 'harbour', token)).status, 200)
  const [after] = (await tokensService.send('GET', '/api/v1/orgs/harbour/tokens/bus-tokens', { token: owner.token }))
    .json as { revoked: boolean }[]
  t.true(after?.revoked)
})
