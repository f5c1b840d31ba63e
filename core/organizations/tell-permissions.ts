import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { EntryRefusal } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { MemberMissing, OrganizationMissing } from './failures.ts'
import { makeFindOrganization } from './find-organization.ts'
import { isShown, userIdOf } from './find-user.ts'
import type { MembershipStore, OrganizationStore } from './ports.ts'
import type { Standing } from './types.ts'

/** What a user holds in an organization; told to the user, to members of the organization and to site admins. */
export const makeTellPermissions = (deps: {
  readonly organizations: OrganizationStore
  readonly memberships: MembershipStore
  readonly clock: Clock
}) => {
  const findOrganization = makeFindOrganization(deps)
  return async (
    call: SignedInCall,
    login: string,
    orgName: string,
  ): Outcome<Failure<'OrganizationMissing' | 'MemberMissing'> | EntryRefusal, Standing> => {
    const found = await findOrganization(call, orgName, 'missing')
    if (isLeft(found)) return found
    const { organization, viewer, isMember, barred } = found.right
    if (barred !== undefined) return left(barred)
    const account = await deps.memberships.findAccount(login)
    const userId = userIdOf(account)
    const isSelf = userId === viewer.userId
    if (!isSelf && !isMember && !viewer.isSiteAdmin) {
      return left(OrganizationMissing('You are not a member of this organization.'))
    }
    const standing = await deps.memberships.standing(organization.id, userId)
    return standing.isMember || isShown(call, account) ? right(standing) : left(MemberMissing('There is no such user.'))
  }
}
