import { execFile } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gte, parse } from 'semver'
import type { HelmVersion } from '../../../core/packages/releases/ports.ts'

export interface ProbedVersion {
  /** Without `v`. */
  readonly version: string
  readonly major: 3 | 4
}

const run = promisify(execFile)

/** A binary built by `go install` has its version only in its build information. */
const inBuildInfo = /Version:"v?([^"]+)"/
const plain = /^v?(\d+\.\d+\.\d+\S*)/

/** Parses the output of `helm version`, from its template or its build information. @internal */
export const parseVersion = (output: string): ProbedVersion | undefined => {
  const text = plain.exec(output.trim())?.[1] ?? inBuildInfo.exec(output)?.[1]
  const parsed = parse(text ?? '')
  if (parsed === null || (parsed.major !== 3 && parsed.major !== 4)) return undefined
  return { version: parsed.version, major: parsed.major }
}

/** The lowest supported version. Older versions unpack and check charts in unsafe ways. */
const floorVersion = '3.18.6'

/** @internal */
export const reachesFloor = ({ version }: ProbedVersion, floor: string = floorVersion): boolean => gte(version, floor)

/** Returns the version of a binary. Throws an error in plain words if it is not helm. */
const probeVersion = async (path: string): Promise<ProbedVersion> => {
  // Not the environment of the service: the binary was found by its name alone.
  const options = { timeout: 10_000, maxBuffer: 64 * 1024, env: { HOME: tmpdir(), HELM_NO_PLUGINS: '1' } }
  const ask = async (words: readonly string[]): Promise<ProbedVersion | undefined> =>
    parseVersion((await run(path, [...words], options)).stdout)
  const found = (await ask(['version', '--template', '{{.Version}}'])) ?? (await ask(['version']))
  if (found === undefined) throw new Error('it does not tell a version of Helm 3 or 4')
  return found
}

/** A usable helm binary. */
export interface FoundHelm extends HelmVersion {
  readonly path: string
}

type HelmSearch = { readonly found: FoundHelm } | { readonly found: undefined; readonly why: string }

export interface HelmFinderOptions {
  /** MOORAGE_HELM: a path, `off`, or undefined. */
  readonly setting: string | undefined
  /** Folders, in the format of PATH. */
  readonly searchPath: string
  /** Returns the path of the bundled helm, or undefined if it is not installed or not intact. */
  readonly bundled: () => Promise<string | undefined>
  readonly floor?: string
  /** How long a failed search is cached. */
  readonly lookAgainMilliseconds?: number
}

/** Finds the helm to use. */
export interface HelmFinder {
  /** Returns the cached result or searches. Concurrent calls share one search. */
  find(): Promise<HelmSearch>
  /** Discards the cached result: the binary is gone, or there is a better one. */
  forget(): void
}

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** Returns the first executable file of that name. */
export const onPath = (name: string, searchPath: string): string | undefined =>
  searchPath
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => resolve(folder, name))
    .find(isExecutable)

const tryBinary = async (path: string, origin: HelmVersion['origin'], floor: string): Promise<HelmSearch> => {
  try {
    const probed = await probeVersion(path)
    if (!reachesFloor(probed, floor))
      return { found: undefined, why: `${path} is Helm ${probed.version}, which is older than ${floor}` }
    return { found: { path, origin, ...probed } }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return {
      found: undefined,
      why: `${path} cannot be used (${typeof code === 'string' ? code : message.split('\n')[0]})`,
    }
  }
}

/** How to install helm, for every refusal. */
export const howToGetHelm = `Install Helm ${floorVersion} or later (4.1 is recommended) and name it in MOORAGE_HELM, put it on the PATH, or run: moorage helm install`

export const makeHelmFinder = (options: HelmFinderOptions): HelmFinder => {
  const floor = options.floor ?? floorVersion
  const lookAgain = options.lookAgainMilliseconds ?? 10_000
  let known: Promise<HelmSearch> | undefined
  let last: Promise<HelmSearch> | undefined

  const search = async (): Promise<HelmSearch> => {
    if (options.setting === 'off') return { found: undefined, why: 'MOORAGE_HELM is off' }
    // If a path is set, only that binary is used, and a problem with it is reported.
    if (options.setting !== undefined) return tryBinary(resolve(options.setting), 'setting', floor)
    const reasons: string[] = []
    const named = onPath('helm', options.searchPath)
    if (named === undefined) reasons.push('there is no helm on the PATH')
    else {
      const tried = await tryBinary(named, 'path', floor)
      if (tried.found !== undefined) return tried
      reasons.push(tried.why)
    }
    const bundled = await options.bundled()
    if (bundled === undefined)
      return { found: undefined, why: [...reasons, 'the bundled one was not fetched'].join(', and ') }
    const tried = await tryBinary(bundled, 'bundled', floor)
    return tried.found === undefined ? { found: undefined, why: [...reasons, tried.why].join(', and ') } : tried
  }

  return {
    find() {
      const asked = (known ??= search())
      if (asked === last) return asked
      last = asked
      // Only a success is cached without limit: a later search may succeed. Health probes ask every few seconds.
      const drop = (): void => {
        if (known === asked) known = undefined
      }
      void asked.then(({ found }) => {
        if (found === undefined) setTimeout(drop, lookAgain).unref()
      }, drop)
      return asked
    },
    forget() {
      known = undefined
    },
  }
}
