import type { Constant, Parameter, StatementText } from '../kit/statement.ts'
import type { Token } from '../kit/sql-tokens.ts'
import { readerOf, skipConflict, tokensOf } from '../kit/sql-tokens.ts'
import type { AccessTable } from '../tables/access.ts'
import { accessTables, everyoneShard, followersShard, shardOf } from '../tables/access.ts'

/** Whose access a statement changes. The accounts are the values of these binds. */
export type AccessChange =
  | 'nothing'
  | 'everyone'
  | { readonly accounts: readonly (Parameter | Constant)[]; readonly isShownToFollowers: boolean }

const reads = new Set(['select', 'show', 'explain', 'pragma'])

/** A statement as text, cut into tokens, with the bind of each `?`. */
interface Parsed {
  readonly tokens: readonly Token[]
  /** The depth of parentheses at each token. */
  readonly depths: readonly number[]
  /** The bind at each token that is a `?`. */
  readonly binds: readonly (Parameter | Constant | undefined)[]
}

const isMark = (token: Token | undefined, text: string): boolean => token?.kind === 'mark' && token.text === text
const isWord = (token: Token | undefined, ...words: readonly string[]): boolean =>
  token?.kind === 'word' && words.includes(token.text)

const parse = ({ sql, order }: Pick<StatementText, 'sql' | 'order'>): Parsed => {
  const tokens = tokensOf(sql)
  const depths: number[] = []
  const binds: (Parameter | Constant | undefined)[] = []
  let [depth, bind] = [0, 0]
  for (const token of tokens) {
    if (isMark(token, ')')) depth -= 1
    depths.push(depth)
    if (isMark(token, '(')) depth += 1
    binds.push(isMark(token, '?') ? order[bind++] : undefined)
  }
  return { tokens, depths, binds }
}

/** Returns the index of the first word at the outer level, from an index; the number of tokens if there is none. */
const outerWord = ({ tokens, depths }: Parsed, from: number, ...words: readonly string[]): number => {
  for (let at = from; at < tokens.length; at += 1) if (depths[at] === 0 && isWord(tokens[at], ...words)) return at
  return tokens.length
}

/** Cuts a range of tokens at the places of the outer level that `isCut` selects. */
const cut = ({ tokens, depths }: Parsed, from: number, to: number, isCut: (token: Token) => boolean) => {
  const ranges: (readonly [number, number])[] = []
  let start = from
  for (let at = from; at <= to; at += 1) {
    const token = tokens[at]
    if (at < to && (token === undefined || depths[at] !== depths[from] || !isCut(token))) continue
    ranges.push([start, at])
    start = at + 1
  }
  return ranges
}

/** The name of a column without that of its table, and the number of tokens that it takes. */
const columnAt = (
  { tokens }: Parsed,
  at: number,
): { readonly name: string; readonly of?: string; readonly end: number } => {
  const isQualified = isMark(tokens[at + 1], '.')
  const name = tokens[isQualified ? at + 2 : at]?.text ?? ''
  return isQualified ? { name, of: tokens[at]?.text ?? '', end: at + 3 } : { name, end: at + 1 }
}

/** The binds of columns that the condition compares by `=`: each row that is changed has these values. */
const comparedBinds = (parsed: Parsed, where: number): ReadonlyMap<string, Parameter | Constant> => {
  const found = new Map<string, Parameter | Constant>()
  const end = outerWord(parsed, where, 'order', 'limit', 'returning')
  if (where >= end || outerWord(parsed, where, 'or', 'xor') < end) return found
  for (const [from, to] of cut(parsed, where + 1, end, (token) => isWord(token, 'and'))) {
    const column = columnAt(parsed, from)
    const bind = parsed.binds[column.end + 1]
    if (to === column.end + 2 && isMark(parsed.tokens[column.end], '=') && bind !== undefined)
      found.set(column.name, bind)
  }
  return found
}

/** Returns one bind for each list of accounts, or undefined if one is not known. */
const accountsIn = (
  { accounts }: AccessTable,
  known: ReadonlyMap<string, Parameter | Constant>,
): readonly (Parameter | Constant)[] | undefined => {
  const binds = accounts.map((columns) => columns.map((column) => known.get(column)).find((bind) => bind !== undefined))
  return binds.every((bind) => bind !== undefined) ? binds : undefined
}

const changeOf = (
  table: AccessTable,
  known: ReadonlyMap<string, Parameter | Constant>,
  isShownToFollowers: boolean,
): AccessChange => {
  const accounts = accountsIn(table, known)
  return accounts === undefined ? 'everyone' : { accounts, isShownToFollowers }
}

const insertion = (parsed: Parsed, table: AccessTable, at: number): AccessChange => {
  const { tokens, depths, binds } = parsed
  const conflict = outerWord(parsed, at, 'on')
  // A row that exists may be of another account than the statement says.
  const isUpsert = conflict < tokens.length && outerWord(parsed, conflict, 'nothing') === tokens.length
  if (table.isFoundByKey === true) return isUpsert ? 'everyone' : 'nothing'
  const rows = outerWord(parsed, at, 'values')
  if (isUpsert || !isMark(tokens[at], '(') || rows === tokens.length) return 'everyone'
  const columns = cut(parsed, at + 1, depths.indexOf(0, at + 1), (token) => isMark(token, ',')).map(
    ([from]) => columnAt(parsed, from).name,
  )
  const accounts: (Parameter | Constant)[] = []
  for (const [from, to] of cut(parsed, rows + 1, conflict, (token) => isMark(token, ','))) {
    const known = new Map<string, Parameter | Constant>()
    for (const [index, [start, end]] of cut(parsed, from + 1, to - 1, (token) => isMark(token, ',')).entries()) {
      const [column, bind] = [columns[index], binds[start]]
      if (column !== undefined && bind !== undefined && end === start + 1) known.set(column, bind)
    }
    const ofRow = accountsIn(table, known)
    if (ofRow === undefined) return 'everyone'
    accounts.push(...ofRow)
  }
  return { accounts, isShownToFollowers: false }
}

