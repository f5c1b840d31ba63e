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
import type { IdentityFixture } from '../identity-fixture.ts'
import { callBy, password } from '../identity-fixture.ts'
import { onEachDatabase } from '../on-each-database.ts'
import { ownedOrganization } from '../owned-organization.ts'

const day = 86_400
const make = (fixture: IdentityFixture, call: SignedInCall, input: Partial<CreateTokenInput> = {}) =>
  makeCreateToken(fixture.deps)(call, {
    owner: call.principal,
    name: 'first',
    scopes: undefined,
    expiresAt: undefined,
    ...input,
  })
const made = async (fixture: IdentityFixture, user: User, input: Partial<CreateTokenInput> = {}) =>
  unwrap(await make(fixture, callBy(user), input))
const prove = (fixture: IdentityFixture, token: Secret) =>
  fixture.authenticator.authenticate({ kind: 'token', token }, undefined, '198.51.100.7')
const callWith = async (fixture: IdentityFixture, token: Secret): Promise<SignedInCall> => {
  const principal: Principal = unwrap(await prove(fixture, token))
  return { ...callOf(), principal }
}
const rotate = (fixture: IdentityFixture, call: SignedInCall, id: TokenId) => makeRotateToken(fixture.deps)(call, id)
const inDays = (fixture: IdentityFixture, days: number): Date =>
  new Date(fixture.deps.clock.now().getTime() + days * day * 1000)

onEachDatabase(
  'a rotated token keeps id, name, scopes and organization, lives as long again, and only its new value counts',
  async (t, fixture, db) => {
    const ada = await fixture.user('ada')
    const orgId = await ownedOrganization(db, 'Acme', [ada.id])
    const { record, value } = await made(fixture, ada, {
      scopes: ['read:user', 'write:cluster'],
      expiresAt: inDays(fixture, 90),
      org: 'aCME',
    })
    t.deepEqual([record.onlyOrgId, record.onlyOrgName], [orgId, 'Acme'])
    await fixture.deps.stores.tokenExpiry.markWarned(record.id, 7)
    fixture.passSeconds(80 * day)
    const rotated = unwrap(await rotate(fixture, callBy(ada), record.id))
    t.deepEqual(rotated.record, {
      ...record,
      lastEight: rotated.value.reveal().slice(-8),
      createdAt: fixture.deps.clock.now(),
      expiresAt: inDays(fixture, 90),
    })
    t.deepEqual((await fixture.deps.stores.tokens.list(ada.id, { page: 1, limit: 30 })).items, [rotated.record])
    t.like(await prove(fixture, value), { left: { tag: 'NotAuthenticated' } })
    t.like(await prove(fixture, rotated.value), {
      right: {
        tokenId: record.id,
        onlyOrgId: orgId,
        scopes: { all: false, levels: { user: 'read', cluster: 'write' } },
      },
    })
    t.true(await fixture.deps.stores.tokenExpiry.markWarned(record.id, 7), 'the owner is warned of the new end as well')
    const last = (await fixture.auditRows()).at(-1)
    t.deepEqual([last?.action, Number(last?.tenant_id)], ['token.rotated', ada.id])
    t.deepEqual(JSON.parse(last?.changes ?? ''), {
      scopes: ['read:user', 'write:cluster'],
      expires_at: inDays(fixture, 90).toISOString(),
      org: 'Acme',
    })
    for (const each of [value, rotated.value])
      t.false(JSON.stringify(await fixture.auditRows()).includes(each.reveal()))
  },
)

onEachDatabase('only one’s own token is rotated, and one without an end stays without', async (t, fixture) => {
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  const { record, value } = await made(fixture, ada)
  for (const id of [record.id, 999_999 as TokenId])
    t.like(await rotate(fixture, callBy(bob), id), {
      left: { tag: 'AccessTokenMissing', message: 'The token does not exist.' },
    })
  t.true(isRight(await prove(fixture, value)))
  const first = unwrap(await rotate(fixture, callBy(ada), record.id))
  t.is(first.record.expiresAt, undefined)
  const second = unwrap(await rotate(fixture, callBy(ada), record.id))
  t.true(isRight(await prove(fixture, second.value)))
  t.like(await prove(fixture, first.value), { left: { tag: 'NotAuthenticated' } })
})

