import type { RelationTerm } from '../../core/kernel/access.ts'
import { catalogue } from './catalogue.ts'
import type { Fixture, FixtureOrg, FixtureTeam } from './fixture.ts'

const ranks = ['none', 'read', 'write', 'admin', 'owner']
const rank = (level: string): number => Math.max(0, ranks.indexOf(level))

interface Thing {
  readonly type: string
  readonly id: number
  readonly ownerId: number
}

/** The object of a type and id, or undefined; the slow and obvious way. */
const thingOf = (fixture: Fixture, type: string, id: number): Thing | undefined => {
  if (type === 'user') return fixture.users.includes(id) ? { type, id, ownerId: id } : undefined
  if (type === 'organization') return fixture.orgs.some((org) => org.id === id) ? { type, id, ownerId: id } : undefined
  if (type === 'team') {
    const org = fixture.orgs.find(({ teams }) => teams.some((team) => team.id === id))
    return org && { type, id, ownerId: org.id }
  }
  if (type === 'role') {
    const org = fixture.orgs.find(({ roles }) => roles.some((role) => role.id === id))
    return org && { type, id, ownerId: org.id }
  }
  const owned =
    type === 'cluster' ? fixture.clusters : fixture.tokens.map((token) => ({ id: token.id, ownerId: token.userId }))
  const found = (type === 'cluster' || type === 'token') && owned.find((one) => one.id === id)
  return found ? { type, id, ownerId: found.ownerId } : undefined
}

const teamsOf = (org: FixtureOrg, userId: number): readonly FixtureTeam[] =>
  org.members.includes(userId) ? org.teams.filter((team) => team.members.includes(userId)) : []

const holdsByTerm = (fixture: Fixture, userId: number, thing: Thing, term: RelationTerm): boolean => {
  const org = fixture.orgs.find(({ id }) => id === thing.ownerId)
  const isOwn = thing.ownerId === userId && thing.type !== 'user' && thing.type !== 'token'
  const level = isOwn ? 4 : Math.max(0, ...(org ? teamsOf(org, userId) : []).map((team) => rank(team.permission)))
  switch (term.by) {
    case 'self':
      return thing.type === 'user' && thing.id === userId
    case 'owner':
      return thing.ownerId === userId
    case 'member':
      return isOwn || org?.members.includes(userId) === true
    case 'signed-in':
      return org !== undefined && (org.visibility !== 'private' || org.members.includes(userId))
    case 'level':
      return level >= rank(term.atLeast)
    case 'permission': {
      const definition = catalogue.permissions.find(
        ({ namespace, action }) => namespace === term.namespace && action === term.action,
      )
      if (definition !== undefined && level >= rank(definition.level)) return true
      const roleIds = (org ? teamsOf(org, userId) : []).flatMap((team) => team.roleIds)
      return (
        org?.roles.some(
          (role) => roleIds.includes(role.id) && role.permissions.includes(`${term.namespace}/${term.action}`),
        ) === true
      )
    }
    case 'container':
      // No type of this build is inside another; test/authz/added-types.test.ts adds some.
      return false
    case 'direct':
      return (
        org?.members.includes(userId) === true &&
        org.grants.some(
          (grant) =>
            grant.objectType === thing.type &&
            grant.objectId === thing.id &&
            grant.relation === term.relation &&
            (grant.subjectType === 'user'
              ? grant.subjectId === userId
              : teamsOf(org, userId).some((team) => team.id === grant.subjectId)),
        )
      )
  }
}

/** The relations that a person holds on an object, found by trying every term of every relation on the whole fixture. */
export const walk = (fixture: Fixture, userId: number, type: string, id: number): readonly string[] => {
  const thing = thingOf(fixture, type, id)
  if (thing === undefined) return []
  return catalogue.objectTypes
    .filter((definition) => definition.type === type)
    .flatMap(({ relations }) => Object.entries(relations))
    .filter(([, terms]) => terms.some((term) => holdsByTerm(fixture, userId, thing, term)))
    .map(([relation]) => relation)
    .sort()
}

/** The same within one account, as the allowed-permissions routes ask: what belongs elsewhere counts as absent. */
export const walkWithin = (
  fixture: Fixture,
  accountId: number,
  userId: number,
  type: string,
  id: number,
): readonly string[] => {
  const thing = thingOf(fixture, type, id)
  const isWithin =
    thing !== undefined &&
    (thing.ownerId === accountId || ((type === 'user' || type === 'token') && thing.ownerId === userId))
  return isWithin ? walk(fixture, userId, type, id) : []
}
