import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  changeKeyringFile,
  openOrMakeKeyringFile,
  readKeyringContent,
} from '../../../../adapters/security/keyring-file.ts'
import type { KeyringContent } from '../../../../adapters/security/keyring.ts'
import { waitingKeyOf } from '../../../../adapters/security/keyring.ts'
import { makeSqlInstanceRegister, makeSqlLeaseStore } from '../../../../adapters/sql/kernel/instance-store.ts'
import type { SealedValues } from '../../../../adapters/sql/kernel/sealed-values.ts'
import { makeSqlSealedValues } from '../../../../adapters/sql/kernel/sealed-values.ts'
import type { SealedColumn } from '../../../../adapters/sql/kit/declared-tables.ts'
import type { LeaseStore, LiveInstance } from '../../../../core/kernel/instances.ts'
import type { SecretBox } from '../../../../core/kernel/secret.ts'
import { StartRefused } from '../../../part/boot.ts'
import type { CommonOptions, ExitCode } from '../../../part/command-context.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { printJson } from '../../../part/command-context.ts'
import { configOf } from '../config.ts'
import { onStore } from '../on-store.ts'
import type { KeyUse } from './key-use.ts'
import { countKeyUse, faultsOf, sealedColumnsOf, shownColumn } from './key-use.ts'

/** What the commands of the key ring work on. */
export interface KeyRingStore {
  /** The path of the key ring. */
  readonly path: string
  readonly values: SealedValues
  readonly columns: readonly SealedColumn[]
  readonly secretBox: SecretBox
  readonly leases: LeaseStore
  /** Returns the instances that are alive. */
  alive(): Promise<readonly LiveInstance[]>
  /** By the clock of the database. */
  now(): Date
  /** How long to wait until instances have a key. Milliseconds. */
  readonly patienceMs: number
  content(): KeyringContent
}

/** An instance reads a shared file again within three seconds; one that was killed counts as dead after ten. */
const patienceMs = 15_000

/** Runs a command on the key ring and the database of this deployment. The service may run at the same time. */
export const onKeyRing = async <A>(
  context: RuntimeContext,
  options: CommonOptions,
  work: (store: KeyRingStore) => Promise<A>,
): Promise<A> => {
  const { parts } = await configOf(context, options)
  return onStore(context, options, ({ boot: { database, secretBox, settings, instanceId, clock } }) =>
    inPlainWords(() =>
      work({
        path: settings.keyring,
        values: makeSqlSealedValues(database),
        columns: sealedColumnsOf(parts),
        secretBox,
        leases: makeSqlLeaseStore(database),
        alive: () => makeSqlInstanceRegister(database, instanceId).alive(),
        now: () => clock.now(),
        patienceMs,
        content: () => contentOf(settings.keyring),
      }),
    ),
  )
}

const contentOf = (path: string): KeyringContent => {
  const content = readKeyringContent(path)
  if (content === undefined) throw new StartRefused([`The key ring ${path} is not there.`])
  return content
}

/** Makes a key ring for a new deployment. An existing file is not touched. */
export const initKeys = async (context: RuntimeContext, options: CommonOptions): Promise<ExitCode> => {
  const { keyring: path } = (await configOf(context, options)).settings
  const [key] = await inPlainWords(async () => {
    if (readKeyringContent(path) !== undefined) throw new StartRefused([`The key ring ${path} exists already.`])
    return openOrMakeKeyringFile(path).keyIds
  })
  if (options.json === true) printJson(context, { key, path })
  else context.print(`Made the key ring ${path}. Back it up: what it seals in a database is lost without it.`)
  return 0
}

const inPlainWords = async <A>(work: () => Promise<A>): Promise<A> => {
  try {
    return await work()
  } catch (error) {
    if ((error as Error).name === 'KeyringUnusable') throw new StartRefused([(error as Error).message])
    throw error
  }
}

const leaseSeconds = 10
const mostWaits = 60
const waitMs = 250

/** Changes the file while no other command of this deployment changes it. */
export const changeKeyRing = async (
  { leases, path }: Pick<KeyRingStore, 'leases' | 'path'>,
  change: (content: KeyringContent) => KeyringContent,
): Promise<KeyringContent> => {
  const holder = randomUUID()
  for (let wait = 0; wait < mostWaits; wait += 1) {
    const lease = await leases.acquire('kernel.keys', holder, leaseSeconds)
    if (lease === undefined) {
      await sleep(waitMs)
      continue
    }
    try {
      return changeKeyringFile(path, change)
    } finally {
      await leases.release(lease)
    }
  }
  throw new StartRefused(['Another command changes the key ring. Try again in a moment.'])
}

/** Prints the keys and how many values each seals. Returns 1 if there are values that cannot be opened. */
export const keyStatus = (context: RuntimeContext, options: CommonOptions): Promise<ExitCode> =>
  onKeyRing<ExitCode>(context, options, async (store) => {
    const content = store.content()
    const use = await countKeyUse(
      store.values,
      store.columns,
      content.keys.map(({ id }) => id),
    )
    const keys = content.keys.map(({ id, createdAt }) => ({
      id,
      createdAt,
      state: stateOf(content, id),
      values: use.byKey.get(id) ?? 0,
    }))
    const instances = await store.alive()
    if (options.json === true) printJson(context, { keys, ...shownUse(use), instances })
    else {
      const width = Math.max(...keys.map(({ id }) => id.length))
      for (const { id, createdAt, state, values } of keys)
        context.print(`${id.padEnd(width)}  ${createdAt}  ${state.padEnd(7)}  ${values} values`)
      for (const { column, byKey } of use.columns) {
        for (const [id, count] of byKey) context.print(`  ${String(count).padStart(7)} ${shownColumn(column)} ${id}`)
      }
      for (const { id, sealingKey } of instances) context.print(`The instance ${id} seals with ${sealingKey}.`)
      for (const fault of faultsOf(use)) context.say(`moorage: ${fault}`)
    }
    return faultsOf(use).length === 0 ? 0 : 1
  })

const stateOf = (content: KeyringContent, id: string): 'current' | 'waiting' | 'old' => {
  if (id === content.currentKeyId) return 'current'
  return id === waitingKeyOf(content) ? 'waiting' : 'old'
}

const shownUse = ({ columns, missing, unreadable }: KeyUse) => ({
  columns: columns.map(({ column, byKey, unreadable: others }) => ({
    table: column.table,
    column: column.column,
    values: Object.fromEntries(byKey),
    unreadable: others,
  })),
  missing,
  unreadable,
})
