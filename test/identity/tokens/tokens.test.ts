import type { ExecutionContext } from 'ava'
import { isRight } from 'fp-ts/lib/Either.js'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { makeChangeOwnPassword } from '../../../core/identity/authentication/passwords.ts'
import type { CreateTokenInput } from '../../../core/identity/tokens/access-tokens.ts'
import { makeCreateToken, makeRotateToken } from '../../../core/identity/tokens/access-tokens.ts'
import { makeClusterTokens } from '../../../core/identity/tokens/delegated-tokens.ts'
import { makeRemoveExpiredTokens, makeWarnOfExpiringTokens } from '../../../core/identity/tokens/expiry.ts'
import type { User } from '../../../core/identity/types.ts'
import type { AccountId, ClusterId, TokenId, UserId } from '../../../core/kernel/ids.ts'
import type { Principal, SignedInCall } from '../../../core/kernel/principal.ts'
import type { Secret } from '../../../core/kernel/secret.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { callOf } from '../../sql/call.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'
import type { IdentityFixture } from '../identity-world.ts'
import { callBy, password } from '../identity-world.ts'
import { onEachDatabase } from '../on-each-database.ts'
import { ownedOrganization } from '../owned-organization.ts'

const day = 86_400
const make = (world: IdentityFixture, call: SignedInCall, input: Partial<CreateTokenInput> = {}) =>
  makeCreateToken(world.deps)(call, {
    owner: call.principal,
    name: 'first',
    scopes: undefined,
    expiresAt: undefined,
    ...input,
  })
const made = async (world: IdentityFixture, user: User, input: Partial<CreateTokenInput> = {}) =>
  unwrap(await make(world, callBy(user), input))
const prove = (world: IdentityFixture, token: Secret) =>
  world.authenticator.authenticate({ kind: 'token', token }, undefined, '198.51.100.7')
const callWith = async (world: IdentityFixture, token: Secret): Promise<SignedInCall> => {
  const principal: Principal = unwrap(await prove(world, token))
  return { ...callOf(), principal }
}
const rotate = (world: IdentityFixture, call: SignedInCall, id: TokenId) => makeRotateToken(world.deps)(call, id)
const inDays = (world: IdentityFixture, days: number): Date =>
  new Date(world.deps.clock.now().getTime() + days * day * 1000)

onEachDatabase(
  'a rotated token keeps id, name, scopes and organization, lives as long again, and only its new value counts',
  async (t, world, db) => {
    const ada = await world.user('ada')
    const orgId = await ownedOrganization(db, 'Acme', [ada.id])
    const { record, value } = await made(world, ada, {
      scopes: ['read:user', 'write:cluster'],
      expiresAt: inDays(world, 90),
      org: 'aCME',
    })
    t.deepEqual([record.onlyOrgId, record.onlyOrgName], [orgId, 'Acme'])
    await world.deps.stores.tokenExpiry.markWarned(record.id, 7)
    world.passSeconds(80 * day)
    const rotated = unwrap(await rotate(world, callBy(ada), record.id))
    t.deepEqual(rotated.record, {
      ...record,
      lastEight: rotated.value.reveal().slice(-8),
      createdAt: world.deps.clock.now(),
      expiresAt: inDays(world, 90),
    })
    t.deepEqual((await world.deps.stores.tokens.list(ada.id, { page: 1, limit: 30 })).items, [rotated.record])
    t.like(await prove(world, value), { left: { tag: 'NotAuthenticated' } })
    t.like(await prove(world, rotated.value), {
      right: {
        tokenId: record.id,
        onlyOrgId: orgId,
        scopes: { all: false, levels: { user: 'read', cluster: 'write' } },
      },
    })
    t.true(await world.deps.stores.tokenExpiry.markWarned(record.id, 7), 'the owner is warned of the new end as well')
    const last = (await world.auditRows()).at(-1)
    t.deepEqual([last?.action, Number(last?.tenant_id)], ['token.rotated', ada.id])
    t.deepEqual(JSON.parse(last?.changes ?? ''), {
      scopes: ['read:user', 'write:cluster'],
      expires_at: inDays(world, 90).toISOString(),
      org: 'Acme',
    })
    for (const each of [value, rotated.value]) t.false(JSON.stringify(await world.auditRows()).includes(each.reveal()))
  },
)

