import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { TokenDigest } from '../identity/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Call, SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { hex } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditOfConsent } from './audit.ts'
import { AuthorizationMissing, SessionNeeded, SignInAgain } from './failures.ts'
import type {
  AcceptedAuthorization,
  AccountReads,
  ApiUrl,
  ApplicationStore,
  AuthorizationProtocol,
  AuthorizationServerStores,
  ConsentStore,
  PendingAuthorization,
  TeamDirectory,
} from './ports.ts'
import type { Resource } from './resources.ts'
import { readResource } from './resources.ts'
import { accessWords, identityScopes, knownScopes, sentenceOf } from './scopes.ts'
import type { Application, Consent } from './types.ts'

/** A browser, by the cookie that it got when the application sent it here. */
export interface AuthorizationRef {
  readonly id: string
  /** The proof in the address of the page that the browser with this cookie was sent there. */
  readonly binding: string
  readonly browserKey: Secret | undefined
}

/**
 * Returns what binds a question to the browser that was sent here with it. Another browser cannot answer it: the person
 * would sign in the one who sent the link.
 */
export const bindingOf = (digest: TokenDigest, browserKey: Secret, id: string): string =>
  hex(digest.digest(`${browserKey.reveal()}\n${id}`))

/**
 * Reports whether the person must be asked: for what was not allowed yet, and each time where another program could
 * pretend to be the application. @internal
 */
export const needsConsent = (
  application: Pick<Application, 'isPublic' | 'isTrusted'>,
  scopes: readonly string[],
  consent: Pick<Consent, 'scopes'> | undefined,
  isDemanded: boolean,
): boolean => {
  if (application.isTrusted) return false
  return isDemanded || application.isPublic || scopes.some((scope) => consent?.scopes.includes(scope) !== true)
}

/** What a person is asked, in words. */
export interface ShownAuthorization {
  readonly application: Application
  /** The name of the account that owns it; undefined for the site. */
  readonly ownerName: string | undefined
  readonly sentences: readonly string[]
  readonly needsConsent: boolean
  readonly mustSignInAgain: boolean
}

export interface AuthorizationDeps {
  readonly protocol: AuthorizationProtocol
  readonly applications: Pick<ApplicationStore, 'byClientId'>
  readonly consents: Pick<ConsentStore, 'find'>
  readonly accounts: AccountReads
  readonly directory: TeamDirectory
  readonly unitOfWork: UnitOfWork<AuthorizationServerStores>
  readonly digest: TokenDigest
  readonly clock: Clock
  readonly apiUrl: ApiUrl
}

const missing = (): Failure<'AuthorizationMissing'> =>
  AuthorizationMissing('The request of the application is over. Go back to the application and try again.')

export interface Asked {
  readonly pending: PendingAuthorization
  readonly application: Application
  readonly scopes: readonly string[]
  /** The clusters to which the access is confined, if it is. */
  readonly clusters: readonly Exclude<Resource, 'api'>[]
}

export const askedOf = async (
  { applications, apiUrl }: Pick<AuthorizationDeps, 'apiUrl' | 'applications'>,
  pending: PendingAuthorization | undefined,
): Outcome<Failure<'AuthorizationMissing'>, Asked> => {
  const application = pending === undefined ? undefined : await applications.byClientId(pending.clientId)
  if (pending === undefined || application === undefined) return left(missing())
  const clusters = pending.resources.flatMap((indicator) => {
    const resource = readResource(apiUrl(), indicator)
    return resource === undefined || resource === 'api' ? [] : [resource]
  })
  return right({ pending, application, scopes: knownScopes(pending.scopes), clusters })
}

const findAsked = async (
  deps: AuthorizationDeps,
  { id, binding, browserKey }: AuthorizationRef,
): Outcome<Failure<'AuthorizationMissing'>, Asked> => {
  if (browserKey === undefined || bindingOf(deps.digest, browserKey, id) !== binding) return left(missing())
  return askedOf(deps, await deps.protocol.pending(id))
}

/** When the session of the caller began; undefined if it has ended. */
const signedInAt = async (
  { accounts, clock }: AuthorizationDeps,
  call: SignedInCall<never>,
): Promise<Date | undefined> => {
  const { userId, sessionId } = call.principal
  return (await accounts.sessions.list(userId, clock.now())).find(({ id }) => id === sessionId)?.createdAt
}

const isTooOld = (at: Date | undefined, { signedInAfter }: PendingAuthorization): boolean =>
  signedInAfter !== undefined && (at === undefined || at.getTime() < signedInAfter.getTime())