onEachDatabase(
  'a token rotates itself and what it could have made, and gives no life beyond its own',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    const all = (await made(fixture, ada, { name: 'all' })).record.id
    const wide = (await made(fixture, ada, { name: 'wide', scopes: ['write:user', 'write:cluster'] })).record.id
    const endless = (await made(fixture, ada, { name: 'endless', scopes: ['read:user'] })).record.id
    const long = (await made(fixture, ada, { name: 'long', scopes: ['read:user'], expiresAt: inDays(fixture, 90) }))
      .record.id
    const short = (await made(fixture, ada, { name: 'short', scopes: ['read:user'], expiresAt: inDays(fixture, 2) }))
      .record.id
    const own = await made(fixture, ada, { name: 'own', scopes: ['write:user'], expiresAt: inDays(fixture, 10) })
    const call = await callWith(fixture, own.value)
    fixture.passSeconds(day)
    for (const id of [all, wide])
      t.like(await rotate(fixture, call, id), { left: { tag: 'ScopeExceeded', kind: 'Forbidden' } })
    for (const id of [endless, long])
      t.deepEqual(unwrap(await rotate(fixture, call, id)).record.expiresAt, inDays(fixture, 9))
    t.deepEqual(unwrap(await rotate(fixture, call, short)).record.expiresAt, inDays(fixture, 2))
    const renewed = unwrap(await rotate(fixture, call, own.record.id))
    t.deepEqual(renewed.record.expiresAt, inDays(fixture, 9))
    t.like(await prove(fixture, own.value), { left: { tag: 'NotAuthenticated' } })
    t.true(isRight(await rotate(fixture, await callWith(fixture, renewed.value), short)))
  },
)

onEachDatabase('what an outrun value proved is over: it neither makes nor rotates a token', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const { record, value } = await made(fixture, ada)
  const call = await callWith(fixture, value)
  unwrap(await rotate(fixture, callBy(ada), record.id))
  t.is(tagOf(await make(fixture, call, { name: 'late' })), 'NotAuthenticated')
  t.is(tagOf(await rotate(fixture, call, record.id)), 'NotAuthenticated')
})

onEachDatabase('a token that rotates itself twice at once does so once', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const { record, value } = await made(fixture, ada)
  const call = await callWith(fixture, value)
  const outcomes = await Promise.all([1, 2, 3].map(() => rotate(fixture, call, record.id)))
  t.deepEqual(outcomes.map(tagOf).sort(), ['NotAuthenticated', 'NotAuthenticated', 'done'])
  for (const outcome of outcomes) if (isRight(outcome)) t.true(isRight(await prove(fixture, outcome.right.value)))
})

onEachDatabase(
  'a token is confined only to an organization of its owner, and shows nothing of others',
  async (t, fixture, db) => {
    const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
    const root = await fixture.user('root', { isAdmin: true })
    const acme = await ownedOrganization(db, 'acme', [bob.id], [ada.id])
    await ownedOrganization(db, 'globex', [bob.id])
    await ownedOrganization(db, 'mine', [ada.id])
    const refused = await Promise.all(
      ['globex', 'nowhere', 'bob', 'ada', '', 'acme '].map((org) => make(fixture, callBy(ada), { org })),
    )
    refused.push(await make(fixture, callBy(root), { org: 'acme' }))
    for (const outcome of refused) t.like(outcome, { left: { tag: 'TokenOrgInvalid', kind: 'Unprocessable' } })
    t.is(new Set(refused.map((outcome) => (isRight(outcome) ? '' : outcome.left.message))).size, 1)
    const confined = await made(fixture, ada, { org: 'acme' })
    t.is(confined.record.onlyOrgId, acme)
    const created = (await fixture.auditRows()).at(-1)
    t.is((JSON.parse(created?.changes ?? '') as { org: string }).org, 'acme')
    const call = await callWith(fixture, confined.value)
    for (const [name, org] of [
      ['silent', undefined],
      ['said', 'acme'],
    ] as const)
      t.is(unwrap(await make(fixture, call, { name, org })).record.onlyOrgId, acme)
    t.like(await make(fixture, call, { name: 'other', org: 'mine' }), { left: { tag: 'TokenOrgInvalid' } })
    const free = await made(fixture, ada, { name: 'free' })
    const elsewhere = await made(fixture, ada, { name: 'elsewhere', org: 'mine' })
    for (const { record } of [free, elsewhere])
      t.like(await rotate(fixture, call, record.id), { left: { tag: 'ScopeExceeded' } })
    t.true(isRight(await rotate(fixture, call, confined.record.id)))
  },
)