onEachDatabase('only one’s own token is rotated, and one without an end stays without', async (t, world) => {
  const [ada, bob] = [await world.user('ada'), await world.user('bob')]
  const { record, value } = await made(world, ada)
  for (const id of [record.id, 999_999 as TokenId])
    t.like(await rotate(world, callBy(bob), id), {
      left: { tag: 'AccessTokenMissing', message: 'The token does not exist.' },
    })
  t.true(isRight(await prove(world, value)))
  const first = unwrap(await rotate(world, callBy(ada), record.id))
  t.is(first.record.expiresAt, undefined)
  const second = unwrap(await rotate(world, callBy(ada), record.id))
  t.true(isRight(await prove(world, second.value)))
  t.like(await prove(world, first.value), { left: { tag: 'NotAuthenticated' } })
})

onEachDatabase(
  'a token rotates itself and what it could have made, and gives no life beyond its own',
  async (t, world) => {
    const ada = await world.user('ada')
    const all = (await made(world, ada, { name: 'all' })).record.id
    const wide = (await made(world, ada, { name: 'wide', scopes: ['write:user', 'write:cluster'] })).record.id
    const endless = (await made(world, ada, { name: 'endless', scopes: ['read:user'] })).record.id
    const long = (await made(world, ada, { name: 'long', scopes: ['read:user'], expiresAt: inDays(world, 90) })).record
      .id
    const short = (await made(world, ada, { name: 'short', scopes: ['read:user'], expiresAt: inDays(world, 2) })).record
      .id
    const own = await made(world, ada, { name: 'own', scopes: ['write:user'], expiresAt: inDays(world, 10) })
    const call = await callWith(world, own.value)
    world.passSeconds(day)
    for (const id of [all, wide])
      t.like(await rotate(world, call, id), { left: { tag: 'ScopeExceeded', kind: 'Forbidden' } })
    for (const id of [endless, long])
      t.deepEqual(unwrap(await rotate(world, call, id)).record.expiresAt, inDays(world, 9))
    t.deepEqual(unwrap(await rotate(world, call, short)).record.expiresAt, inDays(world, 2))
    const renewed = unwrap(await rotate(world, call, own.record.id))
    t.deepEqual(renewed.record.expiresAt, inDays(world, 9))
    t.like(await prove(world, own.value), { left: { tag: 'NotAuthenticated' } })
    t.true(isRight(await rotate(world, await callWith(world, renewed.value), short)))
  },
)

onEachDatabase('what an outrun value proved is over: it neither makes nor rotates a token', async (t, world) => {
  const ada = await world.user('ada')
  const { record, value } = await made(world, ada)
  const call = await callWith(world, value)
  unwrap(await rotate(world, callBy(ada), record.id))
  t.is(tagOf(await make(world, call, { name: 'late' })), 'NotAuthenticated')
  t.is(tagOf(await rotate(world, call, record.id)), 'NotAuthenticated')
})

onEachDatabase('a token that rotates itself twice at once does so once', async (t, world) => {
  const ada = await world.user('ada')
  const { record, value } = await made(world, ada)
  const call = await callWith(world, value)
  const outcomes = await Promise.all([1, 2, 3].map(() => rotate(world, call, record.id)))
  t.deepEqual(outcomes.map(tagOf).sort(), ['NotAuthenticated', 'NotAuthenticated', 'done'])
  for (const outcome of outcomes) if (isRight(outcome)) t.true(isRight(await prove(world, outcome.right.value)))
})

onEachDatabase(
  'a token is confined only to an organization of its owner, and shows nothing of others',
  async (t, world, db) => {
    const [ada, bob] = [await world.user('ada'), await world.user('bob')]
    const root = await world.user('root', { isAdmin: true })
    const acme = await ownedOrganization(db, 'acme', [bob.id], [ada.id])
    await ownedOrganization(db, 'globex', [bob.id])
    await ownedOrganization(db, 'mine', [ada.id])
    const refused = await Promise.all(
      ['globex', 'nowhere', 'bob', 'ada', '', 'acme '].map((org) => make(world, callBy(ada), { org })),
    )
    refused.push(await make(world, callBy(root), { org: 'acme' }))
    for (const outcome of refused) t.like(outcome, { left: { tag: 'TokenOrgInvalid', kind: 'Unprocessable' } })
    t.is(new Set(refused.map((outcome) => (isRight(outcome) ? '' : outcome.left.message))).size, 1)
    const confined = await made(world, ada, { org: 'acme' })
    t.is(confined.record.onlyOrgId, acme)
    const created = (await world.auditRows()).at(-1)
    t.is((JSON.parse(created?.changes ?? '') as { org: string }).org, 'acme')
    const call = await callWith(world, confined.value)
    for (const [name, org] of [
      ['silent', undefined],
      ['said', 'acme'],
    ] as const)
      t.is(unwrap(await make(world, call, { name, org })).record.onlyOrgId, acme)
    t.like(await make(world, call, { name: 'other', org: 'mine' }), { left: { tag: 'TokenOrgInvalid' } })
    const free = await made(world, ada, { name: 'free' })
    const elsewhere = await made(world, ada, { name: 'elsewhere', org: 'mine' })
    for (const { record } of [free, elsewhere])
      t.like(await rotate(world, call, record.id), { left: { tag: 'ScopeExceeded' } })
    t.true(isRight(await rotate(world, call, confined.record.id)))
  },
)

