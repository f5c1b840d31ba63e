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

/** A binary built by `go install` knows its version only from its build information. */
const inBuildInfo = /Version:"v?([^"]+)"/
const plain = /^v?(\d+\.\d+\.\d+\S*)/

/** The version that `helm version` tells, by its template or its build information. */
export const parseVersion = (output: string): ProbedVersion | undefined => {
  const text = plain.exec(output.trim())?.[1] ?? inBuildInfo.exec(output)?.[1]
  const parsed = parse(text ?? '')
  if (parsed === null || (parsed.major !== 3 && parsed.major !== 4)) return undefined
  return { version: parsed.version, major: parsed.major }
}

/** Least version that the service uses: older ones unpack and check charts in ways that are unsafe. */
export const floorVersion = '3.18.6'

export const reachesFloor = ({ version }: ProbedVersion, floor: string = floorVersion): boolean => gte(version, floor)

/** Asks a binary for its version. Throws, in plain words, when it is no helm. */
export const probeVersion = async (path: string): Promise<ProbedVersion> => {
  // Not the service's environment: what is run here was found by a name alone.
  const options = { timeout: 10_000, maxBuffer: 64 * 1024, env: { HOME: tmpdir(), HELM_NO_PLUGINS: '1' } }
  const ask = async (words: readonly string[]): Promise<ProbedVersion | undefined> => parseVersion((await run(path, [...words], options)).stdout)
  const found = (await ask(['version', '--template', '{{.Version}}'])) ?? (await ask(['version']))
  if (found === undefined) throw new Error('it does not tell a version of Helm 3 or 4')
  return found
}

/** A binary that may be used. */
export interface FoundHelm extends HelmVersion {
  readonly path: string
}

export type HelmSearch = { readonly found: FoundHelm } | { readonly found: undefined; readonly why: string }

export interface HelmFinderOptions {
  /** MOORAGE_HELM: a path, `off`, or absent. */
  readonly setting: string | undefined
  /** Folders, as in PATH. */
  readonly searchPath: string
  /** Where the bundled one lies, when it was fetched and is whole. */
  readonly bundled: () => Promise<string | undefined>
  readonly floor?: string
  /** How long a look that found none is believed. */
  readonly lookAgainMilliseconds?: number
}

/** Finds the helm to use. */
export interface HelmFinder {
  /** What was found before, or a new look. Several at once look once. */
  find(): Promise<HelmSearch>
  /** Forgets what was found: it is gone, or there is a better one. */
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

/** The first file of that name that can be run. */
export const onPath = (name: string, searchPath: string): string | undefined =>
  searchPath.split(delimiter).filter((folder) => folder !== '').map((folder) => resolve(folder, name)).find(isExecutable)

const tryBinary = async (path: string, origin: HelmVersion['origin'], floor: string): Promise<HelmSearch> => {
  try {
    const probed = await probeVersion(path)
    if (!reachesFloor(probed, floor)) return { found: undefined, why: `${path} is Helm ${probed.version}, which is older than ${floor}` }
    return { found: { path, origin, ...probed } }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return { found: undefined, why: `${path} cannot be used (${typeof code === 'string' ? code : message.split('\n')[0]})` }
  }
}

/** How one gets a helm, for every refusal. */
export const howToGetHelm = `Install Helm ${floorVersion} or later (4.1 is recommended) and name it in MOORAGE_HELM, put it on the PATH, or run: moorage helm install`

export const makeHelmFinder = (options: HelmFinderOptions): HelmFinder => {
  const floor = options.floor ?? floorVersion
  const lookAgain = options.lookAgainMilliseconds ?? 10_000
  let known: Promise<HelmSearch> | undefined
  let last: Promise<HelmSearch> | undefined

  const search = async (): Promise<HelmSearch> => {
    if (options.setting === 'off') return { found: undefined, why: 'MOORAGE_HELM is off' }
    // Whoever names one wants that one, or to be told.
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
    if (bundled === undefined) return { found: undefined, why: [...reasons, 'the bundled one was not fetched'].join(', and ') }
    const tried = await tryBinary(bundled, 'bundled', floor)
    return tried.found === undefined ? { found: undefined, why: [...reasons, tried.why].join(', and ') } : tried
  }

  return {
    find() {
      const asked = (known ??= search())
      if (asked === last) return asked
      last = asked
      // Only what is there is remembered for good: a later look may find one. Probes ask every few seconds.
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
