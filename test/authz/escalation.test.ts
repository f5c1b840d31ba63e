import test from 'ava'
import fc from 'fast-check'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { rightsOf } from '../../core/kernel/rights.ts'
import { permissionKey } from '../../core/kernel/access.ts'
import { migratedSqlitePath, openPatiently } from '../support/databases.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { schema } from './catalogue.ts'
import { makeRoleFixture } from './role.fixture.ts'
import { accountRow, storeOrg, storeFixture } from './stored-fixture.ts'
import { nameOf } from './account-names.ts'

const [climber, owner] = [51, 52]
const allKeys = schema.permissions.map(permissionKey)
const levelWords = ['none', 'read', 'write', 'admin', 'owner', 'custom'] as const
type Level = (typeof levelWords)[number]

/** One attempt of the climber, in terms of the organization's own teams and roles. */
interface Attempt {
  readonly method: string
  readonly path: (at: Place) => string
  readonly body: (at: Place) => unknown
}

/** The ids that an attempt can use; every run has an organization of its own. */
interface Place {
  readonly org: number
  readonly teams: readonly number[]
  readonly roles: readonly number[]
}

const pick = (items: readonly number[], index: number): number => items[index % items.length] ?? 0
const refsOf = (keys: readonly string[]) =>
  keys.map((key) => ({ namespace: key.slice(0, key.indexOf('/')), action: key.slice(key.indexOf('/') + 1) }))

/** With everything that the chosen ones require, so that no attempt fails for the list alone. */
const completed = (keys: readonly string[]): readonly string[] => {
  const required = refsOf(keys).flatMap((ref) =>
    (schema.permission(ref)?.associated ?? []).filter((other) => other.required).map(permissionKey),
  )
  const all = [...new Set([...keys, ...required])]
  return all.length === keys.length ? all : completed(all)
}
const permissionList = fc.subarray(allKeys, { minLength: 1, maxLength: 2 }).map((keys) => refsOf(completed(keys)))
const index = fc.nat(5)
let names = 0
const freshName = (): string => `climb-${(names += 1)}`

type Refs = readonly { readonly namespace: string; readonly action: string }[]

const attempts = {
  createRole: (permissions: Refs, team: number): Attempt => ({
    method: 'POST',
    path: ({ org }) => `/authz/roles?org=${nameOf(org)}`,
    body: ({ teams }) => ({ name: freshName(), permissions, teamIDs: [pick(teams, team)] }),
  }),
  changeRole: (role: number, permissions: Refs | undefined, team: number | undefined): Attempt => ({
    method: 'PUT',
    path: ({ org, roles }) => `/authz/roles/${pick(roles, role)}?org=${nameOf(org)}`,
    body: ({ teams }) => ({ permissions, teamIDs: team === undefined ? undefined : [pick(teams, team)] }),
  }),
  deleteRole: (role: number): Attempt => ({
    method: 'DELETE',
    path: ({ org, roles }) => `/authz/roles/${pick(roles, role)}?org=${nameOf(org)}`,
    body: () => undefined,
  }),
  changeTeam: (team: number, permission: Level, role: number): Attempt => ({
    method: 'PATCH',
    path: ({ teams }) => `/teams/${pick(teams, team)}`,
    body: ({ roles }) => ({ permission, assignedRoleIDs: permission === 'custom' ? [pick(roles, role)] : [] }),
  }),
  joinTeam: (team: number): Attempt => ({
    method: 'PUT',
    path: ({ teams }) => `/teams/${pick(teams, team)}/members/${nameOf(climber)}`,
    body: () => undefined,
  }),
  createTeam: (permission: Level, role: number): Attempt => ({
    method: 'POST',
    path: ({ org }) => `/orgs/${nameOf(org)}/teams`,
    body: ({ roles }) => ({
      name: freshName(),
      permission,
      assignedRoleIDs: permission === 'custom' ? [pick(roles, role)] : [],
    }),
  }),
}

const attempt: fc.Arbitrary<Attempt> = fc.oneof(
  fc.tuple(permissionList, index).map((given) => attempts.createRole(...given)),
  fc
    .tuple(index, fc.option(permissionList, { nil: undefined }), fc.option(index, { nil: undefined }))
    .map((given) => attempts.changeRole(...given)),
  index.map(attempts.deleteRole),
  fc.tuple(index, fc.constantFrom(...levelWords), index).map((given) => attempts.changeTeam(...given)),
  index.map(attempts.joinTeam),
  fc.tuple(fc.constantFrom(...levelWords), index).map((given) => attempts.createTeam(...given)),
)

