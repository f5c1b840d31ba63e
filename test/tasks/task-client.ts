import { request, type Dispatcher } from 'undici'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** One task as the API shows it. */
export interface SeenTask {
  readonly id: string
  readonly state: string
  readonly subject: string
  readonly message: string
  readonly error?: string
  readonly result?: Readonly<Record<string, unknown>>
  readonly [key: string]: unknown
}
export interface SeenEvent {
  readonly seq: number
  readonly id: string
  readonly status: string
  readonly msg: string
  readonly step?: string
  readonly error?: string
  readonly data?: Readonly<Record<string, unknown>>
}
type Sender = Pick<TestService, 'send'>

/** Orders work of the tiny plugin; answers what the route answered. */
export const order = async (service: Sender, token: string, body: object): Promise<SeenTask> => {
  const answer = await service.send('POST', '/api/v1/tiny-work/', { token, body })
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  return answer.json as SeenTask
}

export const show = async (service: Sender, token: string, id: string): Promise<SeenTask> => {
  const answer = await service.send('GET', `/api/v1/tasks/${id}`, { token })
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  return answer.json as SeenTask
}

export const untilState = (
  service: Sender,
  token: string,
  id: string,
  ...states: readonly string[]
): Promise<SeenTask> =>
  until(`${id} is ${states.join(' or ')}`, async () => {
    const task = await show(service, token, id)
    return states.includes(task.state) ? task : undefined
  })

export const untilEnd = (service: Sender, token: string, id: string): Promise<SeenTask> =>
  untilState(service, token, id, 'succeeded', 'failed', 'cancelled', 'unknown')

export const eventsOf = async (service: Sender, token: string, id: string): Promise<readonly SeenEvent[]> => {
  const answer = await service.send('GET', `/api/v1/tasks/${id}/events`, {
    token,
    headers: { accept: 'application/json' },
  })
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  return answer.json as readonly SeenEvent[]
}

export interface OpenFeed {
  readonly status: number
  readonly contentType: string
  readonly events: readonly { readonly id: string; readonly event: SeenEvent }[]
  /** Everything that came, as it came. */
  text(): string
  /** Resolves at the feed's own end, rejects when it was cut. */
  readonly ended: Promise<void>
  cut(): void
}

/** Opens a feed of server-sent events as a browser would. */
export const openFeed = async (
  baseUrl: string,
  path: string,
  token: string,
  headers: Readonly<Record<string, string>> = {},
  dispatcher?: Dispatcher,
): Promise<OpenFeed> => {
  const controller = new AbortController()
  const reply = await request(new URL(path, baseUrl), {
    ...(dispatcher === undefined ? {} : { dispatcher }),
    headers: { accept: 'text/event-stream', authorization: `Bearer ${token}`, ...headers },
    signal: controller.signal,
  })
  const events: { id: string; event: SeenEvent }[] = []
  let all = ''
  const read = async (): Promise<void> => {
    let rest = ''
    for await (const chunk of reply.body) {
      all += String(chunk)
      const blocks = (rest + String(chunk)).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1]
        if (data !== undefined)
          events.push({ id: /^id: (.*)$/m.exec(block)?.[1] ?? '', event: JSON.parse(data) as SeenEvent })
      }
    }
  }
  const ended = read()
  ended.catch(() => undefined)
  return {
    status: reply.statusCode,
    contentType: String(reply.headers['content-type']),
    events,
    text: () => all,
    ended,
    cut: () => controller.abort(),
  }
}
