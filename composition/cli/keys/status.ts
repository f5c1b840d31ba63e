import type { KeyringContent } from '../../../adapters/security/keyring.ts'
import { waitingKeyOf } from '../../../adapters/security/keyring.ts'
import type { CommandContext, CommonOptions, ExitCode } from '../command-context.ts'
import { printJson } from '../command-context.ts'
import type { KeyUse } from './key-use.ts'
import { countKeyUse, faultsOf, shownColumn } from './key-use.ts'
import { onKeyRing } from './keys.ts'

/** Prints the keys and how many values each seals. Returns 1 if there are values that cannot be opened. */
export const keyStatus = (context: CommandContext, options: CommonOptions): Promise<ExitCode> =>
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
