import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AuditDenials } from '../../core/audit/ports.ts'
import type { Authorizer } from '../../core/authz/ports.ts'
import type { Authenticator, CsrfTokens, IdentitySettings } from '../../core/identity/ports.ts'
import type { SessionResumption } from '../../core/identity/sessions/ports.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { SecretBox } from '../../core/kernel/secret.ts'
import type { IdempotencyStore } from '../../core/kernel/idempotency.ts'
import type { Closing } from './access-log.ts'
import type { RateDecision } from './request/rate-limit.ts'
import type { RequestContext } from './request/request-context.ts'

/** What every bound route shares. Made once at start. */
export interface BinderDeps {
  readonly authenticator: Authenticator
  readonly authorizer: Authorizer
  readonly csrf: CsrfTokens
  readonly idempotency: IdempotencyStore
  readonly secretBox: SecretBox
  readonly denials: Pick<AuditDenials, 'recordDenial'>
  readonly log: Log
  /** Whether a text has the form of an access token, so that Basic can carry one. */
  readonly isAccessToken: (text: string) => boolean
  /** Whether `?token=` and `?access_token=` are understood: addresses end up in more places than headers do. */
  readonly takesQueryTokens: boolean
  readonly rateLimit: ((key: string) => RateDecision) | undefined
  readonly resumption: SessionResumption
  /** What the cookies of a session are called, without prefix, and how long they live. */
  readonly sessions: Pick<IdentitySettings, 'sessionCookie' | 'sessionSeconds'>
  /** Clients reach the service by https; else cookies are Secure only on connections that are encrypted up to here. */
  readonly secureCookies: boolean
  /** `{base_url}`, without trailing slash. Answers name the address that their request came by instead (`RequestContext.ownAddress`). */
  readonly baseUrl: string
  /** The path of the documentation page, where error bodies point, below the service's own address. */
  readonly docsUrl: string
  readonly accessLog: (exchange: Closing, context: RequestContext) => void
}

export type NodeHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void>
