import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { TeamId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { OwnersTeamFixed } from './failures.ts'
import { inTeam } from './in-team.ts'
import type { TeamChangeDeps } from './in-team.ts'
import { levelOfTeam, mayChange, mustHold } from './rights.ts'
import { isOwnersTeam } from './team-rules.ts'

type Refusal = Failure<'OwnersTeamFixed' | 'BeyondOwnRights' | 'TeamMissing'>

/** Deletes a team; whoever was in no other team leaves the organization with it. */
export const makeDeleteTeam =
  (deps: TeamChangeDeps) =>
  (call: SignedInCall, id: TeamId): Outcome<Refusal, void> =>
    inTeam<Refusal, void>(deps, call, id, async ({ stores, team, rights }) => {
      if (isOwnersTeam(team)) return left(OwnersTeamFixed('The team Owners cannot be deleted.'))
      const isAllowed = mustHold(rights, 'delete teams')
      if (isLeft(isAllowed)) return isAllowed
      const below = mayChange(rights, levelOfTeam(team.permission))
      if (isLeft(below)) return below
      await stores.teams.remove(id)
      const membersWhoLeft = await stores.memberships.removeWithoutTeam(team.orgId)
      await stores.audit.record({
        action: 'team.deleted',
        objectType: 'team',
        objectId: id,
        objectName: team.name,
        tenantId: team.orgId,
        changes: { membersWhoLeft },
      })
      return right(undefined)
    })
