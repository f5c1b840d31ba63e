import { path, requires } from '../kit/access.ts'
import type { Versioned } from '../kit/reply.ts'

/** What the routes of SCIM have in common. */
export const scim = {
  tag: 'Provisioning',
  access: requires('can_provision_accounts', { type: 'organization', name: path('orgname') }),
  scopeCategory: 'provisioning',
} as const

/** The form of errors, and of bodies that do not decode. */
export const inScim = { dialect: 'scim' } as const

/** The options of bodies. */
export const scimBody = { refusedAs: 400, malformedAs: 400 } as const

export const root = '/scim/v2/organizations/{orgname}'

/** Returns the address of a resource. */
export const locationOf = ({ value }: Versioned<Readonly<Record<string, unknown>>>): string =>
  String((value['meta'] as { readonly location?: string } | undefined)?.location ?? '')
