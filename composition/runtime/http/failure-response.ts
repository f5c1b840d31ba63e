import { scimTypeOf } from '../../../core/formats/scim-types.ts'
import type { Failure, FailureKind, FailureSubject } from '../../../core/kernel/failure.ts'
import { Busy, Overtaken, Unavailable } from '../../../core/kernel/failure.ts'
import type { Route } from '../../../plugins/kit/route.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { definedFields } from '../../../core/kernel/json.ts'

/** The forms of error bodies. */
export type Dialect = NonNullable<Route['dialect']> | 'kubernetes'

/** A refusal to send. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly errors?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  /** Used only by the audit log. */
  readonly about?: FailureSubject
  /** Used only by the service's log: what the caller must not learn. */
  readonly reason?: string
  /** A cluster or a provider failed, not this service. */
  readonly isUpstream?: boolean
  /** The error of another system, where the form of the body has a place for it. */
  readonly origin?: FreeObject
}

const statusOfKind: Readonly<Record<FailureKind, number>> = {
  Invalid: 400,
  Unauthenticated: 401,
  Forbidden: 403,
  NotFound: 404,
  Prohibited: 405,
  Conflict: 409,
  Gone: 410,
  StaleVersion: 412,
  Unprocessable: 422,
  Backoff: 429,
  Upstream: 500,
  BadGateway: 502,
  Unavailable: 503,
  GatewayTimeout: 504,
}

/** Returns the status of a failure: the one that the route declares, or that of its kind. */
export const statusOfFailure = (failure: Pick<Failure, 'tag' | 'kind'>, route?: Pick<Route, 'statusOf'>): number =>
  route?.statusOf?.[failure.tag] ?? statusOfKind[failure.kind]

/** The accepted authentication schemes, which a 401 must list. */
export const challenges = 'Bearer realm="moorage", Basic realm="moorage", charset="UTF-8"'

const headersOf = (status: number, failure: Failure, method: Route['method'] | undefined): Record<string, string> => ({
  ...(failure.retryAfterSeconds === undefined
    ? {}
    : { 'Retry-After': String(Math.max(1, Math.ceil(failure.retryAfterSeconds))) }),
  ...(status === 401 ? { 'WWW-Authenticate': challenges } : {}),
  ...(failure.tag === 'OneTimeCodeRequired' ? { 'X-OTP': 'required; totp' } : {}),
  // RFC 9110 requires Allow with each 405, also when the interface uses that status for a prohibited account.
  ...(status === 405 && method !== undefined ? { Allow: method } : {}),
})

/** The kinds of failures of a cluster or a provider. */
const ofOthers: readonly FailureKind[] = ['Upstream', 'BadGateway', 'GatewayTimeout']

export const refusalOf = (failure: Failure, route?: Pick<Route, 'statusOf' | 'method'>): Refusal => {
  const status = statusOfFailure(failure, route)
  return {
    status,
    code: failure.origin?.code ?? failure.tag,
    message: failure.message,
    ...definedFields({
      errors: failure.errors,
      about: failure.about,
      reason: failure.reason,
      isUpstream: ofOthers.includes(failure.kind) ? true : undefined,
      origin: failure.origin?.error,
    }),
    headers: headersOf(status, failure, route?.method),
  }
}

export const refusal = (
  status: number,
  code: string,
  message: string,
  extras: Pick<Refusal, 'errors' | 'headers' | 'about'> = {},
): Refusal => ({
  status,
  code,
  message,
  ...extras,
})

/**
 * Returns the URL of the documentation of an operation (composition/runtime/http/pages/pages.ts), or of the whole page without
 * an operation.
 */
export const operationPage = (docsUrl: string, operationId: string): string =>
  operationId === '' ? docsUrl : `${docsUrl}#operation/${encodeURIComponent(operationId)}`

const scimError = ({ status, code, message }: Refusal): Record<string, unknown> => {
  const scimType = scimTypeOf(code) ?? (status === 400 ? 'invalidSyntax' : undefined)
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    ...definedFields({ scimType }),
    detail: message,
  }
}

/** Returns the content type of answers in a dialect. */
export const jsonTypeOf = (dialect: Dialect | undefined): string =>
  dialect === 'scim' ? 'application/scim+json' : 'application/json; charset=utf-8'

/**
 * Returns an error body. Each is a JSON object with a string `message`, which clients of this interface rely on; only
 * clients of SCIM refuse keys that RFC 7644 does not name.
 */
export const errorBody = (
  dialect: Dialect,
  refused: Refusal,
  docsUrl: string,
  requestId: string,
  traceId?: string,
): Record<string, unknown> => {
  if (dialect === 'marketplace') return { message: refused.message }
  if (dialect === 'scim') return scimError(refused)
  if (dialect === 'kubernetes') return kubernetesStatus(refused, docsUrl, requestId, traceId)
  if (dialect === 'metering') return { code: refused.code, message: refused.message, origErr: refused.origin ?? {} }
  return {
    message: refused.message,
    url: docsUrl,
    code: refused.code,
    requestId,
    ...definedFields({ traceId, errors: refused.errors }),
  }
}

const reasonOfStatus: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  429: 'TooManyRequests',
  500: 'InternalError',
  502: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
}

/** Returns the Status that Kubernetes clients show to users. They report anything that is not a Status as "unknown". */
const kubernetesStatus = (
  refused: Refusal,
  docsUrl: string,
  requestId: string,
  traceId: string | undefined,
): Record<string, unknown> => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: refused.message,
  reason: reasonOfStatus[refused.status] ?? 'Unknown',
  code: refused.status,
  url: docsUrl,
  requestId,
  ...definedFields({ traceId }),
})

/** No route has this path, or a parameter of the path cannot exist. Clients cannot distinguish the two. */
export const noSuchPath: Refusal = { status: 404, code: 'NotFound', message: 'The path does not exist.' }

export const internalError: Refusal = {
  status: 500,
  code: 'InternalError',
  message: 'Internal error. The log contains the request id.',
}

/** Returns the refusal for a thrown error. Those that callers can know are failures of the same table. */
export const refusalOfThrown = (error: unknown): Refusal => {
  if (error instanceof Overtaken) return refusalOf({ tag: 'Overtaken', kind: 'Conflict', message: error.message })
  if (!(error instanceof Unavailable)) return internalError
  const { message, retryAfterSeconds } = error
  return refusalOf({
    tag: error instanceof Busy ? 'Busy' : 'Unavailable',
    kind: 'Unavailable',
    message,
    retryAfterSeconds,
  })
}
