import { memberOf, skipBlanks } from './json-members.ts'
import { PayloadUnreadable } from './record-payload.ts'

const escapes: Readonly<Record<string, string>> = { '<': '\\u003c', '>': '\\u003e', '&': '\\u0026', '\u2028': '\\u2028', '\u2029': '\\u2029' }

/** A string as Go's JSON encoder writes it: safe to stand in HTML and JavaScript. */
export const goString = (text: string): string => JSON.stringify(text.toWellFormed()).replace(/[<>&\u2028\u2029]/g, (sign) => escapes[sign] ?? sign)

/**
 * A record's JSON with another status or description in its `info`, and every other byte as it was: what this service
 * does not know, or could not write again as exactly, stays. Throws PayloadUnreadable.
 */
export const amendInfo = (text: string, change: { readonly status?: string | undefined; readonly description?: string | undefined }): string => {
  const info = memberOf(text, skipBlanks(text, 0), 'info')
  if (info === undefined || text.charAt(info.valueStart) !== '{') throw new PayloadUnreadable('no release record')
  const set = (json: string, key: 'status' | 'description', value: string | undefined): string => {
    if (value === undefined) return json
    const known = memberOf(json, info.valueStart, key)
    if (known !== undefined) return json.slice(0, known.valueStart) + goString(value) + json.slice(known.valueEnd)
    // Helm leaves an empty description out; where there is one it stands before the status.
    const status = memberOf(json, info.valueStart, 'status')
    if (status === undefined) throw new PayloadUnreadable('no status')
    return `${json.slice(0, status.keyStart)}${goString(key)}:${goString(value)},${json.slice(status.keyStart)}`
  }
  return set(set(text, 'description', change.description), 'status', change.status)
}
