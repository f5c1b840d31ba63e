import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { TokenDigest } from '../../identity/ports.ts'
import type { Clock } from '../../kernel/clock.ts'
import { laterBySeconds } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { ClusterId } from '../../kernel/ids.ts'
import { definedFields, toWireJson } from '../../kernel/json.ts'
import type { Call } from '../../kernel/principal.ts'
import { makeOwnCall } from '../../kernel/principal.ts'
import type { Entropy, Secret } from '../../kernel/secret.ts'
import { hex, secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { ApiUrl, AuthorizationServerStores, ClusterDirectory } from '../ports.ts'
import { readResource, scopesOfResource } from '../resources.ts'
import { auditOfFederatedCredential } from './audit.ts'
import { unmetClaim } from './conditions.ts'
import type {
  ExchangedToken,
  TokenExchange,
  TokenExchangeRequest,
  WorkloadClusters,
  WorkloadStore,
  WorkloadTokens,
} from './ports.ts'
import { WorkloadScopeRefused, WorkloadTargetRefused, WorkloadTokenRefused } from './ports.ts'
import type { Claims, FederatedCredential } from './types.ts'

export interface ExchangeDeps {
  readonly workloads: Pick<WorkloadStore, 'markRefused' | 'ofLogin'>
  readonly workloadTokens: WorkloadTokens
  /** Undefined where the deployment has no clusters. */
  readonly clusters: WorkloadClusters | undefined
  readonly directory: ClusterDirectory
  readonly apiUrl: ApiUrl
  readonly unitOfWork: UnitOfWork<AuthorizationServerStores>
  readonly digest: TokenDigest
  /** Returns a new random access token. */
  readonly newAccessToken: () => string
  readonly clock: Clock
}

const longestToken = 16_384
/** A token that is used once is remembered until it expires. */
const longestTokenLifeSeconds = 86_400
/** By which the clock of an issuer may differ, and more. */
const graceSeconds = 120
const longestClaims = 4_000

type RefusedOr<A> = Outcome<Failure<'IssuerUnavailable' | 'WorkloadTokenRefused'>, A>

const refused = (message: string) => left(WorkloadTokenRefused(message))

const textsOf = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : [value]).filter((each): each is string => typeof each === 'string')

/** Reports whether a token of the issuer, or of a cluster, could be meant. */
const isOfIssuer = ({ issuer, clusterUid }: FederatedCredential, claims: Claims): boolean =>
  clusterUid === '' ? issuer === claims['iss'] : claims['kubernetes.io'] !== undefined

/** Returns why a credential does not take the claims; undefined if it does: then its issuer is asked. */
const mismatch = ({ audience, conditions }: FederatedCredential, claims: Claims): string | undefined => {
  if (!textsOf(claims['aud']).includes(audience)) return 'The token has another audience than the federated credential.'
  const claim = unmetClaim(claims, conditions)
  return claim === undefined ? undefined : `The claim ${claim} is absent, or does not meet its condition.`
}

/** A refusal is noted once in this time: anyone can send tokens. */
const refusalNoteSeconds = 10
const longestReason = 500

/** The claims for the audit log. They are what the issuer says, and no secret. */
const shownClaims = (claims: Claims): string => toWireJson(claims).slice(0, longestClaims)

/** Returns what notes why a credential refused a token, for the owner who sets it up. */
const makeNoteRefusal =
  ({ workloads, clock }: Pick<ExchangeDeps, 'clock' | 'workloads'>) =>
  async ({ id, lastRefusedAt }: FederatedCredential, reason: string): Promise<void> => {
    const now = clock.now()
    if (lastRefusedAt === undefined || laterBySeconds(lastRefusedAt, refusalNoteSeconds) <= now)
      await workloads.markRefused(id, reason.slice(0, longestReason), now)
  }

