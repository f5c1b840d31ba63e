import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OrgId } from '../kernel/ids.ts'
import type { EntryRefusal } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { barredIn } from './barred-in.ts'
import { LastOwner, MemberMissing } from './failures.ts'
import { findAccount, userIdOf } from './find-user.ts'
import type { UserRef } from './find-user.ts'
import { inOrganization } from './in-organization.ts'
import type { MemberChangeDeps } from './in-organization.ts'
import { mayChange, mustHold } from './rights.ts'

type Refusal = Failure<'MemberMissing' | 'BeyondOwnRights' | 'OrganizationMissing' | 'LastOwner'> | EntryRefusal

/** Takes a member out of the organization and all of its teams: anyone themselves, whatever the organization demands, others only below the caller. */
export const makeRemoveMember =
  (deps: MemberChangeDeps) =>
  (call: SignedInCall, id: OrgId, ref: UserRef): Outcome<Refusal, void> =>
    inOrganization<Refusal, void>(deps, call, id, async ({ stores, organization, rights }) => {
      const account = await findAccount(stores.memberships, ref)
      const userId = userIdOf(account)
      const isSelf = userId === call.principal.userId
      if (!isSelf) {
        const barred = await barredIn(stores, deps.clock, call, id)
        if (barred !== undefined) return left(barred)
        const isAllowed = mustHold(rights, 'remove members')
        if (isLeft(isAllowed)) return isAllowed
      }
      const standing = await stores.memberships.standing(id, userId)
      if (!standing.isMember) return left(MemberMissing('The user is no member of this organization.'))
      const below = isSelf ? right(undefined) : mayChange(rights, standing.level)
      if (isLeft(below)) return below
      if (standing.level === 'owner') {
        const owners = await stores.teams.findByPermission(id, 'owner')
        if (owners !== undefined && (await stores.teams.countMembers(owners.id, 2)) < 2) {
          return left(LastOwner('An organization keeps at least one owner. Make somebody else an owner first.'))
        }
      }
      await stores.memberships.remove(id, userId)
      await stores.audit.record({
        action: 'organization.member_removed',
        objectType: 'organization',
        objectId: id,
        objectName: organization.name,
        tenantId: id,
        changes: { user: userId, login: account?.name ?? '' },
      })
      return right(undefined)
    })
