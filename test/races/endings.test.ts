// process: waiting - uses components
import { setTimeout as sleep } from 'node:timers/promises'
import type { ExecutionContext } from 'ava'
import { runCommandLine } from '../../composition/moorage.ts'
import { needing } from '../support/components/needing.ts'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import { brokenInvariants } from './invariants.ts'
import type { Person, TwoInstances } from './two-instances.ts'
import { must, personPassword, startTwoInstances } from './two-instances.ts'

const test = needing('mariadb')

/** Something ends on one instance while the other still makes use of it. */
let fixture: TwoInstances
let ada: Person
test.before(async () => {
  fixture = await startTwoInstances()
  ada = await fixture.person('ada')
  await fixture.organization(ada, 'acme')
})
test.after.always(() => fixture?.stop())

const as = (person: Person, body?: unknown): SendOptions => ({
  token: person.token,
  ...(body === undefined ? {} : { body }),
})
const permissions = [{ namespace: 'cluster_mgmt', action: 'view clusters' }]
let named = 0
const name = (word: string): string => `${word}-${(named += 1)}`

const race = (title: string, rounds: number, round: (t: ExecutionContext, round: number) => Promise<void>): void => {
  test.serial(title, async (t) => {
    for (let n = 0; n < rounds; n++) await round(t, n)
    t.deepEqual(await brokenInvariants(fixture.database), [])
  })
}

/** Done, or refused because what it is about is gone: nothing else. */
const isDoneOrGone = (t: ExecutionContext, { status, text }: ServiceAnswer, ...gone: readonly number[]): void => {
  if (status >= 500)
    for (const service of fixture.instances) t.log(service.logLines().filter((line) => Number(line['level']) >= 50))
  t.true(status < 300 || gone.includes(status), `${status} ${text}`)
}

race('an organization ends while teams and roles are made in it', 30, async (t) => {
  const [a, b] = fixture.instances
  const org = name('org')
  const id = await fixture.organization(ada, org)
  const [deleted, ...made] = await Promise.all([
    a.send('DELETE', `/api/v1/orgs/${org}`, as(ada)),
    b.send('POST', `/api/v1/orgs/${org}/teams`, as(ada, { name: 'late', permission: 'read' })),
    b.send('POST', `/api/v1/authz/roles?org=${org}`, as(ada, { name: 'late', permissions })),
    a.send('POST', `/api/v1/authz/roles?org=${org}`, as(ada, { name: 'later', permissions })),
  ])
  t.is(deleted.status, 204, deleted.text)
  for (const answer of made) isDoneOrGone(t, answer, 404, 403, 409)
  for (const table of ['teams', 'roles', 'org_members', 'team_members'])
    t.is(await fixture.count(table, { org_id: id }), 0, table)
})

race('a team is deleted while a role is attached to it and a user joins it', 30, async (t) => {
  const [a, b] = fixture.instances
  const team = (
    await must(201, a.send('POST', '/api/v1/orgs/acme/teams', as(ada, { name: name('team'), permission: 'custom' })))
  ).json.id as number
  const role = (
    await must(201, a.send('POST', '/api/v1/authz/roles?org=acme', as(ada, { name: name('role'), permissions })))
  ).json.id as number
  const [deleted, attached, joined] = await Promise.all([
    a.send('DELETE', `/api/v1/teams/${team}`, as(ada)),
    b.send('PUT', `/api/v1/authz/roles/${role}?org=acme`, as(ada, { teamIDs: [team] })),
    b.send('PUT', `/api/v1/teams/${team}/members/ada`, as(ada)),
  ])
  t.is(deleted.status, 204, deleted.text)
  isDoneOrGone(t, attached, 400, 404)
  isDoneOrGone(t, joined, 404)
  t.deepEqual(
    [await fixture.count('team_roles', { team_id: team }), await fixture.count('team_members', { team_id: team })],
    [0, 0],
  )
})

race('a user ends while making an organization, being made a member and signing in', 20, async (t) => {
  const [a, b] = fixture.instances
  const leaver = await fixture.person(name('leaver'))
  const org = name('of-leaver')
  const teams = (await must(200, a.send('GET', '/api/v1/orgs/acme/teams', as(ada)))).json as readonly {
    readonly id: number
    readonly name: string
  }[]
  const viewers = teams.find((team) => team.name === 'Viewers')?.id
  const signingIn = b.send('POST', '/api/v1/user/signin', {
    body: { username: leaver.login, password: personPassword },
  })
  const [deleted, made, joined] = await Promise.all([
    a.send('DELETE', `/api/v1/admin/users/${leaver.login}`, { token: fixture.adminToken }),
    b.send('POST', '/api/v1/orgs', as(leaver, { username: org })),
    b.send('PUT', `/api/v1/teams/${viewers}/members/${leaver.login}`, as(ada)),
  ])
  isDoneOrGone(t, made, 401, 403, 404, 409)
  isDoneOrGone(t, joined, 404, 422)
  isDoneOrGone(t, await signingIn, 404)
  t.true(
    deleted.status === 204 || deleted.status === 422 || deleted.status === 409,
    `${deleted.status} ${deleted.text}`,
  )
  const isThere = await fixture.count('users', { id: leaver.id })
  t.is(isThere, deleted.status === 204 ? 0 : 1)
  if (deleted.status === 204)
    t.is(await fixture.count('accounts', { lower_name: org }), 0, 'an organization without members')
})

