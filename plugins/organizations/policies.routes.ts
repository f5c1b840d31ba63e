import { OrganizationMissing, PolicyChanged, PolicyRefused } from '../../core/organizations/failures.ts'
import { read, requires, write } from '../kit/access.ts'
import { versioned } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { EditPoliciesOption, organizationInPath, OrgPath, OrgPolicies, policiesExample } from './codecs.ts'

const tag = 'Identity - Organizations & Teams'

export const getPolicies = defineRoute({
  id: 'organizations.getPolicies',
  method: 'GET',
  path: '/orgs/{orgname}/policies',
  summary: 'Tell what an organization demands of its members',
  description: '`two_factor_from` is the moment from which members without a second factor are not let in.',
  tag,
  access: requires('can_view_policies', organizationInPath),
  scope: read('organization'),
  params: OrgPath,
  ok: versioned(200, OrgPolicies, policiesExample),
  failures: [OrganizationMissing],
})

export const editPolicies = defineRoute({
  id: 'organizations.editPolicies',
  method: 'PATCH',
  path: '/orgs/{orgname}/policies',
  summary: 'Demand a second factor of members, limit how long access tokens live',
  description:
    'A field that is not sent stays as it is. After the grace, members without a second factor are refused with code `SecondFactorDemanded`; members are told by mail at once and three days before. Tokens that live longer than `max_token_life_days` (0: any) are refused with code `TokenLifeTooLong`, those that exist included. Whoever demands a second factor has one.',
  tag,
  access: requires('can_edit_policies', organizationInPath),
  scope: write('organization'),
  params: OrgPath,
  body: body(EditPoliciesOption, { require_two_factor: true, two_factor_grace_days: 14, max_token_life_days: 90 }),
  ok: versioned(200, OrgPolicies, policiesExample),
  failures: [PolicyRefused, PolicyChanged, OrganizationMissing],
})
