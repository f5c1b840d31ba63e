import { formatPatch, structuredPatch } from 'diff'

/** Edits after which a comparison gives up: texts that have nothing in common are shown whole. */
const maxEdits = 2000

const prefixed = (text: string, sign: string): string =>
  text === '' ? '' : text.replace(/\n$/, '').split('\n').map((line) => `${sign}${line}\n`).join('')

/** All of the one text, then all of the other. */
export const wholeDiff = (from: string, to: string): string => `${prefixed(from, '-')}${prefixed(to, '+')}`

/** Changed lines with three around them, by a library. */
export const lineDiff = (from: string, to: string): string => {
  if (from === to) return ''
  const patch = structuredPatch('', '', from, to, undefined, undefined, { context: 3, maxEditLength: maxEdits })
  if (patch === undefined) return wholeDiff(from, to)
  const text = formatPatch(patch)
  // Before the first hunk stand the names of files, which there are none of.
  return text.slice(text.indexOf('@@'))
}