race('a user is switched off while signing in: no way in is left', 10, async (t, round) => {
  const [a, b] = fixture.instances
  const person = await fixture.person(name('off'))
  const signingIn = b.send('POST', '/api/v1/user/signin', {
    body: { username: person.login, password: personPassword },
  })
  const off = sleep(round * 10).then(() =>
    a.send('PATCH', `/api/v1/admin/users/${person.login}`, { token: fixture.adminToken, body: { active: false } }),
  )
  const [signedIn, edited] = await Promise.all([signingIn, off])
  t.is(edited.status, 200, edited.text)
  t.true([200, 404, 405].includes(signedIn.status), `${signedIn.status} ${signedIn.text}`)
  const cookie = [signedIn.headers['set-cookie'] ?? []]
    .flat()
    .map((line) => line.split(';')[0])
    .join('; ')
  for (const credential of [
    { headers: { Cookie: cookie } },
    as(person),
    { basic: [person.login, personPassword] as const },
  ]) {
    // Basic with the right password of a disabled account is 403.
    for (const answer of await fixture.both('GET', '/api/v1/user', credential))
      t.is(answer.status, 'basic' in credential ? 403 : 401)
  }
})

race('the password changes during a sign-in with the old one: no session of it is left', 10, async (t, round) => {
  const [a, b] = fixture.instances
  const person = await fixture.person(name('changed'))
  const signIns = [0, 4, 8].map((more) =>
    sleep(round * 6 + more).then(() =>
      b.send('POST', '/api/v1/user/signin', { body: { username: person.login, password: personPassword } }),
    ),
  )
  const change = a.send('POST', `/api/v1/admin/users/${person.login}/change-password`, {
    token: fixture.adminToken,
    body: { password: 'another-lantern-over-water-18' },
  })
  t.true((await change).status < 300)
  for (const signedIn of await Promise.all(signIns)) {
    t.true(signedIn.status === 200 || signedIn.status === 404, `${signedIn.status} ${signedIn.text}`)
    const Cookie = [signedIn.headers['set-cookie'] ?? []]
      .flat()
      .map((line) => line.split(';')[0])
      .join('; ')
    for (const answer of await fixture.both('GET', '/api/v1/user', { headers: { Cookie } })) t.is(answer.status, 401)
  }
  t.is(await fixture.count('sessions', { user_id: person.id }), 0)
})

race('two owners switch each other off as owners: one stays', 20, async (t) => {
  const [a, b] = fixture.instances
  const org = name('pair')
  const [one, other] = [ada, await partner()]
  await fixture.organization(one, org)
  await must(200, a.send('PUT', `/api/v1/orgs/${org}/memberships/${other.login}`, as(one, { role: 'owner' })))
  const answers = await Promise.all([
    a.send('PUT', `/api/v1/orgs/${org}/memberships/${other.login}`, as(one, { role: 'member' })),
    b.send('PUT', `/api/v1/orgs/${org}/memberships/${one.login}`, as(other, { role: 'member' })),
  ])
  t.is(
    answers.filter(({ status }) => status === 200).length,
    1,
    answers.map(({ status, text }) => `${status} ${text}`).join(),
  )
})

let made: Promise<Person> | undefined
const partner = (): Promise<Person> => (made ??= fixture.person('partner'))

test.serial('the key is changed while two instances seal and open values: no request fails', async (t) => {
  const output: string[] = []
  const keys = async (...words: readonly string[]) => {
    output.length = 0
    const code = await runCommandLine(['keys', ...words, '--json'], {
      environment: fixture.environment,
      print: (text) => void output.push(text),
      say: () => undefined,
    })
    return { code, told: JSON.parse(output.join('\n')) }
  }
  // The answer under a key is sealed, and the other instance opens it.
  const create = (instance: 0 | 1, at: number) =>
    fixture.instances[instance].send('POST', '/api/v1/orgs/acme/teams', {
      ...as(ada, { name: `keyed-${at}`, permission: 'read' }),
      headers: { 'Idempotency-Key': `keyed-${at}` },
    })
  const made: string[] = []
  const makeAndRepeat = async (at: number): Promise<void> => {
    const first = await create(at % 2 === 0 ? 0 : 1, at)
    const again = await create(at % 2 === 0 ? 1 : 0, at)
    t.deepEqual([first.status, again.status], [201, 201], `${first.text} ${again.text}`)
    t.is(again.text, first.text)
    made.push(first.text)
  }
  for (let at = 0; at < 6; at += 1) await makeAndRepeat(at)
  const before = (await keys('status')).told
  t.is(before.keys.length, 1)
  t.is(before.instances.length, 2)
  const work = { isOver: false }
  const requests = (async () => {
    for (let at = 6; !work.isOver; at += 1) await makeAndRepeat(at)
  })()
  const rotated = await keys('rotate')
  work.isOver = true
  await requests
  t.is(rotated.code, 0)
  t.like(rotated.told, { unopened: [], instancesBehind: [], oldKeys: [before.keys[0].id] })
  const after = (await keys('status')).told
  const values = (id: string): number => after.keys.find((key: { id: string }) => key.id === id).values
  t.is(values(before.keys[0].id), 0)
  t.true(values(rotated.told.key) >= made.length)
  t.deepEqual([...new Set(after.instances.map((each: { sealingKey: string }) => each.sealingKey))], [rotated.told.key])
  for (const [at, text] of made.entries()) {
    const answer = await create(at % 2 === 0 ? 1 : 0, at)
    t.is(answer.text, text, 'what was sealed before is opened')
  }
})

test.serial('after all these endings every audit chain is whole', async (t) => {
  t.true(await fixture.isAuditWhole())
})
