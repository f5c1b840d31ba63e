import { createHash } from 'node:crypto'
import { needing } from '../support/components/needing.ts'
import type { SendOptions } from '../support/send-json.ts'
import { brokenInvariants } from './invariants.ts'
import { must, startTwoInstances, statusesOf, type Person, type TwoInstances } from './two-instances.ts'

const test = needing('mariadb')

let world: TwoInstances
let ada: Person
let bob: Person
let eve: Person
test.before(async () => {
  world = await startTwoInstances()
  ada = await world.person('ada')
  bob = await world.person('bob')
  eve = await world.person('eve')
})
test.after.always(() => world?.stop())

const as = (person: Person, body?: unknown): SendOptions => ({ token: person.token, ...(body === undefined ? {} : { body }) })
let made = 0
/** An organization that Ada owns alone. */
const organization = async (): Promise<{ readonly name: string; readonly id: number }> => {
  const name = `org${(made += 1)}`
  return { name, id: await world.organization(ada, name) }
}
/** Puts an invitation by Ada into the database; answers its token. */
const plant = async (orgId: number, email: string, role: string): Promise<string> => {
  const token = `invited${(made += 1)}`.padEnd(32, 'x')
  const columns = { org_id: orgId, email, lower_email: email, role, inviter_id: ada.id, created_at: 1, expires_at: Date.now() + 3_600_000 }
  await world.database.query((k) => k('org_invitations').insert({ ...columns, token_hash: createHash('sha256').update(token).digest() }))
  return token
}
const each = <A>(count: number, ask: (index: number) => Promise<A>): Promise<readonly A[]> => Promise.all(Array.from({ length: count }, (_, index) => ask(index)))
const instance = (index: number) => world.instances[index % 2 === 0 ? 0 : 1]

test.serial('one invitation accepted by two people twenty times at once makes one member, once', async (t) => {
  for (let round = 0; round < 10; round++) {
    const { id } = await organization()
    const token = await plant(id, 'bob@example.com', 'admin')
    const answers = await each(20, (index) => instance(index).send('PUT', `/api/v1/user/invitations/${token}`, as(Math.floor(index / 2) % 2 === 0 ? bob : eve)))
    const statuses = statusesOf(answers)
    t.is(statuses.filter((status) => status === 204).length, 1, String(statuses))
    t.true(statuses.every((status) => [204, 403, 410].includes(status)), String(statuses))
    t.deepEqual([await world.count('org_members', { org_id: id, user_id: bob.id }), await world.count('org_members', { org_id: id, user_id: eve.id })], [1, 0])
    t.is(await world.count('org_invitations', { org_id: id }), 0)
  }
  t.deepEqual(await brokenInvariants(world.database), [])
})

test.serial('the last owner leaves while the next one accepts: there is always an owner', async (t) => {
  const seen = new Set<string>()
  for (let round = 0; round < 20; round++) {
    const { name, id } = await organization()
    const token = await plant(id, 'bob@example.com', 'owner')
    const [left, accepted] = await Promise.all([
      instance(round).send('DELETE', `/api/v1/orgs/${name}/members/ada`, as(ada)),
      instance(round + 1).send('PUT', `/api/v1/user/invitations/${token}`, as(bob)),
    ])
    seen.add(`${left.status} ${accepted.status}`)
    t.is(accepted.status, 204)
    t.true([204, 409].includes(left.status))
    const [row] = await world.database.query<{ owners: number }>((k) =>
      k('team_members as m').join('teams as t', 't.id', 'm.team_id').where({ 't.org_id': id, 't.permission': 'owner' }).count({ owners: '*' }))
    t.is(Number(row?.owners), left.status === 204 ? 1 : 2)
  }
  t.log([...seen].join(', '))
  t.deepEqual(await brokenInvariants(world.database), [])
})

test.serial('an invitation is withdrawn or accepted, never both', async (t) => {
  for (let round = 0; round < 20; round++) {
    const { name, id } = await organization()
    const token = await plant(id, 'bob@example.com', 'member')
    const [row] = await world.database.query<{ id: number }>((k) => k('org_invitations').where('org_id', id).select('id'))
    const [withdrawn, accepted] = await Promise.all([
      instance(round).send('DELETE', `/api/v1/orgs/${name}/invitations/${Number(row?.id)}`, as(ada)),
      instance(round + 1).send('PUT', `/api/v1/user/invitations/${token}`, as(bob)),
    ])
    t.true(['204 410', '404 204'].includes(`${withdrawn.status} ${accepted.status}`), `${withdrawn.status} ${accepted.status}`)
    t.is(await world.count('org_members', { org_id: id, user_id: bob.id }), accepted.status === 204 ? 1 : 0)
  }
})

test.serial('of concurrent invitations to one address, one is kept; at most five per day are sent', async (t) => {
  const { name, id } = await organization()
  const answers = await each(10, (index) => instance(index).send('POST', `/api/v1/orgs/${name}/invitations`, as(ada, { email: 'grace@example.com', role: 'member' })))
  t.deepEqual(statusesOf(answers), [...Array.from({ length: 5 }, () => 201), ...Array.from({ length: 5 }, () => 429)])
  t.true(answers.every(({ status, headers }) => status === 201 || Number(headers['retry-after']) > 0))
  t.is(await world.count('org_invitations', { org_id: id }), 1)
})

test.serial('a policy holds for every request that starts after the answer to its change, on each instance', async (t) => {
  for (let round = 0; round < 5; round++) {
    const { name } = await organization()
    await must(200, world.instances[0].send('PUT', `/api/v1/orgs/${name}/memberships/bob`, as(ada, { role: 'member' })))
    let switchedAt = Number.POSITIVE_INFINITY
    const admitted: number[] = []
    const asking = each(6, async (index) => {
      for (let n = 0; n < 20; n++) {
        const startedAt = performance.now()
        const { status } = await instance(index).send('GET', `/api/v1/orgs/${name}/teams`, as(bob))
        if (status === 200) admitted.push(startedAt)
        else t.is(status, 403)
      }
    })
    await must(200, world.instances[1].send('PATCH', `/api/v1/orgs/${name}/policies`, as(ada, { max_token_life_days: 1 })))
    switchedAt = performance.now()
    await asking
    t.deepEqual(admitted.filter((at) => at > switchedAt), [])
    for (const one of world.instances) t.is((await one.send('GET', `/api/v1/orgs/${name}/teams`, as(bob))).json.code, 'TokenLifeTooLong')
  }
})

test.serial('a robot that is deleted while tokens are made for it leaves none that opens anything', async (t) => {
  for (let round = 0; round < 10; round++) {
    const { name, id } = await organization()
    await must(201, world.instances[0].send('POST', `/api/v1/orgs/${name}/robots`, as(ada, { name: 'ci' })))
    const tokens = each(5, (index) => instance(index).send('POST', `/api/v1/orgs/${name}/robots/ci/tokens`, as(ada, { name: `t${index}` })))
    const gone = world.instances[1].send('DELETE', `/api/v1/orgs/${name}/robots/ci`, as(ada))
    const answers = await tokens
    t.is((await gone).status, 204)
    t.true(answers.every(({ status }) => status === 201 || status === 404), String(statusesOf(answers)))
    for (const { json, status } of answers) if (status === 201) t.is((await world.instances[0].send('GET', '/api/v1/user', { token: json.sha1 })).status, 401)
    t.deepEqual([await world.count('access_tokens', { only_org_id: id }), await world.count('robot_accounts', { org_id: id })], [0, 0])
  }
  t.deepEqual(await brokenInvariants(world.database), [])
})
