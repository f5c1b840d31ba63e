// process: waiting - uses components
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ExecutionContext } from 'ava'
import { needing } from '../support/components/needing.ts'
import { repeats } from '../support/thorough.ts'
import type { SendOptions } from '../support/send-json.ts'
import { brokenInvariants } from './invariants.ts'
import type { Person, TwoInstances } from './two-instances.ts'
import { must, personPassword, startTwoInstances, statusesOf } from './two-instances.ts'

const test = needing('mariadb')

let fixture: TwoInstances
let ada: Person
let bob: Person
let customTeam: number
test.before(async () => {
  fixture = await startTwoInstances()
  ada = await fixture.person('ada')
  bob = await fixture.person('bob')
  await fixture.organization(ada, 'acme')
  customTeam = (
    await must(
      201,
      fixture.instances[0].send('POST', '/api/v1/orgs/acme/teams', as(ada, { name: 'custom', permission: 'custom' })),
    )
  ).json.id
})
test.after.always(() => fixture?.stop())

const as = (person: Person, body?: unknown, headers?: Readonly<Record<string, string>>): SendOptions => ({
  token: person.token,
  ...(body === undefined ? {} : { body }),
  ...(headers === undefined ? {} : { headers }),
})
const permissions = [{ namespace: 'cluster_mgmt', action: 'view clusters' }]
const editors = [...permissions, { namespace: 'org_mgmt', action: 'view teams' }]
let named = 0
const name = (word: string): string => `${word}-${(named += 1)}`

/**
 * Declares a race of so many rounds in a thorough run, and of every second round otherwise; then the invariants of the
 * whole database. One race after the other, so that a broken one is known by its name.
 */
const race = (title: string, rounds: number, round: (t: ExecutionContext, round: number) => Promise<void>): void => {
  test.serial(title, async (t) => {
    for (let n = 0; n < rounds; n += repeats(2, 1)) await round(t, n)
    t.deepEqual(await brokenInvariants(fixture.database), [])
  })
}

const role = async (more: object = {}): Promise<{ readonly id: number; readonly etag: string }> => {
  const made = await must(
    201,
    fixture.instances[0].send(
      'POST',
      '/api/v1/authz/roles?org=acme',
      as(ada, { name: name('role'), permissions, ...more }),
    ),
  )
  return { id: made.json.id as number, etag: String(made.headers['etag']) }
}

race('one name for two organizations: one gets it', 50, async (t) => {
  const username = name('org')
  const [a, b] = fixture.instances
  const answers = await Promise.all([
    a.send('POST', '/api/v1/orgs', as(ada, { username })),
    b.send('POST', '/api/v1/orgs', as(bob, { username: username.toUpperCase() })),
  ])
  t.deepEqual(statusesOf(answers), [201, 422])
  const made = answers.find(({ status }) => status === 201)?.json.id as number
  t.is(await fixture.count('accounts', { lower_name: username }), 1)
  t.deepEqual(
    [await fixture.count('teams', { org_id: made }), await fixture.count('org_members', { org_id: made })],
    [3, 1],
  )
})

race('one name for a user and an organization: one gets it', 12, async (t, round) => {
  const username = name('either')
  const [a, b] = fixture.instances
  const body = { username, email: `${username}@example.com`, password: personPassword, must_change_password: false }
  // Hashing the password takes a while: the organization comes at another moment of it in each round.
  const organization = sleep(round * 8).then(() => b.send('POST', '/api/v1/orgs', as(bob, { username })))
  const answers = await Promise.all([
    a.send('POST', '/api/v1/admin/users', { token: fixture.adminToken, body }),
    organization,
  ])
  t.deepEqual(statusesOf(answers), [201, 422], answers.map(({ text }) => text).join())
  t.is(await fixture.count('accounts', { lower_name: username }), 1)
})

