import { get } from '../kit/client.js'
import { useRightsOn } from '../kit/permissions.js'
import { useResource } from '../kit/resource.js'

/**
 * @import { Schemas, SessionFacts } from 'api-shapes'
 */

/** Levels of teams, the highest first. */
const levels = ['owner', 'admin', 'write', 'read', 'custom', 'none']

/** Of more teams, the members are not read to show who is in them. */
const mostTeams = 30

/**
 * @typedef {object} Membership
 * @property {Schemas['User']} user
 * @property {Schemas['Team'][]} teams
 * @property {string} level the highest of the teams
 */

/**
 * Reads the members of an organization with their teams.
 *
 * @param {string} orgname
 * @param {AbortSignal} signal
 */
export const readMembers = async (orgname, signal) => {
  const [{ data: users, total }, { data: teams }] = await Promise.all([
    get('/orgs/{orgname}/members', { path: { orgname }, signal }),
    get('/orgs/{orgname}/teams', { path: { orgname }, signal }),
  ])
  const members = await Promise.all(
    teams.slice(0, mostTeams).map(async (team) => ({
      team,
      users: (await get('/teams/{teamid}/members', { path: { teamid: team.id }, signal })).data,
    })),
  )
  /** @type {Map<number, Schemas['Team'][]>} */
  const teamsOf = new Map()
  for (const { team, users: inTeam } of members)
    for (const { id } of inTeam) teamsOf.set(id, [...(teamsOf.get(id) ?? []), team])
  const items = users.map((user) => {
    const own = teamsOf.get(user.id) ?? []
    const level = levels.find((each) => own.some(({ permission }) => permission === each)) ?? 'none'
    return { user, teams: own, level }
  })
  return { items, total: total ?? items.length, teams }
}

/** Of a user to the own account. */
const allRights = { has: () => true }

/**
 * Returns the relations of the caller to an account by its name, also to one that they are no member of; undefined
 * while they are read.
 *
 * @param {SessionFacts} session
 * @param {string} orgname
 * @returns {{ has(relation: string): boolean } | undefined}
 */
export const useAccountRights = (session, orgname) => {
  const known = session.accounts.find(({ name }) => name === orgname)
  const isOwn = known?.isOrganization === false
  const { value } = useResource(`organization ${orgname}`, async (signal) =>
    known === undefined ? (await get('/orgs/{orgname}', { path: { orgname }, signal })).data.id : known.id,
  )
  const rights = useRightsOn(orgname, 'organization', isOwn ? undefined : value)
  return isOwn ? allRights : rights
}
