/** A piece of SQL. Names are without quotes, and names and words are in lower case. */
export interface Token {
  readonly kind: 'word' | 'name' | 'text' | 'mark'
  readonly text: string
}

const lexeme =
  /\s+|--[^\n]*|\/\*(?!!)[\s\S]*?\*\/|(?<text>'(?:[^'\\]|''|\\[\s\S])*')|(?<name>`[^`]*`|"[^"]*"|\[\w+\])|(?<word>[\p{L}\p{N}_$]+)|(?<mark>[\s\S])/gu

/** Returns the tokens of a statement, without its comments. */
export const tokensOf = (sql: string): readonly Token[] =>
  [...sql.matchAll(lexeme)].flatMap(({ groups }): readonly Token[] => {
    const { text, name, word, mark } = groups ?? {}
    if (text !== undefined) return [{ kind: 'text', text }]
    if (name !== undefined) return [{ kind: 'name', text: name.slice(1, -1).toLowerCase() }]
    if (word !== undefined) return [{ kind: 'word', text: word.toLowerCase() }]
    return mark === undefined ? [] : [{ kind: 'mark', text: mark }]
  })

/** Reads the tokens of one statement from the left. */
export const readerOf = (tokens: readonly Token[]) => {
  let at = 0
  const isWord = (word: string): boolean => tokens[at]?.kind === 'word' && tokens[at]?.text === word
  const skip = (...words: readonly string[]): boolean => {
    const found = words.some(isWord)
    if (found) at++
    return found
  }
  const mark = (text: string): boolean => {
    const found = tokens[at]?.kind === 'mark' && tokens[at]?.text === text
    if (found) at++
    return found
  }
  /** A name without the name of a database before it. */
  const name = (): string | undefined => {
    const token = tokens[at]
    if (token === undefined || (token.kind !== 'word' && token.kind !== 'name')) return undefined
    at++
    return mark('.') ? undefined : token.text
  }
  return { isWord, skip, mark, name }
}

const conflictWords = ['ignore', 'replace', 'abort', 'fail', 'rollback', 'low_priority', 'high_priority', 'delayed']

/** Skips what an insert or an update does about a conflict. */
export const skipConflict = (reader: ReturnType<typeof readerOf>): void => {
  reader.skip('or')
  while (reader.skip(...conflictWords));
}
