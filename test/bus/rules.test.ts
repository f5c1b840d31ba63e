import { decode } from '@nats-io/jwt'
import test from 'ava'
import fc from 'fast-check'
import { makeBoundedPasses } from '../../core/bus/bus.ts'
import { natsServers } from '../../adapters/bus/nats-connection.ts'
import { makeNatsMint } from '../../adapters/bus/nats-mint.ts'
import { makeSqlBusIdentityStore, makeSqlBusUserStore } from '../../adapters/sql/bus/bus-store.ts'
import { makePushClaims } from '../../core/bus/accounts.ts'
import { claimsFor, rightsOf } from '../../core/bus/rights.ts'
import type { BusIdentity, BusIdentityId } from '../../core/bus/types.ts'
import { busPurposes } from '../../core/bus/types.ts'
import type { AccountId, UserId } from '../../core/kernel/ids.ts'
import { secret } from '../../core/kernel/secret.ts'
import { usageEvents, usageSender } from '../../core/usage/events/types.ts'
import { eachDatabase } from '../support/databases.ts'
import { busStoresSuite } from './bus-stores.suite.ts'
import { declareSuite } from '../support/declare-suite.ts'

const issuedAt = new Date('2026-03-01T12:00:00.500Z')
const natsMint = makeNatsMint({ now: () => issuedAt })
/** What parts declare. */
const sent = [usageEvents]
const nothing = (): void => undefined
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing }

test("an account imports only its tenant's subjects and exports nothing", (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (id) => {
      const account = { kind: 'account', ownerId: id as AccountId } as const
      const { imports, exports, sends, receives } = claimsFor({ ...account, closedAt: undefined }, sent)
      t.deepEqual(sends, [{ on: 'usage.events', to: `usage.events.${id}` }])
      t.is(usageSender(sends[0]?.to ?? ''), id as AccountId)
      t.deepEqual(receives, [])
      t.deepEqual(claimsFor({ ...account, closedAt: new Date() }, sent).sends, [])
      t.deepEqual(claimsFor({ ...account, closedAt: undefined }, []).sends, [])
      t.deepEqual(
        imports.map(({ from }) => from),
        [`natjobs.resp.${id}.*`, `notifications.${id}`],
      )
      t.true(imports.every(({ from }) => from.split('.').includes(String(id))))
      t.deepEqual(exports, [])
      t.deepEqual(claimsFor({ ...account, closedAt: new Date() }, sent).imports, [])
    }),
    { numRuns: 50 },
  )
})

test('only admins and usage reporters have credentials that publish', (t) => {
  t.deepEqual(
    [...busPurposes, 'usage'].filter((purpose) => rightsOf(purpose, sent).publish.length > 0),
    ['admin', 'usage'],
  )
  t.deepEqual(rightsOf('usage', sent), { publish: ['usage.events'], subscribe: ['_INBOX.>'] })
  t.throws(() => rightsOf('usage', []), { message: /purpose usage/ })
  t.deepEqual(
    ['usage.events', 'usage.events.0', 'usage.events.7.8', 'usage.events.*', 'usage.events.99999999999999999'].map(
      usageSender,
    ),
    Array(5).fill(undefined),
  )
})

test('a list of no subjects allows none: in signed claims it is spelled out', async (t) => {
  const account = natsMint.newKey('account')
  const claims = await natsMint.userClaims(account, natsMint.newKey('user').publicKey, {
    name: 'x',
    rights: { publish: [], subscribe: [] },
    expiresAt: new Date(5_900),
    isBearer: false,
  })
  const payload = JSON.parse(Buffer.from(claims.split('.')[1] ?? '', 'base64url').toString()) as {
    exp: number
    nats: object
  }
  t.like(payload.nats, { pub: { deny: ['>'] }, sub: { deny: ['>'] }, bearer_token: false })
  t.is(payload.exp, 5, 'never later than it was asked for')
})