race('one e-mail address for two users: one gets it', 30, async (t) => {
  const email = `${name('box')}@example.com`
  const [a, b] = fixture.instances
  const answers = await Promise.all([
    a.send('POST', '/api/v1/user/emails', as(ada, { emails: [email] })),
    b.send('POST', '/api/v1/user/emails', as(bob, { emails: [email.toUpperCase()] })),
  ])
  t.deepEqual(statusesOf(answers), [201, 422])
  t.is(await fixture.count('emails', { lower_email: email }), 1)
  // An account has ten addresses at most: the winner gives this one back.
  await Promise.all([
    a.send('DELETE', '/api/v1/user/emails', as(ada, { emails: [email] })),
    b.send('DELETE', '/api/v1/user/emails', as(bob, { emails: [email] })),
  ])
  t.is(await fixture.count('emails', { lower_email: email }), 0)
})

race('one name for two roles: one gets it', 50, async (t) => {
  const wanted = name('same')
  const answers = await fixture.both('POST', '/api/v1/authz/roles?org=acme', as(ada, { name: wanted, permissions }))
  t.deepEqual(statusesOf(answers), [201, 422])
  t.is(await fixture.count('roles', { lower_name: wanted }), 1)
})

race('a token is made once and deleted once', 50, async (t) => {
  const wanted = name('token')
  const made = await fixture.both('POST', '/api/v1/user/settings/tokens/access-tokens', as(ada, { name: wanted }))
  const [refused, done] = [...made].sort((a, b) => b.status - a.status)
  t.true(done?.status === 200 || done?.status === 201, done?.text)
  t.is(refused?.status, 422, refused?.text)
  t.is(await fixture.count('access_tokens', { name: wanted }), 1)
  const token = done?.json.token as string
  const used = fixture.both('GET', '/api/v1/user', { token })
  const gone = await fixture.both('DELETE', `/api/v1/user/settings/tokens/access-tokens/${done?.json.id}`, as(ada))
  t.deepEqual(gone.map(({ status }) => (status < 300 ? 'done' : status)).sort(), [404, 'done'])
  t.deepEqual(
    (await used).filter(({ status }) => status !== 200 && status !== 401),
    [],
  )
  t.deepEqual(statusesOf(await fixture.both('GET', '/api/v1/user', { token })), [401, 401])
  t.is(await fixture.count('access_tokens', { name: wanted }), 0)
})

race('two edits of one version of a role: one wins, the other gets a conflict', 50, async (t) => {
  const { id, etag } = await role()
  const [a, b] = fixture.instances
  const path = `/api/v1/authz/roles/${id}?org=acme`
  const answers = await Promise.all([
    a.send('PUT', path, as(ada, { description: 'from a', permissions }, { 'If-Match': etag })),
    b.send('PUT', path, as(ada, { description: 'from b', permissions: editors }, { 'If-Match': etag })),
  ])
  t.deepEqual(statusesOf(answers), [200, 412])
  const now = await must(200, b.send('GET', path, as(ada)))
  t.deepEqual(now.json, answers.find(({ status }) => status === 200)?.json)
  t.is(now.json.permissions.length, now.json.description === 'from a' ? 1 : 2)
  t.is(await fixture.count('audit_events', { action: 'role.updated', object_id: id, result: 'done' }), 1)
})

race('an edit while the role is deleted leaves nothing of it', 50, async (t) => {
  const { id } = await role()
  const [a, b] = fixture.instances
  const path = `/api/v1/authz/roles/${id}?org=acme`
  const [edited, deleted] = await Promise.all([
    a.send('PUT', path, as(ada, { permissions: editors, teamIDs: [customTeam] })),
    b.send('DELETE', path, as(ada)),
  ])
  t.is(deleted.status, 204, deleted.text)
  t.true(edited.status === 200 || edited.status === 404, `${edited.status} ${edited.text}`)
  for (const table of ['role_permissions', 'team_roles']) t.is(await fixture.count(table, { role_id: id }), 0)
  t.is(await fixture.count('roles', { id }), 0)
})

