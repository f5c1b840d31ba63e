import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { arch, cpus, freemem, platform, release, totalmem } from 'node:os'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { pack } from 'tar-stream'
import { makeUndiciApiClient } from '../../../../adapters/api-client/undici-api-client.ts'
import { steadyClock } from '../../../../adapters/system/system-clock.ts'
import { toWireJson } from '../../../../core/kernel/json.ts'
import { releaseVersion } from '../../../../core/platform/version.ts'
import { StartRefused } from '../../../part/boot.ts'
import type { LoadedConfig } from '../../config/config.ts'
import { addressUrl } from '../../../part/setting-type.ts'
import type { CommonOptions, ExitCode } from '../../../part/command-context.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { printJson } from '../../../part/command-context.ts'
import { configOf, printConfig } from '../config.ts'
import { checkConfig } from '../deployment.ts'
import { doctor } from '../doctor/doctor.ts'
import { migrateStatus } from '../migrate.ts'
import { secretsOf, shownLine, withoutNames, withoutSecrets } from './redaction.ts'

export interface BundleOptions extends CommonOptions {
  readonly output?: string
  /** A file with lines of the log in JSON, or - for stdin. */
  readonly log?: string
  readonly lines: string
}

/** A file of the bundle. */
interface Entry {
  readonly name: string
  readonly text: string
}

const metricsMilliseconds = 5_000
const mostLines = 100_000
/** So much of the end of a log is read: that many lines of it, and no more memory for a log of any size. */
const mostLogBytes = 64 * 2 ** 20

const about = `What this is: facts about an installation of Moorage, for the people who help with it.

versions.json     releases and the machine
settings.json     each setting with its source; secrets are masked
deployment.json   the parts, routes and jobs that exist here
doctor.json       what moorage doctor found
migrations.json   the schema of the database
metrics.txt       the metrics of the running service; clusters are numbered
log.txt           the last lines of the log, with known fields only

No row of the database is in it, and no password, key or token. Addresses of servers and paths of files are in the
settings and in what the doctor found: read them before you send the file.
`

const versions = (): object => ({
  moorage: releaseVersion,
  node: process.version,
  libraries: process.versions,
  platform: `${platform()} ${release()} ${arch()}`,
  cores: cpus().length,
  memoryBytes: { free: freemem(), total: totalmem() },
})

/** Runs a command and returns what it prints. A failure is a text too: it is what the bundle is for. */
const outputOf = async (
  context: RuntimeContext,
  run: (captured: RuntimeContext) => Promise<ExitCode>,
): Promise<string> => {
  const lines: string[] = []
  const take = (text: string): void => void lines.push(text)
  try {
    const code = await run({ environment: context.environment, ownParts: context.ownParts, print: take, say: take })
    return `${lines.join('\n')}\n${code === 0 ? '' : `exit code ${code}\n`}`
  } catch (error) {
    const problems = error instanceof StartRefused ? error.problems : [(error as Error).message]
    return `${[...lines, ...problems].join('\n')}\n`
  }
}

const metricsOf = async (config: LoadedConfig | undefined): Promise<string> => {
  if (config === undefined) return 'The settings are not valid.\n'
  const { opsListen } = config.settings
  if (opsListen.port === 0) return 'The port of MOORAGE_OPS_LISTEN is not fixed.\n'
  const client = makeUndiciApiClient({ server: addressUrl(opsListen), headers: {} })
  const isLate = setTimeout(() => void client.close(), metricsMilliseconds)
  try {
    const { status, body } = await client.send({ method: 'GET', path: '/metrics', headers: {}, body: undefined })
    return status === 200 ? withoutNames(body) : `The service answered ${status}.\n`
  } catch {
    return 'The service does not answer at MOORAGE_OPS_LISTEN.\n'
  } finally {
    clearTimeout(isLate)
    await client.close()
  }
}

