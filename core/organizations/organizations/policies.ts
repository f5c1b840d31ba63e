import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterByDays } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { OrgId } from '../../kernel/ids.ts'
import type { Mail } from '../../mail/ports.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import { secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfOrganization } from '../audit.ts'
import { OrganizationMissing, PolicyChanged, PolicyRefused } from '../failures.ts'
import type {
  OrganizationStores,
  DueNotice,
  OrganizationPolicy,
  PolicyContent,
  PolicyStore,
  SecondFactorNotice,
} from '../ports.ts'

export const maxGraceDays = 90
export const maxTokenLifeDays = 3650

export interface PolicyInput {
  readonly requiresSecondFactor?: boolean
  readonly graceDays?: number
  readonly maxTokenLifeDays?: number
  readonly requiresPasskey?: boolean
}

/** Returns what an organization requires of its members. */
export const makeGetPolicy =
  (deps: { readonly policies: Pick<PolicyStore, 'find'> }) =>
  async (_call: SignedInCall, orgId: OrgId): Outcome<Failure<'OrganizationMissing'>, OrganizationPolicy> => {
    const policy = await deps.policies.find(orgId)
    return policy === undefined ? left(OrganizationMissing('The organization does not exist.')) : right(policy)
  }

export interface ChangePolicyInput {
  readonly orgId: OrgId
  readonly change: PolicyInput
  /** If set, the change applies to this version of the policy only. */
  readonly expectedVersion: number | undefined
}

type ChangePolicyFailure = Failure<'PolicyRefused' | 'PolicyChanged' | 'OrganizationMissing'>

const isWithin = (value: number | undefined, max: number): boolean =>
  value === undefined || (Number.isInteger(value) && value >= 0 && value <= max)

const checked = (input: PolicyInput): Either<Failure<'PolicyRefused'>, void> => {
  if (!isWithin(input.graceDays, maxGraceDays)) return left(PolicyRefused(`The grace is 0 to ${maxGraceDays} days.`))
  return isWithin(input.maxTokenLifeDays, maxTokenLifeDays)
    ? right(undefined)
    : left(PolicyRefused(`max_token_life_days must be 1 to ${maxTokenLifeDays}, or 0 for no limit.`))
}

/**
 * The grace period is counted from the moment at which the requirement was switched on, even if its length changes
 * later.
 */
const changedPolicy = (before: PolicyContent, input: PolicyInput, now: Date): PolicyContent => {
  const graceDays = input.graceDays ?? before.graceDays
  const { secondFactorFrom } = before
  const isDemanded = input.requiresSecondFactor ?? secondFactorFrom !== undefined
  const since = secondFactorFrom === undefined ? now : laterByDays(secondFactorFrom, -before.graceDays)
  return {
    secondFactorFrom: isDemanded ? laterByDays(since, graceDays) : undefined,
    graceDays,
    maxTokenLifeDays: input.maxTokenLifeDays ?? before.maxTokenLifeDays,
    requiresPasskey: input.requiresPasskey ?? before.requiresPasskey,
  }
}

const isSame = (a: PolicyContent, b: PolicyContent): boolean =>
  a.secondFactorFrom?.getTime() === b.secondFactorFrom?.getTime() &&
  a.graceDays === b.graceDays &&
  a.maxTokenLifeDays === b.maxTokenLifeDays &&
  a.requiresPasskey === b.requiresPasskey

/** The caller must meet the requirement, to avoid a lock-out. */
const passkeyFirst = (): Failure<'PolicyRefused'> =>
  PolicyRefused(
    'Sign in with a passkey yourself first: otherwise you lose access to the organization. Add one at /account.',
  )

/**
 * Changes what an organization requires of its members. A caller who requires a second factor, or changes its start,
 * must have one, to avoid a lock-out; one who requires passkeys must have signed in with one. Members are notified by mail afterwards (`notifySecondFactor`).
 */
