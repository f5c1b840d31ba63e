import { setTimeout as sleep } from 'node:timers/promises'
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import { Agent, request } from 'undici'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import { definedFields, fromWireJson, isObject, toWireJson } from '../../core/kernel/json.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { DashboardFailed } from '../../core/metrics-proxy/ports.ts'

/** In bytes. Lists of one project or organization are shorter. */
const answerLimit = 4 * 1024 * 1024
/** In milliseconds. */
export interface DashboardTimes {
  readonly oneCall: number
  /** For all calls of one change. */
  readonly oneChange: number
}
const usualTimes: DashboardTimes = { oneCall: 10_000, oneChange: 30_000 }

/**
 * A call that is answered 5xx is sent again: systems that keep their data in files answer so while another request
 * writes. Each call may be repeated.
 */
const [attempts, pauseMilliseconds] = [3, 100]

export interface DashboardAnswer {
  readonly status: number
  /** An array or an object; undefined for a body that is no JSON, such as a page of a proxy. */
  readonly json: unknown
}

interface Asked {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body: FreeObject | undefined
  readonly headers: Readonly<Record<string, string>>
}

/** Sends calls of one change to a dashboard system. Does not follow redirects. */
export interface DashboardCalls {
  /** Failures: DashboardFailed, for a call without an answer, and for a status that is not among the expected. */
  send(
    method: Asked['method'],
    path: string,
    expected: readonly number[],
    body?: FreeObject,
    headers?: Readonly<Record<string, string>>,
  ): Outcome<Failure<'DashboardFailed'>, DashboardAnswer>
}

export interface DashboardHttp {
  /** Returns the calls of one change, which are bounded in time together. */
  begin(signal: AbortSignal): DashboardCalls
  close(): Promise<void>
}

/** The caller learns that the system failed; its own words, which may quote what was sent, go to the log. */
export const dashboardFailed = (reason: string): Failure<'DashboardFailed'> =>
  DashboardFailed('The dashboard system or the metrics proxy could not be changed. Send the request again.', { reason })

/** Texts of an operator's log are short, and repeat no secret: of an answer only its `message` is shown. */
const wordsOf = ({ json }: DashboardAnswer): string => {
  const message = isObject(json) ? json['message'] : undefined
  return typeof message === 'string' ? message.slice(0, 300) : 'no JSON with a message'
}

/**
 * @param base the address of the API, without a trailing slash. An operator has configured it, so it may be any.
 * @param authorization sent with each call.
 */
export const makeDashboardHttp = (
  base: string,
  authorization: Secret | undefined,
  { oneCall, oneChange }: DashboardTimes = usualTimes,
): DashboardHttp => {
  const agent = new Agent({ connect: { timeout: 5_000 }, connections: 8, keepAliveTimeout: 4_000 })
  const read = async (body: AsyncIterable<Uint8Array>): Promise<unknown> => {
    const parts: Uint8Array[] = []
    let size = 0
    for await (const part of body) {
      size += part.length
      if (size > answerLimit) throw new Error('the answer is too long')
      parts.push(part)
    }
    try {
      return fromWireJson(Buffer.concat(parts).toString('utf8'))
    } catch {
      return undefined
    }
  }
  const ask = async (whole: AbortSignal, { method, path, body, headers }: Asked): Promise<DashboardAnswer> => {
    const got = await request(`${base}${path}`, {
      dispatcher: agent,
      method,
      signal: AbortSignal.any([whole, AbortSignal.timeout(oneCall)]),
      headers: {
        accept: 'application/json',
        'user-agent': 'moorage',
        ...definedFields({ authorization: authorization?.reveal(), 'content-type': body && 'application/json' }),
        ...headers,
      },
      ...definedFields({ body: body && toWireJson(body) }),
    })
    return { status: got.statusCode, json: await read(got.body as AsyncIterable<Uint8Array>) }
  }
  return {
    begin: (signal) => {
      const whole = AbortSignal.any([signal, AbortSignal.timeout(oneChange)])
      return {
        async send(method, path, expected, body, headers = {}) {
          const what = `${method} ${path.split('?', 1)[0]}`
          for (let attempt = 1; ; attempt += 1) {
            let answer: DashboardAnswer
            try {
              answer = await ask(whole, { method, path, body, headers })
            } catch (error) {
              // undici's messages name hosts and time limits, never headers or bodies.
              return left(dashboardFailed(`${what}: ${error instanceof Error ? error.message : 'no answer'}`))
            }
            if (answer.status >= 500 && attempt < attempts && !whole.aborted) {
              await sleep(pauseMilliseconds * attempt)
              continue
            }
            const isPage = answer.status < 300 && answer.json === undefined && method !== 'DELETE'
            return expected.includes(answer.status) && !isPage
              ? right(answer)
              : left(dashboardFailed(`${what} was answered ${answer.status}: ${wordsOf(answer)}`))
          }
        },
      }
    },
    close: () => agent.destroy(),
  }
}

/** Returns a field of a JSON object that must have it. Failure: DashboardFailed. */
export const numberAt = (answer: DashboardAnswer, key: string): Either<Failure<'DashboardFailed'>, number> => {
  const value = isObject(answer.json) ? answer.json[key] : undefined
  return typeof value === 'number' && Number.isSafeInteger(value)
    ? right(value)
    : left(dashboardFailed(`an answer with status ${answer.status} has no number "${key}"`))
}
