import type { Knex } from 'knex'
import type { Bind, Statement } from '../statement.ts'

/** The lengths for which statements with a list are composed: any list fits one of them, so that few statements exist. */
export const listLengths = [1, 10, 100, 500] as const
export const longestList = 500

/** Placeholders for a list of the given length. */
export const listSlots = (p: (name: string) => Knex.Value, length: number): Knex.Value[] =>
  Array.from({ length }, (_, index) => p(`id${index}`))

/** The binds of a list: what is missing to the full length repeats the first value. */
const listBinds = (ids: readonly number[], length: number): Record<string, Bind> =>
  Object.fromEntries(Array.from({ length }, (_, index) => [`id${index}`, ids[index] ?? ids[0] ?? 0]))

/** Composes a statement for each length; the result picks the statement and the binds for a list of 1 to 500 ids. */
export const paddedList = (
  compose: (length: number) => Statement,
): ((ids: readonly number[]) => { readonly statement: Statement; readonly binds: Record<string, Bind> }) => {
  const statements = listLengths.map((length) => ({ length, statement: compose(length) }))
  return (ids) => {
    const fitting = statements.find(({ length }) => length >= ids.length)
    if (fitting === undefined) throw new RangeError(`A list of ${ids.length} ids is longer than ${longestList}.`)
    return { statement: fitting.statement, binds: listBinds(ids, fitting.length) }
  }
}

/** Cuts ids into lists of at most 500. */
export const chunksOf = (ids: readonly number[]): readonly (readonly number[])[] =>
  Array.from({ length: Math.ceil(ids.length / longestList) }, (_, index) =>
    ids.slice(index * longestList, (index + 1) * longestList),
  )
