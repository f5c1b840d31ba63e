/** A place in a text, counted from 1. Columns count UTF-16 units. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

const space = /[ \t\n\r]*/y
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const word = /true|false|null/y
/** A run of characters of a string. It is short, because a long match would use up the stack of the matcher. */
const stringRun = /[^"\\\u0000-\u001f]{1,4096}|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

const endOf = (pattern: RegExp, text: string, from: number): number => {
  pattern.lastIndex = from
  return pattern.test(text) ? pattern.lastIndex : -1
}

/** Returns the end of the string that begins at `from`, or where it is wrong as a negative number minus 1. */
const stringEnd = (text: string, from: number): number => {
  for (let at = from + 1; ;) {
    if (text[at] === '"') return at + 1
    const next = endOf(stringRun, text, at)
    if (next === -1) return -at - 1
    at = next
  }
}

const scalarEnd = (text: string, at: number): number => {
  if (text[at] === '"') return stringEnd(text, at)
  const end = Math.max(endOf(number, text, at), endOf(word, text, at))
  return end === -1 ? -at - 1 : end
}

/**
 * What may come next: a value, the first or a later key of an object, the first element of an array, or what follows a
 * value.
 */
type Due = 'value' | 'first-key' | 'key' | 'first-element' | 'after'

/**
 * Returns the offset of the first character at which a text stops being JSON; its length if it ends too early, or -1 if
 * it is JSON.
 */
const faultOffset = (text: string): number => {
  const open: ('{' | '[')[] = []
  let due: Due = 'value'
  let at = 0
  for (;;) {
    at = endOf(space, text, at)
    const c = text[at]
    const within = open.at(-1)
    if (due === 'after') {
      if (within === undefined) return at === text.length ? -1 : at
      if (c === ',') due = within === '{' ? 'key' : 'value'
      else if (c === (within === '{' ? '}' : ']')) open.pop()
      else return at
      at++
    } else if ((due === 'first-key' && c === '}') || (due === 'first-element' && c === ']')) {
      open.pop()
      due = 'after'
      at++
    } else if (due === 'key' || due === 'first-key') {
      const end = c === '"' ? stringEnd(text, at) : -at - 1
      if (end < 0) return -end - 1
      at = endOf(space, text, end)
      if (text[at] !== ':') return at
      at++
      due = 'value'
    } else if (c === '{' || c === '[') {
      open.push(c)
      due = c === '{' ? 'first-key' : 'first-element'
      at++
    } else {
      const end = scalarEnd(text, at)
      if (end < 0) return -end - 1
      at = end
      due = 'after'
    }
  }
}

/** Returns the place at which a text stops being JSON, or undefined if it is JSON. It takes time linear in the text. */
export const jsonFault = (text: string): TextPlace | undefined => {
  const offset = faultOffset(text)
  if (offset === -1) return undefined
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: offset - lineStart + 1 }
}