race('follow and unfollow at once: the row, the counts and the log agree', 50, async (t) => {
  const [a, b] = fixture.instances
  const answers = await Promise.all([
    a.send('PUT', '/api/v1/user/following/bob', as(ada)),
    b.send('DELETE', '/api/v1/user/following/bob', as(ada)),
    b.send('PUT', '/api/v1/user/following/bob', as(ada)),
    a.send('DELETE', '/api/v1/user/following/bob', as(ada)),
  ])
  t.deepEqual(statusesOf(answers), [204, 204, 204, 204])
  const rows = await fixture.count('follows', { user_id: ada.id, target_id: bob.id })
  const followed = await fixture.count('audit_events', { action: 'user.followed', actor_id: ada.id, result: 'done' })
  const unfollowed = await fixture.count('audit_events', {
    action: 'user.unfollowed',
    actor_id: ada.id,
    result: 'done',
  })
  t.is(followed - unfollowed, rows)
  t.is((await b.send('GET', '/api/v1/users/bob', as(ada))).json.followers_count, rows)
})

race('one Idempotency-Key on both instances at once: one effect, one answer', 50, async (t) => {
  const username = name('once')
  const request = as(ada, { username }, { 'Idempotency-Key': `key of ${username}`.replaceAll(' ', '-') })
  const answers = (
    await Promise.all([fixture.both('POST', '/api/v1/orgs', request), fixture.both('POST', '/api/v1/orgs', request)])
  ).flat()
  const done = answers.filter(({ status }) => status === 201)
  t.is(done.filter(({ headers }) => headers['idempotency-replayed'] === undefined).length, 1, 'one did it')
  t.is(new Set(done.map(({ text }) => text)).size, 1)
  t.deepEqual(
    [
      ...new Set(answers.filter(({ status }) => status !== 201).map(({ status, json }) => `${status} ${json.code}`)),
    ].filter((told) => told !== '409 RequestInProgress'),
    [],
  )
  const [replayed, alike] = await fixture.both('POST', '/api/v1/orgs', request)
  t.deepEqual([replayed.text, alike.text], [done[0]?.text, done[0]?.text])
  t.is(await fixture.count('accounts', { lower_name: username }), 1)
  t.is(await fixture.count('audit_events', { action: 'organization.created', object_name: username }), 1)
})

test.serial('after all these races every audit chain is whole', async (t) => {
  t.true(await fixture.isAuditWhole())
})

let organizationSecurityFixture: TwoInstances
let organizationSecurityAda: Person
let organizationSecurityBob: Person
let eve: Person
test.before(async () => {
  organizationSecurityFixture = await startTwoInstances()
  organizationSecurityAda = await organizationSecurityFixture.person('ada')
  organizationSecurityBob = await organizationSecurityFixture.person('bob')
  eve = await organizationSecurityFixture.person('eve')
})
test.after.always(() => organizationSecurityFixture?.stop())

const organizationSecurityAs = (person: Person, body?: unknown): SendOptions => ({
  token: person.token,
  ...(body === undefined ? {} : { body }),
})
let made = 0
/** An organization that Ada owns alone. */
const organization = async (): Promise<{ readonly name: string; readonly id: number }> => {
  const name = `org${(made += 1)}`
  return { name, id: await organizationSecurityFixture.organization(organizationSecurityAda, name) }
}
/** Puts an invitation by Ada into the database; answers its token. */
const plant = async (orgId: number, email: string, role: string): Promise<string> => {
  const token = `invited${(made += 1)}`.padEnd(32, 'x')
  const columns = {
    org_id: orgId,
    email,
    lower_email: email,
    role,
    inviter_id: organizationSecurityAda.id,
    created_at: 1,
    expires_at: Date.now() + 3_600_000,
  }
  await organizationSecurityFixture.database.query((k) =>
    k('org_invitations').insert({ ...columns, token_hash: createHash('sha256').update(token).digest() }),
  )
  return token
}
const each = <A>(count: number, ask: (index: number) => Promise<A>): Promise<readonly A[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => ask(index)))
const instance = (index: number) => organizationSecurityFixture.instances[index % 2 === 0 ? 0 : 1]

