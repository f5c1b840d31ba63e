import { left } from 'fp-ts/lib/Either.js'
import type { OrgId } from '../kernel/ids.ts'
import type { EntryRefusal } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { MembershipActionUnknown } from './failures.ts'
import type { makeRemoveMember } from './remove-member.ts'
import type { makeSetMemberVisibility } from './set-member-visibility.ts'

type Refusal = Failure<'MembershipActionUnknown' | 'MemberMissing' | 'BeyondOwnRights' | 'OrganizationMissing' | 'LastOwner'> | EntryRefusal

/** The one-route form of showing and hiding a membership, removing a member and leaving. */
export const makeActOnMember =
  (deps: {
    readonly remove: ReturnType<typeof makeRemoveMember>
    readonly setVisibility: ReturnType<typeof makeSetMemberVisibility>
  }) =>
  async (call: SignedInCall, orgId: OrgId, action: string, userId: number): Outcome<Refusal, void> => {
    switch (action) {
      case 'public':
      case 'private':
        return deps.setVisibility(call, orgId, { id: userId }, action === 'public')
      case 'leave':
        return userId === call.principal.userId
          ? deps.remove(call, orgId, { id: userId })
          : left(MembershipActionUnknown('Only the caller can leave: uid must be your own.'))
      case 'remove':
        return deps.remove(call, orgId, { id: userId })
      default:
        return left(MembershipActionUnknown('The action is one of private, public, remove and leave.'))
    }
  }