test('claims carry the given time under their signature', async (t) => {
  const [operator, account] = [natsMint.newKey('operator'), natsMint.newKey('account')]
  const rights = { publish: [], subscribe: [] }
  const user = await natsMint.userClaims(account, natsMint.newKey('user').publicKey, {
    name: 'x',
    rights,
    expiresAt: undefined,
    isBearer: false,
  })
  const closed = {
    ...claimsFor({ kind: 'account', ownerId: 7 as AccountId, closedAt: undefined }, sent),
    revocations: new Map(),
  }
  const all = [
    user,
    await natsMint.operatorClaims(operator, account.publicKey),
    await natsMint.accountClaims(operator, account.publicKey, account.publicKey, closed),
  ]
  // decode throws on a signature that does not fit.
  const decoded = all.map((claims) => decode<unknown>(claims))
  t.deepEqual(
    decoded.map(({ iat }) => iat),
    all.map(() => Math.floor(issuedAt.getTime() / 1000)),
  )
  t.is(new Set(decoded.map(({ jti }) => jti)).size, 3)
})

test('the servers of the setting lose users and passwords, which would mean nothing', (t) => {
  t.deepEqual(natsServers('nats://u:p@a:1,nats://b:2, c:3'), ['nats://a:1', 'nats://b:2', 'nats://c:3'])
})

/** An account whose row another instance moves on while the first push is on its way. */
const identity = (revision: number): BusIdentity => ({
  id: 5 as BusIdentityId,
  kind: 'account',
  ownerId: 7 as AccountId,
  publicKey: natsMint.newKey('account').publicKey,
  ref: 'r',
  sealedSeed: new Uint8Array(),
  claims: '',
  revision,
  pushedRevision: 0,
  closedAt: undefined,
})

test('a process that pushed outdated claims pushes once more', async (t) => {
  const operator = natsMint.newKey('operator')
  const [first, last] = [identity(1), identity(2)]
  const acknowledged: number[] = []
  let pushes = 0
  const push = makePushClaims({
    identities: {
      find: (kind: string) =>
        Promise.resolve(kind === 'account' ? last : { ...first, kind, publicKey: operator.publicKey }),
      acknowledge: (_: unknown, revision: number) => {
        acknowledged.push(revision)
        return Promise.resolve()
      },
    } as never,
    users: { revokedOf: () => Promise.resolve([]) } as never,
    mint: natsMint,
    server: { push: () => Promise.resolve(void (pushes += 1)) } as never,
    safe: { open: () => Promise.resolve(operator) } as never,
    clock: { now: () => new Date() },
    sent,
  })
  await push(first)
  t.deepEqual(acknowledged, [1, 2])
  await push(last)
  t.is(pushes, 3)
})

test('sign-in continues when the bus fails or does not answer', async (t) => {
  const user = { userId: 7 as UserId, login: 'x' }
  t.is(await makeBoundedPasses({ passFor: () => new Promise(nothing) }, silent).passFor(user, 60), undefined)
  t.is(
    await makeBoundedPasses({ passFor: () => Promise.reject(new Error('away')) }, silent).passFor(user, 60),
    undefined,
  )
  t.is(
    (await makeBoundedPasses({ passFor: () => Promise.resolve(secret('pass')) }, silent).passFor(user, 60))?.reveal(),
    'pass',
  )
})

const minuteLater = Date.parse('2026-05-01T08:01:00Z')

const sessionOf = (userId: number) => ({
  user_id: userId,
  session_hash: new Uint8Array(32).fill(userId),
  source_ip: '',
  user_agent: '',
  created_at: 0,
  last_seen_at: 0,
  idle_expires_at: minuteLater,
  expires_at: minuteLater + 1,
})
const changes: Readonly<Record<'password' | 'admin' | 'disable', object>> = {
  password: { password_hash: 'another' },
  admin: { is_admin: true },
  disable: { is_active: false },
}

for (const database of eachDatabase()) {
  declareSuite(busStoresSuite, `bus stores on ${database.name}`, async () => {
    const db = await database.open()
    await busStoresSuite.fill?.(db)
    return {
      identities: makeSqlBusIdentityStore(db)(db),
      users: makeSqlBusUserStore(db)(db),
      change: async (what, ownerId) => {
        if (what === 'remove') await db.query((k) => k('accounts').where({ id: ownerId }).delete())
        else if (what === 'sign in for a minute') await db.query((k) => k('sessions').insert(sessionOf(ownerId)))
        else await db.query((k) => k('users').where({ id: ownerId }).update(changes[what]))
      },
      close: () => db.close(),
    }
  })
}

test('the platform subscribes to exactly the declared subjects', (t) => {
  const of = (kind: 'platform' | 'system') =>
    claimsFor({ kind, ownerId: undefined, closedAt: undefined }, sent).receives
  t.deepEqual([of('platform'), of('system')], [['usage.events.*'], []])
})