const joinWords = ['join', 'straight_join', 'update'] as const

/** Returns the tables of an update, by the names that its columns have before them. */
const updatedTables = (parsed: Parsed, set: number): ReadonlyMap<string, string> => {
  const tables = new Map<string, string>()
  for (let at = 0; at < set; at += 1) {
    if (!isWord(parsed.tokens[at], ...joinWords) && !isMark(parsed.tokens[at], ',')) continue
    const reader = readerOf(parsed.tokens.slice(at + 1, set + 1))
    if (at === 0) skipConflict(reader)
    const table = reader.name() ?? ''
    reader.skip('as')
    const hasAlias = !['set', 'on', 'join', 'straight_join', 'inner', 'left', 'cross'].some(reader.isWord)
    tables.set((hasAlias ? reader.name() : table) ?? table, table)
  }
  return tables
}

const decidesAccess = ({ ignored, decides }: AccessTable, column: string): boolean =>
  decides === undefined ? ignored?.includes(column) !== true : decides.includes(column)

const update = (parsed: Parsed): AccessChange => {
  const set = outerWord(parsed, 0, 'set')
  const where = outerWord(parsed, set, 'where')
  const tables = updatedTables(parsed, set)
  const [only] = [...tables.values()]
  const assigned = cut(parsed, set + 1, Math.min(where, outerWord(parsed, set, 'order', 'limit')), (token) =>
    isMark(token, ','),
  ).map(([from]) => columnAt(parsed, from))
  interface Deciding {
    readonly name: string
    readonly declared: AccessTable | undefined
  }
  const deciding = assigned.flatMap(({ name, of = '' }): readonly Deciding[] => {
    const table = tables.get(of) ?? (tables.size === 1 ? only : undefined)
    if (table === undefined) return [{ name, declared: undefined }]
    const declared = accessTables[table]
    return declared !== undefined && decidesAccess(declared, name) ? [{ name, declared }] : []
  })
  const [first] = deciding
  if (first === undefined) return 'nothing'
  const { declared } = first
  if (declared === undefined || tables.size > 1) return 'everyone'
  // The row had another account before.
  if (deciding.some(({ name }) => declared.accounts.flat().includes(name))) return 'everyone'
  const isShown = deciding.some(({ name }) => declared.shownToFollowers?.includes(name) === true)
  return changeOf(declared, comparedBinds(parsed, where), isShown)
}

const changeOfText = (statement: Pick<StatementText, 'sql' | 'order' | 'shown'>): AccessChange => {
  if (/^\s*select\b/i.test(statement.sql)) return 'nothing'
  // The text with its values may have megabytes, and its table is at its beginning.
  const tokens = tokensOf((statement.shown ?? statement.sql).slice(0, 200))
  const [first] = tokens
  if (first === undefined || isWord(first, ...reads)) return 'nothing'
  const parsed = (): Parsed => parse(statement)
  if (isWord(first, 'with')) {
    return parsed().tokens.some((token) => isWord(token, 'insert', 'delete', 'set', 'replace')) ? 'everyone' : 'nothing'
  }
  if (isWord(first, 'update')) return statement.shown === undefined ? update(parsed()) : 'everyone'
  const reader = readerOf(tokens)
  if (!reader.skip('insert', 'replace', 'delete')) return 'everyone'
  skipConflict(reader)
  const name = reader.skip('into', 'from') ? reader.name() : undefined
  if (name === undefined) return 'everyone'
  const table = accessTables[name]
  if (table === undefined) return 'nothing'
  if (statement.shown !== undefined || isWord(first, 'replace')) return 'everyone'
  if (isWord(first, 'insert')) return insertion(parsed(), table, reader.position())
  if (table.deletesOfOthers === true) return 'everyone'
  const whole = parsed()
  return changeOf(table, comparedBinds(whole, outerWord(whole, 0, 'where')), false)
}

const known = new WeakMap<StatementText, AccessChange>()

/** Returns whose access a statement changes. One of an unknown kind changes that of everyone. */
export const accessChangeOf = (statement: StatementText): AccessChange => {
  const before = known.get(statement)
  if (before !== undefined) return before
  const change = changeOfText(statement)
  known.set(statement, change)
  return change
}

/** Returns the shards that a statement with these binds raises. */
export const raisedShards = (statement: StatementText, binds: object): readonly number[] => {
  const change = accessChangeOf(statement)
  if (change === 'nothing') return []
  if (change === 'everyone') return [everyoneShard]
  const values = change.accounts.map((slot) =>
    Number('constant' in slot ? slot.constant : slot.encode((binds as Record<string, unknown>)[slot.name] as never)),
  )
  if (!values.every((value) => Number.isSafeInteger(value) && value > 0)) return [everyoneShard]
  return [...new Set(values.map(shardOf)), ...(change.isShownToFollowers ? [followersShard] : [])]
}
