import type { Token } from '../kit/sql-tokens.ts'
import { readerOf, skipConflict, tokensOf } from '../kit/sql-tokens.ts'

/** What a statement does to tables. Names are in lower case. */
export interface StatementTables {
  /** Tables that it creates, alters, drops or renames, or whose rows it changes. */
  readonly changed: readonly string[]
  /** Tables that its foreign keys refer to. */
  readonly references: readonly TableReference[]
  /** Index that it drops without naming the table, as SQLite does. */
  readonly droppedIndex?: string
}

interface TableReference {
  readonly table: string
  /** What happens to the rows when the row that they refer to is deleted: `cascade`, `set null` or other. */
  readonly onDelete: string
}

type Reader = ReturnType<typeof readerOf>
type Read = (reader: Reader) => readonly (string | undefined)[] | undefined

const ifExists = (reader: Reader): void => {
  if (reader.skip('if')) {
    reader.skip('not')
    reader.skip('exists')
  }
}

const listed = (reader: Reader): readonly (string | undefined)[] => {
  const names = [reader.name()]
  while (reader.mark(',')) names.push(reader.name())
  return names
}

const readCreate: Read = (reader) => {
  reader.skip('unique', 'fulltext', 'spatial')
  if (reader.skip('index')) {
    ifExists(reader)
    reader.name()
    return reader.skip('on') ? [reader.name()] : undefined
  }
  if (!reader.skip('table')) return undefined
  ifExists(reader)
  return [reader.name()]
}

const readRename: Read = (reader) => {
  if (!reader.skip('table')) return undefined
  const names: (string | undefined)[] = []
  do {
    names.push(reader.name())
    if (!reader.skip('to')) return undefined
    names.push(reader.name())
  } while (reader.mark(','))
  return names
}

const readUpdate: Read = (reader) => {
  skipConflict(reader)
  const table = reader.name()
  if (reader.skip('as') || !reader.isWord('set')) reader.name()
  // An update of several tables does not say which of them it changes.
  return reader.isWord('set') ? [table] : undefined
}

const readInsert: Read = (reader) => {
  skipConflict(reader)
  return reader.skip('into') ? [reader.name()] : undefined
}

const readers: Readonly<Record<string, Read>> = {
  create: readCreate,
  rename: readRename,
  update: readUpdate,
  insert: readInsert,
  replace: readInsert,
  alter: (reader) => (reader.skip('table') ? [reader.name()] : undefined),
  delete: (reader) => (reader.skip('from') ? [reader.name()] : undefined),
  drop: (reader) => {
    if (!reader.skip('table')) return undefined
    ifExists(reader)
    return listed(reader)
  },
}

/** The new name in `alter table … rename to …`. */
const renamedTo = (tokens: readonly Token[]): readonly (string | undefined)[] =>
  tokens.flatMap((token, index) => {
    if (token.kind !== 'word' || token.text !== 'rename') return []
    const reader = readerOf(tokens.slice(index + 1))
    if (reader.skip('column', 'index', 'key')) return []
    reader.skip('to', 'as')
    return [reader.name()]
  })

const referencesOf = (tokens: readonly Token[]): readonly (TableReference | undefined)[] =>
  tokens.flatMap((token, index) => {
    if (token.kind !== 'word' || token.text !== 'references') return []
    const table = readerOf(tokens.slice(index + 1)).name()
    return [table === undefined ? undefined : { table, onDelete: onDeleteOf(tokens.slice(index + 1)) }]
  })

/** Of the tokens after `references`. */
const onDeleteOf = (tokens: readonly Token[]): string => {
  let depth = 0
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind === 'mark') depth += text === '(' ? 1 : text === ')' ? -1 : 0
    if (depth < 0 || (depth === 0 && kind === 'mark' && text === ',')) return ''
    const words = tokens.slice(index, index + 4).map((token) => token.text)
    if (depth === 0 && words[0] === 'on' && words[1] === 'delete')
      return words[2] === 'set' ? words.slice(2, 4).join(' ') : (words[2] ?? '')
  }
  return ''
}

/** Statements that change nothing. */
const readsOnly = ['select', 'show']
const readingPragmas = ['table_info', 'table_xinfo', 'index_list', 'foreign_key_list']

const droppedIndexOf = (reader: Reader): StatementTables | undefined => {
  if (!reader.skip('drop') || !reader.skip('index')) return undefined
  ifExists(reader)
  const index = reader.name()
  if (index === undefined) return undefined
  if (!reader.skip('on')) return { changed: [], references: [], droppedIndex: index }
  const table = reader.name()
  return table === undefined ? undefined : { changed: [table], references: [] }
}

/**
 * Returns what one statement of a migration does to tables, or undefined when it is of no kind that is known here: a
 * view, a trigger, a pragma that sets something, several statements in one, a table of another database.
 */
export const tablesOf = (sql: string): StatementTables | undefined => {
  const tokens = tokensOf(sql.replace(/;\s*$/, ''))
  const [first, second] = tokens
  if (first === undefined || first.kind !== 'word' || tokens.some(({ text, kind }) => kind === 'mark' && text === ';'))
    return undefined
  if (readsOnly.includes(first.text)) return { changed: [], references: [] }
  if (first.text === 'pragma')
    return readingPragmas.includes(second?.text ?? '') ? { changed: [], references: [] } : undefined
  if (first.text === 'drop' && second?.text === 'index') return droppedIndexOf(readerOf(tokens))
  const reader = readerOf(tokens.slice(1))
  const changed = readers[first.text]?.(reader)
  if (changed === undefined) return undefined
  const all = first.text === 'alter' ? [...changed, ...renamedTo(tokens)] : changed
  const references = ['create', 'alter'].includes(first.text) ? referencesOf(tokens) : []
  const isKnown = <A>(value: A | undefined): value is A => value !== undefined
  return all.every(isKnown) && references.every(isKnown) ? { changed: all, references } : undefined
}
