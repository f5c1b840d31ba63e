import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ReadingBudgets } from '../../../adapters/outbound/reading-budgets.ts'
import type { AuditDenials } from '../../../core/audit/ports.ts'
import type { Authorizer } from '../../../core/authz/ports.ts'
import type { Authenticator, CsrfTokens, IdentitySettings } from '../../../core/identity/ports.ts'
import type { SessionResumption } from '../../../core/identity/sessions/ports.ts'
import type { PauseInLongTurn } from '../../../core/kernel/clock.ts'
import type { Log } from '../../../core/kernel/log.ts'
import type { SecretBox } from '../../../core/kernel/secret.ts'
import type { Names } from '../../../plugins/kit/names.ts'
import type { IdempotencyStore } from '../../../core/kernel/idempotency.ts'
import type { Packing } from './answer/packed-answer.ts'
import type { Closing, RequestContext, RequestScopeDeps } from './request/request-context.ts'
import type { RateDecision } from './request/rate-limit.ts'

/** The dependencies that all bound routes share. Created once at start. */
export interface BinderDeps extends RequestScopeDeps {
  readonly authenticator: Authenticator
  /** False on a listener whose callers have no credential of this service: none is read. */
  readonly readsCredentials?: boolean
  readonly authorizer: Authorizer
  /** The interval at which an open stream, tunnel or feed is checked; 30 seconds by default. */
  readonly recheckMilliseconds?: number
  readonly csrf: CsrfTokens
  readonly idempotency: IdempotencyStore
  readonly secretBox: SecretBox
  readonly denials: Pick<AuditDenials, 'recordDenial'>
  readonly log: Log
  /** Reports whether a text has the form of an access token, so that Basic can carry one. */
  readonly isAccessToken: (text: string) => boolean
  /** Whether `?token=` and `?access_token=` are accepted. URLs are recorded in more places than headers are. */
  readonly takesQueryTokens: boolean
  readonly rateLimit: ((key: string) => RateDecision) | undefined
  readonly resumption: SessionResumption
  /** The name of the session cookie, without prefix, and the lifetime of a session. */
  readonly sessions: Pick<IdentitySettings, 'sessionCookie' | 'sessionSeconds'>
  /**
   * Clients reach the service over https. If false, cookies are Secure only on connections that are encrypted up to
   * this process.
   */
  readonly secureCookies: boolean
  /**
   * `{base_url}`, without a trailing slash. Answers use the address of their request instead
   * (`RequestContext.ownAddress`).
   */
  readonly baseUrl: string
  /** The path of the documentation page, to which error bodies link, relative to the address of the service. */
  readonly docsUrl: string
  readonly pauseInLongTurn: PauseInLongTurn
  /** Compresses answers for the clients that accept it. */
  readonly packing: Packing
  /** What a request reads of other servers is one budget. */
  readonly readings: Pick<ReadingBudgets, 'request'>
  /** Names of other systems; undefined if no plugin has any. */
  readonly names: Names | undefined
  readonly accessLog: (exchange: Closing, context: RequestContext) => void
}

export type NodeHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void>
