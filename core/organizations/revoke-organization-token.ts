import { left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, TokenId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { OrganizationTokenMissing } from './failures.ts'
import type { OrganizationStores } from './ports.ts'

/** Revokes a token that is confined to the organization, whoever made it. */
export const makeRevokeOrganizationToken =
  (deps: { readonly uow: UnitOfWork<OrganizationStores> }) =>
  async (call: SignedInCall, orgId: OrgId, id: TokenId): Outcome<Failure<'OrganizationTokenMissing'>, void> =>
    deps.uow.run<Failure<'OrganizationTokenMissing'>, void>(call, async ({ tokens, audit }) => {
      const found = await tokens.find(orgId, id)
      if (found === undefined || !(await tokens.remove(orgId, id))) {
        return left(OrganizationTokenMissing('The organization has no such token.'))
      }
      await audit.record({
        action: 'organization.token_revoked',
        objectType: 'token',
        objectId: id,
        objectName: found.name,
        tenantId: orgId,
        changes: { user: found.userId },
      })
      return right(undefined)
    })