test.serial('one invitation accepted twenty times at once makes one member', async (t) => {
  for (let round = 0; round < 10; round++) {
    const { id } = await organization()
    const token = await plant(id, 'bob@example.com', 'admin')
    const answers = await each(20, (index) =>
      instance(index).send(
        'PUT',
        `/api/v1/user/invitations/${token}`,
        organizationSecurityAs(Math.floor(index / 2) % 2 === 0 ? organizationSecurityBob : eve),
      ),
    )
    const statuses = statusesOf(answers)
    t.is(statuses.filter((status) => status === 204).length, 1, String(statuses))
    t.true(
      statuses.every((status) => [204, 403, 410].includes(status)),
      String(statuses),
    )
    t.deepEqual(
      [
        await organizationSecurityFixture.count('org_members', { org_id: id, user_id: organizationSecurityBob.id }),
        await organizationSecurityFixture.count('org_members', { org_id: id, user_id: eve.id }),
      ],
      [1, 0],
    )
    t.is(await organizationSecurityFixture.count('org_invitations', { org_id: id }), 0)
  }
  t.deepEqual(await brokenInvariants(organizationSecurityFixture.database), [])
})

test.serial('the last owner leaves while the next one accepts: there is always an owner', async (t) => {
  const seen = new Set<string>()
  for (let round = 0; round < 20; round++) {
    const { name, id } = await organization()
    const token = await plant(id, 'bob@example.com', 'owner')
    const [left, accepted] = await Promise.all([
      instance(round).send(
        'DELETE',
        `/api/v1/orgs/${name}/members/ada`,
        organizationSecurityAs(organizationSecurityAda),
      ),
      instance(round + 1).send(
        'PUT',
        `/api/v1/user/invitations/${token}`,
        organizationSecurityAs(organizationSecurityBob),
      ),
    ])
    seen.add(`${left.status} ${accepted.status}`)
    t.is(accepted.status, 204)
    t.true([204, 409].includes(left.status))
    const [row] = await organizationSecurityFixture.database.query<{ owners: number }>((k) =>
      k('team_members as m')
        .join('teams as t', 't.id', 'm.team_id')
        .where({ 't.org_id': id, 't.permission': 'owner' })
        .count({ owners: '*' }),
    )
    t.is(Number(row?.owners), left.status === 204 ? 1 : 2)
  }
  t.log([...seen].join(', '))
  t.deepEqual(await brokenInvariants(organizationSecurityFixture.database), [])
})

test.serial('an invitation is withdrawn or accepted, never both', async (t) => {
  for (let round = 0; round < 20; round++) {
    const { name, id } = await organization()
    const token = await plant(id, 'bob@example.com', 'member')
    const [row] = await organizationSecurityFixture.database.query<{ id: number }>((k) =>
      k('org_invitations').where('org_id', id).select('id'),
    )
    const [withdrawn, accepted] = await Promise.all([
      instance(round).send(
        'DELETE',
        `/api/v1/orgs/${name}/invitations/${Number(row?.id)}`,
        organizationSecurityAs(organizationSecurityAda),
      ),
      instance(round + 1).send(
        'PUT',
        `/api/v1/user/invitations/${token}`,
        organizationSecurityAs(organizationSecurityBob),
      ),
    ])
    t.true(
      ['204 410', '404 204'].includes(`${withdrawn.status} ${accepted.status}`),
      `${withdrawn.status} ${accepted.status}`,
    )
    t.is(
      await organizationSecurityFixture.count('org_members', { org_id: id, user_id: organizationSecurityBob.id }),
      accepted.status === 204 ? 1 : 0,
    )
  }
})