const newPassword = 'another long phrase'

const proofs = async (world: IdentityFixture): Promise<{ byPassword: SignedInCall; byToken: SignedInCall }> => {
  const proven = async (credential: Parameters<typeof world.authenticator.authenticate>[0]): Promise<SignedInCall> => {
    const principal: Principal = unwrap(await world.authenticator.authenticate(credential, undefined, '198.51.100.7'))
    return { ...callOf(), principal }
  }
  const byPassword = await proven({
    kind: 'password',
    login: 'ada',
    password: secret(password),
    oneTimeCode: undefined,
  })
  const made = unwrap(
    await makeCreateToken(world.deps)(byPassword, {
      owner: byPassword.principal,
      name: 'first',
      scopes: undefined,
      expiresAt: undefined,
    }),
  )
  return { byPassword, byToken: await proven({ kind: 'token', token: made.value }) }
}

const change = (world: IdentityFixture, call: SignedInCall) =>
  makeChangeOwnPassword(world.deps)(call, {
    oldPassword: secret(password),
    password: secret(newPassword),
    revokesTokens: true,
  })
const create = (world: IdentityFixture, call: SignedInCall, name: string) =>
  makeCreateToken(world.deps)(call, { owner: call.principal, name, scopes: undefined, expiresAt: undefined })
const tokenNames = async (db: SqlDatabase): Promise<readonly string[]> =>
  (await db.query<{ name: string }>((k) => k('access_tokens').select('name').orderBy('name'))).map(({ name }) => name)

onEachDatabase(
  'a token is not made by a password or a token that was replaced or revoked since it was proven',
  async (t: ExecutionContext, world, db) => {
    await world.user('ada')
    const { byPassword, byToken } = await proofs(world)
    t.is(tagOf(await change(world, byPassword)), 'done')
    for (const call of [byPassword, byToken]) t.is(tagOf(await create(world, call, 'late')), 'NotAuthenticated')
    t.deepEqual(await tokenNames(db), [])
  },
)

onEachDatabase(
  'a token that is made while the password changes and all tokens go is gone with them, or never was',
  async (t, world, db) => {
    for (let round = 0; round < 8; round++) {
      await db.query((k) => k('accounts').where('lower_name', 'ada').delete())
      await world.user('ada')
      const { byPassword, byToken } = await proofs(world)
      const [changed] = await Promise.all([
        change(world, byPassword),
        create(world, byPassword, 'a'),
        create(world, byToken, 'b'),
      ])
      t.true(isRight(changed))
      t.deepEqual(await tokenNames(db), [], `round ${round}`)
    }
  },
)

const cluster = { id: 7 as ClusterId, name: 'prod', ownerId: 3 as AccountId, ownerName: 'acme', maxTokenLifeDays: 0 }
const issue = (
  world: IdentityFixture,
  call: SignedInCall,
  changes: Partial<typeof cluster> = {},
  lifeSeconds?: number,
) => makeClusterTokens({ ...world.deps, lifeSeconds: 7 * day }).issue(call, { ...cluster, ...changes }, lifeSeconds)
const clusterTokensOf = async (world: IdentityFixture, userId: UserId) =>
  (await world.deps.stores.tokens.list(userId, { page: 1, limit: 50 })).items.filter(
    ({ onlyClusterId }) => onlyClusterId !== undefined,
  )

onEachDatabase(
  'a token for a cluster is not made by what was replaced or revoked since it was proven, nor for whom a site admin acts as',
  async (t, world) => {
    const ada = await world.user('ada')
    const { byPassword, byToken } = await proofs(world)
    const impersonated = callBy(ada, { impersonator: { userId: 1 as UserId, login: 'root' } })
    t.is(tagOf(await issue(world, impersonated)), 'NotPermitted')
    t.is(tagOf(await issue(world, byToken)), 'done')
    t.is(tagOf(await change(world, byPassword)), 'done')
    for (const call of [byPassword, byToken]) t.is(tagOf(await issue(world, call)), 'NotAuthenticated')
    t.deepEqual(await clusterTokensOf(world, ada.id), [])
  },
)

