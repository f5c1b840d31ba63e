import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseInUse, openCompaction } from '../../../adapters/sql/engine/sqlite-compaction.ts'
import { disksOf } from '../../../adapters/system/files.ts'
import { StartRefused } from '../../part/boot.ts'
import type { CommonOptions, ExitCode } from '../../part/command-context.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { printJson } from '../../part/command-context.ts'
import { configOf } from './config.ts'

export interface CompactOptions extends CommonOptions {
  readonly dryRun?: boolean
}

/** Returns unused space of the SQLite file to the file system. The service must be stopped. */
export const compactDatabase = async (context: RuntimeContext, options: CompactOptions): Promise<ExitCode> => {
  const { settings } = await configOf(context, options)
  const path = fileOf(settings.databaseUrl.reveal())
  const { free = Number.POSITIVE_INFINITY } = (await disksOf({ file: dirname(path) }))['file'] ?? {}
  const session = opened(path)
  try {
    const { size, unused, needed } = session.plan
    context.say(
      `${path} has ${mebibytes(size)} MiB, of which ${mebibytes(unused)} MiB are unused. To compact it takes up to ` +
        `${mebibytes(needed)} MiB of free space beside it, until it ends.`,
    )
    if (free < needed)
      throw new StartRefused([
        `The file system of ${path} has ${mebibytes(free)} MiB free. Make room. Nothing was changed.`,
      ])
    const sizeAfter = options.dryRun === true ? size : session.compact()
    if (options.json === true)
      printJson(context, { path, size, unused, needed, sizeAfter, compacted: options.dryRun !== true })
    else if (options.dryRun === true) context.print('Nothing was changed.')
    else context.print(`Freed ${mebibytes(size - sizeAfter)} MiB: ${path} has ${mebibytes(sizeAfter)} MiB.`)
    return 0
  } finally {
    session.close()
  }
}

const fileOf = (url: string): string => {
  if (!url.startsWith('sqlite:'))
    throw new StartRefused([
      'Only SQLite is compacted by this command. Of MySQL and MariaDB, OPTIMIZE TABLE frees the space of a table.',
    ])
  if (url === 'sqlite::memory:') throw new StartRefused(['A database in memory has no file to compact.'])
  const path = resolve(url.slice('sqlite:'.length))
  if (!existsSync(path)) throw new StartRefused([`${path} does not exist.`])
  return path
}

const opened = (path: string): ReturnType<typeof openCompaction> => {
  try {
    return openCompaction(path)
  } catch (error) {
    if (error instanceof DatabaseInUse)
      throw new StartRefused([`${error.message} Stop the service first. Nothing was changed.`], error)
    throw error
  }
}

const mebibytes = (bytes: number): string => (bytes / 1024 ** 2).toFixed(1)
