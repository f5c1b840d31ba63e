import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { isSameJson } from '../../kernel/json.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import { pageWithin } from '../../kernel/page.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { AuthorizationServerStores } from '../ports.ts'
import { checkOwnRequestUri } from '../redirect-uris.ts'
import { accessScopes, robotWords } from '../scopes.ts'
import { auditOfFederatedCredential } from './audit.ts'
import { FederatedCredentialChanged, FederatedCredentialMissing, FederatedCredentialRefused } from './failures.ts'
import type { RobotKey, WorkloadStore } from './ports.ts'
import type { FederatedCredential, FederatedCredentialContent, FederatedCredentialId } from './types.ts'

const maxOfRobot = 20
const maxConditions = 20
const longestName = 100
const shortestSeconds = 60
const longestSeconds = 3_600

const refused = (message: string): Either<Failure<'FederatedCredentialRefused'>, never> =>
  left(FederatedCredentialRefused(message))

const missing = (): Failure<'FederatedCredentialMissing'> =>
  FederatedCredentialMissing('The federated credential does not exist.')

/** Claims that say who the workload is. A token of the issuer that only has the audience can be of anyone. */
const isAboutWorkload = (claim: string): boolean => !/^(?:iss|aud|exp|nbf|iat|jti)$/.test(claim)

const contentProblem = (content: FederatedCredentialContent): string | undefined => {
  const { name, issuer, clusterUid, audience, conditions, scopes, lifeSeconds } = content
  if (name === '' || name.length > longestName) return `name: must have 1 to ${longestName} characters.`
  if ((issuer === '') === (clusterUid === ''))
    return 'issuer, cluster_uid: give the address of the issuer, or the UID of a cluster of the organization.'
  const address = issuer === '' ? right('') : checkOwnRequestUri(issuer)
  if (isLeft(address)) return `issuer: ${address.left}.`
  if (audience === '') return 'audience: must not be empty. Ask the issuer for tokens for this service alone.'
  if (conditions.length > maxConditions) return `conditions: there can be at most ${maxConditions}.`
  const own = conditions.filter(({ claim, value }) => isAboutWorkload(claim) && /[^*]/.test(value))
  if (own.length === 0)
    return 'conditions: at least one must say which workload is meant, such as sub or repository_id.'
  const useless = scopes.filter((scope) => !robotWords(accessScopes).includes(scope))
  if (scopes.length === 0 || useless.length > 0)
    return `scopes: must be one or more of ${robotWords(accessScopes).join(', ')}.`
  return lifeSeconds < shortestSeconds || lifeSeconds > longestSeconds
    ? `life_seconds: must be a whole number from ${shortestSeconds} to ${longestSeconds}.`
    : undefined
}

interface ReadDeps {
  readonly workloads: WorkloadStore
}

export interface FederatedCredentialKey extends RobotKey {
  readonly id: FederatedCredentialId
}

/** Lists the federated credentials of a robot account, by name. */
export const makeListFederatedCredentials =
  ({ workloads }: ReadDeps) =>
  async (
    _call: SignedInCall<never>,
    { page, ...robot }: RobotKey & { readonly page: PageRequest },
  ): Outcome<never, Page<FederatedCredential>> =>
    right(pageWithin(await workloads.list(robot), page))

export const makeShowFederatedCredential =
  ({ workloads }: ReadDeps) =>
  async (
    _call: SignedInCall<never>,
    { id, ...robot }: FederatedCredentialKey,
  ): Outcome<Failure<'FederatedCredentialMissing'>, FederatedCredential> => {
    const found = await workloads.find(robot, id)
    return found === undefined ? left(missing()) : right(found)
  }

interface ChangeDeps {
  readonly unitOfWork: UnitOfWork<AuthorizationServerStores>
  readonly clock: Clock
}

const shownContent = ({
  issuer,
  clusterUid,
  audience,
  conditions,
  scopes,
  lifeSeconds,
}: FederatedCredentialContent) => ({
  issuer: issuer === '' ? `cluster ${clusterUid}` : issuer,
  audience,
  conditions: conditions.map(({ claim, value }) => `${claim}=${value}`),
  scopes,
  life_seconds: lifeSeconds,
})

/** Makes a robot account trust the tokens of an issuer. */
export const makeCreateFederatedCredential =
  ({ unitOfWork, clock }: ChangeDeps) =>
  async (
    call: SignedInCall<FederatedCredential>,
    { content, ...robot }: RobotKey & { readonly content: FederatedCredentialContent },
  ): Outcome<Failure<'FederatedCredentialMissing' | 'FederatedCredentialRefused'>, FederatedCredential> => {
    const problem = contentProblem(content)
    if (problem !== undefined) return refused(problem)
    return unitOfWork.run(call, async ({ workloads, tokens, audit }) => {
      await tokens.lockOwner(robot.robotId)
      if ((await workloads.list(robot)).length >= maxOfRobot)
        return refused(`A robot account can have at most ${maxOfRobot} federated credentials.`)
      const id = await workloads.insert(robot, content, clock.now())
      if (id === undefined) return refused('name: is taken. Choose another.')
      const made = await workloads.find(robot, id)
      if (made === undefined) return left(missing())
      await audit.record(auditOfFederatedCredential(made, 'federated_credential.created', shownContent(content)))
      return right(made)
    })
  }

/** Replaces what an owner decides about a federated credential. Tokens that were issued keep what they have. */
export const makeReplaceFederatedCredential =
  ({ unitOfWork }: ChangeDeps) =>
  async (
    call: SignedInCall<FederatedCredential>,
    {
      content,
      expectedVersion,
      id,
      ...robot
    }: FederatedCredentialKey & {
      readonly content: FederatedCredentialContent
      readonly expectedVersion: number | undefined
    },
  ): Outcome<
    Failure<'FederatedCredentialChanged' | 'FederatedCredentialMissing' | 'FederatedCredentialRefused'>,
    FederatedCredential
  > => {
    const problem = contentProblem(content)
    if (problem !== undefined) return refused(problem)
    return unitOfWork.run<
      Failure<'FederatedCredentialChanged' | 'FederatedCredentialMissing' | 'FederatedCredentialRefused'>,
      FederatedCredential
    >(call, async ({ workloads, audit }) => {
      const before = await workloads.find(robot, id)
      if (before === undefined) return left(missing())
      const changed = left(FederatedCredentialChanged('Another request changed it. Read it again.'))
      if (expectedVersion !== undefined && expectedVersion !== before.version) return changed
      if (isSameJson(shownContent(before), shownContent(content)) && before.name === content.name) return right(before)
      const outcome = await workloads.replace(before, content)
      if (outcome === 'taken') return refused('name: is taken. Choose another.')
      if (outcome === 'changed') return changed
      const after = { ...before, ...content, version: before.version + 1 }
      await audit.record(auditOfFederatedCredential(after, 'federated_credential.changed', shownContent(content)))
      return right(after)
    })
  }

/** Removes a federated credential. Tokens that were issued for it live on, at most an hour. */
export const makeRemoveFederatedCredential =
  ({ unitOfWork }: ChangeDeps) =>
  async (
    call: SignedInCall,
    { id, ...robot }: FederatedCredentialKey,
  ): Outcome<Failure<'FederatedCredentialMissing'>, void> =>
    unitOfWork.run<Failure<'FederatedCredentialMissing'>, void>(call, async ({ workloads, audit }) => {
      const before = await workloads.find(robot, id)
      if (before === undefined) return left(missing())
      await workloads.remove(id)
      await audit.record(auditOfFederatedCredential(before, 'federated_credential.deleted'))
      return right(undefined)
    })
