import { left, right } from 'fp-ts/lib/Either.js'
import { makeChangePolicy } from '../../core/organizations/change-policy.ts'
import { OrganizationMissing } from '../../core/organizations/failures.ts'
import type { OrganizationPolicy } from '../../core/organizations/policy-ports.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import type { OrganizationGiven } from './needs.ts'
import { orgOf } from './organizations.handlers.ts'
import { editPolicies, getPolicies } from './policies.routes.ts'

const policiesWire = ({ secondFactorFrom, graceDays, maxTokenLifeDays, version }: OrganizationPolicy) => ({
  value: {
    require_two_factor: secondFactorFrom !== undefined,
    two_factor_grace_days: graceDays,
    two_factor_from: secondFactorFrom?.toISOString(),
    max_token_life_days: maxTokenLifeDays,
  },
  version,
})

export const policyRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const change = makeChangePolicy(given)
  return [
    handle(getPolicies, async ({ grant }) => {
      const policy = await given.policies.find(orgOf(grant))
      return policy === undefined ? left(OrganizationMissing('There is no such organization.')) : right(policiesWire(policy))
    }),
    handleChange(editPolicies, policiesWire, ({ call, grant, body, expectedVersion }) => {
      const input = {
        ...(body.require_two_factor === undefined ? {} : { requiresSecondFactor: body.require_two_factor }),
        ...(body.two_factor_grace_days === undefined ? {} : { graceDays: body.two_factor_grace_days }),
        ...(body.max_token_life_days === undefined ? {} : { maxTokenLifeDays: body.max_token_life_days }),
      }
      return change(call, orgOf(grant), input, expectedVersion)
    }),
  ]
}
