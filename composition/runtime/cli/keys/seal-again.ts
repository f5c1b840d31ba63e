import { startOfSealedBy } from '../../../../adapters/security/keyring.ts'
import type { RowKey, SealedStart, SealedValues } from '../../../../adapters/sql/kernel/sealed-values.ts'
import type { SealedColumn } from '../../../../adapters/sql/kit/declared-tables.ts'
import type { SecretBox } from '../../../../core/kernel/secret.ts'
import { shownColumn } from './key-use.ts'

/** A value that stays as it was. */
interface UnopenedValue {
  /** Table and column. */
  readonly column: string
  /** The primary key of its row. */
  readonly row: RowKey
  readonly reason: string
}

interface SealedAgain {
  /** Table and column. */
  readonly column: string
  readonly count: number
}

export interface SealingResult {
  /** The columns in which values were sealed again. */
  readonly columns: readonly SealedAgain[]
  readonly unopened: readonly UnopenedValue[]
}

export interface SealingDeps {
  readonly values: SealedValues
  readonly secretBox: Pick<SecretBox, 'rewrap'>
  /** Called after each value, with the number of values of the column that are done. */
  onValue?(column: string, count: number): void
}

/** Rows that are read at once. */
const pageSize = 200
/** How often a value is read again that others change at the same time. */
const mostAttempts = 5

/**
 * Seals every value with the key `keyId`, which must be the current one. Each value is one statement, which changes
 * nothing if the value was changed in between; that value is then read again. A value that cannot be opened is named in
 * the result. What was done stays done: a further run continues with the values that remain.
 */
export const sealAgain = async (
  deps: SealingDeps,
  columns: readonly SealedColumn[],
  keyId: string,
): Promise<SealingResult> => {
  const done: SealedAgain[] = []
  const unopened: UnopenedValue[] = []
  for (const column of columns) {
    const shown = shownColumn(column)
    let count = 0
    for (let after; ;) {
      const page = await deps.values.others(column, { starts: [startOfSealedBy(keyId)], after, limit: pageSize })
      for (const value of page) {
        const reason = await sealValue(deps, column, value)
        if (reason === 'sealed') {
          count += 1
          deps.onValue?.(shown, count)
        } else if (reason !== 'gone') unopened.push({ column: shown, row: value.key, reason: reason.message })
      }
      after = page.at(-1)?.key
      if (page.length < pageSize) break
    }
    if (count > 0) done.push({ column: shown, count })
  }
  return { columns: done, unopened }
}

const sealValue = async (
  { values, secretBox }: SealingDeps,
  column: SealedColumn,
  { key }: SealedStart,
): Promise<'sealed' | 'gone' | Error> => {
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const value = await values.find(column, key)
    if (value === undefined) return 'gone'
    let replacement: Uint8Array
    try {
      replacement = await secretBox.rewrap(value)
    } catch (error) {
      return new Error(whyUnopened(error))
    }
    if (await values.replace(column, key, value, replacement)) return 'sealed'
  }
  return new Error('It is changed all the time.')
}

const whyUnopened = (error: unknown): string => {
  const { message } = error as Error
  return message.includes('unable to authenticate') ? 'Its bytes were changed, or its key was.' : message
}
