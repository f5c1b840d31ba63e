// process: waiting - uses components
import { createHash } from 'node:crypto'
import type { SqlRunner } from '../../adapters/sql/kit/statement.ts'
import { needing } from '../support/components/needing.ts'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import { until } from '../support/until.ts'
import { brokenInvariants } from './invariants.ts'
import { must, startTwoInstances, type Person, type TwoInstances } from './two-instances.ts'

const test = needing('mariadb')

/**
 * A caller gives nothing that they no longer hold: every way to give rights, against every way to lose them while the
 * change runs.
 */
let fixture: TwoInstances
let ada: Person
let bob: Person
/** An admin of the organization, or a site admin: holds all that is given below. */
let giver: Person
let org: {
  readonly id: number
  readonly admins: number
  readonly editors: number
  readonly custom: number
  readonly role: number
}
test.before(async () => {
  fixture = await startTwoInstances()
  const people = await Promise.all(['ada', 'bob', 'giver'].map((login) => fixture.person(login)))
  ;[ada, bob, giver] = people as [Person, Person, Person]
  const id = await fixture.organization(ada, 'acme')
  const team = async (name: string, permission: string): Promise<number> =>
    (await must(201, send('POST', '/orgs/acme/teams', ada, { name, permission }))).json.id as number
  const [admins, custom] = [await team('Admins', 'admin'), await team('custom', 'custom')]
  const teams = (await must(200, send('GET', '/orgs/acme/teams', ada))).json as { id: number; name: string }[]
  const editors = teams.find(({ name }) => name === 'Editors')?.id ?? 0
  const role = (await must(201, send('POST', '/authz/roles?org=acme', ada, { name: 'viewer', permissions: view }))).json
    .id as number
  await must(201, send('POST', '/orgs/acme/robots', ada, { name: 'idle' }))
  await must(201, send('POST', '/orgs/acme/robots', ada, { name: 'busy', team_ids: [editors] }))
  org = { id, admins, editors, custom, role }
  await must(204, send('PUT', `/teams/${admins}/members/giver`, ada))
})
test.after.always(() => fixture?.stop())

const as = (person: Person, body?: unknown): SendOptions => ({
  token: person.token,
  ...(body === undefined ? {} : { body }),
})
const send = (method: string, path: string, person: Person, body?: unknown): Promise<ServiceAnswer> =>
  fixture.instances[0].send(method, `/api/v1${path}`, as(person, body))
const view = [{ namespace: 'cluster_mgmt', action: 'view clusters' }]
let made = 0
const name = (word: string): string => `${word}${(made += 1)}`

/** Puts an invitation by the giver into the database; answers its token. */
const plant = async (): Promise<string> => {
  const token = name('invited').padEnd(32, 'x')
  const columns = {
    org_id: org.id,
    email: 'bob@example.com',
    lower_email: 'bob@example.com',
    role: 'admin',
    inviter_id: giver.id,
    created_at: 1,
    expires_at: Date.now() + 3_600_000,
  }
  await fixture.database.query((k) => k('org_invitations').where('org_id', org.id).delete())
  await fixture.database.query((k) =>
    k('org_invitations').insert({ ...columns, token_hash: createHash('sha256').update(token).digest() }),
  )
  return token
}

interface Gift {
  /** The change, and what it is about, prepared before rights are taken. */
  prepare(): Promise<() => Promise<ServiceAnswer>>
  readonly done: number
  readonly refused: number
  /** Takes the gift back, so that it can be made again. */
  undo?(): Promise<unknown>
}
const change = (done: number, ask: () => Promise<ServiceAnswer>, undo?: () => Promise<unknown>): Gift => ({
  prepare: async () => ask,
  done,
  refused: 403,
  ...(undo === undefined ? {} : { undo }),
})
const leave = () => fixture.database.query((k) => k('org_members').where({ org_id: org.id, user_id: bob.id }).delete())
const leaveTeams = () =>
  fixture.database.query((k) => k('team_members').where({ org_id: org.id, user_id: bob.id }).delete())
const bobLeaves = async (): Promise<void> => {
  await leaveTeams()
  await leave()
}

