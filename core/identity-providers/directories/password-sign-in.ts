import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { AttemptThrottle, Guarded } from '../../identity/attempt-ports.ts'
import { TooManyAttempts } from '../../identity/ports.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { definedFields } from '../../kernel/json.ts'
import type { Call } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { secret } from '../../kernel/secret.ts'
import type { DirectorySearch } from '../ports.ts'
import { ProviderAnswerRefused, ProviderUnavailable } from '../ports.ts'
import { directoryIssuer } from '../providers/directory-form.ts'
import { providerMissing } from '../providers/providers.ts'
import { makeDirectoryOf } from '../sealing.ts'
import type { DirectoryClient, DirectoryPerson, ExternalIdentity, Provider, ProviderId } from '../types.ts'
import { attemptMissing, makeFindAttempt } from '../sign-in/attempts.ts'
import type { FinishedSignIn, FinishSignInDeps, SignInFailure } from '../sign-in/sign-in.ts'
import { completeProven, isOfCaller, makeRefused } from '../sign-in/sign-in.ts'

export interface PasswordSignInDeps extends FinishSignInDeps {
  readonly directories: DirectorySearch
  readonly throttle: AttemptThrottle
}

export interface PasswordSignInInput {
  readonly providerId: ProviderId
  readonly state: string
  readonly username: string
  readonly password: Secret
  readonly browserKey: Secret | undefined
}

const maxName = 255
const control = /\p{Cc}/u

/** Returns the spelling under which attempts at a name are counted that no entry has. */
const nameKey = (name: string): string => name.normalize('NFKC').toLowerCase().replaceAll(/\s+/gu, ' ').trim()

/** The same sentence for a name that does not exist, a wrong password, a locked entry and one that is disabled. */
const wrong = ({ displayName }: Provider): Failure<'ProviderAnswerRefused'> =>
  ProviderAnswerRefused(
    `${displayName} does not accept this name and password. Look at both and try again; after many failed attempts ` +
      'wait before the next one.',
  )

/** Anyone may try to sign in, so the sentence says nothing about the network of this service. */
const away = ({ displayName }: Provider, { reason }: Failure): Failure<'ProviderUnavailable'> =>
  ProviderUnavailable(
    `${displayName} cannot be reached at the moment. Try again later, or ask those who run it.`,
    definedFields({ reason }),
  )

const identityOf = (address: string, person: DirectoryPerson, trustsMail: boolean): ExternalIdentity => ({
  issuer: directoryIssuer(address),
  subject: person.subject,
  email: person.email,
  isEmailVerified: trustsMail && person.email !== '',
  preferredName: person.login,
  fullName: person.fullName,
  groups: person.groups,
  hasGroupsOverage: false,
  sid: '',
  // A directory issues no tokens.
  idToken: secret(''),
  refreshToken: undefined,
})

type Presented = Pick<PasswordSignInInput, 'username' | 'password'>

type ProofFailure = Failure<'ProviderUnavailable'> | Failure<'ProviderAnswerRefused'> | Failure<'TooManyAttempts'>

/** Returns what a guarded attempt proves. */
const provenBy = <F extends Failure>(
  provider: Provider,
  guarded: Guarded<F, DirectoryPerson>,
): Awaited<Outcome<F | Failure<'ProviderAnswerRefused'> | Failure<'TooManyAttempts'>, DirectoryPerson>> => {
  if (guarded.kind === 'judged') return guarded.answer
  if (guarded.kind !== 'address-blocked') return left(wrong(provider))
  const { retryAfterSeconds } = guarded
  return left(TooManyAttempts('Too many failed attempts from this address; wait and try again.', { retryAfterSeconds }))
}

/**
 * Judges a name and a password by a bind as the entry of the name. Failed attempts are counted for the entry, not for
 * the spelling of its name, as those at local passwords are: the directory, which may lock an entry too, gets no more of
 * them.
 */
const prove = async (
  { directories, throttle }: PasswordSignInDeps,
  call: Call,
  provider: Provider,
  directory: DirectoryClient,
  { username, password }: Presented,
): Outcome<ProofFailure, DirectoryPerson> => {
  const { sourceIp, signal } = call
  // A directory answers a bind without a password with success, as that of an anonymous caller.
  if (password.reveal() === '' || username.trim() === '' || username.length > maxName || control.test(username))
    return left(wrong(provider))
  const named = `${provider.id} ${nameKey(username)}`

  const judge = async (): Outcome<ProofFailure, DirectoryPerson> => {
    const entry = await directories.find(directory, username, { sourceIp, signal })
    if (isLeft(entry)) return entry
    const subject = entry.right === undefined ? `provider ${named}` : `provider ${provider.id} ${entry.right.subject}`
    const guarded = await throttle.guard({ kind: 'password', subject, sourceIp }, () =>
      directories.authenticate(directory, { entry: entry.right, password }, { sourceIp, signal }),
    )
    const proven = provenBy(provider, guarded)
    return !isLeft(proven) && proven.right.isDisabled ? left(wrong(provider)) : proven
  }
  // Nothing is counted here: a blocked network does not search, and few search for the same name at once.
  const searched = await throttle.guard({ kind: 'password', subject: `search ${named}`, sourceIp }, judge)
  return provenBy(provider, searched)
}

/**
 * Completes a sign-in or a link with a directory by a name and a password. The attempt is used up once they are right;
 * wrong ones may be entered again.
 */
export const makeFinishWithPassword = (deps: PasswordSignInDeps) => {
  const find = makeFindAttempt(deps)
  const directoryOf = makeDirectoryOf(deps.secretBox)
  const refused = makeRefused(deps)

  return async (
    call: Call,
    { providerId, state, browserKey, ...presented }: PasswordSignInInput,
  ): Outcome<SignInFailure | Failure<'SecondFactorNeeded'> | Failure<'TooManyAttempts'>, FinishedSignIn> => {
    const found = await find(state, providerId, browserKey)
    if (isLeft(found)) return found
    const attempt = found.right
    const provider = await deps.providers.active(providerId)
    const directory = provider === undefined ? undefined : await directoryOf(provider)
    if (provider === undefined || directory === undefined) return left(providerMissing())
    if (!isOfCaller(call, attempt)) return left(attemptMissing())
    const proven = await prove(deps, call, provider, directory, presented)
    if (isLeft(proven)) {
      if (proven.left.tag !== 'ProviderUnavailable') return refused(provider, proven.left)
      await deps.providers.mark(provider.id, proven.left.message, deps.clock.now())
      return refused(provider, away(provider, proven.left))
    }
    if (!(await deps.attempts.use(attempt.stateHash, 'begun'))) return left(attemptMissing())
    const identity = identityOf(directory.address, proven.right, directory.options.trustsMail)
    return completeProven(deps, call, { attempt, provider, identity })
  }
}
