import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { storeFixture } from './stored-fixture.ts'
import type { Fixture } from './fixture.ts'
import { nameOf } from './account-names.ts'
import { openPatiently } from '../support/databases.ts'

/** Who is who in `servedFixture`. The first account of the service itself is its site admin. */
export const people = { owner: 51, admin: 52, viewer: 53, outsider: 54 } as const
export const served = { org: 61, otherOrg: 62, openOrg: 63 } as const

/**
 * A private organization, another one with an owner of its own, and a public one; each with teams, a role and a
 * cluster.
 */
const servedFixture: Fixture = {
  users: Object.values(people),
  orgs: [
    {
      id: served.org,
      visibility: 'private',
      members: [people.owner, people.admin, people.viewer],
      teams: [
        { id: 611, permission: 'owner', members: [people.owner], roleIds: [] },
        { id: 612, permission: 'admin', members: [people.admin], roleIds: [] },
        { id: 613, permission: 'custom', members: [people.viewer], roleIds: [6101] },
      ],
      roles: [{ id: 6101, permissions: ['cluster_mgmt/view clusters'] }],
      grants: [],
    },
    {
      id: served.otherOrg,
      visibility: 'private',
      members: [people.outsider],
      teams: [{ id: 621, permission: 'owner', members: [people.outsider], roleIds: [] }],
      roles: [{ id: 6201, permissions: ['cluster_mgmt/view clusters'] }],
      grants: [],
    },
    {
      id: served.openOrg,
      visibility: 'public',
      members: [people.outsider],
      teams: [{ id: 631, permission: 'owner', members: [people.outsider], roleIds: [] }],
      roles: [],
      grants: [],
    },
  ],
  clusters: [
    { id: 611_001, ownerId: served.org },
    { id: 621_001, ownerId: served.otherOrg },
    { id: 511_001, ownerId: people.owner },
  ],
  tokens: [{ id: 7001, userId: people.outsider }],
}

export interface FixtureService extends TestService {
  /** A token of one of the people, with all scopes unless told. */
  tokenOf(userId: number, scopes?: readonly string[]): Promise<string>
  /** The header that carries such a token. */
  as(userId: number): Promise<{ readonly Authorization: string }>
}

/** The real service over a database that holds the fixture above. */
export const startFixtureService = async (database: 'sqlite' | 'mysql' = 'sqlite'): Promise<FixtureService> => {
  const service = await startService({ database })
  const db = await openPatiently(service.databaseUrl)
  await storeFixture(db, servedFixture)
  await db.close()
  const tokenOf = (userId: number, scopes?: readonly string[]): Promise<string> =>
    service.tokenFor(nameOf(userId), scopes)
  return { ...service, tokenOf, as: async (userId) => ({ Authorization: `Bearer ${await tokenOf(userId)}` }) }
}