/** Every way to give rights. */
const gifts: Readonly<Record<string, Gift>> = {
  'a role is created': change(201, () =>
    send('POST', '/authz/roles?org=acme', giver, { name: name('role'), permissions: view, teamIDs: [org.custom] }),
  ),
  'a role gets permissions': change(
    200,
    () =>
      send('PUT', `/authz/roles/${org.role}?org=acme`, giver, {
        permissions: [...view, { namespace: 'org_mgmt', action: 'view teams' }],
      }),
    () => must(200, send('PUT', `/authz/roles/${org.role}?org=acme`, ada, { permissions: view })),
  ),
  'a role gets a team': change(
    200,
    () => send('PUT', `/authz/roles/${org.role}?org=acme`, giver, { teamIDs: [org.custom] }),
    () => must(200, send('PUT', `/authz/roles/${org.role}?org=acme`, ada, { teamIDs: [] })),
  ),
  'a team is created': change(201, () =>
    send('POST', '/orgs/acme/teams', giver, { name: name('team'), permission: 'write' }),
  ),
  'a team gets a level': change(
    200,
    () => send('PATCH', `/teams/${org.custom}`, giver, { permission: 'write' }),
    () => must(200, send('PATCH', `/teams/${org.custom}`, ada, { permission: 'custom' })),
  ),
  'a team gets a role': change(
    200,
    () => send('PATCH', `/teams/${org.custom}`, giver, { assignedRoleIDs: [org.role] }),
    () => must(200, send('PATCH', `/teams/${org.custom}`, ada, { assignedRoleIDs: [] })),
  ),
  'a team gets a member': change(204, () => send('PUT', `/teams/${org.editors}/members/bob`, giver), bobLeaves),
  'a member gets a role': change(
    200,
    () => send('PUT', '/orgs/acme/memberships/bob', giver, { role: 'admin' }),
    bobLeaves,
  ),
  'a user is invited': change(201, () =>
    send('POST', '/orgs/acme/invitations', giver, { email: `${name('guest')}@example.com`, role: 'member' }),
  ),
  'an invitation is accepted': {
    prepare: async () => {
      const token = await plant()
      return () => send('PUT', `/user/invitations/${token}`, bob)
    },
    done: 204,
    refused: 410,
    undo: bobLeaves,
  },
  'a robot account is created': change(201, () =>
    send('POST', '/orgs/acme/robots', giver, { name: name('robot'), team_ids: [org.editors] }),
  ),
  'a robot account gets a team': change(
    200,
    () => send('PATCH', '/orgs/acme/robots/idle', giver, { team_ids: [org.editors] }),
    () => must(200, send('PATCH', '/orgs/acme/robots/idle', ada, { team_ids: [] })),
  ),
  'a robot account gets a token': change(201, () =>
    send('POST', '/orgs/acme/robots/busy/tokens', giver, { name: name('token') }),
  ),
}

interface Loss {
  /** Takes the rights in a transaction that the change has to wait for. */
  take(tx: SqlRunner): Promise<unknown>
  restore(): Promise<unknown>
  /** Before: gives the rights that are taken. */
  prepare?(): Promise<unknown>
}
const setUser = (runner: SqlRunner, to: Readonly<Record<string, number>>) =>
  runner.query((k) => k('users').where('id', giver.id).update(to))
const lockOrganization = (tx: SqlRunner) => tx.query((k) => k('accounts').where('id', org.id).select('id').forUpdate())
const teamRow = () => ({ team_id: org.admins, user_id: giver.id, org_id: org.id })
const joinAdmins = () => fixture.database.query((k) => k('team_members').insert({ ...teamRow(), created_at: 1 }))
const leaveAdmins = (runner: SqlRunner) => runner.query((k) => k('team_members').where(teamRow()).delete())

/** Every way to lose rights, as another instance commits it. */
const losses: Readonly<Record<string, Loss>> = {
  'the giver leaves the team': {
    take: async (tx) => {
      await lockOrganization(tx)
      await leaveAdmins(tx)
    },
    restore: joinAdmins,
  },
  'the team of the giver loses its level': {
    take: async (tx) => {
      await lockOrganization(tx)
      await tx.query((k) => k('teams').where('id', org.admins).update({ permission: 'none' }))
    },
    restore: () => fixture.database.query((k) => k('teams').where('id', org.admins).update({ permission: 'admin' })),
  },
  'the giver is disabled': {
    take: (tx) => setUser(tx, { is_active: 0 }),
    restore: () => setUser(fixture.database, { is_active: 1 }),
  },
  'the giver is no longer a site admin': {
    prepare: async () => {
      await setUser(fixture.database, { is_admin: 1 })
      await leaveAdmins(fixture.database)
    },
    take: (tx) => setUser(tx, { is_admin: 0 }),
    restore: joinAdmins,
  },
}

