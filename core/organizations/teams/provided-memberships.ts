import { isLeft } from 'fp-ts/lib/Either.js'
import type { UserId } from '../../kernel/ids.ts'
import { auditOfTeam } from '../audit.ts'
import type { OrganizationStores, ProvidedMemberships, ReconciledTeams } from '../ports.ts'
import { leaveTeam } from '../team-rules.ts'
import type { Team } from '../types.ts'

type Stores = Pick<OrganizationStores, 'audit' | 'memberships' | 'organizations' | 'teams'>

const enter = async (
  stores: Stores,
  team: Team,
  user: { readonly id: UserId; readonly login: string },
  { source, at }: { readonly source: string; readonly at: Date },
): Promise<void> => {
  if ((await stores.memberships.find(team.orgId, user.id)) === undefined)
    await stores.memberships.add(team.orgId, user.id, at)
  await stores.teams.addMember(team, user.id, at, source)
  await stores.audit.record(auditOfTeam(team, 'team.member_added', { user: user.id, login: user.login, source }))
}

/** Returns false for the last owner, who stays. */
const leave = async (
  stores: Stores,
  team: Team,
  user: { readonly id: UserId; readonly login: string },
  source: string,
): Promise<boolean> => {
  if (isLeft(await leaveTeam(stores, team, user.id))) return false
  const isWithoutTeam = (await stores.teams.listOfMember(team.orgId, user.id)).length === 0
  const leftOrganization = isWithoutTeam && (await stores.memberships.find(team.orgId, user.id))?.isProvisioned !== true
  if (leftOrganization) await stores.memberships.remove(team.orgId, user.id)
  const facts = { user: user.id, login: user.login, leftOrganization, source }
  await stores.audit.record(auditOfTeam(team, 'team.member_removed', facts))
  return true
}

/** ProvidedMemberships over the stores of a transaction. See the port for its guarantees. */
export const providedMemberships: ProvidedMemberships = {
  async reconcile(stores, user, { source, teamIds, at }) {
    const before = await stores.teams.listProvided(user.id, source)
    const wanted = await Promise.all([...new Set(teamIds)].map((id) => stores.teams.findById(id)))
    const teams = wanted.filter((team) => team !== undefined)
    // In the order of the ids, so that two changes never wait for each other.
    const orgIds = [...new Set([...teams, ...before].map(({ orgId }) => orgId))].sort((a, b) => a - b)
    for (const orgId of orgIds) await stores.organizations.lock(orgId)
    const marked = await stores.teams.listProvided(user.id, source)
    const result: { -readonly [K in keyof ReconciledTeams]: number } = { entered: 0, left: 0, kept: 0 }
    for (const team of teams) {
      if (await stores.teams.hasMember(team.id, user.id)) continue
      await enter(stores, team, user, { source, at })
      result.entered += 1
    }
    for (const team of marked) {
      if (teamIds.includes(team.id)) continue
      if (await leave(stores, team, user, source)) result.left += 1
      else result.kept += 1
    }
    return result
  },
}
