import { httpSend } from './http-send.ts'
import type { HeaderBag } from '../../core/kernel/exchange.ts'

export interface SendOptions {
  /** Sent as bearer token. */
  readonly token?: string
  /** Sent as HTTP Basic. */
  readonly basic?: readonly [login: string, password: string]
  readonly headers?: Readonly<Record<string, string>>
  /** A string goes out as it is; anything else as JSON. */
  readonly body?: unknown
}

export interface ServiceAnswer {
  readonly status: number
  readonly headers: HeaderBag
  readonly text: string
  /** The body parsed; undefined when it is empty or no JSON. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly json: any
}

/** Sends one request and reads its whole answer. Any status is an answer. */
export const makeSendJson = (baseUrl: string) => {
  const send = httpSend(baseUrl)
  return async (method: string, path: string, options: SendOptions = {}): Promise<ServiceAnswer> => {
    const { status, headers, body } = await send({
      method,
      path,
      headers: headersOf(options),
      body: bodyOf(options.body),
    })
    return { status, headers, text: body, json: parsed(body) }
  }
}

const bodyOf = (body: unknown): string | undefined =>
  body === undefined || typeof body === 'string' ? body : JSON.stringify(body)

export const headersOf = ({ token, basic, headers, body }: SendOptions): Readonly<Record<string, string>> => ({
  ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
  ...(basic === undefined ? {} : { Authorization: `Basic ${Buffer.from(basic.join(':')).toString('base64')}` }),
  ...headers,
})

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