const waiting = [
  'select `id` from `accounts` where `id`%for update',
  '%from `users` where `id`%lock in share mode',
] as const

/** Starts a change while a transaction takes rights, and commits that transaction once the change waits for it. */
const whileRightsAreTaken = async (loss: Loss, ask: () => Promise<ServiceAnswer>): Promise<ServiceAnswer> => {
  let asked: Promise<ServiceAnswer> | undefined
  await fixture.database.transaction(async (tx) => {
    await loss.take(tx)
    let isAnswered = false
    asked = ask().finally(() => (isAnswered = true))
    await until('the change waits for the rights', async () => {
      const rows = await tx
        .query((k) =>
          k('information_schema.processlist')
            .whereRaw('db = database() and id <> connection_id() and (info like ? or info like ?)', [...waiting])
            .select('id'),
        )
        .catch((thrown: { readonly code?: unknown }) => {
          // MySQL cannot show a statement that has bytes in it.
          if (thrown.code === 'ER_CANNOT_CONVERT_STRING') return []
          throw thrown
        })
      return isAnswered || rows.length > 0 ? true : undefined
    })
  })
  if (asked === undefined) throw new Error('the change was not asked for')
  return asked
}

for (const [lost, loss] of Object.entries(losses)) {
  for (const [given, gift] of Object.entries(gifts)) {
    test.serial(`${lost} while ${given}: it is refused without the rights and done with them`, async (t) => {
      await loss.prepare?.()
      const refused = await whileRightsAreTaken(loss, await gift.prepare())
      t.is(refused.status, gift.refused, refused.text)
      await loss.restore()
      const done = await (await gift.prepare())()
      t.is(done.status, gift.done, done.text)
      await gift.undo?.()
    })
  }
}

/** What works without the credential that made it. */
const credentials: Readonly<Record<string, (token: string) => Promise<ServiceAnswer>>> = {
  'a robot account gets a token': (token) =>
    fixture.instances[0].send('POST', '/api/v1/orgs/acme/robots/busy/tokens', { token, body: { name: name('token') } }),
  'a user is invited': (token) =>
    fixture.instances[0].send('POST', '/api/v1/orgs/acme/invitations', {
      token,
      body: { email: `${name('guest')}@example.com`, role: 'member' },
    }),
}
for (const [given, ask] of Object.entries(credentials)) {
  test.serial(`the token of the request is deleted while ${given}: it is refused`, async (t) => {
    const { token, id } = (
      await must(201, send('POST', '/user/settings/tokens/access-tokens', giver, { name: name('leaked') }))
    ).json as { token: string; id: number }
    const done = await ask(token)
    t.is(done.status, 201, done.text)
    const take = async (tx: SqlRunner): Promise<void> => {
      await lockOrganization(tx)
      await tx.query((k) => k('access_tokens').where({ id, user_id: giver.id }).delete())
    }
    const refused = await whileRightsAreTaken({ take, restore: async () => undefined }, () => ask(token))
    t.is(refused.status, 401, refused.text)
  })
}

test.serial('a grant concurrent with the loss of its rights is first or refused', async (t) => {
  const seen = new Set<string>()
  const lastEvent = async (action: string): Promise<number> =>
    Number(
      (
        await fixture.database.query<{ id: number }>((k) =>
          k('audit_events').where({ tenant_id: org.id, action, result: 'done' }).max({ id: 'id' }),
        )
      )[0]?.id ?? 0,
    )
  for (let round = 0; round < 30; round++) {
    const [given, gone] = await Promise.all([
      fixture.instances[round % 2 === 0 ? 0 : 1].send(
        'POST',
        '/api/v1/authz/roles?org=acme',
        as(giver, { name: name('raced'), permissions: view }),
      ),
      fixture.instances[round % 2 === 0 ? 1 : 0].send('DELETE', `/api/v1/teams/${org.admins}/members/giver`, as(ada)),
    ])
    t.is(gone.status, 204)
    t.true([201, 403].includes(given.status), given.text)
    if (given.status === 201) t.true((await lastEvent('role.created')) < (await lastEvent('team.member_removed')))
    seen.add(String(given.status))
    await must(204, send('PUT', `/teams/${org.admins}/members/giver`, ada))
  }
  t.log([...seen].join(', '))
  t.deepEqual(await brokenInvariants(fixture.database), [])
})
