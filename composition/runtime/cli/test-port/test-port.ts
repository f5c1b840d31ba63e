import { definedFields } from '../../../../core/kernel/json.ts'
import { createRequire } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { migrateUp } from '../../../../adapters/sql/engine/migrator.ts'
import { openSqliteDatabase } from '../../../../adapters/sql/engine/sqlite-database.ts'
import type { SqlDatabase } from '../../../../adapters/sql/kit/statement.ts'
import type { ExitCode } from '../../../part/command-context.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { printJson } from '../../../part/command-context.ts'
import { migrationsFor } from '../../migrations.ts'
import type { AnyPart } from '../../../part/part.ts'
import type { Bench, ContractSuite } from '../../port-tests/contract-suite.ts'
import type { CaseResult, FoundSuite } from '../../port-tests/run-suite.ts'
import { factoryOf, findSuites, runSuite, suitesIn, suitesNamed } from '../../port-tests/run-suite.ts'

export interface TestPortOptions {
  readonly list?: boolean
  readonly json?: boolean
  readonly only?: string
  /** In seconds. */
  readonly timeout: string
}

/** What the function of a third party's module is called with. */
export interface PortTestContext {
  /**
   * Makes a database with our tables, for an adapter that uses them: SQLite in memory, with the rows that the suite
   * needs. It is closed after the run.
   */
  database(): Promise<SqlDatabase>
}

/** Lists the suites, describes one, or runs one against a module. Exits 1 when a case is not kept, 2 on wrong use. */
export const testPort = async (
  context: RuntimeContext,
  name: string | undefined,
  place: string | undefined,
  options: TestPortOptions,
): Promise<ExitCode> => {
  const isFile = name !== undefined && isPath(name)
  const suites = isFile ? await suitesOfFile(name) : await findSuites()
  if (typeof suites === 'string') return refuse(context, suites)
  if (name === undefined || options.list === true) return listSuites(context, suites, options)
  const [found, ...others] = isFile ? suites : suitesNamed(suites, name)
  if (found === undefined)
    return refuse(context, `There is no port and no suite named ${name}. They are listed by: moorage test-port --list`)
  if (others.length > 0) {
    const names = [found, ...others].map(({ suite }) => suite.name).join(', ')
    return refuse(
      context,
      isFile
        ? `The file ${name} exports several suites, ${names}: export one from each file.`
        : `Several suites test the port ${name}: name one of ${names}.`,
    )
  }
  if (place === undefined) return describeSuite(context, found, options)
  const limit = Number(options.timeout)
  if (!(limit > 0 && limit <= 86_400))
    return refuse(context, `--timeout must be a number of seconds, not ${options.timeout}.`)
  const loaded = await loadFactory(place, found.suite)
  if (typeof loaded === 'string') return refuse(context, loaded)
  return report(context, found, place, loaded, limit * 1000, options)
}

const isPath = (place: string): boolean => place.startsWith('.') || isAbsolute(place)

/** Returns the suites of a third party's own ports, or why the file has none. */
const suitesOfFile = async (place: string): Promise<readonly FoundSuite[] | string> => {
  const { shareOurModules } = await import('../../outside-parts.ts')
  shareOurModules()
  try {
    const suites = await suitesIn(moduleUrl(place))
    const path = resolve(place)
    return suites.length === 0
      ? `The file ${place} exports no suite that contractSuite has made.`
      : suites.map((suite) => ({ suite, path, types: path }))
  } catch (error) {
    return `The file ${place} cannot be loaded: ${firstLine(error)}.`
  }
}

const firstLine = (error: unknown): string =>
  error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)

const refuse = (context: RuntimeContext, message: string): ExitCode => {
  context.say(`moorage: ${message}`)
  return 2
}

const listSuites = (
  context: RuntimeContext,
  suites: readonly FoundSuite[],
  { json }: Pick<TestPortOptions, 'json'>,
): ExitCode => {
  const rows = suites.map(({ suite, path }) => ({
    name: suite.name,
    ports: suite.ports,
    factory: factoryOf(suite),
    cases: suite.cases.length,
    path,
  }))
  if (json === true) printJson(context, { suites: rows })
  else {
    const width = Math.max(...rows.map((row) => row.name.length))
    for (const { name, ports, cases, path } of rows)
      context.print(`${name.padEnd(width)}  ${String(cases).padStart(3)} cases  ${path}  ${ports.join(', ')}`)
  }
  return 0
}

