import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { gte, parse } from 'semver'

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