/** Returns what reads the end of a log, and whether that is not the whole of it. */
const openLog = async (source: string): Promise<{ readonly input: Readable; readonly isCut: boolean }> => {
  if (source === '-') return { input: process.stdin, isCut: false }
  const { size } = await stat(source)
  const start = Math.max(0, size - mostLogBytes)
  return { input: createReadStream(source, { start }), isCut: start > 0 }
}

/** Returns the last lines of a log, of which a part is read. What is read from stdin is read whole. */
const linesOf = async (source: string | undefined, most: number, secrets: readonly string[]): Promise<string> => {
  if (source === undefined) return 'No log was named: moorage support-bundle --log FILE.\n'
  const last: string[] = []
  let leftOut = 0
  let isPart = false
  try {
    const { input, isCut } = await openLog(source)
    isPart = isCut
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      last.push(line)
      if (last.length >= 2 * most) last.splice(0, last.length - most)
    }
  } catch (error) {
    return `The log cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}.\n`
  }
  isPart &&= last.length < most
  const shown = last.slice(-most).flatMap((line) => {
    const clean = shownLine(line, secrets)
    if (clean === undefined && line !== '') leftOut += 1
    return clean === undefined ? [] : [clean]
  })
  const told = [
    `${leftOut} lines that are not in JSON were left out.`,
    ...(isPart ? [`Only the last ${mostLogBytes / 2 ** 20} MiB of the log were read.`] : []),
  ]
  return `${[...shown, ...told].join('\n')}\n`
}

const write = async (file: string, entries: readonly Entry[]): Promise<void> => {
  const handle = await open(file, 'wx', 0o600)
  const archive = pack()
  for (const { name, text } of entries) archive.entry({ name: `moorage-support/${name}`, mode: 0o600 }, text)
  archive.finalize()
  await pipeline(archive, createGzip(), handle.createWriteStream())
}

const fileName = (now: Date): string =>
  `moorage-support-${now
    .toISOString()
    .replaceAll(/[-:]/g, '')
    .replace(/\.\d+Z$/, 'Z')}.tar.gz`

const orInvalid = async (context: RuntimeContext, options: CommonOptions): Promise<LoadedConfig | undefined> => {
  try {
    return await configOf(context, options)
  } catch (error) {
    if (error instanceof StartRefused) return undefined
    throw error
  }
}

/**
 * Writes facts about this installation to one file that can be sent to another person. It changes nothing and needs no
 * running service.
 */
export const supportBundle = async (context: RuntimeContext, options: BundleOptions): Promise<ExitCode> => {
  const most = Number(options.lines)
  if (!Number.isInteger(most) || most < 1 || most > mostLines) {
    context.say(`--lines must be a whole number from 1 to ${mostLines}.`)
    return 2
  }
  const config = await orInvalid(context, options)
  const secrets = config === undefined ? [] : secretsOf(config)
  const json = { json: true, ...(options.config && { config: options.config }) }
  const found: readonly Entry[] = [
    { name: 'README.txt', text: about },
    { name: 'versions.json', text: `${toWireJson(versions(), 2)}\n` },
    { name: 'settings.json', text: await outputOf(context, (captured) => printConfig(captured, json)) },
    { name: 'deployment.json', text: await outputOf(context, (captured) => checkConfig(captured, json)) },
    { name: 'doctor.json', text: await outputOf(context, (captured) => doctor(captured, json)) },
    { name: 'migrations.json', text: await outputOf(context, (captured) => migrateStatus(captured, json)) },
    { name: 'metrics.txt', text: await metricsOf(config) },
    { name: 'log.txt', text: await linesOf(options.log, most, secrets) },
  ]
  const entries = found.map(({ name, text }) => ({ name, text: withoutSecrets(text, secrets) }))
  const file = options.output ?? fileName(steadyClock.now())
  try {
    await write(file, entries)
  } catch (error) {
    context.say(`${file} cannot be written: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}.`)
    return 1
  }
  if (options.json === true) printJson(context, { file, entries: entries.map(({ name }) => name) })
  else context.print(`${file} has ${entries.map(({ name }) => name).join(', ')}. Read it before you send it.`)
  return 0
}
