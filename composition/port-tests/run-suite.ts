import { makeAssertions, NotKept } from './assertions.ts'
import type { Bench, ContractSuite, RunnableCase } from './contract-suite.ts'
import { casesOn } from './contract-suite.ts'

/** Whether an adapter keeps a case, and why not. */
export interface CaseResult {
  readonly title: string
  readonly isKept: boolean
  /** What did not hold, with the difference and the place. */
  readonly reason?: string
}

export interface RunOptions {
  /** A case that takes longer is not kept. */
  readonly limitMilliseconds: number
  /** Runs only the cases whose title contains it. */
  readonly only?: string | undefined
  /** Called when a case has ended. */
  readonly onResult?: (result: CaseResult) => void
}

/** Runs the cases of a suite one after the other, each on the bench that `open` makes. */
export const runSuite = async (
  suite: ContractSuite<Bench>,
  open: () => Promise<Bench>,
  { limitMilliseconds, only = '', onResult = () => undefined }: RunOptions,
): Promise<readonly CaseResult[]> => {
  const results: CaseResult[] = []
  const { cases, close } = casesOn(suite, open)
  const record = (result: CaseResult): void => {
    results.push(result)
    onResult(result)
  }
  const stray = catchStrayErrors()
  try {
    for (const one of cases.filter(({ title }) => title.includes(only)))
      record(await resultOf(one, limitMilliseconds, stray.next()))
    const closed = await reasonOf(within(limitMilliseconds, close(), stray.next()))
    if (closed !== undefined) record({ title: 'the bench that the cases share closes', isKept: false, reason: closed })
  } finally {
    stray.restore()
  }
  return results
}

const resultOf = async (
  { title, run }: RunnableCase,
  limitMilliseconds: number,
  stray: Promise<never>,
): Promise<CaseResult> => {
  const { t, hasAsserted } = makeAssertions()
  const reason =
    (await reasonOf(within(limitMilliseconds, run(t), stray))) ??
    (hasAsserted() ? undefined : 'The case has ended without an assertion.')
  return reason === undefined ? { title, isKept: true } : { title, isKept: false, reason }
}

const within = async (limitMilliseconds: number, work: Promise<unknown>, stray: Promise<never>): Promise<unknown> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new NotKept(`The case has not ended within ${limitMilliseconds / 1000} s.`)),
      limitMilliseconds,
    )
  })
  try {
    return await Promise.race([work, late, stray])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns why a promise was rejected, or undefined. */
const reasonOf = async (work: Promise<unknown>): Promise<string | undefined> => {
  try {
    await work
    return undefined
  } catch (error) {
    return describe(error)
  }
}

const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return `A value that is no Error was thrown: ${String(error)}`
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line) && !isOurs(line))
  if (error instanceof NotKept) return [error.message, ...frames.slice(0, 1)].join('\n')
  const cause = error.cause instanceof Error ? [`caused by ${error.cause.name}: ${error.cause.message}`] : []
  return [`${error.name}: ${error.message}`, ...cause, ...frames.slice(0, 6)].join('\n')
}

/** Frames that say nothing about the adapter: Node, and the runner itself. */
const isOurs = (line: string): boolean => /node:internal|\/composition\/port-tests\//.test(line)

/**
 * Takes the errors that nobody awaits, which would end the process, and rejects the promise of the case that runs then.
 */
const catchStrayErrors = (): { next(): Promise<never>; restore(): void } => {
  let reject: (error: unknown) => void = () => undefined
  const listener = (error: unknown): void => reject(error)
  const events = ['uncaughtException', 'unhandledRejection'] as const
  const before = events.map((event) => process.listeners(event as 'uncaughtException'))
  for (const event of events) process.removeAllListeners(event).on(event, listener)
  return {
    next: () => {
      const promise = new Promise<never>((_, fail) => (reject = fail))
      promise.catch(() => undefined)
      return promise
    },
    restore: () => {
      for (const [index, event] of events.entries()) {
        process.removeAllListeners(event)
        for (const one of before[index] ?? []) process.on(event, one)
      }
    },
  }
}