const newPassword = 'another long phrase'

const proofs = async (fixture: IdentityFixture): Promise<{ byPassword: SignedInCall; byToken: SignedInCall }> => {
  const proven = async (
    credential: Parameters<typeof fixture.authenticator.authenticate>[0],
  ): Promise<SignedInCall> => {
    const principal: Principal = unwrap(await fixture.authenticator.authenticate(credential, undefined, '198.51.100.7'))
    return { ...callOf(), principal }
  }
  const byPassword = await proven({
    kind: 'password',
    login: 'ada',
    password: secret(password),
    oneTimeCode: undefined,
  })
  const made = unwrap(
    await makeCreateToken(fixture.deps)(byPassword, {
      owner: byPassword.principal,
      name: 'first',
      scopes: undefined,
      expiresAt: undefined,
    }),
  )
  return { byPassword, byToken: await proven({ kind: 'token', token: made.value }) }
}

const change = (fixture: IdentityFixture, call: SignedInCall) =>
  makeChangeOwnPassword(fixture.deps)(call, {
    oldPassword: secret(password),
    password: secret(newPassword),
    revokesTokens: true,
  })
const create = (fixture: IdentityFixture, call: SignedInCall, name: string) =>
  makeCreateToken(fixture.deps)(call, { owner: call.principal, name, scopes: undefined, expiresAt: undefined })
const tokenNames = async (db: SqlDatabase): Promise<readonly string[]> =>
  (await db.query<{ name: string }>((k) => k('access_tokens').select('name').orderBy('name'))).map(({ name }) => name)

onEachDatabase(
  'a token is not made by a password or a token that was replaced or revoked since it was proven',
  async (t: ExecutionContext, fixture, db) => {
    await fixture.user('ada')
    const { byPassword, byToken } = await proofs(fixture)
    t.is(tagOf(await change(fixture, byPassword)), 'done')
    for (const call of [byPassword, byToken]) t.is(tagOf(await create(fixture, call, 'late')), 'NotAuthenticated')
    t.deepEqual(await tokenNames(db), [])
  },
)

onEachDatabase(
  'a token that is made while the password changes and all tokens go is gone with them, or never was',
  async (t, fixture, db) => {
    for (let round = 0; round < 8; round++) {
      await db.query((k) => k('accounts').where('lower_name', 'ada').delete())
      await fixture.user('ada')
      const { byPassword, byToken } = await proofs(fixture)
      const [changed] = await Promise.all([
        change(fixture, byPassword),
        create(fixture, byPassword, 'a'),
        create(fixture, byToken, 'b'),
      ])
      t.true(isRight(changed))
      t.deepEqual(await tokenNames(db), [], `round ${round}`)
    }
  },
)

const cluster = { id: 7 as ClusterId, name: 'prod', ownerId: 3 as AccountId, ownerName: 'acme', maxTokenLifeDays: 0 }
const issue = (
  fixture: IdentityFixture,
  call: SignedInCall,
  changes: Partial<typeof cluster> = {},
  lifeSeconds?: number,
) => makeClusterTokens({ ...fixture.deps, lifeSeconds: 7 * day }).issue(call, { ...cluster, ...changes }, lifeSeconds)
const clusterTokensOf = async (fixture: IdentityFixture, userId: UserId) =>
  (await fixture.deps.stores.tokens.list(userId, { page: 1, limit: 50 })).items.filter(
    ({ onlyClusterId }) => onlyClusterId !== undefined,
  )

onEachDatabase(
  'a token for a cluster is not made by what was replaced or revoked since it was proven, nor for whom a site admin acts as',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    const { byPassword, byToken } = await proofs(fixture)
    const impersonated = callBy(ada, { impersonator: { userId: 1 as UserId, login: 'root' } })
    t.is(tagOf(await issue(fixture, impersonated)), 'NotPermitted')
    t.is(tagOf(await issue(fixture, byToken)), 'done')
    t.is(tagOf(await change(fixture, byPassword)), 'done')
    for (const call of [byPassword, byToken]) t.is(tagOf(await issue(fixture, call)), 'NotAuthenticated')
    t.deepEqual(await clusterTokensOf(fixture, ada.id), [])
  },
)