export const shownAuthorization = async (
  deps: AuthorizationDeps,
  call: Call<never>,
  { pending, application, scopes, clusters }: Asked,
): Promise<ShownAuthorization> => {
  const { principal } = call
  const consent = principal === undefined ? undefined : await deps.consents.find(principal.userId, application.id)
  const owner = application.orgId ?? application.userId
  return {
    application,
    ownerName: owner === undefined ? undefined : await deps.directory.nameOf(owner),
    sentences: [
      ...scopes.flatMap((scope) => sentenceOf(scope) ?? []),
      ...clusters.map(({ owner, cluster }) => `Only in the cluster ${owner}/${cluster}`),
    ],
    // What was allowed for one cluster is not remembered: it is no consent for another one.
    needsConsent: needsConsent(application, scopes, consent, pending.demandsConsent || clusters.length > 0),
    mustSignInAgain: principal !== undefined && isTooOld(await signedInAt(deps, { ...call, principal }), pending),
  }
}

/** Returns what an application asks, for the page on which a person answers. */
export const makeShowAuthorization =
  (deps: AuthorizationDeps) =>
  async (call: Call<never>, ref: AuthorizationRef): Outcome<Failure<'AuthorizationMissing'>, ShownAuthorization> => {
    const asked = await findAsked(deps, ref)
    return isLeft(asked) ? asked : right(await shownAuthorization(deps, call, asked.right))
  }

export type DecideFailure = Failure<'AuthorizationMissing'> | Failure<'SessionNeeded'> | Failure<'SignInAgain'>

/** Checks that a person in a session answers, whose sign-in is new enough. */
export const acceptedBy = async (
  deps: AuthorizationDeps,
  call: SignedInCall<never>,
  { pending, scopes }: Asked,
): Outcome<Failure<'SessionNeeded'> | Failure<'SignInAgain'>, AcceptedAuthorization> => {
  const { userId, sessionId, impersonator } = call.principal
  if (sessionId === undefined || impersonator !== undefined)
    return left(SessionNeeded('Only a person who is signed in with a browser can answer an application.'))
  const at = await signedInAt(deps, call)
  if (at === undefined || isTooOld(at, pending))
    return left(SignInAgain('The application demands that you sign in again.'))
  return right({
    userId,
    sessionId,
    signedInAt: at,
    scopes,
    apiScopes: accessWords(scopes),
    resources: pending.resources,
  })
}

/** Records what a person has allowed, or refused, with its audit row. */
export const recordAnswer = (
  deps: Pick<AuthorizationDeps, 'clock' | 'unitOfWork'>,
  call: SignedInCall<never>,
  { application, scopes, clusters }: Asked,
  isAccepted: boolean,
): Outcome<never, void> => {
  const { keyed: _, ...own } = call
  return deps.unitOfWork.run<never, void>(own, async ({ audit, consents, tokens }) => {
    const { userId, login } = call.principal
    await tokens.lockOwner(userId)
    const known = await consents.find(userId, application.id)
    const isNew = scopes.some((scope) => known?.scopes.includes(scope) !== true)
    const shown = {
      application: application.name,
      client_id: application.clientId,
      scopes,
      ...(clusters.length === 0 ? {} : { clusters: clusters.map(({ owner, cluster }) => `${owner}/${cluster}`) }),
    }
    const lasting = clusters.length === 0 ? scopes : identityScopes.filter((scope) => scopes.includes(scope))
    if (!isAccepted) await audit.record(auditOfConsent({ id: userId, login }, 'user.application_refused', shown))
    else {
      const all = [...new Set([...(known?.scopes ?? []), ...lasting])]
      await consents.save(userId, application.id, all, deps.clock.now())
      if (isNew) await audit.record(auditOfConsent({ id: userId, login }, 'user.application_authorized', shown))
    }
    return right(undefined)
  })
}

/** Answers an application for the caller. Returns where the browser continues. */
export const makeDecideAuthorization =
  (deps: AuthorizationDeps) =>
  async (
    call: SignedInCall<never>,
    { isAccepted, ...ref }: AuthorizationRef & { readonly isAccepted: boolean },
  ): Outcome<DecideFailure, string> => {
    const asked = await findAsked(deps, ref)
    if (isLeft(asked)) return asked
    const accepted = await acceptedBy(deps, call, asked.right)
    if (isLeft(accepted)) return accepted
    await recordAnswer(deps, call, asked.right, isAccepted)
    const url = await (isAccepted ? deps.protocol.accept(ref.id, accepted.right) : deps.protocol.refuse(ref.id))
    return url === undefined ? left(missing()) : right(url)
  }
