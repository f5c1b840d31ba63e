import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Page } from '../../kernel/page.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { AccountNotEligible, MemberMissing } from '../failures.ts'
import { asUser } from '../member-rules.ts'
import type { MembershipStore, OrganizationStore } from '../ports.ts'
import type { Organization } from '../types.ts'
import type {
  CreateOrganizationDeps,
  CreateOrganizationFailure,
  ListOrganizationsOfUserInput,
} from './organizations.ts'
import { makeCreateOrganization } from './organizations.ts'
import type { ProfileInput } from '../organization-rules.ts'

/** Lists all organizations of a user, for a site admin. */
export const makeListAllOrganizationsOfUser =
  (deps: {
    readonly memberships: Pick<MembershipStore, 'findAccount'>
    readonly organizations: Pick<OrganizationStore, 'listOfUser'>
  }) =>
  async (
    _call: SignedInCall,
    { login, page }: ListOrganizationsOfUserInput,
  ): Outcome<Failure<'MemberMissing'>, Page<Organization>> => {
    const id = asUser(await deps.memberships.findAccount(login))
    return isLeft(id) ? id : right(await deps.organizations.listOfUser(id.right, page))
  }

export interface CreateOrganizationForUserInput {
  /** The login of the owner. */
  readonly owner: string
  readonly name: string
  readonly profile: ProfileInput
}

/** Creates an organization for another user, who becomes its owner. For a site admin. */
export const makeCreateOrganizationForUser = (
  deps: CreateOrganizationDeps & { readonly memberships: Pick<MembershipStore, 'findAccount'> },
) => {
  const create = makeCreateOrganization(deps)
  return async (
    call: SignedInCall<Organization>,
    { owner, name, profile }: CreateOrganizationForUserInput,
  ): Outcome<CreateOrganizationFailure | Failure<'MemberMissing' | 'AccountNotEligible'>, Organization> => {
    const account = await deps.memberships.findAccount(owner)
    if (account?.kind !== 'user') return left(MemberMissing('The user does not exist.'))
    if (!account.isActive) return left(AccountNotEligible('An inactive account cannot become an owner.'))
    return create(call, { ...profile, name, ownerId: account.id as UserId })
  }
}