onEachDatabase(
  'a token for a cluster lives as long as is set, as is asked, as the owner of the cluster allows and as the requesting token, whichever is least',
  async (t, world) => {
    const ada = await world.user('ada')
    const { byToken } = await proofs(world)
    const inSeconds = (seconds: number): Date => new Date(world.deps.clock.now().getTime() + seconds * 1000)
    const expiry = async (...rest: [Partial<typeof cluster>?, number?]) =>
      unwrap(await issue(world, callBy(ada), ...rest)).expiresAt
    t.deepEqual(await expiry(), inSeconds(7 * day))
    t.deepEqual(await expiry({}, 600), inSeconds(600))
    t.deepEqual(await expiry({}, 30 * day), inSeconds(7 * day))
    t.deepEqual(await expiry({ maxTokenLifeDays: 1 }), inSeconds(day))
    const made = unwrap(
      await makeCreateToken(world.deps)(byToken, {
        owner: byToken.principal,
        name: 'short',
        scopes: ['read:cluster'],
        expiresAt: inSeconds(90),
      }),
    )
    const principal: Principal = unwrap(
      await world.authenticator.authenticate({ kind: 'token', token: made.value }, undefined, '198.51.100.7'),
    )
    const { value, expiresAt } = unwrap(await issue(world, { ...callOf(), principal }))
    t.deepEqual(expiresAt, inSeconds(90))
    t.like(await world.authenticator.authenticate({ kind: 'token', token: value }, undefined, '198.51.100.7'), {
      right: { onlyClusterId: 7, scopes: { all: false, sudo: false, levels: { cluster: 'read' } } },
    })
    t.is(
      tagOf(await world.authenticator.authenticate({ kind: 'token', token: value }, 'ada', '198.51.100.7')),
      'NotPermitted',
    )
    world.passSeconds(91)
    t.is(
      tagOf(await world.authenticator.authenticate({ kind: 'token', token: value }, undefined, '198.51.100.7')),
      'NotAuthenticated',
    )
    world.passSeconds(6 * day)
    t.deepEqual(
      (await world.deps.stores.tokenExpiry.dueWarnings(1, world.deps.clock.now(), 50)).map(({ name }) => name),
      [],
      'no warning is sent of their end',
    )
  },
)

onEachDatabase(
  'of one person and cluster ten live at a time, however many are asked for at once; what has expired goes first',
  async (t, world) => {
    const ada = await world.user('ada')
    const brief = unwrap(await issue(world, callBy(ada), {}, 60))
    const lasting = unwrap(await issue(world, callBy(ada)))
    await Promise.all(Array.from({ length: 8 }, () => issue(world, callBy(ada)).then(unwrap)))
    world.passSeconds(61)
    unwrap(await issue(world, callBy(ada)))
    const names = async () => (await clusterTokensOf(world, ada.id)).map(({ lastEight }) => lastEight)
    t.false((await names()).includes(brief.value.reveal().slice(-8)))
    t.true((await names()).includes(lasting.value.reveal().slice(-8)))
    unwrap(await issue(world, callBy(ada), { id: 8 as ClusterId }))
    t.is((await names()).length, 11)
    await Promise.all(Array.from({ length: 9 }, () => issue(world, callBy(ada)).then(unwrap)))
    t.is((await names()).length, 11)
    t.false((await names()).includes(lasting.value.reveal().slice(-8)))
    const rows = await world.auditRows()
    t.true(
      rows.some(
        ({ action, tenant_id: tenant, changes }) =>
          action === 'cluster.token_created' && Number(tenant) === 3 && changes.includes('kubeconfig-acme-prod-'),
      ),
    )
  },
)

/** What the release before this kind of token accepts as a value, and grants for the words of a row. */
const earlierForm = /^moor_[0-9A-Za-z]{36}$/
const earlierWord = /^(all|public-only|sudo|(read|write):\w+)$/

onEachDatabase(
  'an instance of a release that does not know tokens for a cluster refuses them, also after a rotation',
  async (t, world, db) => {
    const ada = await world.user('ada')
    const check = async (value: Secret) => {
      t.notRegex(value.reveal(), earlierForm)
      const [row] = await db.query<{ scopes: string }>((k) =>
        k('access_tokens').whereNotNull('only_cluster_id').select('scopes'),
      )
      t.deepEqual(
        row?.scopes.split(' ').filter((word) => earlierWord.test(word)),
        [],
      )
      t.like(await prove(world, value), {
        right: { onlyClusterId: 7, scopes: { all: false, levels: { cluster: 'write' } } },
      })
    }
    await check(unwrap(await issue(world, callBy(ada))).value)
    const [token] = await clusterTokensOf(world, ada.id)
    t.deepEqual(token?.scopeWords, ['write:cluster'])
    await check(unwrap(await rotate(world, callBy(ada), token?.id as TokenId)).value)
    t.regex((await made(world, ada)).value.reveal(), earlierForm)
  },
)

