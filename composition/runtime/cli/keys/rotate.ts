import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyringContent } from '../../../../adapters/security/keyring.ts'
import { waitingKeyOf, withAddedKey, withCurrentKey, withoutKey } from '../../../../adapters/security/keyring.ts'
import type { LiveInstance } from '../../../../core/kernel/instances.ts'
import { StartRefused } from '../../../part/boot.ts'
import type { CommonOptions, ExitCode } from '../../../part/command-context.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { makeProgress, printJson } from '../../../part/command-context.ts'
import { countKeyUse, shownColumn } from './key-use.ts'
import type { KeyRingStore } from './keys.ts'
import { changeKeyRing, onKeyRing } from './keys.ts'
import type { SealingResult } from './seal-again.ts'
import { sealAgain } from './seal-again.ts'

/** Adds a key that seals nothing yet. */
export const addKey = (context: RuntimeContext, options: CommonOptions): Promise<ExitCode> =>
  onKeyRing<ExitCode>(context, options, async (store) => {
    let isNew = false
    const content = await changeKeyRing(store, (before) => {
      if (waitingKeyOf(before) !== undefined) return before
      isNew = true
      return withAddedKey(before)
    })
    const key = waitingKeyOf(content)
    if (options.json === true) printJson(context, { key, isNew, path: store.path })
    else if (isNew) {
      context.print(`Added the key ${key} to ${store.path}. It seals nothing yet.`)
      context.print('Back up the file. Give it to every instance that has a copy, then run: moorage keys rotate')
    } else context.print(`The key ${key} is there already and seals nothing yet. Run: moorage keys rotate`)
    return 0
  })

/** Makes a new key the one that seals new values, and seals every value with it. */
export const rotateKeys = (context: RuntimeContext, options: CommonOptions): Promise<ExitCode> =>
  onKeyRing(context, options, (store) => rotateOn(context, options, store))

/** As `rotateKeys`, on a key ring and a database that are open. */
export const rotateOn = async (
  context: RuntimeContext,
  options: CommonOptions,
  store: KeyRingStore,
): Promise<ExitCode> => {
  const key = await keyToUse(context, store)
  const lacking = await instancesWithout(store, (each) => each.newestKey === key || each.sealingKey === key)
  if (lacking.length > 0) throw new StartRefused([lackingKey(key, lacking, store.path)])
  await changeKeyRing(store, (before) =>
    before.currentKeyId === key ? before : withCurrentKey(before, key, store.now()),
  )
  const first = await sealAll(context, store, key)
  const behind = await instancesWithout(store, ({ sealingKey }) => sealingKey === key)
  // What was sealed with another key during the first pass.
  const result = joined(first, await sealAll(context, store, key))
  report(context, options, { key, result, behind, content: store.content() })
  return result.unopened.length === 0 && behind.length === 0 ? 0 : 1
}

/** Returns the key that waits, or the current one if an earlier run did not finish with it, or else a new one. */
const keyToUse = async (context: RuntimeContext, store: KeyRingStore): Promise<string> => {
  const content = store.content()
  const waiting = waitingKeyOf(content)
  if (waiting !== undefined) return waiting
  const ids = content.keys.map(({ id }) => id)
  const { byKey } = await countKeyUse(store.values, store.columns, ids)
  if (ids.some((id) => id !== content.currentKeyId && byKey.has(id))) {
    context.say(`Continues with the key ${content.currentKeyId}: older keys still seal values.`)
    return content.currentKeyId
  }
  const changed = await changeKeyRing(store, (before) =>
    waitingKeyOf(before) === undefined ? withAddedKey(before) : before,
  )
  const added = waitingKeyOf(changed) ?? changed.currentKeyId
  context.say(`Added the key ${added} to ${store.path}. Back up the file.`)
  return added
}

const pauseMs = 250

/** Waits until all instances that are alive fit, and returns those that still do not. */
const instancesWithout = async (
  { alive, patienceMs }: KeyRingStore,
  fits: (instance: LiveInstance) => boolean,
): Promise<readonly LiveInstance[]> => {
  for (let waited = 0; ; waited += pauseMs) {
    const others = (await alive()).filter((instance) => !fits(instance))
    if (others.length === 0 || waited >= patienceMs) return others
    await sleep(pauseMs)
  }
}

const named = (instances: readonly LiveInstance[]): string =>
  `${instances.length === 1 ? 'the instance' : 'the instances'} ${instances.map(({ id }) => id).join(', ')}`

const lackingKey = (key: string, instances: readonly LiveInstance[], path: string): string =>
  `The key ${key} is in ${path}, but not in the key ring of ${named(instances)}, which could not read what it seals. ` +
  'Nothing is sealed with it yet. Copy the file there (MOORAGE_KEYRING), then run again: moorage keys rotate'

