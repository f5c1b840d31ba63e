import { makeSqlHubMembers } from '../../adapters/sql/spokes/hub-members.ts'
import { storeWorld } from '../authz/stored-world.ts'
import { eachDatabase } from '../support/databases.ts'
import { hubMembersSuite, hubMembersWorld } from './hub-members.suite.ts'
import { declareSuite } from '../support/declare-suite.ts'

const { people, organization, other } = hubMembersWorld
const empty = { visibility: 'private', roles: [], grants: [] } as const
const world = {
  users: people,
  orgs: [
    {
      ...empty,
      id: organization.id,
      members: people.filter((id) => id !== 303),
      teams: organization.teams.map((team) => ({ ...team, permission: 'read' as const, roleIds: [] })),
    },
    {
      ...empty,
      id: other.id,
      members: [1],
      teams: [{ id: other.team, permission: 'owner' as const, members: [1], roleIds: [] }],
    },
  ],
  clusters: [],
  tokens: [],
}

for (const database of eachDatabase()) {
  declareSuite(hubMembersSuite, database.name, async () => {
    const db = await database.open()
    await storeWorld(db, world)
    await db.query((k) => k('users').where('id', 304).update({ prohibit_login: 1 }))
    await db.query((k) => k('users').where('id', 305).update({ is_active: 0 }))
    // A robot account of the organization is a member, and no person.
    await db.query((k) =>
      k('accounts').insert({ id: 950, kind: 'user', name: 'n900+robot', lower_name: 'n900+robot', created_at: 1 }),
    )
    await db.query((k) =>
      k('users').insert({ id: 950, full_name: '', password_hash: '', robot_org_id: organization.id, created_at: 1 }),
    )
    await db.query((k) => k('org_members').insert({ org_id: organization.id, user_id: 950, created_at: 1 }))
    return { members: makeSqlHubMembers(db)(db), close: () => db.close() }
  })
}
