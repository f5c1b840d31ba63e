import { readFileSync } from 'node:fs'

/** A route of the specification, as its table has it. */
export interface SpecRow {
  readonly section: string
  /** `T`, `T, site admin`, `B`, `P`, `SA`, `W`. */
  readonly auth: string
  readonly method: string
  readonly path: string
  readonly statuses: readonly number[]
}

const linesOf = (name: string): readonly string[] =>
  readFileSync(new URL(name, import.meta.url), 'utf8')
    .split('\n')
    .slice(1)
    .filter((line) => line.trim() !== '')

export const specRows = (): readonly SpecRow[] =>
  linesOf('routes.tsv').map((line) => {
    const [section = '', auth = '', method = '', path = '', statuses = ''] = line.split('\t')
    return {
      section,
      auth,
      method,
      path,
      statuses: statuses
        .split(',')
        .filter((text) => text.trim() !== '')
        .map(Number),
    }
  })

/** The same route whatever its parameters are called, and with or without the trailing slash. */
export const shapeOf = (method: string, path: string): string =>
  `${method} ${path
    .replace(/\*$/, '{}')
    .replaceAll(/\{[^}]*\}/g, '{}')
    .replace(/\/$/, '')}`

/** Rows of the specification that no plugin declares yet. The list may only shrink. */
export const notBuiltYet = (): readonly string[] =>
  linesOf('not-built-yet.tsv').map((line) => {
    const [method = '', path = ''] = line.split('\t')
    return `${method} ${path}`
  })

/** An operation of the wider interface. `path` is below the root of its listener. */
export interface WiderOperation {
  readonly group: string
  readonly method: string
  readonly path: string
}

export const widerOperations = (): readonly WiderOperation[] =>
  linesOf('wider-operations.tsv').map((line) => {
    const [group = '', method = '', path = ''] = line.split('\t')
    return { group, method, path }
  })

/** Why the operations of a group whose paths begin with a text are not declared. */
export interface NotDeclared {
  readonly group: string
  readonly begins: string
  readonly reason: string
}

export const notDeclared = (): readonly NotDeclared[] =>
  linesOf('not-declared.tsv').map((line) => {
    const [group = '', begins = '', reason = ''] = line.split('\t')
    return { group, begins, reason }
  })
