import type { KeyringContent } from '../../../adapters/security/keyring.ts'
import { withoutKey } from '../../../adapters/security/keyring.ts'
import { StartRefused } from '../../boot.ts'
import type { CommandContext, CommonOptions, ExitCode } from '../command-context.ts'
import { printJson } from '../command-context.ts'
import { countKeyUse, shownColumn } from './key-use.ts'
import type { KeyRingStore } from './keys.ts'
import { changeKeyRing, onKeyRing } from './keys.ts'

export interface RetireOptions extends CommonOptions {
  readonly forgetBackups?: boolean
}

/** Removes a key from the key ring that nothing needs. */
export const retireKey = (context: CommandContext, options: RetireOptions, key: string): Promise<ExitCode> =>
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
