import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterBySeconds } from '../../kernel/clock.ts'
import { mapWithin } from '../../kernel/concurrency.ts'
import type { Call } from '../../kernel/principal.ts'
import type { Secret, SecretBox } from '../../kernel/secret.ts'
import { isSameBytes } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { AccessEnd } from '../../identity/access-ports.ts'
import type {
  ExternalAccountStore,
  OpenIdConnect,
  ProviderSettings,
  ProviderStore,
  ProviderStores,
  ProviderCounters,
  Renewal,
} from '../ports.ts'
import { makeClientOf, refreshTokenPlace } from '../sealing.ts'
import type { ExternalAccount, Provider, ProviderId } from '../types.ts'
import type { ReconcileDeps } from './teams.ts'
import { reconcileTeams } from './teams.ts'

const accountsAtOnce = 50
/** Requests to providers under way. */
const requestsAtOnce = 8

export interface CheckAccessDeps extends ReconcileDeps {
  readonly accounts: ExternalAccountStore
  readonly providers: Pick<ProviderStore, 'active' | 'mark'>
  readonly openIdConnect: OpenIdConnect
  readonly unitOfWork: UnitOfWork<ProviderStores>
  readonly secretBox: SecretBox
  readonly accessEnd: AccessEnd
  readonly settings: ProviderSettings
  readonly tally: ProviderCounters
  readonly clock: Clock
}

/** Ends the access of a person for whom the provider renews none. */
const endAccess = (deps: CheckAccessDeps, call: Call, provider: Provider, checked: ExternalAccount): Promise<unknown> =>
  deps.unitOfWork.run<never, void>(call, async (stores) => {
    const user = await stores.identity.users.lock(checked.userId)
    const account = await stores.accounts.lockById(checked.id)
    // The person was unlinked, or has signed in again, since the check began.
    const [now, before] = [account?.sealedRefreshToken, checked.sealedRefreshToken]
    if (user === undefined || now === undefined || before === undefined || !isSameBytes(now, before))
      return right(undefined)
    // An organization decides nothing about a site admin.
    if (provider.orgId !== undefined && user.isAdmin) return right(undefined)
    const at = deps.clock.now()
    await deps.accessEnd.end(stores.identity, user, { at, because: `identity provider ${provider.name}` })
    await stores.accounts.markEnded(checked.id, at)
    return right(undefined)
  })

const recordRenewal = async (
  deps: CheckAccessDeps,
  call: Call,
  provider: Provider,
  account: ExternalAccount,
  { refreshToken, ...said }: Renewal,
): Promise<void> => {
  const { sealedRefreshToken: before } = account
  if (refreshToken !== undefined && before !== undefined)
    await deps.accounts.replaceToken(
      account.id,
      before,
      await deps.secretBox.seal(refreshToken, refreshTokenPlace(account)),
    )
  if (said.groups === undefined && !said.hasGroupsOverage) return
  await deps.unitOfWork.run<never, void>(call, async (stores) => {
    const user = await stores.identity.users.lock(account.userId)
    if (user !== undefined) await reconcileTeams(deps, stores, provider, user, said)
    return right(undefined)
  })
}

/**
 * Asks the providers whether they still let people in, by renewing access. Only the answer that they do not ends
 * anything: a provider that is away, or refuses this service, changes nothing. Returns the number of checks.
 */
export const makeCheckAccess = (deps: CheckAccessDeps) => {
  const clientOf = makeClientOf(deps.secretBox)

  const check = async (
    call: Call,
    account: ExternalAccount,
    refreshToken: Secret,
    away: Set<ProviderId>,
  ): Promise<void> => {
    const provider = away.has(account.providerId) ? undefined : await deps.providers.active(account.providerId)
    if (provider === undefined) return
    const held = { refreshToken, subject: account.subject, groupsClaim: provider.options.groupsClaim }
    const renewed = await deps.openIdConnect.renew(await clientOf(provider), held, call.signal)
    if (!isLeft(renewed)) {
      deps.tally.check('renewed')
      return recordRenewal(deps, call, provider, account, renewed.right)
    }
    if (renewed.left.tag === 'AccessNotRenewed') {
      deps.tally.check('ended')
      await endAccess(deps, call, provider, account)
      return
    }
    // The others of this provider would hold up those of providers that answer.
    away.add(provider.id)
    deps.tally.check('unavailable')
    await deps.providers.mark(provider.id, renewed.left.message, deps.clock.now())
  }

  const claimed = async (call: Call, account: ExternalAccount, away: Set<ProviderId>): Promise<boolean> => {
    const { sealedRefreshToken: sealed, nextCheckAt } = account
    if (sealed === undefined || nextCheckAt === undefined) return false
    const next = laterBySeconds(deps.clock.now(), deps.settings.checkSeconds)
    if (!(await deps.accounts.claim(account.id, nextCheckAt, next))) return false
    await check(call, account, await deps.secretBox.open(sealed, refreshTokenPlace(account)), away)
    return true
  }

  return async (call: Call): Promise<number> => {
    let count = 0
    const away = new Set<ProviderId>()
    while (!call.signal.aborted) {
      const due = await deps.accounts.due(deps.clock.now(), accountsAtOnce)
      if (due.length === 0) break
      const results = await mapWithin(due, requestsAtOnce, (account) => claimed(call, account, away))
      const checked = results.filter((isChecked) => isChecked).length
      if (checked === 0) break
      count += checked
    }
    return count
  }
}
