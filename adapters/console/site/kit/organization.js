import { get } from './client.js'
import { useRightsOn } from './permissions.js'
import { useResource } from './resource.js'

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

/**
 * Returns the relations of the caller to an organization by its name, also to one that they are no member of; undefined
 * while they are read.
 *
 * @param {SessionFacts} session
 * @param {string} orgname
 */
export const useOrganizationRights = (session, orgname) => {
  const known = session.accounts.find(({ name }) => name === orgname)
  const { value } = useResource(`organization ${orgname}`, async (signal) =>
    known === undefined ? (await get('/orgs/{orgname}', { path: { orgname }, signal })).data.id : known.id,
  )
  return useRightsOn(orgname, 'organization', value)
}
