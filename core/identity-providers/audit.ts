import { defineAudit } from '../kernel/unit-of-work.ts'
import type { Failure } from '../kernel/failure.ts'
import { definedFields } from '../kernel/json.ts'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { OrganizationDomain, Provider } from './types.ts'
import type { ProviderOwner } from './ports.ts'

/** The audit rows about a provider: in the log of its organization, or of the site. */
export const auditOfProvider = defineAudit(
  'identity_provider',
  [
    'identity_provider.created',
    'identity_provider.changed',
    'identity_provider.deleted',
    'identity_provider.logged_out',
    'identity_provider.groups_unknown',
    'identity_provider.ends_withheld',
    'identity_provider.ends_confirmed',
  ],
  ({ id, name, orgId }: Pick<Provider, 'id' | 'name' | 'orgId'>) => ({
    objectId: id,
    objectName: name,
    ...definedFields({ tenantId: orgId }),
  }),
)

/** The audit rows about the link of a user to a provider, in the log of the user. */
export const auditOfLink = defineAudit(
  'user',
  ['user.external_account_linked', 'user.external_account_unlinked'],
  ({ id, login }: { readonly id: UserId; readonly login: string }) => ({
    objectId: id,
    objectName: login,
    tenantId: id,
  }),
)

/** Returns a refused sign-in with a provider as the audit log of its organization, or of the site, records it. */
export const recordedRefusal = <F extends Failure>(
  { id, name, orgId }: Pick<Provider, 'id' | 'name' | 'orgId'>,
  failure: F,
): F => ({
  ...failure,
  about: {
    action: 'identity_provider.sign_in_refused',
    objectType: 'identity_provider',
    objectId: id,
    objectName: name,
    reason: failure.message,
    ...definedFields({ tenantId: orgId }),
  },
})

export const auditOfDomain = defineAudit(
  'organization_domain',
  [
    'organization_domain.added',
    'organization_domain.verified',
    'organization_domain.lost',
    'organization_domain.removed',
  ],
  ({ id, domain, orgId }: Pick<OrganizationDomain, 'domain' | 'orgId'> & Partial<Pick<OrganizationDomain, 'id'>>) => ({
    ...definedFields({ objectId: id }),
    objectName: domain,
    tenantId: orgId,
  }),
)

/** The audit rows about local sign-in: of an organization, or of the site. */
export const auditOfLocalSignIn = defineAudit(
  'local_sign_in',
  ['local_sign_in.switched_off', 'local_sign_in.switched_on'],
  ({ owner }: { readonly owner: ProviderOwner }) =>
    definedFields({ objectId: owner, tenantId: owner as OrgId | undefined }),
)