/** What a resource leaves of the scopes, and the cluster to which it confines the token. */
interface Target {
  readonly scopes: readonly string[]
  readonly onlyClusterId: ClusterId | undefined
}

const makeTargetOf =
  ({ directory, apiUrl }: Pick<ExchangeDeps, 'apiUrl' | 'directory'>) =>
  async (
    { robotId }: FederatedCredential,
    scopes: readonly string[],
    indicator: string | undefined,
  ): Outcome<Failure<'WorkloadTargetRefused'>, Target> => {
    if (indicator === undefined) return right({ scopes, onlyClusterId: undefined })
    const resource = readResource(apiUrl(), indicator)
    const isCluster = resource !== undefined && resource !== 'api'
    const onlyClusterId = isCluster ? await directory.clusterOf(robotId, resource) : undefined
    if (resource === undefined || (isCluster && onlyClusterId === undefined))
      return left(WorkloadTargetRefused('The resource is neither the API nor a cluster of the organization.'))
    return right({ scopes: scopes.filter((scope) => scopesOfResource(resource).includes(scope)), onlyClusterId })
  }

/** Returns what asks the issuer of a token, or the cluster, whether it is genuine. */
const makeProven =
  ({ workloadTokens, clusters }: Pick<ExchangeDeps, 'clusters' | 'workloadTokens'>) =>
  async (credential: FederatedCredential, token: Secret, signal: AbortSignal | undefined): RefusedOr<void> => {
    const { orgId: ownerId, clusterUid: uid, audience } = credential
    if (uid === '') return workloadTokens.verify(token, credential, signal)
    return clusters === undefined
      ? refused('This deployment has no clusters that could review the token.')
      : clusters.review({ ownerId, uid }, token, audience, signal)
  }

