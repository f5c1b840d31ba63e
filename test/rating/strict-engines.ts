import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SinkKind } from '../../core/rating/sinks/ports.ts'

/** What an engine has counted. */
interface Counted {
  readonly id: string
  readonly customer: string
  readonly meter: string
  readonly value: string
  readonly at: Date
}

interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}
interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
type Interface = (request: Received, now: Date, counted: (Counted & { readonly receivedAt: Date })[]) => Answer

export const engineKey = 'sk_test_1'
const number = /^-?\d{1,15}(\.\d{1,12})?$/
const dayMilliseconds = 86_400_000

/** `POST /api/v1/events/batch`: at most 100 events, none of them or all; ids of a subscription are kept for ever. */
const lago: Interface = ({ path, headers, body }, now, counted) => {
  if (path !== '/api/v1/events/batch') return { status: 404, body: { status: 404, error: 'Not Found' } }
  if (headers['content-type'] !== 'application/json') return { status: 400 }
  const { events } = JSON.parse(body) as { readonly events: readonly Record<string, unknown>[] }
  if (!Array.isArray(events) || events.length === 0 || events.length > 100) {
    const error_details = { events: ['too_many_events'] }
    return { status: 422, body: { status: 422, code: 'validation_errors', error_details } }
  }
  const errors: Record<string, Record<string, readonly string[]>> = {}
  const added: Counted[] = []
  for (const [index, event] of events.entries()) {
    const { transaction_id: id, external_subscription_id: customer, code, timestamp, properties } = event
    const own: Record<string, readonly string[]> = {}
    if (typeof id !== 'string' || id === '') own['transaction_id'] = ['value_is_mandatory']
    if (typeof code !== 'string' || code === '') own['code'] = ['value_is_mandatory']
    if (typeof customer !== 'string' || customer.startsWith('gone')) own['subscription'] = ['subscription_not_found']
    if (!Number.isInteger(timestamp)) own['timestamp'] = ['invalid_format']
    if ([...counted, ...added].some((each) => each.id === id && each.customer === customer))
      own['transaction_id'] = ['value_already_exist']
    if (Object.keys(own).length > 0) errors[String(index)] = own
    const { value } = properties as { readonly value: string }
    added.push({
      id: id as string,
      customer: customer as string,
      meter: code as string,
      value,
      at: new Date(Number(timestamp) * 1000),
    })
  }
  if (Object.keys(errors).length > 0) {
    const refusal = { status: 422, error: 'Unprocessable Entity', code: 'validation_errors', error_details: errors }
    return { status: 422, body: refusal }
  }
  counted.push(...added.map((each) => ({ ...each, receivedAt: now })))
  return { status: 200, body: { events } }
}

/** `POST /api/v1/events`: a batch of CloudEvents, none of them or all; ids are kept for a day, and repeats dropped. */
const openmeter: Interface = ({ path, headers, body }, now, counted) => {
  if (path !== '/api/v1/events') return { status: 404 }
  if (headers['content-type'] !== 'application/cloudevents-batch+json') return { status: 415 }
  const events = JSON.parse(body) as readonly Record<string, unknown>[]
  const added: Counted[] = []
  for (const { specversion, id, source, type, subject, time, data } of events) {
    const { value } = (data ?? {}) as { readonly value?: unknown }
    const texts = [id, source, type, subject, time].every((text) => typeof text === 'string' && text !== '')
    const isGone = String(subject).startsWith('gone')
    if (
      specversion !== '1.0' ||
      !texts ||
      isGone ||
      !number.test(String(value)) ||
      Number.isNaN(Date.parse(String(time)))
    )
      return { status: 400, body: { type: 'about:blank', title: 'Bad Request', status: 400, detail: 'invalid event' } }
    added.push({
      id: id as string,
      customer: subject as string,
      meter: type as string,
      value: value as string,
      at: new Date(time as string),
    })
  }
  const isKnown = ({ id }: Counted) =>
    counted.some((each) => each.id === id && now.getTime() - each.receivedAt.getTime() < dayMilliseconds)
  for (const each of added) if (!isKnown(each)) counted.push({ ...each, receivedAt: now })
  return { status: 204 }
}

