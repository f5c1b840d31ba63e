import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Call, SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditOfLocalSignIn } from './audit.ts'
import { LocalSignInNeeded } from './failures.ts'
import type {
  ExternalAccountStore,
  ExternalSessionStore,
  LocalSignInFacts,
  LocalSignInStore,
  ProviderOwner,
  ProviderStores,
} from './ports.ts'

/**
 * Reports whether a user must sign in at a provider. Organizations decide nothing about site admins. A site admin keeps
 * the password without another way in, and so does the last one.
 */
export const isLocalSignInOff = (facts: LocalSignInFacts): boolean => {
  if (!facts.isSiteAdmin) return facts.isSiteOff || facts.isOrganizationOff || facts.isEnded
  if (!facts.hasOtherAdmin) return false
  return facts.isEnded || (facts.isSiteOff && facts.hasSiteLink)
}

/** Returns whether local sign-in is off for an owner. */
export const makeShowLocalSignIn =
  ({ localSignIn }: { readonly localSignIn: LocalSignInStore }) =>
  async (_call: SignedInCall<never>, owner: ProviderOwner): Outcome<never, boolean> =>
    right(await localSignIn.isOff(owner))

export interface SwitchLocalSignInDeps {
  readonly unitOfWork: UnitOfWork<ProviderStores>
  readonly clock: Clock
}

const record = async (
  deps: SwitchLocalSignInDeps,
  stores: ProviderStores,
  owner: ProviderOwner,
  isOff: boolean,
): Promise<void> => {
  if (!(await stores.localSignIn.setOff(owner, isOff, deps.clock.now()))) return
  await stores.audit.record(
    auditOfLocalSignIn({ owner }, isOff ? 'local_sign_in.switched_off' : 'local_sign_in.switched_on'),
  )
}

/**
 * Switches local sign-in off, or on again. It is switched off only by a caller whose session came from a provider of
 * the owner: a provider that does not work locks no one out.
 */
export const makeSwitchLocalSignIn =
  (
    deps: SwitchLocalSignInDeps & {
      readonly sessions: Pick<ExternalSessionStore, 'find'>
      readonly accounts: Pick<ExternalAccountStore, 'listOfUser'>
    },
  ) =>
  async (
    call: SignedInCall<void>,
    { owner, isOff }: { readonly owner: ProviderOwner; readonly isOff: boolean },
  ): Outcome<Failure<'LocalSignInNeeded'>, void> => {
    const { sessionId, userId } = call.principal
    const session = isOff && sessionId !== undefined ? await deps.sessions.find(sessionId) : undefined
    const linked = session === undefined ? undefined : await deps.accounts.listOfUser(userId)
    const isProven =
      linked?.some(({ account, provider }) => account.id === session?.accountId && provider.orgId === owner) === true
    if (isOff && !isProven)
      return left(
        LocalSignInNeeded(
          'Sign in with an identity provider of ' +
            `${owner === undefined ? 'the site' : 'this organization'} first, and switch local sign-in off in that ` +
            'session. This proves that the provider works.',
        ),
      )
    return deps.unitOfWork.run<never, void>(call, async (stores) => {
      await record(deps, stores, owner, isOff)
      return right(undefined)
    })
  }

/** Switches local sign-in on, for the operator at the command line. */
export const makeOpenLocalSignIn =
  (deps: SwitchLocalSignInDeps) =>
  (call: Call, owner: ProviderOwner): Outcome<never, void> =>
    deps.unitOfWork.run<never, void>(call, async (stores) => {
      await record(deps, stores, owner, false)
      return right(undefined)
    })
