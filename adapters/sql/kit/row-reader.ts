import { getOrMake } from '../../../core/kernel/cache.ts'
import { fromWireJson } from '../../../core/kernel/json.ts'
import type { Column, Columns, Row } from './columns.ts'
import { snakeCase } from './columns.ts'

/** A row as the driver returns it. */
export type DriverRow = Readonly<Record<string, unknown>>

/** Converts a row of the driver to the domain. */
export type ReadRow<R> = (row: DriverRow) => R

const plainName = /^[A-Za-z_]\w*$/

const valueOf = (column: Column<never>): string => {
  switch (column.form) {
    case 'int':
    case 'long':
      // MySQL returns the sums and the integers of a union as text.
      return 'typeof v === "number" ? v : Number(v)'
    case 'exact':
      return 'BigInt(v)'
    case 'instant':
      return 'new Date(typeof v === "number" ? v : Number(v))'
    case 'flag':
      return 'v === 1 || Number(v) === 1'
    case 'json':
      return 'fromJson(v)'
    default:
      return 'v'
  }
}

/**
 * Compiles the conversion of rows with these columns, once: one object literal, which costs as much as one that is
 * written by hand. A loop over the fields takes several times as long.
 */
const compileReader = <R extends Columns>(columns: R): ReadRow<Row<R>> => {
  const fields = Object.entries(columns)
  for (const [field] of fields) {
    if (!plainName.test(field) || !plainName.test(snakeCase(field)))
      throw new Error(`A column cannot be named ${field}.`)
  }
  const codecs = fields.map(([, column]) => column.codec?.decode)
  const members = fields.map(([field, column], index) => {
    const value = column.codec === undefined ? valueOf(column) : `c[${index}](${valueOf(column)})`
    const absent = column.absent === undefined ? 'undefined' : `a[${index}]`
    const read = column.isNullable ? `v === null ? ${absent} : (${value})` : value
    return `${field}: (v = row.${snakeCase(field)}, ${read})`
  })
  // The text consists of declared names, which were tested above.
  // eslint-disable-next-line no-new-func
  const make = new Function(
    'c',
    'a',
    'fromJson',
    `"use strict"; let v; return (row) => ({ ${members.join(', ')} })`,
  ) as (codecs: readonly unknown[], absent: readonly unknown[], fromJson: (text: string) => unknown) => ReadRow<Row<R>>
  return make(
    codecs,
    fields.map(([, { absent }]) => absent),
    fromWireJson,
  )
}

const readers = new WeakMap<Columns, ReadRow<unknown>>()

/** Returns the reader of rows with these columns. It is compiled for the first row of the same object of columns. */
export const rowReader = <R extends Columns>(columns: R): ReadRow<Row<R>> =>
  getOrMake(readers, columns, () => makeReader(columns)) as ReadRow<Row<R>>

const makeReader = <R extends Columns>(columns: R): ReadRow<Row<R>> => {
  let compiled: ReadRow<Row<R>> | undefined
  return (row) => {
    if (compiled !== undefined) return compiled(row)
    for (const field of Object.keys(columns)) {
      const name = snakeCase(field)
      if (!(name in row)) throw new Error(`A row has no column ${name}, which the statement should select.`)
    }
    compiled = compileReader(columns)
    return compiled(row)
  }
}
