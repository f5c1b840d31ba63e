import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OrgId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { OrganizationMissing, PolicyChanged, PolicyRefused } from './failures.ts'
import type { OrganizationPolicy, PolicyContent } from './policy-ports.ts'
import type { OrganizationStores } from './ports.ts'

export const maxGraceDays = 90
export const maxTokenLifeDays = 3650

export interface PolicyInput {
  readonly requiresSecondFactor?: boolean
  readonly graceDays?: number
  readonly maxTokenLifeDays?: number
}

type Refusal = Failure<'PolicyRefused' | 'PolicyChanged' | 'OrganizationMissing'>

const isWithin = (value: number | undefined, max: number): boolean => value === undefined || (Number.isInteger(value) && value >= 0 && value <= max)

const checked = (input: PolicyInput): Either<Failure<'PolicyRefused'>, void> => {
  if (!isWithin(input.graceDays, maxGraceDays)) return left(PolicyRefused(`The grace is 0 to ${maxGraceDays} days.`))
  return isWithin(input.maxTokenLifeDays, maxTokenLifeDays)
    ? right(undefined)
    : left(PolicyRefused(`Tokens may live 1 to ${maxTokenLifeDays} days, or with 0 for ever.`))
}

/** The grace counts from the moment at which the demand was switched on, also when its length changes later. */
const changedPolicy = (before: PolicyContent, input: PolicyInput, now: Date): PolicyContent => {
  const graceDays = input.graceDays ?? before.graceDays
  const { secondFactorFrom } = before
  const isDemanded = input.requiresSecondFactor ?? secondFactorFrom !== undefined
  const since = secondFactorFrom === undefined ? now : laterByDays(secondFactorFrom, -before.graceDays)
  return {
    secondFactorFrom: isDemanded ? laterByDays(since, graceDays) : undefined,
    graceDays,
    maxTokenLifeDays: input.maxTokenLifeDays ?? before.maxTokenLifeDays,
  }
}

const isSame = (a: PolicyContent, b: PolicyContent): boolean =>
  a.secondFactorFrom?.getTime() === b.secondFactorFrom?.getTime() && a.graceDays === b.graceDays && a.maxTokenLifeDays === b.maxTokenLifeDays

/**
 * Changes what an organization demands of its members. Whoever demands a second factor, or changes from when, has one,
 * so that nobody locks themselves out. Members are told by mail afterwards (`tellSecondFactor`).
 */
export const makeChangePolicy =
  (deps: { readonly uow: UnitOfWork<OrganizationStores>; readonly clock: Clock }) =>
  async (call: SignedInCall<OrganizationPolicy>, id: OrgId, input: PolicyInput, expectedVersion: number | undefined): Outcome<Refusal, OrganizationPolicy> => {
    const limits = checked(input)
    if (isLeft(limits)) return limits
    return deps.uow.run<Refusal, OrganizationPolicy>(call, async (stores) => {
      const organization = (await stores.organizations.lock(id)) ? await stores.organizations.findById(id) : undefined
      const before = organization === undefined ? undefined : await stores.policies.find(id)
      if (organization === undefined || before === undefined) return left(OrganizationMissing('There is no such organization.'))
      if (expectedVersion !== undefined && expectedVersion !== before.version) return left(changedSince())
      const after = changedPolicy(before, input, deps.clock.now())
      const isNewDemand = after.secondFactorFrom !== undefined && after.secondFactorFrom.getTime() !== before.secondFactorFrom?.getTime()
      if (isNewDemand && !(await stores.policies.hasSecondFactor(call.principal.userId))) {
        return left(PolicyRefused('Enrol a second factor for your own account first: otherwise the organization would let you in no more.'))
      }
      if (isSame(before, after)) return right(before)
      if (!(await stores.policies.replace(id, after, before.version))) return left(changedSince())
      if (isNewDemand) await stores.policies.forgetNotices(id)
      await stores.audit.record({
        action: 'organization.policy_changed',
        objectType: 'organization',
        objectId: id,
        objectName: organization.name,
        tenantId: id,
        changes: {
          two_factor_from: after.secondFactorFrom?.toISOString() ?? null,
          two_factor_grace_days: after.graceDays,
          max_token_life_days: after.maxTokenLifeDays,
        },
      })
      return right({ ...after, version: before.version + 1 })
    })
  }

const changedSince = () => PolicyChanged('The policy was changed by somebody else meanwhile.')
