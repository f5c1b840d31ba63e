import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { CallerProofs, PresentedProof } from '../../identity/access-ports.ts'
import { auditOfLink } from '../audit.ts'
import { LinkMissing } from '../failures.ts'
import type { ExternalAccountStore, ProviderStores } from '../ports.ts'
import { providerMissing } from '../providers/providers.ts'
import type { LinkedAccount, ProviderId } from '../types.ts'
import type { BeginSignInDeps, BegunSignIn } from './attempts.ts'
import { makeBegin } from './attempts.ts'

/** Lists the caller's links to providers, oldest first. */
export const makeListLinks =
  ({ accounts }: { readonly accounts: Pick<ExternalAccountStore, 'listOfUser'> }) =>
  async (call: SignedInCall<never>): Outcome<never, readonly LinkedAccount[]> =>
    right(await accounts.listOfUser(call.principal.userId))

type ProofFailure = Failure<'ProofRequired'> | Failure<'TooManyAttempts'> | Failure<'NotAuthenticated'>

export interface BeginLinkInput {
  readonly providerId: ProviderId
  readonly proof: PresentedProof
  readonly browserKey: Secret | undefined
}

/** Begins a link of the caller to a provider. The caller proves the password again: a stolen session links nothing. */
export const makeBeginLink = (deps: BeginSignInDeps & { readonly callerProofs: CallerProofs }) => {
  const begin = makeBegin(deps)
  return async (
    call: SignedInCall<never>,
    { providerId, proof, browserKey }: BeginLinkInput,
  ): Outcome<
    Exclude<ProofFailure, Failure<'NotAuthenticated'>> | Failure<'ProviderMissing'> | Failure<'ProviderUnavailable'>,
    BegunSignIn
  > => {
    const provider = await deps.providers.active(providerId)
    if (provider === undefined) return left(providerMissing())
    const proven = await deps.callerProofs.prove(call, proof)
    if (isLeft(proven)) return proven
    return begin(call, provider, { browserKey, linksUserId: call.principal.userId })
  }
}

export interface UnlinkInput {
  readonly providerId: ProviderId
  /** The subject at the provider; empty for whichever is linked. */
  readonly subject: string
  readonly proof: PresentedProof
}

/**
 * Removes a link of the caller, who proves the password again, so that the account still has a way in. Sessions that
 * the link opened end.
 */
export const makeUnlink =
  (deps: {
    readonly unitOfWork: UnitOfWork<ProviderStores>
    readonly callerProofs: CallerProofs
    readonly accounts: Pick<ExternalAccountStore, 'listOfUser'>
  }) =>
  async (
    call: SignedInCall<void>,
    { providerId, subject, proof }: UnlinkInput,
  ): Outcome<ProofFailure | Failure<'LinkMissing'>, void> => {
    const missing = () => left(LinkMissing('Your account has no such link.'))
    const { userId } = call.principal
    const isMeant = ({ account }: LinkedAccount): boolean =>
      account.providerId === providerId && (subject === '' || account.subject === subject)
    if (!(await deps.accounts.listOfUser(userId)).some(isMeant)) return missing()
    const proven = await deps.callerProofs.prove(call, proof)
    if (isLeft(proven)) return proven
    return deps.unitOfWork.run<ProofFailure | Failure<'LinkMissing'>, void>(call, async (stores) => {
      const locked = await deps.callerProofs.lockProven(stores.identity, call, proven.right)
      if (isLeft(locked)) return locked
      const found = (await stores.accounts.listOfUser(userId)).find(isMeant)
      if (found === undefined) return missing()
      const { account, provider } = found
      for (const session of await stores.sessions.ofAccount(account.id))
        if (session !== call.principal.sessionId) await stores.identity.sessions.remove(userId, session)
      await stores.accounts.remove(userId, account.id)
      await stores.audit.record(
        auditOfLink(locked.right, 'user.external_account_unlinked', {
          provider: provider.name,
          provider_id: account.providerId,
          subject: account.subject,
        }),
      )
      return right(undefined)
    })
  }