const describeSuite = (
  context: RuntimeContext,
  { suite, path, types }: FoundSuite,
  { json }: Pick<TestPortOptions, 'json'>,
): ExitCode => {
  const { name, ports, needs, cases, isShared, fill } = suite
  if (json === true) {
    const titles = cases.map(({ title }) => title)
    printJson(context, {
      name,
      ports,
      factory: factoryOf(suite),
      needs,
      isShared: isShared === true,
      types,
      cases: titles,
    })
    return 0
  }
  context.print(`${name} tests ${ports.join(', ')}.

A module exports the function ${factoryOf(suite)}. It is called ${isShared === true ? 'once for all cases' : 'once for each case'}, with { database }, and
returns, or promises, a bench. What a bench is, is declared in
  ${types}
  (in TypeScript: import type { … } from 'moorage/${path}')
What a bench must hold: ${needs}${
    fill === undefined
      ? ''
      : '\n`await database()` returns an SQLite database with our tables, which has all of it already.'
  }

  moorage test-port ${name} ./my-adapter.js

The cases:`)
  for (const { title } of cases) context.print(`  ${title}`)
  return 0
}

type Factory = (context: PortTestContext) => unknown

/** Returns the function of the module, or what is wrong with the module. */
const loadFactory = async (place: string, suite: ContractSuite<Bench>): Promise<Factory | string> => {
  const { shareOurModules } = await import('../../outside-parts.ts')
  shareOurModules()
  let loaded: Readonly<Record<string, unknown>>
  try {
    loaded = (await import(moduleUrl(place))) as Readonly<Record<string, unknown>>
  } catch (error) {
    return `The module ${place} cannot be loaded: ${firstLine(error)}.`
  }
  const factory = loaded[factoryOf(suite)]
  if (typeof factory === 'function') return factory as Factory
  const names = Object.keys(loaded).join(', ')
  return (
    `The module ${place} must export the function ${factoryOf(suite)}. It exports ` +
    `${names === '' ? 'nothing' : names}.`
  )
}

const moduleUrl = (place: string): string =>
  isPath(place)
    ? pathToFileURL(resolve(place)).href
    : pathToFileURL(createRequire(join(process.cwd(), 'package.json')).resolve(place)).href

/** Returns our migrations, and those of the part from outside that a suite belongs to. */
const migrationsOf = async (own: readonly AnyPart[], { migrations }: ContractSuite<Bench>, database: SqlDatabase) => {
  const parts = migrations === undefined ? own : [...own, { migrations }]
  return migrationsFor({ parts, ownParts: own.length }, database)
}

/** Makes the benches of a run, and closes the databases that they have requested. */
const benchesOf = (own: readonly AnyPart[], suite: ContractSuite<Bench>, factory: Factory) => {
  const databases: SqlDatabase[] = []
  const database = async (): Promise<SqlDatabase> => {
    const made = openSqliteDatabase(':memory:')
    databases.push(made)
    await migrateUp(made, { migrations: await migrationsOf(own, suite, made) })
    await suite.fill?.(made)
    return made
  }
  return {
    open: async (): Promise<Bench> => {
      const bench = await factory({ database })
      if (typeof bench !== 'object' || bench === null)
        throw new TypeError(`${factoryOf(suite)} must return a bench, not ${String(bench)}.`)
      return bench
    },
    close: async (): Promise<void> => {
      for (const one of databases) await one.close().catch(() => undefined)
    },
  }
}

const report = async (
  context: RuntimeContext,
  { suite }: FoundSuite,
  place: string,
  factory: Factory,
  limitMilliseconds: number,
  { json, only }: TestPortOptions,
): Promise<ExitCode> => {
  const benches = benchesOf(await context.ownParts.load(), suite, factory)
  const onResult = json === true ? undefined : (result: CaseResult): void => context.print(lineOf(result))
  const results = await runSuite(suite, benches.open, {
    limitMilliseconds,
    only,
    ...definedFields({ onResult }),
  })
  await benches.close()
  const kept = results.filter(({ isKept }) => isKept).length
  if (results.length === 0) return refuse(context, `No case of ${suite.name} has ${only} in its title.`)
  if (json === true) printJson(context, { name: suite.name, module: place, kept, cases: results })
  else context.print(`${place} keeps ${kept} of ${results.length} cases of ${suite.name}.`)
  return kept === results.length ? 0 : 1
}

const lineOf = ({ title, isKept, reason = '' }: CaseResult): string =>
  isKept ? `kept      ${title}` : `not kept  ${title}\n${reason.replace(/^/gm, '          ')}`
