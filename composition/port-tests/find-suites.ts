import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Bench, ContractSuite } from './contract-suite.ts'

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
const folder = new URL('../../test/', import.meta.url)

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
