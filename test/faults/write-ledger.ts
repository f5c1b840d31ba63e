import { setTimeout as sleep } from 'node:timers/promises'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'

/** What the stream of changes creates. */
const createdKinds = ['user', 'organization', 'team', 'token', 'role'] as const
export type CreatedKind = (typeof createdKinds)[number]

/** One request of the stream: what it asked for and what it was told. */
export interface Attempt {
  readonly kind: CreatedKind
  /** Its own, and that of nothing else. */
  readonly name: string
  /** Its Idempotency-Key, when it had one. */
  readonly key: string | undefined
  /** Undefined: the connection broke before there was an answer. */
  readonly answer: ServiceAnswer | undefined
}

/** Where requests go now; a test that restarts its service points it elsewhere. */
interface Target {
  send(method: string, path: string, options?: SendOptions): Promise<ServiceAnswer>
}

export const isAcknowledged = ({ answer }: Pick<Attempt, 'answer'>): boolean =>
  answer !== undefined && answer.status >= 200 && answer.status < 300

/** The path below `/api/v1` and the body that create a thing of a kind, within the organization `home`. */
const creation = (kind: CreatedKind, name: string, home: string): readonly [string, object] => {
  switch (kind) {
    case 'user':
      return [
        '/admin/users',
        {
          username: name,
          email: `${name}@example.com`,
          password: 'quiet-lantern-over-water-17',
          must_change_password: false,
        },
      ]
    case 'organization':
      return ['/orgs', { username: name }]
    case 'team':
      return [`/orgs/${home}/teams`, { name, permission: 'read' }]
    case 'token':
      return ['/user/settings/tokens/access-tokens', { name }]
    case 'role':
      return [
        `/authz/roles?org=${home}`,
        { name, permissions: [{ namespace: 'cluster_mgmt', action: 'view clusters' }] },
      ]
  }
}

/** A key must not be stuck for longer. */
const longestWait = 60_000

export interface LedgerOptions {
  readonly target: Target
  readonly token: string
  /** An organization that stands already; teams and roles are made in it. */
  readonly home: string
  /** At the beginning of every name, so that two ledgers share none. */
  readonly prefix: string
  /** Which changes have an Idempotency-Key; half of them unless told. */
  readonly keyed?: 'half' | 'all'
}

/** A stream of changes and the memory of what was acknowledged. */
export interface WriteLedger {
  readonly attempts: readonly Attempt[]
  acknowledged(): number
  /** Sends the same request again, with the same key. */
  repeat(attempt: Attempt): Promise<ServiceAnswer>
  /**
   * Sends it again for as long as it is told to wait. Rejects when that takes a minute, or the time to wait is not
   * told.
   */
  settle(attempt: Attempt): Promise<ServiceAnswer>
  /** `workers` senders, each one request after the other, until told to stop; resolves when the last has its answer. */
  run(workers: number): { stop(): Promise<void> }
  /** Resolves once `more` further changes were acknowledged. Rejects when that takes a minute. */
  untilAcknowledged(more: number): Promise<void>
}

export const makeWriteLedger = ({ target, token, home, prefix, keyed = 'half' }: LedgerOptions): WriteLedger => {
  const attempts: Attempt[] = []
  let made = 0
  const post = (kind: CreatedKind, name: string, key: string | undefined): Promise<ServiceAnswer> => {
    const [path, body] = creation(kind, name, home)
    return target.send('POST', `/api/v1${path}`, {
      token,
      body,
      ...(key === undefined ? {} : { headers: { 'Idempotency-Key': key } }),
    })
  }
  const acknowledged = (): number => attempts.filter(isAcknowledged).length
  const sendNext = async (): Promise<void> => {
    const number = made++
    const kind = createdKinds[number % createdKinds.length] as CreatedKind
    const name = `${prefix}-${number}`
    const isKeyed = keyed === 'all' || Math.floor(number / createdKinds.length) % 2 === 0
    const key = isKeyed ? `key-of-${name}` : undefined
    const answer = await post(kind, name, key).catch(() => undefined)
    attempts.push({ kind, name, key, answer })
    // Nobody is there: a client waits a little before it knocks again.
    if (answer === undefined || answer.status === 503) await sleep(20)
  }
  const repeat = ({ kind, name, key }: Attempt): Promise<ServiceAnswer> => post(kind, name, key)
  return {
    attempts,
    acknowledged,
    repeat,
    settle: async (attempt) => {
      const deadline = Date.now() + longestWait
      for (;;) {
        const answer = await repeat(attempt)
        const isToWait = answer.status === 503 || (answer.status === 409 && answer.json?.code === 'RequestInProgress')
        if (!isToWait) return answer
        const seconds = Number(answer.headers['retry-after'])
        if (!(seconds >= 1 && seconds <= 10))
          throw new Error(`${attempt.name} got Retry-After ${answer.headers['retry-after']}`)
        if (Date.now() > deadline)
          throw new Error(`${attempt.name} is refused for too long: ${answer.status} ${answer.text}`)
        await sleep(seconds * 1000)
      }
    },
    run: (workers) => {
      let isStopped = false
      const work = async (): Promise<void> => {
        while (!isStopped) await sendNext()
      }
      const all = Promise.all(Array.from({ length: workers }, work))
      return {
        stop: async () => {
          isStopped = true
          await all
        },
      }
    },
    untilAcknowledged: async (more) => {
      const enough = acknowledged() + more
      const deadline = Date.now() + 60_000
      while (acknowledged() < enough) {
        if (Date.now() > deadline)
          throw new Error(
            `only ${acknowledged()} of ${enough} changes were acknowledged; the last answer was ${attempts.at(-1)?.answer?.text ?? 'none'}`,
          )
        await sleep(5)
      }
    },
  }
}
