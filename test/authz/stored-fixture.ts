import type { SqlRunner } from '../../adapters/sql/kit/statement.ts'
import type { Fixture, FixtureOrg } from './fixture.ts'
import { clusterNameOf, nameOf } from './account-names.ts'

const created_at = 1_750_000_000_000

type Rows = readonly Readonly<Record<string, unknown>>[]

const insert = async (runner: SqlRunner, table: string, rows: Rows): Promise<void> => {
  if (rows.length > 0) await runner.query((k) => k(table).insert([...rows]))
}

/** The account row of a person or an organization. */
export const accountRow = (kind: string) => (id: number) => ({
  id,
  kind,
  name: nameOf(id),
  lower_name: nameOf(id),
  created_at,
})

/** Writes a fixture into an empty database. */
export const storeFixture = async (runner: SqlRunner, fixture: Fixture): Promise<void> => {
  await insert(runner, 'accounts', fixture.users.map(accountRow('user')))
  await insert(
    runner,
    'accounts',
    fixture.orgs.map(({ id }) => accountRow('organization')(id)),
  )
  await insert(
    runner,
    'users',
    fixture.users.map((id) => ({ id, full_name: `Person ${id}`, password_hash: '', created_at })),
  )
  for (const org of fixture.orgs) await storeOrg(runner, org)
  await insert(
    runner,
    'clusters',
    fixture.clusters.map(({ id, ownerId }) => ({
      id,
      owner_id: ownerId,
      name: clusterNameOf(id),
      display_name: '',
      uid: `uid-${id}`,
      provider: 'generic',
      endpoint: 'https://192.0.2.1',
      phase: 'Active',
      ref: `ref-${id}`,
      created_at,
    })),
  )
  await insert(
    runner,
    'access_tokens',
    fixture.tokens.map(({ id, userId }) => ({
      id,
      user_id: userId,
      name: `token ${id}`,
      token_hash: new Uint8Array(32).fill(id),
      last_eight: '',
      scopes: 'all',
      created_at,
    })),
  )
}

/** Writes one organization, whose account row is already there. */
export const storeOrg = async (runner: SqlRunner, org: FixtureOrg): Promise<void> => {
  const org_id = org.id
  await insert(runner, 'organizations', [{ id: org.id, visibility: org.visibility, created_at }])
  await insert(
    runner,
    'org_members',
    org.members.map((user_id) => ({ org_id, user_id, created_at })),
  )
  await insert(
    runner,
    'teams',
    org.teams.map(({ id, permission }) => ({
      id,
      org_id,
      name: `team${id}`,
      lower_name: `team${id}`,
      permission,
      created_at,
    })),
  )
  await insert(
    runner,
    'team_members',
    org.teams.flatMap(({ id, members }) => members.map((user_id) => ({ team_id: id, user_id, org_id, created_at }))),
  )
  await insert(
    runner,
    'roles',
    org.roles.map(({ id }) => ({
      id,
      org_id,
      name: `role${id}`,
      lower_name: `role${id}`,
      created_at,
      updated_at: created_at,
    })),
  )
  await insert(
    runner,
    'role_permissions',
    org.roles.flatMap(({ id, permissions }) =>
      permissions.map((key) => ({
        role_id: id,
        namespace: key.slice(0, key.indexOf('/')),
        action: key.slice(key.indexOf('/') + 1),
      })),
    ),
  )
  await insert(
    runner,
    'team_roles',
    org.teams.flatMap(({ id, roleIds }) => roleIds.map((role_id) => ({ team_id: id, role_id, org_id }))),
  )
  await insert(
    runner,
    'object_grants',
    org.grants.map(({ objectType, objectId, relation, subjectType, subjectId }) => ({
      object_type: objectType,
      object_id: objectId,
      relation,
      subject_type: subjectType,
      subject_id: subjectId,
      org_id,
      created_at,
    })),
  )
}