/** Returns TokenExchange over the stores. See the port for what it guarantees. */
export const makeTokenExchange = (deps: ExchangeDeps): TokenExchange => {
  const { clock, digest } = deps
  const noteRefusal = makeNoteRefusal(deps)
  const targetOf = makeTargetOf(deps)
  const proven = makeProven(deps)

  /** Returns the credential whose issuer vouches for the token, and whose conditions its claims meet. */
  const find = async (
    { login, subjectToken }: TokenExchangeRequest,
    claims: Claims,
    signal: AbortSignal | undefined,
  ): RefusedOr<FederatedCredential> => {
    let found: Awaited<RefusedOr<FederatedCredential>> = refused(
      'No federated credential of the robot account has the issuer, the audience and the claims of the token. ' +
        'Compare them with the conditions.',
    )
    const reasons = new Map<FederatedCredential, string>()
    for (const credential of await deps.workloads.ofLogin(login)) {
      if (!isOfIssuer(credential, claims)) continue
      const reason = mismatch(credential, claims)
      const judged = reason === undefined ? await proven(credential, subjectToken, signal) : undefined
      if (judged !== undefined && !isLeft(judged)) return right(credential)
      if (judged !== undefined) found = judged
      reasons.set(credential, reason ?? judged?.left.message ?? '')
    }
    for (const [credential, reason] of reasons) await noteRefusal(credential, reason)
    return found
  }

  const issue = async (
    call: Call,
    known: FederatedCredential,
    {
      claims,
      scopes,
      onlyClusterId,
      value,
      idHash,
    }: Target & {
      readonly claims: Claims
      readonly value: string
      readonly idHash: Uint8Array
    },
  ): Outcome<Failure<'WorkloadTokenRefused'>, ExchangedToken> => {
    const now = clock.now()
    return deps.unitOfWork.run<Failure<'WorkloadTokenRefused'>, ExchangedToken>(call, async (stores) => {
      await stores.tokens.lockOwner(known.robotId)
      const credential = await stores.workloads.lock(known.id)
      // It may have been changed while its issuer was asked.
      if (credential?.version !== known.version) return refused('The federated credential has changed. Try again.')
      const { robotId, orgId, lifeSeconds } = credential
      const hash = digest.digest(value)
      const expiresAt = laterBySeconds(now, lifeSeconds)
      const inserted = await stores.tokens.insert({
        userId: robotId,
        name: `federated-${credential.id}-${hex(hash).slice(0, 32)}`,
        hash,
        lastEight: value.slice(-8),
        scopeWords: scopes,
        onlyOrgId: orgId,
        createdBy: robotId,
        createdAt: now,
        expiresAt,
        ...definedFields({ onlyClusterId }),
      })
      if (isLeft(inserted)) throw new Error('two random tokens have the same digest')
      const until = Math.max(Number(claims['exp']) + graceSeconds, expiresAt.getTime() / 1000)
      const use = { idHash, robotId, tokenId: inserted.right, expiresAt: new Date(until * 1000) }
      if (!(await stores.workloads.insertUse(use)))
        return refused('The token was exchanged before. Ask the issuer for a new one.')
      await stores.workloads.markUsed(credential.id, now)
      await stores.audit.record(
        auditOfFederatedCredential(credential, 'federated_credential.token_issued', {
          claims: shownClaims(claims),
          scopes,
          expires_at: expiresAt.toISOString(),
        }),
      )
      return right({ value: secret(value), scopes, lifeSeconds })
    })
  }

  return {
    async exchange(call, request) {
      const { subjectToken } = request
      const text = subjectToken.reveal()
      const claims = text.length > longestToken ? undefined : deps.workloadTokens.claimsOf(subjectToken)
      if (claims === undefined) return refused('subject_token: must be a signed JSON Web Token.')
      const expires = claims['exp']
      const now = clock.now()
      if (typeof expires !== 'number' || expires > now.getTime() / 1000 + longestTokenLifeSeconds)
        return refused('subject_token: must expire within a day.')
      const found = await find(request, claims, call.signal)
      if (isLeft(found)) return found
      const scopes = request.scopes ?? found.right.scopes
      const excess = scopes.filter((scope) => !found.right.scopes.includes(scope))
      if (excess.length > 0) {
        const message = `The federated credential does not have the scope ${excess.join(' ')}.`
        await noteRefusal(found.right, message)
        return left(WorkloadScopeRefused(message))
      }
      const target = await targetOf(found.right, scopes, request.resource)
      if (isLeft(target)) return target
      const value = deps.newAccessToken()
      const issuer = String(claims['iss'])
      const id = typeof claims['jti'] === 'string' ? claims['jti'] : text
      const issued = await issue(call, found.right, {
        claims,
        ...target.right,
        value,
        idHash: digest.digest(`${issuer}\n${id}`),
      })
      if (isLeft(issued)) await noteRefusal(found.right, issued.left.message)
      return issued
    },
  }
}

const batch = 200

/** Removes tokens that were exchanged and have expired, in small steps. Returns their number. */
export const makePurgeWorkloadUses =
  ({
    workloads,
    unitOfWork,
    clock,
    entropy,
  }: Pick<ExchangeDeps, 'clock' | 'unitOfWork'> & { readonly workloads: WorkloadStore; readonly entropy: Entropy }) =>
  async (signal: AbortSignal): Promise<number> => {
    let removed = 0
    while (!signal.aborted) {
      const uses = await workloads.expiredUses(clock.now(), batch)
      if (uses.length === 0) break
      await unitOfWork.run<never, void>(
        makeOwnCall(entropy)('authorizationServer.purgeUses', signal),
        async (stores) => {
          for (const robotId of [...new Set(uses.map((use) => use.robotId))].sort((a, b) => a - b))
            await stores.tokens.lockOwner(robotId)
          for (const { idHash, robotId, tokenId } of uses) {
            await stores.tokens.remove(robotId, tokenId)
            await stores.workloads.removeUse(idHash)
          }
          return right(undefined)
        },
      )
      removed += uses.length
    }
    return removed
  }