onEachDatabase(
  'a token for a cluster lives as long as is set, as is asked, as the owner of the cluster allows and as the requesting token, whichever is least',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    const { byToken } = await proofs(fixture)
    const inSeconds = (seconds: number): Date => new Date(fixture.deps.clock.now().getTime() + seconds * 1000)
    const expiry = async (...rest: [Partial<typeof cluster>?, number?]) =>
      unwrap(await issue(fixture, callBy(ada), ...rest)).expiresAt
    t.deepEqual(await expiry(), inSeconds(7 * day))
    t.deepEqual(await expiry({}, 600), inSeconds(600))
    t.deepEqual(await expiry({}, 30 * day), inSeconds(7 * day))
    t.deepEqual(await expiry({ maxTokenLifeDays: 1 }), inSeconds(day))
    const made = unwrap(
      await makeCreateToken(fixture.deps)(byToken, {
        owner: byToken.principal,
        name: 'short',
        scopes: ['read:cluster'],
        expiresAt: inSeconds(90),
      }),
    )
    const principal: Principal = unwrap(
      await fixture.authenticator.authenticate({ kind: 'token', token: made.value }, undefined, '198.51.100.7'),
    )
    const { value, expiresAt } = unwrap(await issue(fixture, { ...callOf(), principal }))
    t.deepEqual(expiresAt, inSeconds(90))
    t.like(await fixture.authenticator.authenticate({ kind: 'token', token: value }, undefined, '198.51.100.7'), {
      right: { onlyClusterId: 7, scopes: { all: false, sudo: false, levels: { cluster: 'read' } } },
    })
    t.is(
      tagOf(await fixture.authenticator.authenticate({ kind: 'token', token: value }, 'ada', '198.51.100.7')),
      'NotPermitted',
    )
    fixture.passSeconds(91)
    t.is(
      tagOf(await fixture.authenticator.authenticate({ kind: 'token', token: value }, undefined, '198.51.100.7')),
      'NotAuthenticated',
    )
    fixture.passSeconds(6 * day)
    t.deepEqual(
      (await fixture.deps.stores.tokenExpiry.dueWarnings(1, fixture.deps.clock.now(), 50)).map(({ name }) => name),
      [],
      'no warning is sent of their end',
    )
  },
)

onEachDatabase(
  'of one person and cluster ten live at a time, however many are asked for at once; what has expired goes first',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    const brief = unwrap(await issue(fixture, callBy(ada), {}, 60))
    const lasting = unwrap(await issue(fixture, callBy(ada)))
    await Promise.all(Array.from({ length: 8 }, () => issue(fixture, callBy(ada)).then(unwrap)))
    fixture.passSeconds(61)
    unwrap(await issue(fixture, callBy(ada)))
    const names = async () => (await clusterTokensOf(fixture, ada.id)).map(({ lastEight }) => lastEight)
    t.false((await names()).includes(brief.value.reveal().slice(-8)))
    t.true((await names()).includes(lasting.value.reveal().slice(-8)))
    unwrap(await issue(fixture, callBy(ada), { id: 8 as ClusterId }))
    t.is((await names()).length, 11)
    await Promise.all(Array.from({ length: 9 }, () => issue(fixture, callBy(ada)).then(unwrap)))
    t.is((await names()).length, 11)
    t.false((await names()).includes(lasting.value.reveal().slice(-8)))
    const rows = await fixture.auditRows()
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
  async (t, fixture, db) => {
    const ada = await fixture.user('ada')
    const check = async (value: Secret) => {
      t.notRegex(value.reveal(), earlierForm)
      const [row] = await db.query<{ scopes: string }>((k) =>
        k('access_tokens').whereNotNull('only_cluster_id').select('scopes'),
      )
      t.deepEqual(
        row?.scopes.split(' ').filter((word) => earlierWord.test(word)),
        [],
      )
      t.like(await prove(fixture, value), {
        right: { onlyClusterId: 7, scopes: { all: false, levels: { cluster: 'write' } } },
      })
    }
    await check(unwrap(await issue(fixture, callBy(ada))).value)
    const [token] = await clusterTokensOf(fixture, ada.id)
    t.deepEqual(token?.scopeWords, ['write:cluster'])
    await check(unwrap(await rotate(fixture, callBy(ada), token?.id as TokenId)).value)
    t.regex((await made(fixture, ada)).value.reveal(), earlierForm)
  },
)

const hour = 3600
const expiringTokensDay = 24 * hour
const never = new AbortController().signal

