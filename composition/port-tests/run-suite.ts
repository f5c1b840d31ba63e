import { setImmediate as turn } from 'node:timers/promises'
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
      record(await resultOf(one, limitMilliseconds, stray))
    const closed = await reasonOf(within(limitMilliseconds, close()), stray)
    if (closed !== undefined) record({ title: 'the bench that the cases share closes', isKept: false, reason: closed })
  } finally {
    stray.restore()
  }
  return results
}

const resultOf = async (
  { title, run }: RunnableCase,
  limitMilliseconds: number,
  stray: StrayErrors,
): Promise<CaseResult> => {
  const { t, hasAsserted } = makeAssertions()
  const reason =
    (await reasonOf(within(limitMilliseconds, run(t)), stray)) ??
    (hasAsserted() ? undefined : 'The case has ended without an assertion.')
  return reason === undefined ? { title, isKept: true } : { title, isKept: false, reason }
}

const within = async (limitMilliseconds: number, work: Promise<unknown>): Promise<unknown> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new NotKept(`The case has not ended within ${limitMilliseconds / 1000} s.`)),
      limitMilliseconds,
    )
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns why a promise was rejected, or what was thrown beside it at the same time, or undefined. */
const reasonOf = async (work: Promise<unknown>, stray: StrayErrors): Promise<string | undefined> => {
  const reason = await work.then(() => undefined, describe)
  // A rejection that is not awaited is reported at the end of a turn.
  await turn()
  const [error, ...others] = stray.take()
  if (error === undefined) return reason
  const more = others.length === 0 ? '' : `\n(and ${others.length} more)`
  return `An error was thrown that is not awaited. ${describe(error.thrown)}${more}`
}

const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return `A value that is no Error was thrown: ${String(error)}`
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line) && !isOurs(line))
  if (error instanceof NotKept) return [error.message, ...frames.slice(0, 1)].join('\n')
  const cause = error.cause instanceof Error ? [`caused by ${error.cause.name}: ${error.cause.message}`] : []
  return [`${error.name}: ${error.message}`, ...cause, ...frames.slice(0, 6)].join('\n')
}

/** Frames that say nothing about the adapter: Node, and the runner itself. */
const isOurs = (line: string): boolean =>
  /node:internal|\/composition\/(?:port-tests|cli)\/|\/node_modules\/commander\//.test(line)

interface StrayErrors {
  /** Returns the errors since the last call. */
  take(): readonly { readonly thrown: unknown }[]
  restore(): void
}

/** Collects the errors that are not awaited, which would end the process. */
const catchStrayErrors = (): StrayErrors => {
  let errors: { readonly thrown: unknown }[] = []
  const listener = (thrown: unknown): void => void errors.push({ thrown })
  const events = ['uncaughtException', 'unhandledRejection'] as const
  const before = events.map((event) => process.listeners(event as 'uncaughtException'))
  for (const event of events) process.removeAllListeners(event).on(event, listener)
  return {
    take: () => {
      const taken = errors
      errors = []
      return taken
    },
    restore: () => {
      for (const [index, event] of events.entries()) {
        process.removeAllListeners(event)
        for (const one of before[index] ?? []) process.on(event, one)
      }
    },
  }
}