const stripeError = (code: string | undefined, message: string): Answer => ({
  status: 400,
  body: { error: { type: 'invalid_request_error', ...(code === undefined ? {} : { code }), message } },
})

/** `POST /v1/billing/meter_events`: one event, at most 35 days old; identifiers are kept for a day, and repeats refused. */
const stripe: Interface = ({ path, headers, body }, now, counted) => {
  if (path !== '/v1/billing/meter_events') return { status: 404 }
  if (headers['content-type'] !== 'application/x-www-form-urlencoded') return { status: 400 }
  const form = new URLSearchParams(body)
  const allowed = ['event_name', 'payload[stripe_customer_id]', 'payload[value]', 'identifier', 'timestamp']
  const unknown = [...form.keys()].find((name) => !allowed.includes(name))
  if (unknown !== undefined) return stripeError('parameter_unknown', `Received unknown parameter: ${unknown}`)
  const [meter, customer, value, id, timestamp] = allowed.map((name) => form.get(name) ?? '')
  if (meter === '' || meter!.length > 100 || id === '' || id!.length > 100 || !number.test(value!))
    return stripeError('parameter_invalid_string_blank', 'Invalid event')
  if (!customer!.startsWith('cus_')) return stripeError('resource_missing', `No such customer: '${customer}'`)
  const at = new Date(Number(timestamp) * 1000)
  const age = now.getTime() - at.getTime()
  if (age > 35 * dayMilliseconds || age < -300_000)
    return stripeError('timestamp_too_far_in_past', 'The timestamp must be within the past 35 calendar days.')
  if (counted.some((each) => each.id === id && now.getTime() - each.receivedAt.getTime() < dayMilliseconds))
    // Real answers have the code, or the message only.
    return stripeError(
      counted.length % 2 === 0 ? 'duplicate_meter_event' : undefined,
      `An event already exists with identifier ${id}.`,
    )
  counted.push({ id: id!, customer: customer!, meter: meter!, value: value!, at, receivedAt: now })
  return { status: 200, body: { object: 'billing.meter_event', identifier: id } }
}

const interfaces: Readonly<Record<SinkKind, Interface>> = { lago, openmeter, stripe }

/** What becomes of a request: its answer is lost, the request is, or the engine answers something else. */
export type Fault = 'answer-lost' | 'request-lost' | Answer

/** Starts an engine that is as strict as its published interface, in the time of `clock`. */
export const startEngine = async (
  kind: SinkKind,
  clock: { readonly now: () => Date },
  onRequest: (count: number) => void = () => undefined,
) => {
  const counted: (Counted & { readonly receivedAt: Date })[] = []
  const faults: Fault[] = []
  let requests = 0
  let allFail: Fault | undefined
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      requests += 1
      onRequest(requests)
      const fault = allFail ?? faults.shift()
      if (fault === 'request-lost') return request.socket.destroy()
      const send = ({ status, body, headers }: Answer): void => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers })
        response.end(body === undefined ? '' : JSON.stringify(body))
      }
      if (fault !== undefined && fault !== 'answer-lost') return send(fault)
      if (request.headers.authorization !== `Bearer ${engineKey}`) return send({ status: 401 })
      const received = {
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(parts).toString(),
      }
      const answer = interfaces[kind](received, clock.now(), counted)
      if (fault === 'answer-lost') return request.socket.destroy()
      return send(answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    counted: counted as readonly Counted[],
    /** Faults of the next requests. */
    faults,
    failAll: (fault: Fault | undefined) => void (allFail = fault),
    requests: () => requests,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
export type StrictEngine = Awaited<ReturnType<typeof startEngine>>