const tokenFor = async (
  fixture: IdentityFixture,
  user: User,
  name: string,
  lifeSeconds: number | undefined,
): Promise<void> => {
  const expiresAt =
    lifeSeconds === undefined ? undefined : new Date(fixture.deps.clock.now().getTime() + lifeSeconds * 1000)
  unwrap(
    await makeCreateToken(fixture.deps)(callOf(), {
      owner: { userId: user.id, login: user.login },
      name,
      scopes: ['all'],
      expiresAt,
    }),
  )
}
/** Runs the job hourly for so long; which token was warned of after how many hours, and for how many days. */
const runFor = async (fixture: IdentityFixture, hours: number): Promise<readonly string[]> => {
  const warn = makeWarnOfExpiringTokens(fixture.deps)
  const told: string[] = []
  for (let passed = 0; passed <= hours; passed++) {
    const before = fixture.posted.length
    await warn(never)
    for (const mail of fixture.posted.slice(before))
      told.push(`${passed}: ${/"(.*)"/.exec(mail.paragraphs[0] ?? '')?.[1]} ${/within (.*)$/.exec(mail.subject)?.[1]}`)
    fixture.passSeconds(hour)
  }
  return told
}

onEachDatabase(
  'a token is warned of seven days and one day before its end, once each; a shorter life skips what does not apply',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    await tokenFor(fixture, ada, 'ten days', 10 * expiringTokensDay)
    await tokenFor(fixture, ada, 'five days', 5 * expiringTokensDay)
    await tokenFor(fixture, ada, 'ten hours', 10 * hour)
    await tokenFor(fixture, ada, 'for ever', undefined)
    t.deepEqual(await runFor(fixture, 11 * 24), ['72: ten days 7 days', '96: five days a day', '216: ten days a day'])
    t.true(fixture.posted.every(({ to, action }) => to === 'ada@example.org' && action === undefined))
  },
)

onEachDatabase('after a long stop only the last warning that applies is sent', async (t, fixture) => {
  await tokenFor(fixture, await fixture.user('ada'), 'ten days', 10 * expiringTokensDay)
  fixture.passSeconds(9.5 * expiringTokensDay)
  t.deepEqual(await runFor(fixture, 24), ['0: ten days a day'])
})

onEachDatabase('two instances at once warn once', async (t, fixture) => {
  const ada = await fixture.user('ada')
  for (let i = 0; i < 5; i++) await tokenFor(fixture, ada, `token ${i}`, 10 * expiringTokensDay)
  fixture.passSeconds(4 * expiringTokensDay)
  const warn = makeWarnOfExpiringTokens(fixture.deps)
  const counts = await Promise.all([warn(never), warn(never)])
  t.is(counts[0] + counts[1], 5)
})

onEachDatabase(
  'no warning is sent for an account that is inactive or has no confirmed address',
  async (t, fixture, db) => {
    const ada = await fixture.user('ada')
    const bob = await fixture.user('bob')
    for (const user of [ada, bob]) await tokenFor(fixture, user, 'ten days', 10 * expiringTokensDay)
    await fixture.deps.stores.users.update(ada.id, { isActive: false })
    await db.query((k) => k('emails').where('user_id', bob.id).update({ verified: false }))
    fixture.passSeconds(5 * expiringTokensDay)
    t.deepEqual(await runFor(fixture, 24), [])
  },
)

onEachDatabase('a token goes 30 days after its end, with a line in the log', async (t, fixture) => {
  const ada = await fixture.user('ada')
  await tokenFor(fixture, ada, 'short', expiringTokensDay)
  await tokenFor(fixture, ada, 'long', 90 * expiringTokensDay)
  await tokenFor(fixture, ada, 'for ever', undefined)
  const remove = makeRemoveExpiredTokens(fixture.deps)
  fixture.passSeconds(31 * expiringTokensDay)
  t.is(await remove(never), 0, 'on the day it is still there')
  fixture.passSeconds(1)
  t.is(await remove(never), 1)
  const left = await fixture.deps.stores.tokens.list(ada.id, { page: 1, limit: 10 })
  t.deepEqual(
    left.items.map(({ name }) => name),
    ['long', 'for ever'],
  )
  const last = (await fixture.auditRows()).at(-1)
  t.is(last?.action, 'token.deleted')
  t.deepEqual(JSON.parse(last?.changes ?? '{}'), { by: 'expiry' })
})