test.serial('concurrent invitations to one address leave one, at most five a day', async (t) => {
  const { name, id } = await organization()
  const answers = await each(10, (index) =>
    instance(index).send(
      'POST',
      `/api/v1/orgs/${name}/invitations`,
      organizationSecurityAs(organizationSecurityAda, { email: 'grace@example.com', role: 'member' }),
    ),
  )
  t.deepEqual(statusesOf(answers), [...Array.from({ length: 5 }, () => 201), ...Array.from({ length: 5 }, () => 429)])
  t.true(answers.every(({ status, headers }) => status === 201 || Number(headers['retry-after']) > 0))
  t.is(await organizationSecurityFixture.count('org_invitations', { org_id: id }), 1)
})

test.serial('a policy applies on each instance after the answer to its change', async (t) => {
  for (let round = 0; round < 5; round++) {
    const { name } = await organization()
    await must(
      200,
      organizationSecurityFixture.instances[0].send(
        'PUT',
        `/api/v1/orgs/${name}/memberships/bob`,
        organizationSecurityAs(organizationSecurityAda, { role: 'member' }),
      ),
    )
    let switchedAt = Number.POSITIVE_INFINITY
    const admitted: number[] = []
    const asking = each(6, async (index) => {
      for (let n = 0; n < 20; n++) {
        const startedAt = performance.now()
        const { status } = await instance(index).send(
          'GET',
          `/api/v1/orgs/${name}/teams`,
          organizationSecurityAs(organizationSecurityBob),
        )
        if (status === 200) admitted.push(startedAt)
        else t.is(status, 403)
      }
    })
    await must(
      200,
      organizationSecurityFixture.instances[1].send(
        'PATCH',
        `/api/v1/orgs/${name}/policies`,
        organizationSecurityAs(organizationSecurityAda, { max_token_life_days: 1 }),
      ),
    )
    switchedAt = performance.now()
    await asking
    t.deepEqual(
      admitted.filter((at) => at > switchedAt),
      [],
    )
    for (const one of organizationSecurityFixture.instances)
      t.is(
        (await one.send('GET', `/api/v1/orgs/${name}/teams`, organizationSecurityAs(organizationSecurityBob))).json
          .code,
        'TokenLifeTooLong',
      )
  }
})

test.serial('a robot deleted during token creation leaves no working token', async (t) => {
  for (let round = 0; round < 10; round++) {
    const { name, id } = await organization()
    await must(
      201,
      organizationSecurityFixture.instances[0].send(
        'POST',
        `/api/v1/orgs/${name}/robots`,
        organizationSecurityAs(organizationSecurityAda, { name: 'ci' }),
      ),
    )
    const tokens = each(5, (index) =>
      instance(index).send(
        'POST',
        `/api/v1/orgs/${name}/robots/ci/tokens`,
        organizationSecurityAs(organizationSecurityAda, { name: `t${index}` }),
      ),
    )
    const gone = organizationSecurityFixture.instances[1].send(
      'DELETE',
      `/api/v1/orgs/${name}/robots/ci`,
      organizationSecurityAs(organizationSecurityAda),
    )
    const answers = await tokens
    t.is((await gone).status, 204)
    t.true(
      answers.every(({ status }) => status === 201 || status === 404),
      String(statusesOf(answers)),
    )
    for (const { json, status } of answers)
      if (status === 201)
        t.is(
          (await organizationSecurityFixture.instances[0].send('GET', '/api/v1/user', { token: json.sha1 })).status,
          401,
        )
    t.deepEqual(
      [
        await organizationSecurityFixture.count('access_tokens', { only_org_id: id }),
        await organizationSecurityFixture.count('robot_accounts', { org_id: id }),
      ],
      [0, 0],
    )
  }
  t.deepEqual(await brokenInvariants(organizationSecurityFixture.database), [])
})
