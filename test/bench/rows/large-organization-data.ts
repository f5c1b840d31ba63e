import { withMariaDb } from '../lab.ts'
import type { Progress } from '../progress.ts'

/** How much of everything there is; the proportions are those of the performance notes, section 7. */
export interface DataSize {
  readonly users: number
  readonly objects: number
  readonly organizations: number
}

export const dataSizes: Readonly<Record<'full' | 'small', DataSize>> = {
  full: { users: 100_000, objects: 1_000_000, organizations: 1000 },
  small: { users: 10_000, objects: 100_000, organizations: 100 },
}

const firstUser = 1_000_000
const firstOrganization = 10_000
const teamsInEach = 10
const rolesInEach = 4
const at = Date.UTC(2026, 10, 21)

/**
 * One table's rows as a select over the numbers 0..count-1 (`n`); nothing is left to chance, so every run has the same.
 */
interface Filling {
  readonly what: string
  readonly into: string
  readonly count: number
  readonly select: string
}

/** Persons, and what they are members of: each in one organization and in three of its teams. */
const people = ({ users, organizations }: DataSize): readonly Filling[] => [
  {
    what: 'accounts',
    into: 'accounts (id, kind, name, lower_name, created_at)',
    count: users,
    select: `${firstUser} + n, 'user', concat('person-', n), concat('person-', n), ${at}`,
  },
  {
    what: 'users',
    into: 'users (id, full_name, password_hash, search_name, created_at)',
    count: users,
    select: `${firstUser} + n, concat('Person ', n), '', concat('person-', n), ${at}`,
  },
  {
    what: 'organization accounts',
    into: 'accounts (id, kind, name, lower_name, created_at)',
    count: organizations,
    select: `${firstOrganization} + n, 'organization', concat('org-', n), concat('org-', n), ${at}`,
  },
  {
    what: 'organizations',
    into: 'organizations (id, created_at)',
    count: organizations,
    select: `${firstOrganization} + n, ${at}`,
  },
  {
    what: 'organization members',
    into: 'org_members (org_id, user_id, created_at)',
    count: users,
    select: `${firstOrganization} + n % ${organizations}, ${firstUser} + n, ${at}`,
  },
  {
    what: 'teams',
    into: 'teams (id, org_id, name, lower_name, permission, created_at)',
    count: organizations * teamsInEach,
    select: `n + 1, ${firstOrganization} + n div ${teamsInEach}, concat('team-', n), concat('team-', n), elt(1 + n % 4, 'read', 'write', 'custom', 'none'), ${at}`,
  },
  {
    what: 'team members',
    into: 'team_members (team_id, user_id, org_id, created_at)',
    count: users * 3,
    select: `((n div 3) % ${organizations}) * ${teamsInEach} + (n div 3 + n % 3 * 3) % ${teamsInEach} + 1, ${firstUser} + n div 3, ${firstOrganization} + (n div 3) % ${organizations}, ${at}`,
  },
]

/** Roles on teams, the objects themselves, and grants on every fifth of them. */
const rights = ({ users, objects, organizations }: DataSize): readonly Filling[] => [
  {
    what: 'roles',
    into: 'roles (id, org_id, name, lower_name, created_at, updated_at)',
    count: organizations * rolesInEach,
    select: `n + 1, ${firstOrganization} + n div ${rolesInEach}, concat('role-', n), concat('role-', n), ${at}, ${at}`,
  },
  {
    what: 'role permissions',
    into: 'role_permissions (role_id, namespace, action)',
    count: organizations * rolesInEach * 2,
    select: `n div 2 + 1, 'cluster_mgmt', elt(1 + n % 2, 'view clusters', 'connect to clusters')`,
  },
  {
    what: 'roles of teams',
    into: 'team_roles (team_id, role_id, org_id)',
    count: organizations * teamsInEach,
    select: `n + 1, (n div ${teamsInEach}) * ${rolesInEach} + n % ${rolesInEach} + 1, ${firstOrganization} + n div ${teamsInEach}`,
  },
  {
    what: 'clusters',
    into: 'clusters (id, owner_id, name, display_name, uid, provider, endpoint, phase, ref, created_at)',
    count: objects,
    select: `n + 1, ${firstOrganization} + n % ${organizations}, concat('cluster-', n), concat('cluster-', n), concat('uid-', n), 'Generic', 'https://10.0.0.1', 'Active', concat('ref-', n), ${at}`,
  },
  {
    what: 'grants',
    into: 'object_grants (object_type, object_id, relation, subject_type, subject_id, org_id, created_at)',
    count: objects / 5,
    select: `'cluster', n * 5 + 1, 'can_edit', 'user', ${firstUser} + (n * 5) % ${users}, ${firstOrganization} + (n * 5) % ${organizations}, ${at}`,
  },
]

const rowsInAPiece = 20_000

/**
 * Fills a migrated MariaDB. Whole pieces are made inside the server, which spares sending some hundred megabytes of
 * text.
 */
export async function fillLargeData(url: string, size: DataSize, progress: Progress): Promise<void> {
  await withMariaDb(url, async (run) => {
    // The rows are right by construction; checking each of a million of them against other tables doubles the time.
    await run('set foreign_key_checks = 0')
    await run('set unique_checks = 0')
    for (const { what, into, count, select } of [...people(size), ...rights(size)]) {
      progress.doing(`making ${count} ${what}`)
      for (let from = 0; from < count; from += rowsInAPiece) {
        const to = Math.min(count, from + rowsInAPiece) - 1
        await run(
          `insert into ${into} select ${select} from (select cast(seq as signed) as n from seq_${from}_to_${to}) as numbers`,
        )
      }
    }
    await run(
      'analyze table accounts, users, organizations, org_members, teams, team_members, roles, role_permissions, team_roles, clusters, object_grants',
    )
  })
}

/** Makes a user of the service a member of an organization and of three of its teams, as the others are. */
export async function enrol(url: string, userId: number, organization: number): Promise<void> {
  await withMariaDb(url, async (run) => {
    await run('insert into org_members (org_id, user_id, created_at) values (?, ?, ?)', [
      firstOrganization + organization,
      userId,
      at,
    ])
    for (const team of [0, 3, 6]) {
      await run('insert into team_members (team_id, user_id, org_id, created_at) values (?, ?, ?, ?)', [
        organization * teamsInEach + team + 1,
        userId,
        firstOrganization + organization,
        at,
      ])
    }
  })
}