const managing = ['create roles', 'edit roles', 'delete roles', 'create teams', 'edit teams', 'add team members'].map(
  (action) => `org_mgmt/${action}`,
)

/** What the climber is given at first: a level, or a custom role that manages roles and teams and some more. */
const start = fc.oneof(
  fc.constantFrom('read', 'write', 'admin', 'admin').map((level) => ({ level, permissions: [] as readonly string[] })),
  fc
    .subarray(allKeys)
    .map((keys) => ({ level: 'custom', permissions: completed([...new Set([...keys, ...managing])]) })),
)

/** What an admin of an organization may do: one attempt of each kind. */
const allowed: readonly Attempt[] = [
  attempts.createRole(refsOf(completed(managing)), 2),
  attempts.changeRole(0, refsOf(completed(managing)), undefined),
  attempts.deleteRole(0),
  attempts.changeTeam(2, 'read', 0),
  attempts.joinTeam(2),
  attempts.createTeam('read', 0),
]

let runs = 0

const storeClimb = async (
  db: SqlDatabase,
  first: { readonly level: string; readonly permissions: readonly string[] },
): Promise<Place> => {
  const org = 1_000 + (runs += 1)
  const [own, strong, weak] = [org * 10 + 1, org * 10 + 2, org * 10 + 3]
  const [held, mighty] = [org * 100 + 1, org * 100 + 2]
  await db.query((k) => k('accounts').insert(accountRow('organization')(org)))
  await storeOrg(db, {
    id: org,
    visibility: 'private',
    members: [climber, owner],
    teams: [
      { id: org * 10, permission: 'owner', members: [owner], roleIds: [] },
      {
        id: own,
        permission: first.level as 'custom',
        members: [climber],
        roleIds: first.level === 'custom' ? [held] : [],
      },
      { id: strong, permission: 'custom', members: [owner], roleIds: [mighty] },
      { id: weak, permission: 'none', members: [], roleIds: [] },
    ],
    roles: [
      { id: held, permissions: first.permissions },
      { id: mighty, permissions: allKeys },
    ],
    grants: [],
  })
  return { org, teams: [own, strong, weak, org * 10], roles: [held, mighty] }
}

const heldBy = async (db: SqlDatabase, userId: number, org: number): Promise<readonly string[]> => {
  const context = await makeRoleFixture(db).context(userId, org)
  return schema.permissions.filter((one) => rightsOf(false, context, schema).holds(one)).map(permissionKey)
}

test("no sequence of role and team operations escalates a member's permissions", async (t) => {
  const url = `sqlite:${await migratedSqlitePath()}`
  const service: TestService = await startService({ settings: { MOORAGE_DATABASE_URL: url } })
  const db = await openPatiently(url)
  try {
    await storeFixture(db, { users: [climber, owner], orgs: [], clusters: [], tokens: [] })
    const token = await service.tokenFor(nameOf(climber))
    const succeeded = new Set<string>()
    await fc.assert(
      fc.asyncProperty(start, fc.array(attempt, { minLength: 1, maxLength: 6 }), async (first, attempts) => {
        const place = await storeClimb(db, first)
        const before = await heldBy(db, climber, place.org)
        const tried: string[] = []
        for (const { method, path, body } of attempts) {
          const answer = await service.send(method, `/api/v1${path(place)}`, { token, body: body(place) })
          tried.push(`${method} ${path(place)} ${JSON.stringify(body(place))} -> ${answer.status}`)
          t.true(answer.status < 500, `${tried.at(-1) ?? ''} ${answer.text}`)
          if (answer.status < 300) succeeded.add(method + ' ' + path(place).replaceAll(/\d+/g, ''))
        }
        const gained = (await heldBy(db, climber, place.org)).filter((key) => !before.includes(key))
        t.deepEqual(gained, [], tried.join('\n'))
      }),
      // The climb must not fail for want of trying: the example is allowed.
      { numRuns: 60, examples: [[{ level: 'admin', permissions: [] }, [...allowed]]] },
    )
    t.is(succeeded.size, 6, [...succeeded].join())
  } finally {
    await db.close()
    await service.stop()
  }
})
