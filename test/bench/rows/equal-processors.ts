import { setTimeout as sleep } from 'node:timers/promises'
import { callApi, makeUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import { confine } from '../confine.ts'
import { childrenOf } from '../../support/child-processes.ts'
import type { LoadTarget } from '../load/protocol.ts'
import { compare, generatorNote, ratioOf, readingOf, type Bench } from '../measure.ts'
import { getRequest, loadOn, patchRequest, postRequest } from '../requests.ts'
import type { BenchLine } from '../table.ts'
import { note } from './row.ts'

// Two cores cannot show what two processes do on cores of their own while the load generator and the database use the
// same two. So each process of the service has a processor that is a quarter of a core: the sum fits into this machine,
// and whatever else runs on it does not count.

/** The part of a core that each processor of the service is. */
const share = 0.25
const connections = 64
/** More than one, so that a change by one of them does not wait for another. */
const users = 16

/** A service, or several behind one address. */
export interface Scaled {
  readonly baseUrl: string
  readonly port: number
  /** PEM of its authority, for TLS. */
  readonly ca?: string
  /** The processes that share a processor. */
  readonly processors: readonly (readonly number[])[]
}

/** What is asked, again and again. */
export interface Question {
  readonly what: string
  readonly requests: (tokens: readonly string[]) => readonly string[]
  /** Answers for each processor until its code is compiled. */
  readonly warmUp: number
}

const readUser = (token: string): string => getRequest('/api/v1/user', token)
const hundred = Array.from({ length: 100 }, (_, index) => ({ objectType: 'cluster', objectID: index + 1 }))
/** Ten requests of one user, one of which changes her profile. */
const nineReadsAndAChange = (token: string, description: string): readonly string[] => [
  ...Array.from({ length: 9 }, () => readUser(token)),
  patchRequest('/api/v1/user/settings', token, { description }),
]

export const questions = {
  user: { what: 'GET /user', requests: (tokens) => tokens.map(readUser), warmUp: 30_000 },
  changes: {
    what: '9 reads, 1 change',
    requests: (tokens) =>
      ['Reads', 'Writes'].flatMap((text) => tokens.flatMap((token) => nineReadsAndAChange(token, text))),
    warmUp: 15_000,
  },
  permissions: {
    what: '100 permissions',
    requests: ([owner = '']) => [postRequest('/api/v1/authz/objects/allowed-permissions?org=yard', owner, hundred)],
    warmUp: 8_000,
  },
} as const satisfies Record<string, Question>

/** Gives this process, and what it starts from now on, precedence over others. Returns a function that ends it. */
export const takePrecedence = (): (() => void) => confine([process.pid, ...childrenOf(process.pid)], 2)

interface Comparison {
  readonly row: string
  /** What two are, on which database. */
  readonly name: string
  readonly against: string
  readonly two: Scaled
  readonly one: Scaled
  readonly asked: readonly Question[]
}

const sides = ['two', 'one'] as const

/** Compares two processors with one of the same speed: a line for each question. */
export async function compareProcessors(bench: Bench, comparison: Comparison): Promise<readonly BenchLine[]> {
  const { two, one, asked } = comparison
  const tokens = { two: await furnish(two), one: await furnish(one) }
  const targetOf = (side: (typeof sides)[number], question: Question) => {
    const { port, ca } = comparison[side]
    const id = `${comparison.name} ${question.what} ${side}`
    return loadOn(id, port, question.requests(tokens[side]), connections, ca === undefined ? {} : { ca })
  }
  for (const question of asked)
    for (const side of sides) {
      bench.progress.doing(`warming up ${comparison.name}, ${question.what}, ${side}`)
      await askUntilWarm(bench, targetOf(side, question), question.warmUp * comparison[side].processors.length)
    }
  const releases = [...two.processors, ...one.processors].map((pids) => confine(pids, share))
  try {
    const lines: BenchLine[] = []
    for (const question of asked) {
      const series = await compare(bench, `${question.what}, ${comparison.name}`, {
        two: { target: targetOf('two', question), pid: two.processors.flat() },
        one: { target: targetOf('one', question), pid: one.processors.flat() },
      })
      lines.push({
        row: comparison.row,
        what: `${question.what}, ${comparison.name}`,
        ours: readingOf(series.two),
        against: comparison.against,
        twin: readingOf(series.one),
        ...ratioOf(series.two, series.one),
        unit: 'x',
        bar: bars.twoProcessors,
        ...note(generatorNote(series.two, series.one)),
      })
    }
    return lines
  } finally {
    for (const release of releases) release()
  }
}

/** Makes users, the first with an organization. Returns a token of each. */
const furnish = async (service: Scaled): Promise<readonly string[]> => {
  const tokens: string[] = []
  for (let index = 0; index < users; index += 1) tokens.push((await makeUser(service, `bench-${index}`)).token)
  await callApi(service, '/orgs', { authorization: `Bearer ${tokens[0]}`, body: { username: 'yard' } })
  return tokens
}

const longestWarmUpMs = 60_000

/** Loads a target until it has given so many answers, for at most a minute. */
export const askUntilWarm = async (bench: Bench, target: LoadTarget, answers: number): Promise<void> => {
  const until = performance.now() + longestWarmUpMs
  for (let count = 0; count < answers && performance.now() < until;)
    count += (await bench.generator.slice(target, 2)).answersInAll
  await bench.generator.close(target)
  await sleep(30)
}
