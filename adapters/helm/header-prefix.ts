import type { ReleaseHeader, ReleaseKey } from '../../core/packages/types.ts'
import { memberOf } from './json-members.ts'
import { headerOf, parseRecord } from './record-json.ts'
import { PayloadUnreadable, unpackBegin } from './record-payload.ts'

/** What stands between the info and the chart's own members. */
const beforeChart = ',"chart":{'

const objectAt = (text: string, at: number, key: string): { readonly start: number; readonly end: number } | undefined => {
  const member = memberOf(text, at, key)
  return member === undefined || text.charAt(member.valueStart) !== '{' ? undefined : { start: member.valueStart, end: member.valueEnd }
}

/**
 * A header out of the begin of a record: Helm writes name, info and the chart's metadata first, and the rest, which is
 * nearly all of it, need not be unpacked. Undefined for a record that is not written so, which must be read as a whole.
 */
export const headerOfBegin = (bytes: Buffer, expected: ReleaseKey & { readonly version: number }): ReleaseHeader | undefined => {
  const text = unpackBegin(bytes)
  if (text === undefined || !text.startsWith('{')) return undefined
  try {
    const name = memberOf(text, 0, 'name')
    const info = objectAt(text, 0, 'info')
    if (name === undefined || info === undefined || !text.startsWith(beforeChart, info.end)) return undefined
    const metadata = objectAt(text, info.end + beforeChart.length - 1, 'metadata')
    if (metadata === undefined) return undefined
    const { namespace, version } = expected
    return headerOf(
      {
        name: parseRecord(text.slice(name.valueStart, name.valueEnd)),
        namespace,
        version,
        info: parseRecord(text.slice(info.start, info.end)),
        chart: { metadata: parseRecord(text.slice(metadata.start, metadata.end)) },
      },
      expected,
    )
  } catch (error) {
    if (!(error instanceof PayloadUnreadable)) throw error
    return undefined
  }
}
