import { left, right } from 'fp-ts/lib/Either.js'
import type { OrgId } from '../kernel/ids.ts'
import type { EntryRefusal } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { barredIn } from './barred-in.ts'
import { BeyondOwnRights, MemberMissing } from './failures.ts'
import { findAccount, userIdOf } from './find-user.ts'
import type { UserRef } from './find-user.ts'
import { inOrganization } from './in-organization.ts'
import type { MemberChangeDeps } from './in-organization.ts'

type Refusal = Failure<'MemberMissing' | 'BeyondOwnRights' | 'OrganizationMissing'> | EntryRefusal

/** Shows a membership to everyone or hides it from outsiders: each member's own choice, and the owners'. */
export const makeSetMemberVisibility =
  (deps: MemberChangeDeps) =>
  (call: SignedInCall, id: OrgId, ref: UserRef, isPublic: boolean): Outcome<Refusal, void> =>
    inOrganization<Refusal, void>(deps, call, id, async ({ stores, organization, rights }) => {
      const barred = await barredIn(stores, deps.clock, call, id)
      if (barred !== undefined) return left(barred)
      const userId = userIdOf(await findAccount(stores.memberships, ref))
      if (userId !== call.principal.userId && !rights.isOwner) return left(BeyondOwnRights('Only owners decide this for other members.'))
      const membership = await stores.memberships.find(id, userId)
      if (membership === undefined) return left(MemberMissing('The user is no member of this organization.'))
      if (membership.isPublic === isPublic) return right(undefined)
      await stores.memberships.setPublic(id, userId, isPublic)
      await stores.audit.record({
        action: isPublic ? 'organization.member_published' : 'organization.member_concealed',
        objectType: 'organization',
        objectId: id,
        objectName: organization.name,
        tenantId: id,
        changes: { user: userId },
      })
      return right(undefined)
    })