export const makeChangePolicy =
  (deps: { readonly unitOfWork: UnitOfWork<OrganizationStores>; readonly clock: Clock }) =>
  async (
    call: SignedInCall<OrganizationPolicy>,
    { orgId: id, change, expectedVersion }: ChangePolicyInput,
  ): Outcome<ChangePolicyFailure, OrganizationPolicy> => {
    const limits = checked(change)
    if (isLeft(limits)) return limits
    return deps.unitOfWork.run<ChangePolicyFailure, OrganizationPolicy>(call, async (stores) => {
      const organization = (await stores.organizations.lock(id)) ? await stores.organizations.findById(id) : undefined
      const before = organization === undefined ? undefined : await stores.policies.find(id)
      if (organization === undefined || before === undefined)
        return left(OrganizationMissing('The organization does not exist.'))
      if (expectedVersion !== undefined && expectedVersion !== before.version) return left(changedSince())
      const after = changedPolicy(before, change, deps.clock.now())
      const isNewDemand =
        after.secondFactorFrom !== undefined && after.secondFactorFrom.getTime() !== before.secondFactorFrom?.getTime()
      if (isNewDemand && !(await stores.policies.hasSecondFactor(call.principal.userId))) {
        return left(
          PolicyRefused(
            'Enrol a second factor for your own account first: otherwise you lose access to the organization.',
          ),
        )
      }
      const isNewlyRequired = after.requiresPasskey && !before.requiresPasskey
      if (isNewlyRequired && call.principal.sessionProof !== 'passkey') return left(passkeyFirst())
      if (isSame(before, after)) return right(before)
      if (!(await stores.policies.replace(id, after, before.version))) return left(changedSince())
      if (isNewDemand) await stores.policies.forgetNotices(id)
      await stores.audit.record(
        auditOfOrganization(organization, 'organization.policy_changed', {
          two_factor_from: after.secondFactorFrom?.toISOString() ?? null,
          two_factor_grace_days: after.graceDays,
          max_token_life_days: after.maxTokenLifeDays,
          require_passkey: after.requiresPasskey,
        }),
      )
      return right({ ...after, version: before.version + 1 })
    })
  }

const changedSince = () => PolicyChanged('The policy was changed by another request. Read it again.')

/** How long before the end of the grace period a member is notified again. */
const nearDays = 3
const batch = 100

/**
 * Notifies members without a second factor, by mail, that their organization requires one: when it is switched on or
 * they join, and again three days before the grace period ends. Returns the number of mails posted; run it until that
 * is 0. A mail is posted in the transaction that records it, so that no member is notified twice, even by concurrent
 * runs.
 */
export const makeNotifySecondFactor =
  (deps: {
    readonly unitOfWork: UnitOfWork<OrganizationStores>
    readonly clock: Clock
    readonly baseUrl: () => string
  }) =>
  async (call: Call): Promise<number> => {
    const nearBefore = laterByDays(deps.clock.now(), nearDays)
    const told = await deps.unitOfWork.run<never, number>(call, async ({ policies, mail }) => {
      let posted = 0
      for (const due of await policies.dueNotices(nearBefore, batch)) {
        const notice: SecondFactorNotice = due.secondFactorFrom.getTime() < nearBefore.getTime() ? 'near' : 'comes'
        if (!(await policies.markTold(due.orgId, due.userId, notice))) continue
        await mail.post(noticeMail(due, deps.clock.now(), deps.baseUrl()))
        posted += 1
      }
      return right(posted)
    })
    return isRight(told) ? told.right : 0
  }

const noticeMail = (due: DueNotice, now: Date, baseUrl: string): Mail => {
  const isOn = due.secondFactorFrom.getTime() <= now.getTime()
  return {
    to: due.email,
    subject: `The organization ${due.orgName} requires a second factor`,
    paragraphs: [
      `Your account ${due.login} has no second factor. The organization ${due.orgName} ${
        isOn
          ? 'admits only members who have one.'
          : `admits only members who have one from ${due.secondFactorFrom.toISOString()} on.`
      }`,
      'Enrol one in the security settings of your account: any app for one-time codes will do.',
    ],
    action: { label: 'Open the security settings', url: secret(`${baseUrl}/user/settings/security`) },
    accountId: due.userId,
  }
}
