import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { TokenDigest } from '../identity/ports.ts'
import type { NewAccessToken } from '../identity/types.ts'
import type { Clock } from '../kernel/clock.ts'
import { laterBySeconds } from '../kernel/clock.ts'
import type { ClusterId, SessionId, TokenId, UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'
import { definedFields, fromWireJson, isObject, textAt, toWireJson } from '../kernel/json.ts'
import { makeOwnCall } from '../kernel/principal.ts'
import type { Entropy, SealedPlace, SecretBox } from '../kernel/secret.ts'
import { hex, secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditOfConsent } from './audit.ts'
import type {
  ApiUrl,
  ApplicationStore,
  AuthorizationServerStores,
  ClusterDirectory,
  OpenedRecord,
  ProtocolRecords,
  RecordKey,
  RecordStore,
  SessionCaller,
  SignInStore,
} from './ports.ts'
import { applicationTokenName } from './ports.ts'
import { readResource } from './resources.ts'
import { accessWords, offlineScope, robotWords } from './scopes.ts'
import type { Application, FoundRecord, ProtocolRecord } from './types.ts'

export interface RecordDeps {
  readonly applications: Pick<ApplicationStore, 'byClientId'>
  readonly clusters: ClusterDirectory
  readonly apiUrl: ApiUrl
  readonly records: RecordStore
  readonly signIns: Pick<SignInStore, 'add'>
  readonly unitOfWork: UnitOfWork<AuthorizationServerStores>
  readonly digest: TokenDigest
  readonly secretBox: SecretBox
  readonly clock: Clock
  readonly entropy: Entropy
}

const placeOf = (idHash: Uint8Array): SealedPlace => ({
  table: 'oauth_records',
  column: 'sealed',
  tenantId: 0,
  rowRef: hex(idHash),
})

const wordsIn = (scope: string): readonly string[] => scope.split(' ').filter((word) => word !== '')

/** The records that end with the session in which they were made, also where the access that they lead to does not. */
const sessionKinds: readonly string[] = ['AuthorizationCode', 'DeviceCode']

/** Removes access tokens and records. The owners' rows are locked in the order of their ids. */
const removeRecords = async (
  { records, tokens }: Pick<AuthorizationServerStores, 'records' | 'tokens'>,
  keys: readonly RecordKey[],
): Promise<void> => {
  const owners = new Set(
    keys.flatMap(({ userId, tokenId }) => (userId === undefined || tokenId === undefined ? [] : [userId])),
  )
  for (const owner of [...owners].sort((a, b) => a - b)) await tokens.lockOwner(owner)
  for (const { idHash, userId, tokenId } of keys) {
    if (userId !== undefined && tokenId !== undefined) await tokens.remove(userId, tokenId)
    await records.remove(idHash)
  }
}

/** Removes all that `read` returns, piece by piece. Returns their number. */
export const removeAllRecords = async (
  stores: Pick<AuthorizationServerStores, 'records' | 'tokens'>,
  read: () => Promise<readonly RecordKey[]>,
): Promise<number> => {
  let removed = 0
  for (let keys = await read(); keys.length > 0; keys = await read()) {
    await removeRecords(stores, keys)
    removed += keys.length
  }
  return removed
}

type Row = Omit<ProtocolRecord, 'consumedAt'>

/** What a token of the API is made of. */
interface TokenContent extends Pick<NewAccessToken, 'expiresAt' | 'hash' | 'onlyClusterId' | 'scopeWords' | 'userId'> {
  readonly sessionId: SessionId | undefined
}

/** What a token may do. */
interface Reach {
  readonly scopes: readonly string[]
  readonly onlyClusterId: ClusterId | undefined
}

/** Returns what stores grants and access tokens: each in a transaction that holds the lock on its person's row. */
const makeIssue = ({ clock, digest, entropy, unitOfWork }: RecordDeps) => {
  const ownCall = makeOwnCall(entropy)

  const insertToken = async (
    { tokens }: AuthorizationServerStores,
    application: Application,
    token: TokenContent,
  ): Promise<TokenId> => {
    const inserted = await tokens.insert({
      ...token,
      name: applicationTokenName(application.id, hex(token.hash).slice(0, 32)),
      lastEight: '',
      onlyOrgId: application.orgId,
      applicationId: application.id,
      createdBy: token.userId,
      createdAt: clock.now(),
    })
    if (isLeft(inserted)) throw new Error('two random tokens have the same digest')
    return inserted.right
  }

  /**
   * A grant that outlives the session is held by a token of its own, whose value does not exist: what ends all access
   * of a person removes the tokens, and with them the grant.
   */
  const holdGrant = async (
    stores: AuthorizationServerStores,
    application: Application,
    { userId, sessionId }: SessionCaller,
    row: Row,
    scopes: readonly string[],
  ): Promise<Pick<Row, 'sessionId' | 'tokenId'>> => {
    if (!(await stores.sessions.list(userId, clock.now())).some(({ id }) => id === sessionId))
      throw new Error('the session ended while its person was answering')
    if (!scopes.includes(offlineScope)) return { sessionId, tokenId: undefined }
    const known = await stores.records.lock(row.idHash)
    if (known?.hasToken === true) return { sessionId: undefined, tokenId: known.tokenId }
    const { idHash: hash, expiresAt } = row
    const anchor = { userId, hash, scopeWords: [], expiresAt, sessionId: undefined }
    return { sessionId: undefined, tokenId: await insertToken(stores, application, anchor) }
  }

  /** Returns the grant, locked, if its access has not ended. */
  const livingGrant = async (
    stores: AuthorizationServerStores,
    grantHash: Uint8Array | undefined,
  ): Promise<FoundRecord | undefined> => {
    const grant = grantHash === undefined ? undefined : await stores.records.lock(grantHash)
    return grant !== undefined && isLiving(grant, clock.now()) ? grant : undefined
  }

  return {
    grant: (application: Application, caller: SessionCaller, row: Row, scopes: readonly string[]) =>
      unitOfWork.run<never, void>(ownCall('authorizationServer.grant'), async (stores) => {
        await stores.tokens.lockOwner(caller.userId)
        await stores.records.save({ ...row, ...(await holdGrant(stores, application, caller, row, scopes)) })
        return right(undefined)
      }),
    /** The token of an application that acts for itself, as its robot account. */
    ownToken: (application: Application, row: Row, value: string, { scopes, onlyClusterId }: Reach) =>
      unitOfWork.run<never, void>(ownCall('authorizationServer.issueToken'), async (stores) => {
        const { robotId: userId } = application
        if (userId === undefined) throw new Error('an application without a robot account gets no token of its own')
        // Without the lock on the account: nothing is read that another change could end before the token is there.
        const { expiresAt } = row
        const scopeWords = robotWords(scopes)
        const hash = digest.digest(value)
        const content = {
          userId,
          hash,
          scopeWords,
          expiresAt,
          sessionId: undefined,
          ...definedFields({ onlyClusterId }),
        }
        const tokenId = await insertToken(stores, application, content)
        await stores.records.insert({ ...row, userId, tokenId })
        return right(undefined)
      }),
    /** The token of an access that has ended while it was on its way is answered, and opens nothing. */
    token: (application: Application, userId: UserId, row: Row, value: string, { scopes, onlyClusterId }: Reach) =>
      unitOfWork.run<never, void>(ownCall('authorizationServer.issueToken'), async (stores) => {
        await stores.tokens.lockOwner(userId)
        const grant = await livingGrant(stores, row.grantHash)
        if (grant === undefined) return right(undefined)
        const { sessionId } = grant
        const { expiresAt } = row
        const [hash, scopeWords] = [digest.digest(value), accessWords(scopes)]
        const content = { userId, hash, scopeWords, expiresAt, sessionId, ...definedFields({ onlyClusterId }) }
        await stores.records.insert({ ...row, sessionId, tokenId: await insertToken(stores, application, content) })
        return right(undefined)
      }),
  }
}

/** Returns what ends a grant, with all that was issued for it. */
const makeRevoke =
  ({ entropy, unitOfWork }: RecordDeps) =>
  async (grantHash: Uint8Array, because: string): Promise<void> => {
    await unitOfWork.run<never, void>(makeOwnCall(entropy)('authorizationServer.revokeGrant'), async (stores) => {
      const owner = (await stores.records.find(grantHash))?.userId
      // A token that is being issued is issued before, and found here, or finds no grant.
      if (owner !== undefined) await stores.tokens.lockOwner(owner)
      const removed = await removeAllRecords(stores, () => stores.records.ofGrant(grantHash))
      if (owner !== undefined && removed > 0)
        await stores.audit.record(auditOfConsent({ id: owner }, 'user.application_grant_revoked', { because }))
      return right(undefined)
    })
  }

/**
 * Reports whether the access that a record stands for has not ended. Codes and tokens that have expired are returned:
 * the protocol has answers of its own for them.
 */
const isLiving = ({ kind, expiresAt, tokenId, hasToken, isOwnerEnabled }: FoundRecord, now: Date): boolean =>
  isOwnerEnabled && (tokenId === undefined || hasToken) && (kind !== 'Grant' || expiresAt.getTime() > now.getTime())

const userIn = (content: FreeObject): UserId | undefined => {
  const subject = Number(textAt(content, 'accountId'))
  return Number.isSafeInteger(subject) && subject > 0 ? (subject as UserId) : undefined
}

/** Notes a sign-in, so that the application gets a report when its session ends. */
const noteSignIn = async (
  { signIns, clock }: Pick<RecordDeps, 'clock' | 'signIns'>,
  application: Application | undefined,
  { userId, sessionId }: Pick<Row, 'sessionId' | 'userId'>,
  sid: string,
): Promise<void> => {
  const isTold = sid !== '' && application !== undefined && application.addresses.backChannelLogoutUri !== ''
  if (isTold && userId !== undefined && sessionId !== undefined)
    await signIns.add({ applicationId: application.id, userId, sessionId, sid, at: clock.now() })
}

/** Returns what a token may do; undefined if its account cannot name the cluster to which it is confined. */
const makeReachOf =
  ({ clusters, apiUrl }: Pick<RecordDeps, 'apiUrl' | 'clusters'>) =>
  async (content: FreeObject, userId: UserId | undefined): Promise<Reach | undefined> => {
    const scopes = wordsIn(textAt(content, 'scope'))
    const resource = readResource(apiUrl(), textAt(content, 'aud'))
    if (resource === undefined || resource === 'api') return { scopes, onlyClusterId: undefined }
    const onlyClusterId = userId === undefined ? undefined : await clusters.clusterOf(userId, resource)
    return onlyClusterId === undefined ? undefined : { scopes, onlyClusterId }
  }

/** Returns ProtocolRecords over the stores. See the port for what it guarantees. */
export const makeProtocolRecords = (deps: RecordDeps): ProtocolRecords => {
  const { clock, digest, records, secretBox } = deps
  const issue = makeIssue(deps)
  const revoke = makeRevoke(deps)
  const reachOf = makeReachOf(deps)
  const hashOf = (kind: string, id: string): Uint8Array => digest.digest(`${kind}\n${id}`)
  const keyOf = (kind: string, content: FreeObject): Uint8Array | undefined => {
    const key = kind === 'DeviceCode' ? textAt(content, 'userCode') : ''
    return key === '' ? undefined : hashOf(`${kind} by key`, key)
  }

  const opened = async (record: FoundRecord): Promise<OpenedRecord | undefined> => {
    if (!isLiving(record, clock.now())) return undefined
    const content = fromWireJson((await secretBox.open(record.sealed, placeOf(record.idHash))).reveal())
    if (!isObject(content)) return undefined
    const { consumedAt, userId } = record
    if (consumedAt === undefined) return { content, userId }
    return { content: { ...content, consumed: Math.floor(consumedAt.getTime() / 1000) }, userId }
  }

  const save: ProtocolRecords['save'] = async (kind, id, content, seconds, caller) => {
    const idHash = hashOf(kind, id)
    const userId = userIn(content)
    const clientId = textAt(content, 'clientId')
    const application = clientId === '' ? undefined : await deps.applications.byClientId(clientId)
    const grantId = kind === 'Grant' ? id : textAt(content, 'grantId')
    const isOfSession = sessionKinds.includes(kind) || (kind === 'Session' && userId !== undefined)
    const row: Row = {
      idHash,
      kind,
      grantHash: grantId === '' ? undefined : hashOf('Grant', grantId),
      keyHash: keyOf(kind, content),
      userId,
      applicationId: application?.id,
      sessionId: isOfSession ? caller?.sessionId : undefined,
      tokenId: undefined,
      sealed: await secretBox.seal(secret(toWireJson(content)), placeOf(idHash)),
      expiresAt: laterBySeconds(clock.now(), seconds),
    }
    if (kind === 'ClientCredentials' && application !== undefined) {
      const reach = await reachOf(content, application.robotId)
      if (reach === undefined) return 'no-cluster'
      await issue.ownToken(application, row, id, reach)
      return 'saved'
    }
    if (kind === 'AuthorizationCode') await noteSignIn(deps, application, row, textAt(content, 'sid'))
    if (kind !== 'Grant' && kind !== 'AccessToken') {
      await records.save(row)
      return 'saved'
    }
    if (application === undefined || userId === undefined) throw new Error(`a ${kind} has no application or no person`)
    if (kind === 'AccessToken') {
      const reach = await reachOf(content, userId)
      if (reach === undefined) return 'no-cluster'
      await issue.token(application, userId, row, id, reach)
      return 'saved'
    }
    if (caller?.userId !== userId) throw new Error('a grant is made by its person only')
    await issue.grant(application, caller, row, wordsIn(textAt(content, 'openid', 'scope')))
    return 'saved'
  }

  return {
    save,
    async find(kind, id, caller) {
      const record = await records.find(hashOf(kind, id))
      if (record === undefined) return undefined
      // A session of the protocol is that of one session here: with another one, the person signs in again.
      if (kind === 'Session' && record.userId !== undefined && record.sessionId !== caller?.sessionId) return undefined
      return opened(record)
    },
    async findByKey(kind, key) {
      const record = await records.findByKey(hashOf(`${kind} by key`, key))
      return record === undefined ? undefined : opened(record)
    },
    async consume(kind, id) {
      const idHash = hashOf(kind, id)
      if (await records.consume(idHash, clock.now())) return true
      const record = await records.find(idHash)
      if (record?.grantHash !== undefined) await revoke(record.grantHash, `a used ${kind} was sent again`)
      return false
    },
    async remove(kind, id) {
      const record = await records.find(hashOf(kind, id))
      if (record === undefined) return
      if (record.tokenId === undefined) return records.remove(record.idHash)
      const call = makeOwnCall(deps.entropy)('authorizationServer.endToken')
      await deps.unitOfWork.run<never, void>(call, async (stores) => {
        await removeRecords(stores, [record])
        return right(undefined)
      })
    },
    revokeGrant: (grantId) => revoke(hashOf('Grant', grantId), 'the application or the protocol ended it'),
  }
}

const purged = 100

/** Removes records that have expired, with their access tokens, in steps. Returns the number removed. */
export const makePurgeRecords =
  (deps: Pick<RecordDeps, 'clock' | 'entropy' | 'records' | 'unitOfWork'>) =>
  async (signal: AbortSignal): Promise<number> => {
    const ownCall = makeOwnCall(deps.entropy)
    let removed = 0
    while (!signal.aborted) {
      const keys = await deps.records.expired(deps.clock.now(), purged)
      if (keys.length === 0) break
      await deps.unitOfWork.run<never, void>(ownCall('authorizationServer.purge', signal), async (stores) => {
        await removeRecords(stores, keys)
        return right(undefined)
      })
      removed += keys.length
    }
    return removed
  }
