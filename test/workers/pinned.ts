import { randomUUID } from 'node:crypto'
import { Client } from 'undici'
import { headersOf, type SendOptions } from '../support/send-json.ts'
import type { ServiceProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'

/** One connection, all of whose requests go to the same worker. */
export interface Pinned {
  readonly client: Client
  /** Of the worker, as its log names it. */
  readonly pid: number
  send(method: string, path: string, options?: SendOptions): Promise<{ status: number; headers: object; text: string }>
}

const sendOn =
  (client: Client): Pinned['send'] =>
  async (method, path, options = {}) => {
    const { statusCode, headers, body } = await client.request({
      method: method as 'GET',
      path,
      headers: headersOf(options),
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    })
    return { status: statusCode, headers, text: await body.text() }
  }

/** Returns the process that logged a request. */
const pidOf = (service: ServiceProcess, requestId: string): Promise<number> =>
  until('the request is logged', () => {
    const line = service
      .stderr()
      .split('\n')
      .find((each) => each.includes(requestId) && each.endsWith('}'))
    return line === undefined ? undefined : (JSON.parse(line) as { readonly pid: number }).pid
  })

const pinOne = async (service: ServiceProcess): Promise<Pinned> => {
  const client = new Client(service.baseUrl)
  const send = sendOn(client)
  const requestId = randomUUID()
  await send('GET', '/api/v1/version', { headers: { 'x-request-id': requestId } })
  return { client, send, pid: await pidOf(service, requestId) }
}

/** Returns connections to two workers. Those before stay open, so that each worker gets some. */
export const pinTwo = async (
  service: ServiceProcess,
): Promise<{ readonly both: readonly [Pinned, Pinned]; close(): Promise<void> }> => {
  const open: Pinned[] = []
  const both = await until('two workers answered', async () => {
    const next = await pinOne(service)
    open.push(next)
    const other = open.find(({ pid }) => pid !== next.pid)
    return other === undefined ? undefined : ([other, next] as const)
  })
  return { both, close: async () => void (await Promise.all(open.map(({ client }) => client.destroy()))) }
}

/** Returns the value of a metric, by its name and labels as they are exposed. */
export const metricOf = async (service: ServiceProcess, name: string): Promise<number> => {
  const text = await (await fetch(`${service.opsUrl}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`${name} `))
  if (line === undefined) throw new Error(`there is no metric ${name}`)
  return Number(line.slice(name.length + 1))
}