const sealAll = async (context: RuntimeContext, store: KeyRingStore, key: string): Promise<SealingResult> => {
  const { terminal } = context
  const progress = makeProgress(context)
  const onValue = (column: string, count: number): void => progress.show(`${column}: ${count}`)
  const result = await sealAgain({ ...store, ...(terminal === undefined ? {} : { onValue }) }, store.columns, key)
  progress.clear()
  return result
}

const joined = (first: SealingResult, second: SealingResult): SealingResult => {
  const counts = new Map(first.columns.map(({ column, count }) => [column, count]))
  for (const { column, count } of second.columns) counts.set(column, (counts.get(column) ?? 0) + count)
  return { columns: [...counts].map(([column, count]) => ({ column, count })), unopened: second.unopened }
}

interface Rotation {
  readonly key: string
  readonly result: SealingResult
  /** Instances that still seal with another key. */
  readonly behind: readonly LiveInstance[]
  readonly content: KeyringContent
}

const report = (context: RuntimeContext, options: CommonOptions, rotation: Rotation): void => {
  const { key, behind, content } = rotation
  const { columns, unopened } = rotation.result
  const oldKeys = content.keys.map(({ id }) => id).filter((id) => id !== key)
  if (options.json === true) {
    return printJson(context, { key, columns, unopened, oldKeys, instancesBehind: behind.map(({ id }) => id) })
  }
  const total = columns.reduce((sum, { count }) => sum + count, 0)
  context.print(`Sealed ${total} ${total === 1 ? 'value' : 'values'} again with the key ${key}.`)
  for (const { column, count } of columns) context.print(`  ${String(count).padStart(7)} ${column}`)
  for (const { column, row, reason } of unopened)
    context.say(`moorage: the value of ${column} in the row ${row} cannot be opened and stays as it is: ${reason}`)
  if (behind.length > 0) {
    context.say(
      `moorage: ${named(behind)} still ${behind.length === 1 ? 'seals' : 'seal'} new values with another ` +
        'key. Copy the key ring there, then run again: moorage keys rotate',
    )
  } else if (unopened.length === 0 && oldKeys.length > 0) {
    context.print(`To remove a key that no value needs: moorage keys retire ${oldKeys[0]}`)
  }
}

export interface RetireOptions extends CommonOptions {
  readonly forgetBackups?: boolean
}

/** Removes a key from the key ring that nothing needs. */
export const retireKey = (context: RuntimeContext, options: RetireOptions, key: string): Promise<ExitCode> =>
  onKeyRing<ExitCode>(context, options, async (store) => {
    const refused = await whyNeeded(store, key, options)
    if (refused.length > 0) throw new StartRefused(refused)
    const changed = await changeKeyRing(store, (before) => {
      // Another command may have changed the file since.
      if (before.currentKeyId === key) throw new StartRefused([`The key ${key} is the current one.`])
      return before.keys.some(({ id }) => id === key) ? withoutKey(before, key) : before
    })
    const keys = changed.keys.map(({ id }) => id)
    if (options.json === true) printJson(context, { retired: key, keys })
    else {
      context.print(`Removed the key ${key} from ${store.path}.`)
      context.print('Replace the copies of the file, and remove the key from its backups when you need none of them.')
    }
    return 0
  })

/** A request that began with the old key has stored its values long before. */
const settledMs = 10 * 60_000

const whyNeeded = async (
  store: KeyRingStore,
  key: string,
  { forgetBackups }: RetireOptions,
): Promise<readonly string[]> => {
  const content = store.content()
  const ids = content.keys.map(({ id }) => id)
  if (!ids.includes(key)) return [`The key ring ${store.path} does not hold the key ${key}.`]
  if (key === content.currentKeyId)
    return [`The key ${key} is the current one: it seals new values. Run first: moorage keys rotate`]
  const { columns } = await countKeyUse(store.values, store.columns, ids)
  const users = columns.filter(({ byKey }) => byKey.has(key))
  const instances = (await store.alive()).filter(({ sealingKey }) => sealingKey !== content.currentKeyId)
  return [
    ...users.map(
      ({ column, byKey }) =>
        `The key ${key} seals ${byKey.get(key)} values of ${shownColumn(column)}. Run first: moorage keys rotate`,
    ),
    ...instances.map(
      ({ id }) => `The instance ${id} does not seal with the current key. Copy the key ring there, then rotate again.`,
    ),
    ...settling(content, store.now()),
    ...(forgetBackups === true
      ? []
      : [
          `Backups of the database from before ${content.currentSince ?? 'now'} need the key ${key}. When ` +
            'you need none of them, or a backup of the key ring holds the key, run again with --forget-backups.',
        ]),
  ]
}

const settling = ({ currentKeyId, currentSince }: KeyringContent, now: Date): readonly string[] => {
  const until = new Date(Date.parse(currentSince ?? '') + settledMs)
  return until > now
    ? [
        `The key ${currentKeyId} is the current one since ${currentSince}: a request that began before may ` +
          'still store ' +
          `a value with the old key. Run again after ${until.toISOString()}.`,
      ]
    : []
}
