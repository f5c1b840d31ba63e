import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startProcess, untilReady, type BackgroundProcess } from './background-process.ts'
import { reservedPort } from './reserved-port.ts'
import { findMariaDb } from './mariadb-binaries.ts'
import { findMysql8, findMysql9 } from './mysql-binaries.ts'
import { environmentNames } from './names.ts'
import { sayOnStderr, type Say } from './progress.ts'
import { createRunFolder, removeRunFolder } from './run-folder.ts'
import { mustRun } from './run-command.ts'
import type { SmallDisk } from '../small-disk.ts'

/** A running server that somebody else may own. */
export interface DatabaseAccess {
  readonly host: string
  readonly port: number
  /** mysql://root@127.0.0.1:port/name */
  url(databaseName: string): string
  /** Makes a fresh empty utf8mb4 database with a random name and answers its URL. */
  createDatabase(): Promise<string>
}

/** A server of one's own. */
export interface DatabaseServer extends DatabaseAccess {
  readonly socket: string
  /** An orderly stop; the data goes too unless `restart` follows from `kill`. */
  stop(): Promise<void>
  /** SIGKILL: what a crash leaves behind stays for `restart`. */
  kill(): Promise<void>
  /** Starts again on the same data, port and socket; stops first when it still runs. */
  restart(): Promise<void>
}

/** The programs of a server, and the arguments that are its own. */
export interface ServerProgram {
  readonly name: 'mariadbd' | 'mysqld'
  /** The command that makes an empty data folder, with its first arguments. */
  readonly initialize: readonly string[]
  /** The command of the server, with its first arguments. */
  readonly serve: readonly string[]
  /** Arguments of both. */
  readonly shared: readonly string[]
  /** Statements that the server runs whenever it starts. */
  readonly atStart: readonly string[]
  readonly environment: NodeJS.ProcessEnv
}

const programs = { mariadb: findMariaDb, 'mysql-8': findMysql8, 'mysql-9': findMysql9 }

/** A server of MySQL's protocol, by the name of its component. */
export type DatabaseProduct = keyof typeof programs

/** The product that the run was started for: MariaDB, unless `--mysql` names a release of MySQL. */
export const chosenProduct = (environment: NodeJS.ProcessEnv = process.env): DatabaseProduct => {
  const release = environment[environmentNames.mysqlRelease] ?? ''
  if (release === '') return 'mariadb'
  if (release === '8' || release === '9') return `mysql-${release}`
  throw new Error(`${environmentNames.mysqlRelease} is 8 or 9, not ${release}`)
}

interface Place {
  readonly folder: string
  /** Where the tables are. */
  readonly data: string
  /** The words before each command. */
  readonly enter: readonly string[]
  readonly more: readonly string[]
  readonly socket: string
  readonly port: number
}

export interface ServerOptions {
  /** Where the tables are. */
  readonly disk?: Pick<SmallDisk, 'folder' | 'enter'>
  /** More arguments of the server. */
  readonly more?: readonly string[]
  readonly product?: DatabaseProduct
}

/** Starts a private, empty, strict server on loopback; `root` needs no password. */
export async function startDatabaseServer(
  say: Say = sayOnStderr,
  { disk, more = [], product = chosenProduct() }: ServerOptions = {},
): Promise<DatabaseServer> {
  const program = await programs[product](say)
  const folder = createRunFolder(product)
  const place = {
    folder,
    data: join(disk?.folder ?? folder, 'data'),
    enter: disk?.enter ?? [],
    more,
    socket: join(folder, 's'),
    port: await reservedPort(),
  }
  await makeDataFolder(program, place)
  let running = await launch(program, place)
  return {
    ...connectToServer(`mysql://root@127.0.0.1:${place.port}/`),
    socket: place.socket,
    stop: async () => {
      await running.stop()
      removeRunFolder(folder)
    },
    kill: () => running.kill(),
    restart: async () => {
      await running.stop()
      running = await launch(program, place)
    },
  }
}

/** Access to the server at this URL, which names who connects; its path is ignored. */
export function connectToServer(serverUrl: string): DatabaseAccess {
  const { hostname, port } = new URL(serverUrl)
  const url = (databaseName: string) => new URL(`/${databaseName}`, serverUrl).href
  return {
    host: hostname,
    port: port === '' ? 3306 : Number(port),
    url,
    createDatabase: async () => {
      const { createConnection } = await import('mysql2/promise')
      const name = `moorage_${randomBytes(8).toString('hex')}`
      const connection = await createConnection({ uri: url(''), connectTimeout: 60_000 })
      try {
        await connection.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4`)
      } finally {
        await connection.end()
      }
      return url(name)
    },
  }
}

async function makeDataFolder(program: ServerProgram, place: Place): Promise<void> {
  for (const name of ['tmp', 'log']) await mkdir(join(place.folder, name))
  await writeFile(initFileOf(place), program.atStart.map((statement) => `${statement};\n`).join(''))
  const [file = '', ...words] = [...place.enter, ...program.initialize]
  // MySQL keeps what this setting was when the data folder was made.
  const lasting = place.more.filter((word) => word.startsWith('--lower-case-table-names'))
  await mustRun(file, [...words, ...sharedArguments(program, place), ...lasting], { environment: program.environment })
}

const initFileOf = ({ folder }: Place): string => join(folder, 'init.sql')

async function launch(program: ServerProgram, place: Place): Promise<BackgroundProcess> {
  const [file = '', ...words] = [...place.enter, ...program.serve]
  const started = startProcess({
    name: program.name,
    file,
    folder: place.folder,
    environment: program.environment,
    arguments: [
      ...words,
      ...sharedArguments(program, place),
      `--socket=${place.socket}`,
      `--init-file=${initFileOf(place)}`,
      `--pid-file=${join(place.folder, 'pid')}`,
      `--port=${place.port}`,
      '--skip-networking=0',
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      // A test process that computes, or is starved, does not answer for longer than the ten seconds of the default.
      '--connect-timeout=120',
      '--net-read-timeout=120',
      '--net-write-timeout=120',
      '--skip-log-bin',
      '--performance-schema=OFF',
      '--max-connections=500',
      '--max-connect-errors=1000000',
      '--character-set-server=utf8mb4',
      '--default-storage-engine=InnoDB',
      '--sql-mode=STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION',
      // Survives kill -9 of the server, which tests do; only losing the machine would lose a commit. Without a wait for
      // the disk at each of the many tables that tests create, nobody's statement times out behind them.
      '--innodb-flush-method=nosync',
      '--innodb-flush-log-at-trx-commit=2',
      '--innodb-buffer-pool-size=256M',
      '--innodb-use-native-aio=0',
      ...place.more,
    ],
  })
  await untilReady(
    started,
    async () => {
      const { createConnection } = await import('mysql2/promise')
      const connection = await createConnection({ socketPath: place.socket, user: 'root', connectTimeout: 2000 })
      await connection.end()
      return true
    },
    60_000,
  )
  return started
}

function sharedArguments({ shared }: ServerProgram, place: Place): string[] {
  return [
    // A server that starts deletes the temporary tables that it finds, so the folder is its own.
    `--datadir=${place.data}`,
    `--tmpdir=${join(place.folder, 'tmp')}`,
    `--innodb-log-group-home-dir=${join(place.folder, 'log')}`,
    ...(process.getuid?.() === 0 ? ['--user=root'] : []),
    ...shared,
  ]
}