const hour = 3600
const expiringTokensDay = 24 * hour
const never = new AbortController().signal

const tokenFor = async (
  world: IdentityFixture,
  user: User,
  name: string,
  lifeSeconds: number | undefined,
): Promise<void> => {
  const expiresAt =
    lifeSeconds === undefined ? undefined : new Date(world.deps.clock.now().getTime() + lifeSeconds * 1000)
  unwrap(
    await makeCreateToken(world.deps)(callOf(), {
      owner: { userId: user.id, login: user.login },
      name,
      scopes: ['all'],
      expiresAt,
    }),
  )
}
/** Runs the job hourly for so long; which token was warned of after how many hours, and for how many days. */
const runFor = async (world: IdentityFixture, hours: number): Promise<readonly string[]> => {
  const warn = makeWarnOfExpiringTokens(world.deps)
  const told: string[] = []
  for (let passed = 0; passed <= hours; passed++) {
    const before = world.posted.length
    await warn(never)
    for (const mail of world.posted.slice(before))
      told.push(`${passed}: ${/"(.*)"/.exec(mail.paragraphs[0] ?? '')?.[1]} ${/within (.*)$/.exec(mail.subject)?.[1]}`)
    world.passSeconds(hour)
  }
  return told
}

onEachDatabase(
  'a token is warned of seven days and one day before its end, once each; a shorter life skips what does not apply',
  async (t, world) => {
    const ada = await world.user('ada')
    await tokenFor(world, ada, 'ten days', 10 * expiringTokensDay)
    await tokenFor(world, ada, 'five days', 5 * expiringTokensDay)
    await tokenFor(world, ada, 'ten hours', 10 * hour)
    await tokenFor(world, ada, 'for ever', undefined)
    t.deepEqual(await runFor(world, 11 * 24), ['72: ten days 7 days', '96: five days a day', '216: ten days a day'])
    t.true(world.posted.every(({ to, action }) => to === 'ada@example.org' && action === undefined))
  },
)

onEachDatabase('after a long stop only the last warning that applies is sent', async (t, world) => {
  await tokenFor(world, await world.user('ada'), 'ten days', 10 * expiringTokensDay)
  world.passSeconds(9.5 * expiringTokensDay)
  t.deepEqual(await runFor(world, 24), ['0: ten days a day'])
})

onEachDatabase('two instances at once warn once', async (t, world) => {
  const ada = await world.user('ada')
  for (let i = 0; i < 5; i++) await tokenFor(world, ada, `token ${i}`, 10 * expiringTokensDay)
  world.passSeconds(4 * expiringTokensDay)
  const warn = makeWarnOfExpiringTokens(world.deps)
  const counts = await Promise.all([warn(never), warn(never)])
  t.is(counts[0] + counts[1], 5)
})

onEachDatabase(
  'no warning is sent for an account that is inactive or has no confirmed address',
  async (t, world, db) => {
    const ada = await world.user('ada')
    const bob = await world.user('bob')
    for (const user of [ada, bob]) await tokenFor(world, user, 'ten days', 10 * expiringTokensDay)
    await world.deps.stores.users.update(ada.id, { isActive: false })
    await db.query((k) => k('emails').where('user_id', bob.id).update({ verified: false }))
    world.passSeconds(5 * expiringTokensDay)
    t.deepEqual(await runFor(world, 24), [])
  },
)

onEachDatabase('a token goes 30 days after its end, with a line in the log', async (t, world) => {
  const ada = await world.user('ada')
  await tokenFor(world, ada, 'short', expiringTokensDay)
  await tokenFor(world, ada, 'long', 90 * expiringTokensDay)
  await tokenFor(world, ada, 'for ever', undefined)
  const remove = makeRemoveExpiredTokens(world.deps)
  world.passSeconds(31 * expiringTokensDay)
  t.is(await remove(never), 0, 'on the day it is still there')
  world.passSeconds(1)
  t.is(await remove(never), 1)
  const left = await world.deps.stores.tokens.list(ada.id, { page: 1, limit: 10 })
  t.deepEqual(
    left.items.map(({ name }) => name),
    ['long', 'for ever'],
  )
  const last = (await world.auditRows()).at(-1)
  t.is(last?.action, 'token.deleted')
  t.deepEqual(JSON.parse(last?.changes ?? '{}'), { by: 'expiry' })
})
