import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { makeAccessLog } from '../../composition/runtime/http/request/request-context.ts'
import type { ApiServer, ApiServerDeps, StopTimes } from '../../composition/runtime/http/api-server.ts'
import { makePacking } from '../../composition/runtime/http/answer/packed-answer.ts'
import { makeApiServer } from '../../composition/runtime/http/api-server.ts'
import { makeTrustedProxies, makeOwnAddress } from '../../composition/runtime/http/request/addresses.ts'
import type { AccessGrant, ObjectLocator } from '../../core/kernel/access.ts'
import type { AccountId, UserId } from '../../core/kernel/ids.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import type { BegunRequest, IdempotencyStore, StoredAnswer } from '../../core/kernel/idempotency.ts'
import { makeLogScope } from '../../adapters/logging/bunyan-log.ts'
import { noTracing } from '../../core/platform/ports.ts'
import { makeReadingBudgets } from '../../adapters/outbound/reading-budgets.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { Principal } from '../../core/kernel/principal.ts'
import { fullScope } from '../../core/kernel/principal.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'
import { AccessDenied, ObjectHidden } from '../../core/authz/ports.ts'
import { NotAuthenticated } from '../../core/identity/ports.ts'
import type { AnyBoundRoute } from '../../plugins/kit/route.ts'

