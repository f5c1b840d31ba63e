import { setImmediate as turn } from 'node:timers/promises'
import { NotKept, makeAssertions } from './assertions.ts'
import type { Bench, ContractSuite, RunnableCase } from './contract-suite.ts'
import { casesOn } from './contract-suite.ts'
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

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

/** A contract suite and where it is. */
export interface FoundSuite {
  readonly suite: ContractSuite<Bench>
  /** The file below this package, without its ending: `test/authz/role-store.suite`. */
  readonly path: string
  /** The file that declares what a bench is: a declaration file, or the source in a checkout. */
  readonly types: string
}

// The sources in a checkout, the build in an installed package.
const ending = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
const folder = new URL('../../../test/', import.meta.url)

/** Returns every contract suite of this package by its name. Throws if a file cannot be loaded or has no suite. */
export const findSuites = async (): Promise<readonly FoundSuite[]> => {
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(`.suite${ending}`))
  const found = await Promise.all(files.map((name) => suitesOf(name.replaceAll('\\', '/'))))
  const suites = found.flat().toSorted((a, b) => (a.suite.name < b.suite.name ? -1 : 1))
  for (const [index, { suite, path }] of suites.entries())
    if (suites[index + 1]?.suite.name === suite.name) throw new Error(`Two suites have the name ${suite.name}: ${path}`)
  return suites
}

/** Returns the suites that a module exports. */
export const suitesIn = async (url: string): Promise<readonly ContractSuite<Bench>[]> =>
  Object.values((await import(url)) as Readonly<Record<string, unknown>>).filter(isContractSuite)

const suitesOf = async (name: string): Promise<readonly FoundSuite[]> => {
  const url = new URL(name, folder)
  const suites = await suitesIn(url.href)
  if (suites.length === 0) throw new Error(`test/${name} exports no suite that contractSuite has made.`)
  const path = `test/${name.slice(0, -ending.length)}`
  const types = fileURLToPath(url).replace(/\.js$/, '.d.ts')
  return suites.map((suite) => ({ suite, path, types }))
}

const isContractSuite = (value: unknown): value is ContractSuite<Bench> => {
  const { name, ports, cases } = (value ?? {}) as Partial<ContractSuite<Bench>>
  return typeof name === 'string' && Array.isArray(ports) && Array.isArray(cases)
}

/** The name of the function that a module exports for a suite: `openRoleStore` of `role-store`. */
export const factoryOf = ({ name }: Pick<ContractSuite<Bench>, 'name'>): string =>
  `open${name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())}`

/** Returns the suites with this name, or that test a port with this name; case and hyphens do not matter. */
export const suitesNamed = (suites: readonly FoundSuite[], name: string): readonly FoundSuite[] => {
  const wanted = plain(name)
  const byName = suites.filter(({ suite }) => plain(suite.name) === wanted)
  return byName.length > 0 ? byName : suites.filter(({ suite }) => suite.ports.some((port) => plain(port) === wanted))
}

const plain = (name: string): string => name.replaceAll('-', '').toLowerCase()