/** One line of the log as the binder wrote it. */
interface LogLine {
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface StubServer {
  readonly port: number
  readonly baseUrl: string
  readonly lines: LogLine[]
  readonly denials: { code: string; objectType: string }[]
  /** As a service does after SIGTERM, before it closes. */
  drain(): void
  readonly replaceTls: ApiServer['replaceTls']
  stop(times?: Partial<StopTimes>): Promise<void>
}

export const principal: Principal = {
  userId: 7 as UserId,
  login: 'ada',
  isSiteAdmin: false,
  method: 'token',
  scopes: fullScope,
}

/** Who each test token is. */
const principals: Readonly<Record<string, Principal>> = {
  good: principal,
  reader: {
    ...principal,
    userId: 8 as UserId,
    scopes: { all: false, sudo: false, publicOnly: false, levels: { misc: 'read' } },
  },
  admin: { ...principal, userId: 1 as UserId, login: 'root', isSiteAdmin: true },
}

const authenticate: ApiServerDeps['authenticator']['authenticate'] = async (credential, sudo) => {
  const who =
    credential.kind === 'token'
      ? principals[credential.token.reveal()]
      : credential.kind === 'session'
        ? credential.sessionKey.reveal() === 'session-key'
          ? { ...principal, method: 'session' as const }
          : undefined
        : credential.login === 'ada' && credential.password.reveal() === 'pass:word'
          ? { ...principal, method: 'password' as const }
          : undefined
  if (who === undefined) return left(NotAuthenticated('The credential is not valid.'))
  return right(
    sudo === undefined ? who : { ...who, login: sudo, impersonator: { userId: who.userId, login: who.login } },
  )
}

const spendCode: ApiServerDeps['authenticator']['spendCode'] = async (proven) => right(proven)

const userOfSession: ApiServerDeps['authenticator']['userOfSession'] = async (key) =>
  key.reveal() === 'session-key' ? principal.userId : undefined

export const grants = async (
  _principal: Principal,
  object: ObjectLocator,
  relation: string,
): Promise<Either<Failure<'AccessDenied'> | Failure<'ObjectHidden'>, AccessGrant>> => {
  const name = 'name' in object ? object.name : String(object.id)
  if (name === 'hidden') return left(ObjectHidden('There is no such thing.'))
  if (relation === 'can_never') return left(AccessDenied('You may not.'))
  const accountId = 1 as AccountId
  const context: AccessGrant['context'] = {
    accountId,
    accountKind: 'organization',
    accountName: name,
    isOpen: true,
    isPublic: true,
    isMember: true,
    level: 'owner',
    permissions: new Set(),
    teamIds: [],
  }
  return right({ objectType: object.type, objectId: 1, objectName: name, ownerId: accountId, context })
}

/** An idempotency store in memory, to the letter of the port. */
export const memoryIdempotency = (): IdempotencyStore & {
  readonly records: Map<string, { id: number; request: string; answer?: StoredAnswer }>
} => {
  const records = new Map<string, { id: number; request: string; answer?: StoredAnswer }>()
  const byId = (id: number) => [...records.entries()].find(([, record]) => record.id === id)
  let next = 1
  return {
    records,
    async begin(keyHash, requestHash): Promise<BegunRequest> {
      const key = Buffer.from(keyHash).toString('hex')
      const request = Buffer.from(requestHash).toString('hex')
      const found = records.get(key)
      if (found === undefined) {
        records.set(key, { id: next, request })
        return { kind: 'fresh', id: next++ }
      }
      if (found.request !== request) return { kind: 'mismatch' }
      return found.answer === undefined
        ? { kind: 'in-progress', retryAfterSeconds: 7 }
        : { kind: 'answered', answer: found.answer }
    },
    async find(keyHash) {
      const found = records.get(Buffer.from(keyHash).toString('hex'))
      return found?.answer === undefined
        ? undefined
        : { requestHash: Buffer.from(found.request, 'hex'), answer: found.answer }
    },
    settle: () => undefined,
    sweep: async () => undefined,
    async answer(id, answer) {
      const entry = byId(id)
      if (entry !== undefined) entry[1].answer = answer
    },
    async forget(id) {
      const entry = byId(id)
      if (entry !== undefined && entry[1].answer === undefined) records.delete(entry[0])
    },
    async purge() {
      return 0
    },
  }
}

const logInto = (lines: LogLine[]): Log => {
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: fields as Record<string, unknown> })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** A listener of the real HTTP layer over stub identity and authorization, for the rules that are the layer's own. */
export const startStubServer = async (
  routes: readonly AnyBoundRoute[],
  overrides: Partial<ApiServerDeps> = {},
): Promise<StubServer> => {
  const lines: LogLine[] = []
  const denials: { code: string; objectType: string }[] = []
  const log = logInto(lines)
  const baseUrl = 'http://127.0.0.1:3000'
  const server = makeApiServer({
    authenticator: { authenticate, authenticateAgain: async (proven) => right(proven), spendCode, userOfSession },
    authorizer: { authorize: grants },
    csrf: {
      of: (key: Secret) => `csrf-of-${key.reveal()}`,
      matches: (key: Secret, presented: string) => presented === `csrf-of-${key.reveal()}`,
    },
    idempotency: memoryIdempotency(),
    packing: makePacking(),
    readings: makeReadingBudgets(),
    tracing: noTracing,
    scope: makeLogScope(noTracing.current),
    secretBox: {
      seal: async (plain) => new TextEncoder().encode(`sealed:${plain.reveal()}`),
      open: async (box) => secret(new TextDecoder().decode(box).slice('sealed:'.length)),
      rewrap: async (box) => box,
      keyIdOf: () => 'k1',
    },
    denials: {
      recordDenial: async (_call, denial) => void denials.push({ code: denial.code, objectType: denial.objectType }),
    },
    log,
    isAccessToken: (text) => text in principals,
    takesQueryTokens: true,
    rateLimit: undefined,
    sessions: { sessionCookie: 'moorage_session', sessionSeconds: 86_400 },
    resumption: {
      resume: async () => left(NotAuthenticated('There is no such login.')),
      userOf: async () => undefined,
    },
    secureCookies: false,
    baseUrl,
    docsUrl: '/api/v1/docs',
    pauseInLongTurn: () => undefined,
    names: undefined,
    accessLog: makeAccessLog(log, []),
    routes: routes.map((bound) => ({
      pluginId: 'stub',
      listener: 'api',
      fullPath: `/api/v1${bound.route.path}`,
      methods: bound.kind === 'stream' ? bound.route.methods : [bound.route.method],
      gate: 'always',
      bound,
    })),
    roots: ['/api/v1'],
    pages: {
      documentation: () => undefined,
      frontend: () => ({
        status: 200,
        headers: { 'Content-Type': 'text/html; charset=utf-8' },
        body: '<!doctype html>start',
      }),
    },
    clientIp: () => '127.0.0.1',
    ownAddress: makeOwnAddress({ configured: baseUrl, listening: baseUrl, proxies: makeTrustedProxies([]) }),
    tls: undefined,
    ...overrides,
  })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  return {
    port,
    baseUrl: `http://127.0.0.1:${port}`,
    lines,
    denials,
    drain: () => server.drain(),
    replaceTls: server.replaceTls,
    stop: (times) => server.close({ quiet: 0, fresh: times?.quiet ?? 0, requests: 2000, streams: 100, ...times }),
  }
}
